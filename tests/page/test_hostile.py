"""A hostile repository through every page: names, contents, messages and parameters stay text."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.page.conftest import RULE
from tests.support.browser import chromium, visit
from tests.support.page import Markup, PageServer, hostile_texts, page_server
from tests.support.repo import Repo
from tests.support.soak import SOAK
from tests.support.wait import eventually

pytestmark = pytest.mark.timeout(3600 if SOAK else 300)

WHOLE = 2_000
PARTS = range(40 if SOAK else 1)
"""The texts are tried in so many tests, which workers share."""
_BIDI = "\u202e\u2066\u200b\u00ad\u202d\u2069"
_TAGS = frozenset(
    """a article aside b blockquote body button caption circle code datalist dd details div dl dt fieldset footer form g
    h1 h2 h3 head header html i input ins kbd label legend li line link main mark marker meta nav ol option p path
    polyline pre progress rect script section select small span strong summary svg table tbody td text textarea th
    thead title tr ul""".split()  # noqa: SIM905
)
_ATTRIBUTES = frozenset(
    """action anchor aria-current aria-expanded aria-hidden aria-label aria-live autocapitalize autocomplete autofocus
    charset class colspan content cx cy d data-events data-n defer height href id inputmode lang list marker-end
    markerheight markerwidth max maxlength method minlength name orient placeholder points r refx refy rel required role
    rows rx scope selected size spellcheck src tabindex text-anchor title transform type value viewbox width x x1 x2 y
    y1 y2""".split()  # noqa: SIM905
)


@dataclass
class Den:
    server: PageServer
    texts: list[str]
    files: list[str]

    def part(self, number: int) -> list[tuple[int, str, str]]:
        """The texts of one of the parts, each with its number and its file."""
        whole = list(zip(range(len(self.texts)), self.texts, self.files, strict=True))
        size = len(whole) // len(PARTS)
        return whole[number * size : (number + 1) * size]


def file_name(text: str, number: int) -> str:
    """A file's name may hold anything but a slash and NUL."""
    return f"d/{number}{text.replace('/', '∕')[:80]}.js"


def source(text: str) -> str:
    """A method whose very name is the text, in code that a grammar reads; and the text in a comment and a string."""
    name = json.dumps(text)
    return f"// {text}\nclass K {{\n  {name}() {{ return this[{name}]() + {name}; }}\n}}\n"


