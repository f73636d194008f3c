"""The pages of a team server in a real browser, and with a repository whose every name and text is hostile."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from tests.page.test_hostile import BROWSED, PAGES, TYPED, WHOLE, check_markup, file_name, source
from tests.support.browser import chromium, visit
from tests.support.page import Markup, hostile_texts
from tests.support.soak import SOAK
from tests.support.team import Team, open_team
from tests.support.team_page import TeamPages, log_in, shop_pages
from tests.team.conftest import fresh_database

pytestmark = [pytest.mark.timeout(3600 if SOAK else 300), pytest.mark.requirement("ruling/team-page/browser")]
SHOP = "/r/org/shop/-"
_BIDI = "\u202e\u2066\u200b\u00ad\u202d\u2069"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def shop(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamPages]:
    with fresh_database(postgres) as url, open_team(url, tmp_path_factory.mktemp("shop")) as team:
        yield shop_pages(team)


def test_from_the_login_to_a_decision_with_its_author(browser: Browser, shop: TeamPages) -> None:
    with visit(browser, shop) as here:
        page = here.page
        expect(page.locator("main")).to_contain_text("2 repositories")
        assert shop.token not in page.url
        page.locator("#q").press_sequentially("discount", delay=5)
        expect(page.locator("a.hit").first).to_have_text("discount")
        expect(page.locator(".result .tag").first).to_have_text("org/shop")
        page.click("a.why >> nth=0")
        expect(page.locator(".explained .total")).to_contain_text("place 1")
        page.click("a.hit >> nth=0")
        expect(page).to_have_url(re.compile(re.escape(f"{SHOP}/symbol")))
        expect(page.locator("main")).to_contain_text("Discounts are never negative.")
        page.click("text=Remember something of it")
        page.fill("textarea", "A discount is agreed with the bank.")
        page.click("button:has-text('Save')")
        card = page.locator(".discoveries li", has_text="agreed with the bank")
        expect(card).to_contain_text("ada.lovelace@example.org")
        card.locator("button:has-text('Forget')").click()
        expect(page.locator(".notice")).to_contain_text("Forgotten.")
        page.click("button:has-text('Undo')")
        expect(page.locator(".notice")).to_contain_text("Brought back.")
        expect(page.locator("main")).to_contain_text("agreed with the bank")
        page.click("header >> text=Changes")
        page.click("text=Drop what is old")
        expect(page.locator("main")).to_contain_text("Rules that name what this change takes away")
        page.click("header >> text=State")
        expect(page.locator("#live-calls tr").first).to_be_visible()
        page.click("header >> text=org/shop")
        expect(page.locator("main")).to_contain_text("org/bank")
        page.click("button:has-text('Log out')")
        expect(page.locator("h1")).to_have_text("Log in")
        here.open(f"{SHOP}/memory")
        expect(page.locator("h1")).to_have_text("Log in")
        assert here.faults == []


def test_every_page_works_without_javascript_and_fits_a_phone(browser: Browser, shop: TeamPages) -> None:
    with visit(browser, shop, java_script_enabled=False) as here:
        here.page.set_viewport_size({"width": 360, "height": 800})
        here.page.click("header >> text=Server")
        here.open("/")
        here.page.fill("#q", "discount")
        here.page.press("#q", "Enter")
        here.page.click("a.hit >> nth=0")
        for name in ("Changes", "Memory", "Rules", "State"):
            here.page.click(f"header >> text={name}")
            expect(here.page.locator("h1")).to_have_text(name if name != "State" else "org/shop")
    with visit(browser, shop) as here:
        here.page.set_viewport_size({"width": 360, "height": 800})
        for path in ("/", "/?q=discount", "/server", f"{SHOP}/", f"{SHOP}/memory", f"{SHOP}/rules", f"{SHOP}/server"):
            here.open(path)
            assert here.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert here.faults == []


class TeamDen:
    """A repository that is hostile throughout, on one node of a team."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.texts = hostile_texts(WHOLE if SOAK else WHOLE // 10, random.Random(20250102))
        self.files = [file_name(text, number) for number, text in enumerate(self.texts)]
        contents = {name: source(text) for name, text in zip(self.files, self.texts, strict=True)}
        agents = "\n".join(f"See `{file}`." for file in ["d/plain.js", *self.files[:50]])
        repo = team.repository("org/den", {**contents, "AGENTS.md": agents, "d/plain.js": "let a = 1\n"}, ("**",))
        repo.git("branch", "b<script>window.zq7=2<")
        moved: dict[str, str | bytes] = {
            name: text.replace("return this", "return  1 + this") for name, text in contents.items()
        }
        repo.commit(self.texts[2], moved, author=("<script>window.zq7=1</script>", "a@b\"'>.example"))
        repo.git("rm", "--quiet", "--", "d/plain.js", *self.files[:20])
        repo.commit(self.texts[1], {})
        team.work("worker")
        node = team.start_node("a")
        team.await_ready()
        self.pages = TeamPages(team.ports[node.id], team.token("<b onclick=window.zq7=4>", role="admin"))
        door = team.door(self.pages.token)
        for text in self.texts[:60]:
            if not any(ord(letter) < 32 for letter in text):
                said = {"type": "issue", "content": f"{text} is what it says", "path": self.files[30]}
                assert not door.call("remember", {**said, "project": "org/den"}).is_error


