"""Pages as tests ask for them: a server with its pages, a visitor with a cookie, HTML taken apart, hostile texts."""

from __future__ import annotations

import http.client
import random
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from codecairn.page.sessions import make_ticket
from codecairn.page.site import PageSite
from codecairn.serve import Service
from codecairn.serve.http import Address, HttpAccess, app
from tests.support.doors import HttpAnswer, MemoryDoor, http_server, service

_CHROMIUMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def find_chromium() -> str | None:
    return next((found for name in _CHROMIUMS if (found := shutil.which(name))), None)


@dataclass
class PageServer:
    """A server in this process, with the pages of one project."""

    port: int
    service: Service
    pages: PageSite
    root: Path

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def login(self) -> str:
        return f"{self.origin}/login?ticket={make_ticket(self.pages.sessions.key)}"

    def enter(self, page: Any) -> None:
        """Log a browser's tab in."""
        page.goto(self.login)

    def visitor(self) -> Visitor:
        visitor = Visitor(self.port)
        answer = visitor.get(self.login.removeprefix(self.origin))
        assert answer.status == 303, answer
        return visitor

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = MemoryDoor(self.service).call(tool, arguments)
        assert not answer.is_error, answer
        return answer.value


@contextmanager
def page_server(root: Path, home: Path, *, token: str | None = None, host: str = "127.0.0.1") -> Iterator[PageServer]:
    served = service(root, data=home, local=False, token=token)
    access, pages = HttpAccess(Address(host, 0), token), PageSite(served, token)
    with http_server(served, access, app(served, access, pages=pages)) as port:
        yield PageServer(port, served, pages, root)


@dataclass
class Visitor:
    """A browser as far as cookies go; it sends the headers it is told to."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **headers: str) -> HttpAnswer:
        return self._request("GET", path, None, headers)

    def post(self, path: str, form: dict[str, str] | bytes, **headers: str) -> HttpAnswer:
        body = form if isinstance(form, bytes) else urlencode(form).encode()
        given = {"Content_Type": "application/x-www-form-urlencoded", **headers}
        return self._request("POST", path, body, given)

    def form_key(self) -> str:
        found = re.search(rb'name="form_key" value="([^"]+)"', self.get("/memory/new").body)
        assert found
        return found[1].decode()

    def _request(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> HttpAnswer:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        given.setdefault("Accept", "text/html")
        if self.cookies:
            given.setdefault("Cookie", "; ".join(f"{name}={value}" for name, value in self.cookies.items()))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, given)
            response = connection.getresponse()
            self._keep(response.headers.get_all("set-cookie") or [])
            return HttpAnswer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def _keep(self, cookies: list[str]) -> None:
        for each in cookies:
            name, _, value = each.partition(";")[0].partition("=")
            self.cookies[name] = value.strip('"')


class Markup(HTMLParser):
    """The names of elements and attributes in a page, the addresses it has, and its text."""

    def __init__(self, html: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: set[str] = set()
        self.words: list[str] = []
        self.feed(html.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses |= {value or "" for name, value in attrs if name in ("href", "src", "action", "data-events")}

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


_MARKER = "zq7"
_SHAPES = (
    "<script>{}</script>", "<img src=x onerror={}>", '"><svg onload={}>', "'><b onclick={}>", "</pre></code><i {}>",
    '" autofocus onfocus="{}', "javascript:{}", "{{{{ {} }}}}", "{{% {} %}}", "\u202e{}\u2066", "\u200b{}\u00ad",
    "&lt;{}&gt;", "<!--{}", "]]>{}", "</title><{}>", "</textarea><{}>", "</style><{}", "data:text/html,{}",
    "\\u003cscript{}", "`${{{}}}`", "<iframe srcdoc={}>", "<base href={}>", "<form action={}>", "<a href={}>",
    "<meta http-equiv=refresh content={}>",
)  # fmt: skip


def hostile_texts(count: int, seed: random.Random) -> list[str]:
    """Texts that would run, break out or deceive if they were anything but text. Each sets `window.zq7`."""
    found = list[str]()
    for number in range(count):
        inner = f"window.{_MARKER}={number}"
        shape = _SHAPES[number % len(_SHAPES)] if number < 2 * len(_SHAPES) else "".join(seed.sample(_SHAPES, 2))
        slots = shape.count("{}")
        found.append(shape.format(*[inner] * slots) if slots else shape)
    return found
