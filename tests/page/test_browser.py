"""Journeys through the pages in a real browser."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, expect

from tests.page.conftest import CART
from tests.support.browser import chromium, visit
from tests.support.page import PageServer
from tests.support.repo import Repo

pytestmark = pytest.mark.requirement("ruling/page/browser")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def test_from_a_question_to_a_decision_that_drifts(browser: Browser, served: PageServer, shop: Repo) -> None:
    """Find a function by question, its callers, the branch that changes it, remember a decision, see it drift."""
    with visit(browser, served) as here:
        page = here.page
        page.fill("#q", "how is the price lowered")
        page.locator("a.hit", has_text="discount").first.wait_for()
        expect(page).to_have_url(re.compile(r"\?q=how\+is\+the\+price\+lowered"))
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("discount")
        page.click("nav.tabs >> text=Calls")
        page.click("svg.graph a:has-text('cart.total')")
        expect(page.locator("h1")).to_have_text("total")
        page.click("header >> text=Changes")
        page.fill("input[name=base]", "main")
        page.fill("input[name=head]", "sale")
        page.click("text=Compare")
        page.click("article.change h3 a:has-text('discount')")
        expect(page.locator("h1")).to_have_text("discount")
        page.click("text=Remember something of it")
        page.fill("textarea", "A discount never makes a price negative.")
        page.click("button:has-text('Save')")
        expect(page.locator(".notice")).to_contain_text("Stored")
        expect(page.locator(".discoveries .state")).to_have_text("fresh")
        shop.commit(
            "Give more", {"shop/cart.py": CART.replace("100 - percent", "90 - percent")}, date="2037-01-01T00:00:00Z"
        )
        served.call("index_codebase")
        page.reload()
        expect(page.locator(".discoveries .state")).to_have_text("drifted")
        page.click("text=what changed since")
        expect(page.locator(".sides .come ins")).to_have_text("9")
        page.click("text=← Memory")
        page.click("button:has-text('Forget')")
        expect(page.locator("main")).to_contain_text("Nothing is remembered yet.")
        page.click("button:has-text('Undo')")
        expect(page.locator(".discoveries .content")).to_have_text("A discount never makes a price negative.")
        assert here.faults == []


def test_the_index_is_rebuilt_and_its_progress_is_seen_to_the_end(browser: Browser, served: PageServer) -> None:
    with visit(browser, served) as here:
        page = here.page
        here.open("/server")
        page.click("text=Rebuild the index")
        page.click("button:has-text('Rebuild the index')")
        expect(page.locator(".notice")).to_contain_text("Rebuilding")
        expect(page.locator("#live-status")).to_contain_text("Project indexed successfully")
        expect(page.locator("#live-status .state")).to_have_text("fresh")
        served.call("grep_codebase", pattern="live-call-marker")
        expect(page.locator("#live-calls tr").first).to_contain_text("live-call-marker")
        assert here.faults == []


def test_an_error_has_a_page_with_a_way_out(browser: Browser, standing: PageServer) -> None:
    with visit(browser, standing) as here:
        here.open("/file?path=shop/crat.py")
        expect(here.page.locator("h1")).to_have_text("File not found")
        here.page.click("main a:has-text('shop/cart.py')")
        expect(here.page).to_have_url(re.compile("q=shop/cart.py"))
        here.open("/no/such")
        assert "There is nothing at this address." in here.text()


def test_answers_come_as_one_types_and_a_question_that_was_changed_is_dropped(
    browser: Browser, standing: PageServer
) -> None:
    with visit(browser, standing) as here:
        page, asked = here.page, list[str]()
        page.on("request", lambda request: asked.append(request.url))
        page.locator("#q").press_sequentially("discount", delay=5)
        page.locator("a.hit").first.wait_for()
        assert len([url for url in asked if "?q=" in url]) <= 3
        page.select_option("select[name=kind]", "class")
        expect(page.locator("#results")).to_contain_text("Nothing found")
        page.select_option("select[name=kind]", "function")
        page.click("a.why >> nth=0")
        expect(page.locator(".explained .total")).to_contain_text("place 1")
        expect(page.locator("a.why").first).to_have_attribute("aria-expanded", "true")
        page.reload()
        expect(page.locator("select[name=kind]")).to_have_value("function")
        assert here.faults == []


def test_everything_but_live_updates_works_without_javascript(browser: Browser, standing: PageServer) -> None:
    with visit(browser, standing, java_script_enabled=False) as here:
        page = here.page
        page.fill("#q", "how is the price lowered")
        page.click("button:has-text('Search')")
        page.click("a.why >> nth=0")
        expect(page.locator("h1")).to_have_text("Why it stands at place 1")
        page.click("text=←")
        page.click("a.hit >> nth=0")
        page.click("nav.tabs >> text=Tests")
        expect(page.locator("main")).to_contain_text("test_total")
        for name, heading in (("Changes", "Changes"), ("Memory", "Memory"), ("Rules", "Rules"), ("Server", "Server")):
            page.click(f"header >> text={name}")
            expect(page.locator("h1")).to_have_text(heading)


ATTACK = """<!doctype html><title>evil</title>
<iframe name=frame src="{origin}/memory"></iframe>
<img src="{origin}/?q=discount"><script src="{origin}/memory"></script>
<form method=post action="{origin}/memory/forget" target=frame><input name=id value="{id}"><input name=form_key></form>
<script>
  window.seen = [];
  const ask = (path, options) => fetch("{origin}" + path, {{credentials: "include", ...options}})
    .then((answer) => answer.text()).then((text) => seen.push(text), () => seen.push(""));
  ask("/memory", {{}});
  ask("/memory", {{mode: "no-cors"}});
  ask("/memory/forget", {{mode: "no-cors", method: "POST", body: new URLSearchParams({{id: "{id}"}})}});