@pytest.fixture(scope="module")
def den(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamDen]:
    folder = tmp_path_factory.mktemp("den")
    with fresh_database(postgres) as url, open_team(url, folder) as team:
        yield TeamDen(team)


def address(name: str, text: str, file: str) -> str:
    """A page of the repository, or one about all of them."""
    if name == "everywhere":
        return f"/?q={quote(text)}&repositories={quote(text)}"
    if name == "named":
        return f"/r/{quote(text, safe='')}/-/"
    path = PAGES[name](text, file)
    return path if name in ("login", "nowhere") else f"/r/org/den/-{path}"


NAMES = ("everywhere", "named", *(name for name in PAGES if name != "nowhere"))


@pytest.mark.requirement("ruling/page/hostile-text")
def test_no_text_of_a_repository_is_anything_but_text(den: TeamDen) -> None:
    """Each through one page in turn, in a soak through four; the same templates see all of them on local pages."""
    visitor = log_in(den.team, den.pages.token)
    for number, (text, file) in enumerate(zip(den.texts, den.files, strict=True)):
        for name in (NAMES[(number + 4 * turn) % len(NAMES)] for turn in range(4 if SOAK else 1)):
            answer = visitor.get(address(name, text, file))
            assert answer.status < 500 or answer.status == 503, (name, text)
            if answer.headers.get("content-type", "").startswith("text/html"):
                check_markup(answer.body, f"{name}: {text}")
            if name not in (*TYPED, "everywhere"):
                shown = answer.body.decode().replace(quote(text), "").replace(quote(text, safe=""), "")
                assert not any(letter in shown for letter in _BIDI), (name, text)
    for page in ("/", "/server?all=1", "/r/org/den/-/server?all=1", "/r/org/den/-/branch", "/r/org/den/-/rules"):
        check_markup(visitor.get(page).body, page)


@pytest.mark.requirement("ruling/page/hostile-text")
def test_in_a_browser_nothing_of_it_runs_and_no_policy_is_broken(browser: Browser, den: TeamDen) -> None:
    with visit(browser, den.pages) as here:
        step = len(den.texts) // (100 if SOAK else 2)
        for number, (text, file) in enumerate(zip(den.texts, den.files, strict=True)):
            for name in BROWSED if number % step == 0 else ():
                here.open(address(name, text, file))
                assert here.page.evaluate("window.zq7 === undefined"), (name, text)
        for path in ("/", "/?q=zq7", "/server?all=1", "/r/org/den/-/", "/r/org/den/-/branch", "/r/org/den/-/rules",
                     "/r/org/den/-/branch?base=HEAD~1&head=HEAD", "/r/org/den/-/server?all=1"):  # fmt: skip
            here.open(path)
            assert here.page.evaluate("window.zq7 === undefined"), path
        assert here.faults == []


def test_the_texts_reach_the_pages_at_all(den: TeamDen) -> None:
    """Otherwise nothing above is shown."""
    visitor = log_in(den.team, den.pages.token)
    shown = Markup(visitor.get(address("symbol", den.texts[25], den.files[25])).body).text
    assert den.texts[25] in shown
    assert den.texts[1] in Markup(visitor.get("/r/org/den/-/").body).text
    assert "<b onclick=window.zq7=4>" in Markup(visitor.get("/server").body).text
    gone = Markup(visitor.get("/r/org/den/-/branch?base=HEAD~1&head=HEAD").body).text
    assert "Rules that name what this change takes away" in gone