@pytest.fixture(scope="module")
def den(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Den]:
    texts = hostile_texts(WHOLE if SOAK else WHOLE // 10, random.Random(20250101))
    folder = tmp_path_factory.mktemp("den")
    repo = Repo.create(folder / "den")
    files = [file_name(text, number) for number, text in enumerate(texts)]
    contents = {name: source(text) for name, text in zip(files, texts, strict=True)}
    rules = {
        f"instructions/r{number}.json": json.dumps({**RULE, "id": f"r{number}", "title": text[:100], "body": text})
        for number, text in enumerate(texts[:100])
    }
    author = ("<script>window.zq7=1</script>", "a@b\"'>.example")
    repo.commit(texts[0], {**contents, **rules}, author=author)
    repo.git("branch", "b<script>window.zq7=2<")
    repo.commit(texts[2], {name: text.replace("return this", "return  1 + this") for name, text in contents.items()})
    with page_server(repo.path, folder / "home") as server, kept_up(server):
        for text in texts[:60]:
            if not any(ord(letter) < 32 for letter in text):
                server.call("remember", type="issue", content=f"{text} is what it says", path=files[0])
        yield Den(server, texts, files)


@contextmanager
def kept_up(server: PageServer) -> Iterator[None]:
    """The files are watched, as a server does it: otherwise every page would look at all of them first."""
    server.call("index_codebase")
    keeper = server.service.projects.current().index.keep(watch=True)
    try:
        eventually(lambda: not keeper.is_behind, 120)
        yield
    finally:
        keeper.close()


PAGES: dict[str, Callable[[str, str], str]] = {
    "search": lambda text, _: f"/?q={quote(text)}",
    "part": lambda text, _: f"/?q={quote(text)}&path={quote(text)}",
    "why": lambda text, file: f"/why?q={quote(text)}&at={quote(file)}&line=3",
    "file": lambda _, file: f"/file?path={quote(file)}&line=3",
    "symbol": lambda text, file: f"/symbol?name={quote(text)}&path={quote(file)}",
    "graph": lambda text, file: f"/symbol?name={quote(text)}&path={quote(file)}&tab=graph",
    "history": lambda text, file: f"/symbol?name={quote(text)}&path={quote(file)}&tab=history",
    "branch": lambda text, file: f"/branch?base=HEAD~1&head=HEAD&path={quote(file)}",
    "refs": lambda text, _: f"/branch?base={quote(text)}&head={quote(text)}",
    "memory": lambda text, _: f"/memory?q={quote(text)}&type={quote(text)}",
    "new": lambda text, file: f"/memory/new?content={quote(text)}&symbol={quote(text)}&path={quote(file)}",
    "rules": lambda text, _: f"/rules?q={quote(text)}&category={quote(text)}",
    "server": lambda text, _: f"/server?project={quote(text)}",
    "login": lambda text, _: f"/login?ticket={quote(text)}&next={quote(text)}",
    "nowhere": lambda text, _: f"/{quote(text)}",
}


TYPED = ("search", "part", "memory", "rules", "refs", "new", "branch")
"""Pages with a field that holds what was asked for, letter by letter."""


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.requirement("ruling/page/hostile-text")
def test_no_text_of_a_repository_is_anything_but_text(den: Den, part: int) -> None:
    """In a soak each goes through every page; otherwise each through two of them, in turn. A review shows many at a
    time and is walked through below."""
    visitor, names = den.server.visitor(), [name for name in PAGES if name != "branch"]
    for number, text, file in den.part(part):
        for name in names if SOAK else (names[number % len(names)], names[(number + 7) % len(names)]):
            answer = visitor.get(PAGES[name](text, file))
            assert answer.status < 500, (name, text)
            if answer.headers.get("content-type", "").startswith("text/html"):
                check_markup(answer.body, f"{name}: {text}")
            if name not in TYPED:
                shown = answer.body.decode().replace(quote(text), "")
                assert not any(letter in shown for letter in _BIDI), (name, text)


@pytest.mark.requirement("ruling/page/hostile-text")
def test_a_review_that_changes_all_of_them_is_text(den: Den) -> None:
    visitor, seen, address = den.server.visitor(), set[str](), "/branch?base=HEAD~1&head=HEAD"
    while address:
        body = visitor.get(address).body
        check_markup(body, address)
        shown = Markup(body)
        assert not any(letter in shown.text for letter in _BIDI)
        seen |= set(re.findall(r"(?<!\w)d/(\d+)", shown.text))
        address = next((each for each in shown.addresses if "cursor=" in each), "")
    assert len(seen) == len(den.texts)


def check_markup(body: bytes, about: str) -> None:
    """Every element and attribute is one that templates write, and every address is our own."""
    found = Markup(body)
    assert found.tags <= _TAGS, (about, found.tags - _TAGS)
    assert found.attributes <= _ATTRIBUTES, (about, found.attributes - _ATTRIBUTES)
    assert all(each.startswith(("/", "#")) and not each.startswith("//") for each in found.addresses), about


BROWSED = ("search", "why", "file", "symbol", "graph", "history", "branch", "refs", "new", "memory", "rules")


def browsed(number: int, step: int) -> tuple[str, ...]:
    """The pages on which a browser sees a text: all of them for every so many, in a soak one in turn for the others."""
    if number % step == 0:
        return BROWSED
    return (BROWSED[number % len(BROWSED)],) if SOAK else ()


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.requirement("ruling/page/hostile-text")
def test_in_a_browser_nothing_of_it_runs_and_no_policy_is_broken(den: Den, part: int) -> None:
    with chromium() as browser, visit(browser, den.server) as here:
        step = len(den.texts) // (50 if SOAK else 8)
        for number, text, file in den.part(part):
            for name in browsed(number, step):
                here.open(PAGES[name](text, file))
                assert here.page.evaluate("window.zq7 === undefined"), (name, text)
        here.open("/rules")
        here.open("/server?all=1")
        den.server.call("grep_codebase", pattern="zq7=[0-9]+")
        here.page.locator("#live-calls tr", has_text="zq7").first.wait_for()
        here.open("/")
        for text in (text for number, text, _ in den.part(part) if number % step == 0):
            here.page.fill("#q", text.replace("\n", " "))
            here.page.wait_for_timeout(200)
            assert here.page.evaluate("window.zq7 === undefined"), text
        assert here.faults == []


def test_the_texts_reach_the_pages_at_all(den: Den) -> None:
    """Otherwise nothing above is shown."""
    visitor = den.server.visitor()
    shown = Markup(visitor.get(PAGES["symbol"](den.texts[0], den.files[0])).body).text
    assert "<script>window.zq7=0</script>" in shown
    shown = Markup(visitor.get(PAGES["file"](den.texts[0], den.files[0])).body).text
    assert "// <script>window.zq7=0</script>" in shown
    assert den.texts[2] in Markup(visitor.get("/").body).text
    assert den.texts[1] in Markup(visitor.get("/rules").body).text
    assert den.texts[0] in Markup(visitor.get("/memory").body).text


def test_an_address_is_as_long_as_it_may_be(den: Den) -> None:
    answer = den.server.visitor().get("/?q=" + "%3Cb%3E" * 2_000)
    assert answer.status == 400
    assert Path(den.server.root).exists()
