"""Pages as routes of an HTTP server: who asks, whether a form is ours, which view answers.

Host and Origin are checked by the server before anything comes here, and so is the bearer token for its other paths. A
page asks for a session instead. A form is taken only from a page of this very origin with the session's form key; what
another site embeds or fetches is refused by what browsers say of a request (`Sec-Fetch-Site`). `Site` is what a local
server (`PageSite`) and a team server share.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from codecairn.client_disconnect import while_connected
from codecairn.connection import Connection
from codecairn.errors import CairnError, Denied
from codecairn.journal import CallJournal
from codecairn.page.addresses import is_own
from codecairn.page.asking import PageRequest
from codecairn.page.forms import is_foreign, is_our_form, is_same_origin, next_address, read_body, read_form
from codecairn.page.responses import (
    find_view,
    headers,
    html,
    refusal_page,
    respond,
    send_icon,
    send_static,
    status_of,
)
from codecairn.page.sessions import PageSession, PageSessions
from codecairn.project import Projects
from codecairn.tools import Call, Registry

log = logging.getLogger("codecairn.page")

_Answer = TypeVar("_Answer")
Endpoint = Callable[[Request], Awaitable[Response]]
_LARGEST_REPORT = 8_000
_COOKIE_S = 7 * 86_400
"""A browser keeps it for so long; the server ends a session that nobody uses much earlier."""
_NOT_OURS = "This form was not sent from a page of this server."
COMMON_PATHS = frozenset({
    "/", "/server", "/server/events", "/login", "/logout", "/csp-report", "/favicon.ico", "/static/page.css",
    "/static/page.js", "/static/icon.svg",
})  # fmt: skip
PATHS = COMMON_PATHS | frozenset({
    "/why", "/symbol", "/file", "/branch", "/memory", "/memory/new", "/memory/edit", "/memory/drift", "/memory/save",
    "/memory/forget", "/memory/restore", "/rules", "/server/confirm", "/server/rebuild", "/server/prune",
})  # fmt: skip
"""What needs no bearer token: all but the login, the style sheet, the script and the icon need a session instead."""


class Site(ABC):
    """Sessions, forms and the login, for whichever server the pages are of."""

    cookie: str

    @abstractmethod
    async def find_session(self, request: Request) -> PageSession | None: ...

    @abstractmethod
    async def answer(self, request: Request, view: str, params: Mapping[str, str], session: PageSession) -> Response:
        """The page that a view makes of a request that was let in."""

    @abstractmethod
    async def begin_session(self, form: Mapping[str, str]) -> str:
        """The cookie of a new session for whoever filled in the login; raises where that opens none."""

    @abstractmethod
    async def end_session(self, request: Request) -> None: ...

    @abstractmethod
    def login_values(self) -> dict[str, Any]:
        """What the page that asks to log in says."""

    def common_routes(self) -> list[BaseRoute]:
        return [
            Route("/login", self.login, methods=["GET", "POST"]),
            Route("/logout", self._logout, methods=["POST"]),
            Route("/csp-report", self._note_report, methods=["POST"]),
            Route("/static/{name}", send_static, methods=["GET"]),
            Route("/favicon.ico", send_icon, methods=["GET"]),
        ]

    def get(self, view: str) -> Endpoint:
        async def show(request: Request) -> Response:
            session = await self.find_session(request)
            if session is None:
                return self.ask_to_log_in(request)
            if is_foreign(request):
                return refusal_page("This page is not for other sites to embed or fetch.")
            return await self.answer(request, view, dict(request.query_params), session)

        return show

    def post(self, view: str) -> Endpoint:
        async def change(request: Request) -> Response:
            session = await self.find_session(request)
            if session is None:
                return self.ask_to_log_in(request)
            form = await read_form(request)
            if form is None or not is_our_form(request, form, session):
                return refusal_page(_NOT_OURS)
            return await self.answer(request, view, form, session)

        return change

    def ask_to_log_in(self, request: Request) -> Response:
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        next_ = here if request.method == "GET" and is_own(here) else "/"
        # A link on another site leads here without the cookie; the same address asked for by our own page has it.
        came_from_outside = request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
        return self.login_page(next_, 401, is_visit=came_from_outside and request.method == "GET")

    def login_page(self, next_: str, status: int, *, is_visit: bool = False, refused: str = "") -> Response:
        values = {"title": "Log in", "next": next_, "is_visit": is_visit, "refused": refused, **self.login_values()}
        return html("login.html", values, status)

    async def login(self, request: Request) -> Response:
        if request.method == "GET":
            return self.login_page(next_address(request.query_params.get("next", "/")), 200)
        form = await read_form(request)
        if form is None or not is_same_origin(request):
            return self.login_page("/", 403, refused=_NOT_OURS)
        next_ = next_address(form.get("next", "/"))
        try:
            cookie = await self.begin_session(form)
        except CairnError as error:
            said = error.message if isinstance(error, Denied) else f"{error.message}. {error.remedy}"
            return self.login_page(next_, status_of(error), refused=said)
        return self.let_in(request, next_, cookie)

    def let_in(self, request: Request, next_: str, cookie: str) -> Response:
        answer = RedirectResponse(next_, 303, headers())
        # A proxy that ends TLS is told from the Origin, which only the browser itself writes.
        is_secure = "https" in (request.url.scheme, request.headers.get("origin", "").partition(":")[0])
        answer.set_cookie(
            self.cookie, cookie, max_age=_COOKIE_S, path="/", httponly=True, samesite="strict", secure=is_secure
        )
        return answer

    async def _logout(self, request: Request) -> Response:
        session, form = await self.find_session(request), await read_form(request)
        if session is None or form is None or not is_our_form(request, form, session):
            return refusal_page(_NOT_OURS)
        await self.end_session(request)
        answer = RedirectResponse("/login", 303, headers())
        answer.delete_cookie(self.cookie, path="/", httponly=True, samesite="strict")
        return answer

    async def _note_report(self, request: Request) -> Response:
        """A browser refused something that a page tried: there is a fault in the page, or somebody tries."""
        has_session = await self.find_session(request) is not None
        body = await read_body(request, _LARGEST_REPORT) if has_session else None
        if body is not None:
            log.warning("a browser reports that a page broke its policy: %s", ascii(body[:500]))
        return Response(status_code=204)


class PageService(Protocol):
    """The parts of the server that pages need."""

    registry: Registry
    projects: Projects

    async def answer(
        self, method: str, work: Callable[[Call], _Answer], connection: Connection, door: str
    ) -> _Answer: ...


class PageSite(Site):
    """The pages of a local server."""

    def __init__(
        self, service: PageService, token: str | None, key: bytes | None = None, *, is_one_of_several: bool = False
    ) -> None:
        self.service = service
        self.sessions = PageSessions(token, key=key)
        self.cookie = self.sessions.cookie
        service.registry.journal = service.registry.journal or CallJournal()
        service.registry.journal.is_one_of_several = is_one_of_several

    def routes(self) -> list[BaseRoute]:
        return [
            *(Route(path, self.get(view), methods=["GET"]) for path, view in _VIEWS.items()),
            *(Route(path, self.post(view), methods=["POST"]) for path, view in _VERBS.items()),
            Route("/server/events", self._events, methods=["GET"]),
            *self.common_routes(),
        ]

    async def find_session(self, request: Request) -> PageSession | None:
        return self.sessions.find(request.cookies.get(self.cookie))

    async def answer(self, request: Request, view: str, params: Mapping[str, str], session: PageSession) -> Response:
        wants_part, path = "cairn-part" in request.headers, request.url.path

        def work(call: Call) -> Response:
            found = find_view(f"codecairn.page.{view}")
            return respond(found, PageRequest(path, params, session, call), wants_part=wants_part)

        answer = self.service.answer(f"page{path}", work, session.connection, "page")
        response = await while_connected(request, answer)
        return response if isinstance(response, Response) else Response(status_code=499)

    def login_values(self) -> dict[str, Any]:
        return {"has_token": self.sessions.has_token, "is_team": False}

    async def login(self, request: Request) -> Response:
        ticket = request.query_params.get("ticket")
        if request.method == "POST" or ticket is None:
            return await super().login(request)
        next_ = next_address(request.query_params.get("next", "/"))
        if not self.sessions.spend(ticket):
            return self.login_page(next_, 403, refused="This link was used before, or is older than two minutes.")
        return self.let_in(request, next_, self.sessions.begin()[0])

    async def begin_session(self, form: Mapping[str, str]) -> str:
        if not self.sessions.has_right_token(form.get("token", "")):
            raise Denied("That is not the token of this server.")
        return self.sessions.begin()[0]

    async def end_session(self, request: Request) -> None:
        self.sessions.end(request.cookies.get(self.cookie))

    async def _events(self, request: Request) -> Response:
        from codecairn.page.events import events  # noqa: PLC0415 - what renders is imported with the first page

        session = await self.find_session(request)
        if session is None or is_foreign(request):
            return Response(status_code=401 if session is None else 403)
        call = Call(self.service.projects, session.connection, self.service.registry, "page")
        asked = PageRequest("/server", dict(request.query_params), session, call)
        return StreamingResponse(events(asked, request.is_disconnected), 200, headers(), "text/event-stream")


_VIEWS = {
    "/": "search.search", "/why": "search.why", "/symbol": "symbol.symbol", "/file": "symbol.file",
    "/branch": "branch.branch", "/memory": "memory.memory", "/memory/new": "memory.edit",
    "/memory/edit": "memory.edit", "/memory/drift": "memory.drift", "/rules": "rules.rules",
    "/server": "server.server", "/server/confirm": "server.confirm",
}  # fmt: skip
_VERBS = {
    "/memory/save": "memory.save", "/memory/forget": "memory.forget", "/memory/restore": "memory.restore",
    "/server/rebuild": "server.rebuild", "/server/prune": "server.prune_refs",
}  # fmt: skip