</script>"""


@pytest.mark.requirement("ruling/page/form-key", "ruling/page/no-frames")
def test_a_page_of_another_site_gets_nothing_and_changes_nothing(browser: Browser, served: PageServer) -> None:
    """On another port of this machine, to which browsers send the cookie: frames, forms, fetches and scripts."""
    kept = served.call("remember", type="decision", content="Discounts are never negative.", symbol="discount")
    attack = ATTACK.format(origin=served.origin, id=kept["discovery"]["id"])
    with visit(browser, served) as here, site_with(attack) as evil:
        here.page.goto(evil)
        here.page.wait_for_function("window.seen.length === 3")
        assert here.page.evaluate("window.seen") == ["", "", ""]
        (frame,) = here.page.frames[1:]
        assert "Discounts" not in frame.content()
        with here.page.expect_response(lambda answer: answer.url.endswith("/memory/forget")) as answer:
            here.page.evaluate("document.forms[0].submit()")
        assert answer.value.status in (401, 403)
        here.open("/memory")
        expect(here.page.locator(".discoveries .content")).to_have_text("Discounts are never negative.")


@contextmanager
def site_with(html: str) -> Iterator[str]:
    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("width", [360, 1280, 3840])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_every_width_in_light_and_dark(
    browser: Browser, standing: PageServer, width: int, scheme: str
) -> None:
    with visit(browser, standing, color_scheme=scheme) as here:
        here.page.set_viewport_size({"width": width, "height": 900})
        for path in ("/", "/?q=discount", "/symbol?name=discount&tab=graph", "/branch?base=main&head=sale", "/server"):
            here.open(path)
            assert here.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert here.faults == []


def test_the_cookie_cannot_be_read_and_no_other_site_can_frame_a_page(browser: Browser, standing: PageServer) -> None:
    with visit(browser, standing) as here:
        assert here.page.evaluate("document.cookie") == ""
        assert here.page.evaluate("location.href") == f"{standing.origin}/"
        inside = f"<iframe src='{standing.origin}/server'></iframe>"
        here.page.route("http://127.0.0.1:1/", lambda route: route.fulfill(body=inside, content_type="text/html"))
        here.page.goto("http://127.0.0.1:1/")
        assert all("Server" not in frame.content() for frame in here.page.frames)


def test_keys_alone_reach_everything(browser: Browser, standing: PageServer) -> None:
    with visit(browser, standing) as here:
        page = here.page
        here.open("/?q=discount")
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.id") == "q"
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        assert page.evaluate("[...document.querySelectorAll('a.hit')].indexOf(document.activeElement)") == 1
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        assert page.evaluate("document.activeElement.id") == "q"
        here.open("/symbol?name=discount&tab=graph")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to content"
