"""Answers of views as HTTP responses: a page, a part of one, a redirect, an error page, a static file."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

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
from codecairn.page.asking import PageAnswer, PageRequest, Redirect

View = Callable[[PageRequest], PageAnswer | Redirect]
_STATUS: list[tuple[type[CairnError], int]] = [
    (AmbiguousSymbol, 300), (InvalidInput, 400), (Denied, 403), (NotFound, 404), (Busy, 409), (RateLimited, 429),
    (NotReady, 503),
]  # fmt: skip


def find_view(name: str) -> View:
    """A view by its module and function; a server that shows no page imports none."""
    module, _, function = name.rpartition(".")
    found: View = getattr(importlib.import_module(module), function)
    return found


def respond(view: View, asked: PageRequest, *, wants_part: bool) -> Response:
    try:
        shown = view(asked)
    except CairnError as error:
        shown = error_answer(error)
    if isinstance(shown, Redirect):
        asked.session.notice = shown.notice
        return RedirectResponse(shown.address, 303, headers())
    values = {**_frame_values(asked), **shown.values, "failures": asked.failures}
    return html(shown.part if wants_part and shown.part else shown.template, values, shown.status)


def error_answer(error: CairnError) -> PageAnswer:
    return PageAnswer("error.html", error_values(error), status_of(error), "part_error.html")


def _frame_values(asked: PageRequest) -> dict[str, Any]:
    """What every page shows besides its own matter. A notice is shown once."""
    session = asked.session
    notice, undo, session.notice, session.undo = session.notice, session.undo, "", ""
    return {
        "form_key": session.form_key, "notice": notice, "undo": undo, "link": asked.link, "at": asked.at,
        "project_name": asked.project_name, "project_root": asked.params.get("project", ""), "here": asked.path,
        "ref": asked.params.get("ref", ""), "pages": asked.pages, "may_write": asked.may_write, "who": asked.who,
        "has_working_tree": asked.has_working_tree,
    }  # fmt: skip


def error_values(error: CairnError) -> dict[str, Any]:
    near = [each for each in error.data.get("near") or [] if isinstance(each, str)]
    candidates = [each for each in error.data.get("candidates") or [] if isinstance(each, dict)]
    return {
        "title": error.title, "message": error.message, "remedy": error.remedy, "near": near, "candidates": candidates,
        "code": error.code, "repositories": [],
    }  # fmt: skip


def refusal_page(message: str, status: int = 403) -> Response:
    values = error_values(Denied(message, remedy="Open the page itself and try again."))
    return html("error.html", {**values, "title": "Refused"}, status)


def status_of(error: CairnError) -> int:
    return next((status for kind, status in _STATUS if isinstance(error, kind)), error.http_status)


_NOBODY: dict[str, Any] = {
    "form_key": "", "link": None, "at": lambda page: page, "here": "", "notice": "", "undo": "", "ref": "",
    "pages": (), "who": "", "may_write": False, "project_name": "", "has_working_tree": True,
}  # fmt: skip
"""What a page has around it where nobody is logged in."""


def html(template: str, values: Mapping[str, Any], status: int = 200) -> Response:
    from codecairn.page.rendering import render  # noqa: PLC0415 - Jinja2 takes longer to import than a search

    nobody = {**_NOBODY, "failures": []}
    return Response(render(template, {**nobody, **values}), status, headers(), "text/html; charset=utf-8")


def headers() -> dict[str, str]:
    from codecairn.page.rendering import HEADERS  # noqa: PLC0415 - as above

    return dict(HEADERS)


async def show_not_found(request: Request, error: Exception) -> Response:
    """The page for an address that is none; programs get a line of text."""
    del error
    if "text/html" not in request.headers.get("accept", ""):
        return Response("Not Found", 404, media_type="text/plain")
    values = error_values(NotFound("There is nothing at this address.", remedy="Search for it instead."))
    return html("error.html", {**values, "title": "No such page"}, 404)


async def show_error(request: Request, error: Exception) -> Response:
    """The page for an error of the product that no view met."""
    assert isinstance(error, CairnError)
    if "text/html" not in request.headers.get("accept", ""):
        return Response(error.message, status_of(error), media_type="text/plain")
    return html("error.html", error_values(error), status_of(error))


async def show_failure(request: Request, error: Exception) -> Response:
    """The page for a fault of ours; the log has more."""
    if "text/html" not in request.headers.get("accept", ""):
        return Response("Internal Server Error", 500, media_type="text/plain")
    values = error_values(CairnError(f"{type(error).__name__} while this page was made"))
    return html("error.html", values, 500)


async def send_static(request: Request) -> Response:
    from codecairn.page.rendering import STATIC, static_file  # noqa: PLC0415 - as above

    name = request.path_params["name"]
    if name not in STATIC:
        return Response("Not Found", 404, media_type="text/plain")
    given = {**headers(), "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(static_file(name), 200, given, STATIC[name])


async def send_icon(request: Request) -> Response:
    del request
    return RedirectResponse("/static/icon.svg", 308)
