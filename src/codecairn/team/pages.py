"""Pages as routes of a node. Any node answers any page; a session may do what its token may do.

    /                        all repositories that the token may read, and a search over them
    /server                  the server, as far as the token may see it
    /r/org/repo/-/…          the pages of one repository, as a local server has them

An address that names a repository which the token may not read is answered like one that names none.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from codecairn.client_disconnect import while_connected
from codecairn.connection import Connection
from codecairn.errors import CairnError, Denied, ProjectNotFound
from codecairn.page.asking import PageAnswer, PageRequest
from codecairn.page.forms import is_foreign
from codecairn.page.responses import error_values, find_view, headers, respond
from codecairn.page.sessions import PageSession
from codecairn.page.site import COMMON_PATHS, PageService, Site
from codecairn.team.page_answers import PageAnswers
from codecairn.team.page_requests import REPOSITORIES, TeamPageRequest, TeamPageSession, repository_address
from codecairn.team.page_sessions import TeamSessions, form_key, read_notice, write_notice
from codecairn.team.tokens import Caller
from codecairn.tools import Call

_LOOK_S = 2.0
_TRAFFIC_EVERY = 8
"""Looks between two plots, for which the database goes through all calls of an hour."""
_LONGEST_S = 3600.0
_NOTICE = "cairn-notice"
_REPOSITORY_VIEWS = {
    "": "page.search.search", "why": "page.search.why", "symbol": "page.symbol.symbol", "file": "page.symbol.file",
    "branch": "page.branch.branch", "memory": "page.memory.memory", "memory/new": "page.memory.edit",
    "memory/edit": "page.memory.edit", "memory/drift": "page.memory.drift", "rules": "page.rules.rules",
    "server": "team.page_views.repository_state",
}  # fmt: skip
_REPOSITORY_VERBS = {
    "memory/save": "page.memory.save", "memory/forget": "page.memory.forget", "memory/restore": "page.memory.restore",
}  # fmt: skip


def is_page(path: str) -> bool:
    """Whether a path is a page's, which needs a session instead of a bearer token."""
    return path in COMMON_PATHS or path.startswith(f"{REPOSITORIES}/")


