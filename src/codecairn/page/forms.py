"""Where a request comes from, and the fields of a form: what a site looks at before it does anything."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import ClientDisconnect, Request

from codecairn.page.addresses import is_own
from codecairn.page.sessions import PageSession

_LARGEST_FORM = 64_000


def is_foreign(request: Request) -> bool:
    """Whether another site embeds or fetches this: a person who follows a link navigates."""
    site, mode = request.headers.get("sec-fetch-site"), request.headers.get("sec-fetch-mode")
    return site in ("cross-site", "same-site") and mode != "navigate"


def is_our_form(request: Request, form: Mapping[str, str], session: PageSession) -> bool:
    given = form.get("form_key", "").encode("utf-8", "replace")
    return is_same_origin(request) and hmac.compare_digest(given, session.form_key.encode())


def is_same_origin(request: Request) -> bool:
    """By the Origin, which browsers send with every form; its port counts too."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") in (None, "same-origin")
    try:
        return urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()
    except ValueError:
        return False


async def read_form(request: Request) -> dict[str, str] | None:
    """The fields of a form; None where it is none, or too large."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        return None
    body = await read_body(request, _LARGEST_FORM)
    if body is None:
        return None
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=50))
    except ValueError:
        return None


async def read_body(request: Request, most: int) -> bytes | None:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                return None
    except ClientDisconnect:
        return None
    return bytes(body)


def next_address(given: str) -> str:
    return given if is_own(given) else "/"
