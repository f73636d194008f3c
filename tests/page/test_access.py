"""Who may see a page, and what may change something: cookies, tickets, tokens, forms, frames, foreign sites."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from codecairn.page import site
from codecairn.page.sessions import PageSessions, make_ticket
from tests.support.page import PageServer, Visitor, page_server
from tests.support.repo import Repo

PAGES = [
    "/", "/?q=discount", "/why?q=discount&at=shop/cart.py&line=4", "/symbol?name=discount", "/file?path=shop/cart.py",
    "/branch", "/memory", "/memory/new", "/rules", "/server", "/server/confirm?verb=rebuild",
]  # fmt: skip
VERBS = ["/memory/save", "/memory/forget", "/memory/restore", "/server/rebuild", "/server/prune"]
SECRET = b"Discounts are never negative"


@pytest.mark.requirement("ruling/page/session-needed")
@pytest.mark.parametrize("path", [*PAGES, "/server/events"])
def test_without_a_session_a_page_shows_the_login_alone(standing: PageServer, path: str) -> None:
    answer = Visitor(standing.port).get(path)
    assert answer.status == 401
    assert b"discount" not in answer.body.replace(path.encode(), b"").replace(b"q=discount", b"")
    forged = Visitor(standing.port, {standing.pages.sessions.cookie: "guessed"})
    assert forged.get(path).status == 401


@pytest.mark.requirement("ruling/page/ticket-once")
def test_a_ticket_opens_one_session_and_leaves_the_address(standing: PageServer) -> None:
    visitor = Visitor(standing.port)
    login = standing.login.removeprefix(standing.origin)
    answer = visitor.get(login)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert visitor.get("/").status == 200
    assert Visitor(standing.port).get(login).status == 403
    page = visitor.get("/server").body.decode()
    assert not any(value in page for value in visitor.cookies.values())


def test_a_ticket_that_was_changed_or_is_old_opens_nothing() -> None:
    now = time.time()
    sessions = PageSessions(clock=lambda: now)
    good = make_ticket(sessions.key, now)
    expiry, nonce, mac = good.split("-")
    later = f"{int(expiry) + 1000}-{nonce}-{mac}"
    for each in (
        "",
        "-",
        "--",
        later,
        good[:-1],
        f"{good}0",
        f"{expiry}-{nonce}-",
        "\u202e-x-y",
        make_ticket(b"k" * 32),
    ):
        assert not sessions.spend(each), each
    assert not sessions.spend(make_ticket(sessions.key, now - 121))
    assert sessions.spend(good)
    assert not sessions.spend(good)


def test_a_session_ends_with_the_log_out_and_after_half_a_day(standing: PageServer) -> None:
    visitor = standing.visitor()
    before = dict(visitor.cookies)
    assert visitor.post("/logout", {"form_key": visitor.form_key()}).status == 303
    visitor.cookies = before
    assert visitor.get("/").status == 401
    now = [0.0]
    sessions = PageSessions(clock=lambda: now[0])
    cookie, _ = sessions.begin()
    now[0] += 12 * 3600
    assert sessions.find(cookie) is not None
    now[0] += 12 * 3600 + 1
    assert sessions.find(cookie) is None


@pytest.mark.requirement("ruling/page/form-key")
@pytest.mark.parametrize("path", [*VERBS, "/logout"])
def test_nothing_changes_without_the_form_key_of_the_session(served: PageServer, path: str) -> None:
    stored = served.call("remember", type="decision", content="Discounts are never negative.")["discovery"]
    ours, other = served.visitor(), served.visitor()
    form = {"id": stored["id"], "type": "issue", "content": "A changed sentence of some length"}
    origin = {"Origin": served.origin}
    tries = [
        ours.post(path, form, **origin),
        ours.post(path, {**form, "form_key": ""}, **origin),
        ours.post(path, {**form, "form_key": other.form_key()}, **origin),
        ours.post(path, {**form, "form_key": ours.form_key()}, Origin="http://127.0.0.1:1"),
        ours.post(path, {**form, "form_key": ours.form_key()}, Origin="http://localhost:9999"),
        ours.post(path, {**form, "form_key": ours.form_key()}, Origin="https://evil.example"),
        ours.post(path, {**form, "form_key": ours.form_key()}, Origin="null"),
        ours.post(path, {**form, "form_key": ours.form_key()}, Sec_Fetch_Site="cross-site"),
        ours.post(path, {**form, "form_key": ours.form_key()}, Content_Type="text/plain"),
        ours.post(path, b"form_key=" + b"x" * 70_000, **origin),
    ]
    assert {each.status for each in tries} == {403}
    assert ours.get(path).status == 405
    assert SECRET in ours.get("/memory").body
    assert b"A changed sentence" not in ours.get("/memory").body


@pytest.mark.requirement("ruling/page/host-checked")
@pytest.mark.parametrize("path", [*PAGES, "/login", "/static/page.css", "/server/events"])
def test_a_name_that_was_rebound_to_this_machine_is_refused(standing: PageServer, path: str) -> None:
    visitor = standing.visitor()
    for host in ("evil.example", f"evil.example:{standing.port}", "127.0.0.1.nip.io"):
        assert visitor.get(path, Host=host).status == 403
    assert visitor.get(path, Origin="https://evil.example").status == 403


@pytest.mark.requirement("ruling/page/no-frames")
@pytest.mark.parametrize("path", [*PAGES, "/login", "/no/such", "/symbol?name=no_such_symbol"])
def test_every_page_forbids_frames_inline_code_and_other_origins(visitor: Visitor, path: str) -> None:
    headers = visitor.get(path).headers
    policy = headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("site_", ["cross-site", "same-site"])
def test_another_site_can_neither_fetch_nor_embed_a_page(visitor: Visitor, site_: str) -> None:
    """A server on another port of this machine is of the same site, and its pages' requests carry the cookie."""
    for mode in ("no-cors", "cors"):
        assert visitor.get("/?q=discount", Sec_Fetch_Site=site_, Sec_Fetch_Mode=mode).status == 403
    assert visitor.get("/?q=discount", Sec_Fetch_Site=site_, Sec_Fetch_Mode="navigate").status == 200