class TeamSite(Site):
    def __init__(self, service: PageService, answers: PageAnswers, sessions: TeamSessions, cookie: str) -> None:
        self._service, self._answers, self._sessions = service, answers, sessions
        self.cookie = cookie

    def routes(self) -> list[BaseRoute]:
        named = f"{REPOSITORIES}/{{repository:path}}"
        views, verbs = _REPOSITORY_VIEWS.items(), _REPOSITORY_VERBS.items()
        return [
            Route("/", self.get("team.page_views.home"), methods=["GET"]),
            Route("/server", self.get("team.page_views.server"), methods=["GET"]),
            Route("/server/events", self._events, methods=["GET"]),
            *(Route(f"{named}/-/{page}", self.get(view), methods=["GET"]) for page, view in views),
            *(Route(f"{named}/-/{page}", self.post(view), methods=["POST"]) for page, view in verbs),
            Route(f"{named}/-/server/events", self._events, methods=["GET"]),
            Route(named, self._enter, methods=["GET"]),
            *self.common_routes(),
        ]

    # Sessions.

    async def find_session(self, request: Request) -> TeamPageSession | None:
        cookie = request.cookies.get(self.cookie)
        if not cookie:
            return None
        caller = await anyio.to_thread.run_sync(self._find_caller, cookie)
        if caller is None:
            return None
        notice, undo = read_notice(cookie, request.cookies.get(_NOTICE, ""))
        return TeamPageSession(
            Connection(f"token:{caller.id}", client="page", lasts=False), form_key=form_key(cookie), notice=notice,
            undo=undo, caller=caller, request=request.scope["cairn.request"],
        )  # fmt: skip

    def _find_caller(self, cookie: str) -> Caller | None:
        """Whoever holds the token of a session now; nobody once it is revoked or has expired."""
        token = self._sessions.token_of(cookie)
        return self._answers.directory.caller(token) if token is not None else None

    async def begin_session(self, form: Mapping[str, str]) -> str:
        token = form.get("token", "").strip()
        caller = await anyio.to_thread.run_sync(self._answers.directory.caller, token)
        if caller is None:
            raise Denied("That token is not known here, was revoked, or has expired.")
        return await anyio.to_thread.run_sync(self._sessions.begin, token)

    async def end_session(self, request: Request) -> None:
        await anyio.to_thread.run_sync(self._sessions.end, request.cookies.get(self.cookie, ""))

    def login_values(self) -> dict[str, Any]:
        return {"has_token": True, "is_team": True, "has_openid": self._answers.directory.openid is not None}

    # Pages.

    async def answer(self, request: Request, view: str, params: Mapping[str, str], session: PageSession) -> Response:
        wants_part = "cairn-part" in request.headers

        def work(call: Call) -> Response:
            try:
                asked = self._request(request, params, session, call)
            except ProjectNotFound as error:
                nowhere = self._request(request, {}, session, call, is_about_all=True)
                return respond(partial(_no_repository, error), nowhere, wants_part=wants_part)
            return respond(find_view(f"codecairn.{view}"), asked, wants_part=wants_part)

        # Counted by the view: an address may be anything.
        answer = self._service.answer(f"page/{view.rpartition('.')[2]}", work, session.connection, "page")
        response = await while_connected(request, answer)
        if not isinstance(response, Response):
            return Response(status_code=499)
        return self._pass_notice(request, response, session)

    def _request(
        self, request: Request, params: Mapping[str, str], session: PageSession, call: Call, *,
        is_about_all: bool = False,
    ) -> TeamPageRequest:  # fmt: skip
        assert isinstance(session, TeamPageSession)
        assert session.caller is not None
        name = request.path_params.get("repository") if not is_about_all else None
        repository = self._answers.directory.state.find(session.caller, name) if name is not None else None
        return TeamPageRequest(
            _page_of(request), params, session, call, answers=self._answers, caller=session.caller,
            request=session.request, repository=repository,
        )  # fmt: skip

    def _pass_notice(self, request: Request, response: Response, session: PageSession) -> Response:
        """The next page may be another node's: what it says once travels in a cookie."""
        cookie = request.cookies.get(self.cookie, "")
        if session.notice:
            said = write_notice(cookie, session.notice, session.undo)
            response.set_cookie(_NOTICE, said, max_age=60, path="/", httponly=True, samesite="strict")
        elif _NOTICE in request.cookies and "cairn-part" not in request.headers:
            response.delete_cookie(_NOTICE, path="/", httponly=True, samesite="strict")
        return response

    async def _enter(self, request: Request) -> Response:
        """A repository by its bare address; whether there is one is said by its page."""
        name = request.path_params["repository"].strip("/")
        if "/-/" in name:
            raise HTTPException(404)
        return RedirectResponse(f"{repository_address(name)}/", 303, headers())

    # Live parts.

    async def _events(self, request: Request) -> Response:
        session = await self.find_session(request)
        if session is None or is_foreign(request):
            return Response(status_code=401 if session is None else 403)
        call = Call(self._service.projects, session.connection, self._service.registry, "page")
        try:
            asked = self._request(request, dict(request.query_params), session, call)
        except ProjectNotFound:
            return Response(status_code=404)
        return StreamingResponse(self._live(request, asked), 200, headers(), "text/event-stream")

    async def _live(self, request: Request, asked: TeamPageRequest) -> AsyncIterator[str]:
        """Calls and plots as they change, for as long as the session holds."""
        shown, looks, ends = dict[str, str](), 0, anyio.current_time() + _LONGEST_S
        yield "retry: 5000\n\n"
        while anyio.current_time() < ends and not await request.is_disconnected():
            if not await self._is_still_let_in(request):
                return
            parts = await anyio.to_thread.run_sync(_live_parts, asked, looks % _TRAFFIC_EVERY == 0)
            looks += 1
            for name, part in parts.items():
                if shown.get(name) != part:
                    shown[name] = part
                    yield f"event: {name}\n" + "".join(f"data: {line}\n" for line in part.splitlines()) + "\n"
            await anyio.sleep(_LOOK_S)

    async def _is_still_let_in(self, request: Request) -> bool:
        try:
            return await self.find_session(request) is not None
        except CairnError:
            return False


def _live_parts(asked: TeamPageRequest, with_traffic: bool) -> dict[str, str]:
    from codecairn.page.rendering import render  # noqa: PLC0415 - Jinja2 takes longer to import than a search
    from codecairn.team.page_views import call_values, latest_calls  # noqa: PLC0415 - as above

    about = {"repository": asked.repository_name}
    if not with_traffic:
        return {"calls": render("part_team_calls.html", {**latest_calls(asked), **about})}
    values = {**call_values(asked), **about}
    return {"calls": render("part_team_calls.html", values), "traffic": render("part_traffic.html", values)}


def _page_of(request: Request) -> str:
    """The page within its repository, as views and the head of a page name it."""
    _, separator, page = request.url.path.partition("/-/")
    return f"/{page}" if separator else request.url.path


def _no_repository(error: ProjectNotFound, asked: PageRequest) -> PageAnswer:
    del asked
    values = error_values(error)
    shown = {**values, "title": "No such repository", "near": [], "repositories": values["near"]}
    return PageAnswer("error.html", shown, 404)
