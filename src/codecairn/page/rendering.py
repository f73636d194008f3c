"""Templates to HTML, and the headers under which a browser shows it.

Whatever a template prints is escaped, and odd characters in it are spelled out before (`visible`): both happen in one
place, for every expression, so that no template can forget them. The policy lets nothing run or load that is not one
of the two static files; there is no style or script inside a page.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from codecairn import __version__
from codecairn.page import addresses, plots, words
from codecairn.page.visible import make_visible

POLICY = "; ".join([
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
    "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'",
    "trusted-types cairn", "report-uri /csp-report",
])  # fmt: skip
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # With no-referrer browsers send our own forms with the Origin "null", which could be anybody's.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
STATIC = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


def render(template: str, values: Mapping[str, Any]) -> str:
    return _environment().get_template(template).render(values)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("codecairn.page", "templates"), autoescape=True, finalize=_finalize,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.globals |= {
        "address": addresses.address, "static": static_address, "version": __version__, "bars": plots.bars,
        "plot": plots.plot,
    }  # fmt: skip
    environment.filters |= {
        "exact": _keep_exact, "count": words.count, "ago": words.ago, "size": words.size, "ms": words.duration,
        "plural": words.plural, "moment": words.moment, "short_ref": words.short_ref,
    }  # fmt: skip
    return environment


def _finalize(value: Any) -> Any:
    if isinstance(value, Markup) or not isinstance(value, str):
        return "" if value is None else value
    return make_visible(value)


def _keep_exact(value: str) -> Markup:
    """A text as it is, escaped: for the value of a field that is sent back."""
    return Markup.escape(value.replace("\x00", "").encode("utf-8", "replace").decode())


def static_file(name: str) -> bytes:
    return Path(str(resources.files("codecairn.page").joinpath("static", name))).read_bytes()


@cache
def static_address(name: str) -> str:
    """Changes with the file, so that browsers may keep it for good."""
    return f"/static/{name}?{hashlib.sha256(static_file(name)).hexdigest()[:12]}"