def test_a_link_from_elsewhere_leads_to_a_page_that_goes_on(standing: PageServer) -> None:
    answer = Visitor(standing.port).get("/?q=discount", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")
    assert answer.status == 401
    assert b'href="/?q=discount"' in answer.body


@pytest.mark.requirement("ruling/page/token-logs-in")
def test_where_there_is_a_token_it_opens_the_pages(shop: Repo, tmp_path: Path) -> None:
    with page_server(shop.path, tmp_path / "home", token="correct-horse", host="0.0.0.0") as server:
        visitor = Visitor(server.port)
        for path in (*PAGES, "/server/events"):
            assert visitor.get(path).status == 401
            assert visitor.get(path, Authorization="Bearer wrong").status == 401
        assert visitor.get("/metrics").status == 401
        assert visitor.get("/no/such").status == 401
        origin = {"Origin": server.origin}
        assert visitor.post("/login", {"token": "wrong"}, **origin).status == 403
        assert visitor.post("/login", {"token": "correct-horse"}, Origin="http://127.0.0.1:1").status == 403
        answer = visitor.post("/login", {"token": "correct-horse", "next": "/memory"}, **origin)
        assert (answer.status, answer.headers["location"]) == (303, "/memory")
        assert visitor.get("/memory").status == 200
        # The cookie opens pages, and nothing that programs call.
        assert visitor.get("/metrics").status == 401
        assert visitor.post("/rpc", b"{}", Content_Type="application/json").status == 401


def test_tokens_are_not_for_guessing(shop: Repo, tmp_path: Path) -> None:
    with page_server(shop.path, tmp_path / "home", token="correct-horse") as server:
        visitor, origin = Visitor(server.port), {"Origin": server.origin}
        answers = [visitor.post("/login", {"token": str(number)}, **origin).status for number in range(32)]
        assert answers[-1] == 429
        assert visitor.post("/login", {"token": "correct-horse"}, **origin).status == 429


def test_the_login_leads_to_no_other_server(shop: Repo, tmp_path: Path) -> None:
    with page_server(shop.path, tmp_path / "home", token="t") as server:
        for next_ in ("https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/a\nb", ""):
            form = {"token": "t", "next": next_}
            answer = Visitor(server.port).post("/login", form, Origin=server.origin)
            assert answer.headers["location"] == "/", next_


def test_every_route_of_the_pages_is_listed_and_no_other(standing: PageServer) -> None:
    """What is listed needs no bearer token; so the list must be exact."""
    routes = {getattr(each, "path", "") for each in standing.pages.routes()}
    static = {each for each in site.PATHS if each.startswith("/static/")}
    assert routes - {"/static/{name}"} | static == site.PATHS
    assert not site.PATHS & {"/mcp", "/rpc", "/metrics", "/health"}


@pytest.mark.requirement("ruling/page/paths-and-refs")
@pytest.mark.parametrize(
    "path",
    [
        "/file?path=../../etc/passwd", "/file?path=/etc/passwd", "/file?path=.git/config", "/file?path=shop/../../x",
        "/file?path=.env", "/file?path=%00", "/file?path=shop%5C..%5C..%5Cx", "/symbol?name=discount&path=/etc",
        "/file?path=shop/cart.py&ref=--output=/tmp/x", "/branch?base=--upload-pack%3Dx&head=live",
        "/branch?base=main&head=ma%0ain", "/branch?base=..%2F..&head=main", "/file?path=shop/cart.py&ref=no..such",
        "/?q=discount&ref=-rf", "/server?project=/etc", "/?q=discount&project=/", "/file?path=x&project=../..",
        "/file?path=shop/cart.py&line=-1", "/file?path=shop/cart.py&line=1e9", "/memory/edit?id=../../x",
        "/symbol?name=" + "x" * 5000, "/static/..%2fsite.py", "/static/page.css%00", "/server/confirm?verb=drop",
    ],
)  # fmt: skip
def test_tricks_in_an_address_get_an_error_page_and_nothing_else(visitor: Visitor, path: str) -> None:
    answer = visitor.get(path)
    assert answer.status in (400, 403, 404), answer.body
    assert b"root:x:" not in answer.body
    assert b"[core]" not in answer.body
    assert b"Traceback" not in answer.body


def test_a_report_of_a_broken_policy_is_logged_if_a_visitor_sends_it(
    standing: PageServer, caplog: pytest.LogCaptureFixture
) -> None:
    report = {"Content_Type": "application/csp-report", "Origin": standing.origin}
    assert Visitor(standing.port).post("/csp-report", b'{"flood": 1}', **report).status == 204
    assert standing.visitor().post("/csp-report", b'{"blocked-uri": "inline"}', **report).status == 204
    said = [each.getMessage() for each in caplog.records if each.name == "codecairn.page"]
    assert len(said) == 1
    assert "blocked-uri" in said[0]


def test_memory_is_that_of_the_served_project_whichever_is_looked_at(standing: PageServer, visitor: Visitor) -> None:
    page = visitor.get(f"/memory?project={standing.root}/shop").body
    assert SECRET in page
    links = visitor.get(f"/?q=discount&project={standing.root}").body.decode()
    assert 'href="/memory"' in links
