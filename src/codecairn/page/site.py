"""The pages as routes of the HTTP server: who asks, whether a form is ours, which view answers.

Host and Origin are checked by the server before anything comes here, and so is the bearer token for its other paths. A
page asks for a session instead (`sessions`). A form is taken only from a page of this very origin with the session's
form key; what another site embeds or fetches is refused by what browsers say of a request (`Sec-Fetch-Site`).
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from codecairn.connection import Connection
from codecairn.errors import (
    AmbiguousSymbol,
    Busy,
    CairnError,
    Denied,
    InvalidInput,
    NotFound,
    NotReady,
    RateLimited,
)
from codecairn.journal import CallJournal
from codecairn.page.addresses import is_own
from codecairn.page.asking import PageAnswer, PageRequest, Redirect
from codecairn.page.sessions import PageSession, PageSessions
from codecairn.project import Projects
from codecairn.tools import Call, Registry
from codecairn.withdrawal import while_connected

log = logging.getLogger("codecairn.page")

_Answer = TypeVar("_Answer")
View = Callable[[PageRequest], PageAnswer | Redirect]
_LARGEST_FORM = 64_000
_LARGEST_REPORT = 8_000
_STATUS: list[tuple[type[CairnError], int]] = [
    (AmbiguousSymbol, 300), (InvalidInput, 400), (Denied, 403), (NotFound, 404), (Busy, 409), (RateLimited, 429),
    (NotReady, 503),
]  # fmt: skip
PATHS = frozenset({
    "/", "/why", "/symbol", "/file", "/branch", "/memory", "/memory/new", "/memory/edit", "/memory/drift",
    "/memory/save", "/memory/forget", "/memory/restore", "/rules", "/server", "/server/confirm", "/server/rebuild",
    "/server/prune", "/server/events", "/login", "/logout", "/csp-report", "/favicon.ico",
    "/static/page.css", "/static/page.js", "/static/icon.svg",
})  # fmt: skip
"""What needs no bearer token: all but the login, the style sheet, the script and the icon need a session instead."""


class PageService(Protocol):
    """The parts of the server that pages need."""

    registry: Registry
    projects: Projects

    async def answer(
        self, method: str, work: Callable[[Call], _Answer], connection: Connection, door: str
    ) -> _Answer: ...


class PageSite:
    def __init__(self, service: PageService, token: str | None) -> None:
        self.service = service
        self.sessions = PageSessions(token)
        service.registry.journal = service.registry.journal or CallJournal()

    def routes(self) -> list[BaseRoute]:
        return [
            *(Route(path, self._get(path), methods=["GET"]) for path in _VIEWS),
            *(Route(path, self._post(path), methods=["POST"]) for path in _VERBS),
            Route("/server/events", self._events, methods=["GET"]),
            Route("/login", self._login, methods=["GET", "POST"]),
            Route("/logout", self._logout, methods=["POST"]),
            Route("/csp-report", self._note_report, methods=["POST"]),
            Route("/static/{name}", _static, methods=["GET"]),
            Route("/favicon.ico", _favicon, methods=["GET"]),
        ]

    def _get(self, path: str) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            session = self._session(request)
            if session is None:
                return self._ask_to_log_in(request)
            if _is_foreign(request):
                return _html("error.html", _plain_error("This page is not for other sites to embed or fetch."), 403)
            return await self._answer(request, path, _VIEWS[path], dict(request.query_params), session)

        return answer

    def _post(self, path: str) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            session = self._session(request)
            if session is None:
                return self._ask_to_log_in(request)
            form = await _form(request)
            if form is None or not _is_our_form(request, form, session):
                return _html("error.html", _plain_error("This form was not sent from a page of this server."), 403)
            return await self._answer(request, path, _VERBS[path], form, session)

        return answer

    async def _answer(
        self, request: Request, path: str, view: str, params: Mapping[str, str], session: PageSession
    ) -> Response:
        wants_part = "cairn-part" in request.headers

        def work(call: Call) -> Response:
            return _respond(_view(view), PageRequest(path, params, session, call), wants_part=wants_part)

        answer = self.service.answer(f"page{path}", work, session.connection, "page")
        found = await while_connected(request, answer)
        return found if isinstance(found, Response) else Response(status_code=499)

    def _session(self, request: Request) -> PageSession | None:
        return self.sessions.find(request.cookies.get(self.sessions.cookie))

    def _ask_to_log_in(self, request: Request) -> Response:
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        next_ = here if request.method == "GET" and is_own(here) else "/"
        # A link on another site leads here without the cookie; the same address asked for by our own page has it.
        came_from_outside = request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
        return self._login_page(next_, 401, is_visit=came_from_outside and request.method == "GET")

    def _login_page(self, next_: str, status: int, *, is_visit: bool = False, refused: str = "") -> Response:
        values = {"title": "Log in", "next": next_, "has_token": self.sessions.has_token, "is_visit": is_visit}
        return _html("login.html", {**values, "refused": refused}, status)

    async def _login(self, request: Request) -> Response:
        if request.method == "POST":
            return await self._login_by_token(request)
        ticket = request.query_params.get("ticket")
        next_ = _next(request.query_params.get("next", "/"))
        if ticket is None:
            return self._login_page(next_, 200)
        if not self.sessions.spend(ticket):
            return self._login_page(next_, 403, refused="This link was used before, or is older than two minutes.")
        return self._let_in(request, next_)

    async def _login_by_token(self, request: Request) -> Response:
        form = await _form(request)
        if form is None or not _is_same_origin(request):
            return self._login_page("/", 403, refused="This form was not sent from a page of this server.")
        next_ = _next(form.get("next", "/"))
        try:
            is_right = self.sessions.has_right_token(form.get("token", ""))
        except RateLimited as error:
            return self._login_page(next_, 429, refused=error.remedy)
        if not is_right:
            return self._login_page(next_, 403, refused="That is not the token of this server.")
        return self._let_in(request, next_)

    def _let_in(self, request: Request, next_: str) -> Response:
        cookie, _ = self.sessions.begin()
        answer = RedirectResponse(next_, 303, _headers())
        answer.set_cookie(
            self.sessions.cookie, cookie, max_age=12 * 3600, path="/", httponly=True, samesite="strict",
            secure=request.url.scheme == "https",
        )  # fmt: skip
        return answer

    async def _logout(self, request: Request) -> Response:
        session, form = self._session(request), await _form(request)
        if session is None or form is None or not _is_our_form(request, form, session):
            return _html("error.html", _plain_error("This form was not sent from a page of this server."), 403)
        self.sessions.end(request.cookies.get(self.sessions.cookie))
        answer = RedirectResponse("/login", 303, _headers())
        answer.delete_cookie(self.sessions.cookie, path="/", httponly=True, samesite="strict")
        return answer

    async def _events(self, request: Request) -> Response:
        from codecairn.page.events import events  # noqa: PLC0415 - what renders is imported with the first page

        session = self._session(request)
        if session is None or _is_foreign(request):
            return Response(status_code=401 if session is None else 403)
        call = Call(self.service.projects, session.connection, self.service.registry, "page")
        asked = PageRequest("/server", dict(request.query_params), session, call)
        return StreamingResponse(events(asked, request.is_disconnected), 200, _headers(), "text/event-stream")

    async def _note_report(self, request: Request) -> Response:
        """A browser refused something that a page tried: there is a fault in the page, or somebody tries."""
        body = await _body(request, _LARGEST_REPORT) if self._session(request) is not None else None
        if body is not None:
            log.warning("a browser reports that a page broke its policy: %s", ascii(body[:500]))
        return Response(status_code=204)


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


def _view(name: str) -> View:
    import importlib  # noqa: PLC0415 - a server that shows no page imports no view

    module, _, function = name.partition(".")
    found: View = getattr(importlib.import_module(f"codecairn.page.{module}"), function)
    return found


def _respond(view: View, asked: PageRequest, *, wants_part: bool) -> Response:
    try:
        shown = view(asked)
    except CairnError as error:
        shown = PageAnswer("error.html", error_values(error), _status_of(error), "part_error.html")
    if isinstance(shown, Redirect):
        asked.session.notice = shown.notice
        return RedirectResponse(shown.address, 303, _headers())
    values = {**_frame_values(asked), **shown.values, "failures": asked.failures}
    return _html(shown.part if wants_part and shown.part else shown.template, values, shown.status)


def _frame_values(asked: PageRequest) -> dict[str, Any]:
    """What every page shows besides its own matter. A notice is shown once."""
    session = asked.session
    notice, undo, session.notice, session.undo = session.notice, session.undo, "", ""
    try:
        project = asked.project.name
    except CairnError:
        project = ""
    return {
        "form_key": session.form_key, "notice": notice, "undo": undo, "link": asked.link, "project_name": project,
        "project_root": asked.params.get("project", ""),  "here": asked.path,
        "ref": asked.params.get("ref", ""),
    }  # fmt: skip


def error_values(error: CairnError) -> dict[str, Any]:
    near = [each for each in error.data.get("near") or [] if isinstance(each, str)]
    candidates = [each for each in error.data.get("candidates") or [] if isinstance(each, dict)]
    return {
        "title": error.title, "message": error.message, "remedy": error.remedy, "near": near, "candidates": candidates,
        "code": error.code,
    }  # fmt: skip


def _plain_error(message: str) -> dict[str, Any]:
    values = error_values(Denied(message, remedy="Open the page itself and try again."))
    return {**values, "title": "Refused"}


def _status_of(error: CairnError) -> int:
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


_NOBODY: dict[str, Any] = {"form_key": "", "link": None, "here": "", "notice": "", "undo": "", "ref": ""}
"""What a page has around it where nobody is logged in."""


def _html(template: str, values: Mapping[str, Any], status: int = 200) -> Response:
    from codecairn.page.rendering import render  # noqa: PLC0415 - Jinja2 takes longer to import than a search

    nobody = {**_NOBODY, "failures": []}
    return Response(render(template, {**nobody, **values}), status, _headers(), "text/html; charset=utf-8")


def _headers() -> dict[str, str]:
    from codecairn.page.rendering import HEADERS  # noqa: PLC0415 - as above

    return dict(HEADERS)


async def show_not_found(request: Request, error: Exception) -> Response:
    """The page for an address that is none; programs get a line of text."""
    del error
    if "text/html" not in request.headers.get("accept", ""):
        return Response("Not Found", 404, media_type="text/plain")
    values = error_values(NotFound("There is nothing at this address.", remedy="Search for it instead."))
    return _html("error.html", {**values, "title": "No such page"}, 404)


async def show_failure(request: Request, error: Exception) -> Response:
    """The page for a fault of ours; the log has more."""
    if "text/html" not in request.headers.get("accept", ""):
        return Response("Internal Server Error", 500, media_type="text/plain")
    values = error_values(CairnError(f"{type(error).__name__} while this page was made"))
    return _html("error.html", values, 500)


def _is_foreign(request: Request) -> bool:
    """Whether another site embeds or fetches this: a person who follows a link navigates."""
    site, mode = request.headers.get("sec-fetch-site"), request.headers.get("sec-fetch-mode")
    return site in ("cross-site", "same-site") and mode != "navigate"


def _is_our_form(request: Request, form: Mapping[str, str], session: PageSession) -> bool:
    given = form.get("form_key", "").encode("utf-8", "replace")
    return _is_same_origin(request) and hmac.compare_digest(given, session.form_key.encode())


def _is_same_origin(request: Request) -> bool:
    """By the Origin, which browsers send with every form; its port counts too."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") in (None, "same-origin")
    try:
        return urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()
    except ValueError:
        return False


async def _form(request: Request) -> dict[str, str] | None:
    """The fields of a form; None where it is none, or too large."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        return None
    body = await _body(request, _LARGEST_FORM)
    if body is None:
        return None
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=50))
    except ValueError:
        return None


async def _body(request: Request, most: int) -> bytes | None:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                return None
    except ClientDisconnect:
        return None
    return bytes(body)


def _next(given: str) -> str:
    return given if is_own(given) else "/"


async def _static(request: Request) -> Response:
    from codecairn.page.rendering import STATIC, static_file  # noqa: PLC0415 - as above

    name = request.path_params["name"]
    if name not in STATIC:
        return Response("Not Found", 404, media_type="text/plain")
    headers = {**_headers(), "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(static_file(name), 200, headers, STATIC[name])


async def _favicon(request: Request) -> Response:
    del request
    return RedirectResponse("/static/icon.svg", 308)
