"""The pages of a team server: on every node, for what a token may read, as long as it may."""

from __future__ import annotations

import http.client
import random
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from codecairn.team.openid import GroupRule, OpenId, OpenIdSettings
from codecairn.team.page_sessions import read_notice, write_notice
from tests.page.conftest import SHOP
from tests.support.page import Markup, Visitor
from tests.support.provider import Provider
from tests.support.team import Team, open_team
from tests.support.team_page import log_in, move
from tests.support.wait import eventually
from tests.team.conftest import fresh_database

CANARY = "xylophonic"
SHOP_PAGES, HIDDEN = "/r/org/shop/-", f"lab/{CANARY}-repo"
PAGES = [
    "/", "/?q=discount", "/server", f"{SHOP_PAGES}/", f"{SHOP_PAGES}/?q=how+is+the+price+lowered",
    f"{SHOP_PAGES}/why?q=discount&at=shop/cart.py&line=4", f"{SHOP_PAGES}/symbol?name=discount",
    f"{SHOP_PAGES}/symbol?name=discount&tab=graph", f"{SHOP_PAGES}/symbol?name=discount&tab=history",
    f"{SHOP_PAGES}/symbol?name=discount&tab=tests", f"{SHOP_PAGES}/file?path=shop/cart.py", f"{SHOP_PAGES}/branch",
    f"{SHOP_PAGES}/branch?base=main&head=sale", f"{SHOP_PAGES}/memory", f"{SHOP_PAGES}/memory/new",
    f"{SHOP_PAGES}/rules", f"{SHOP_PAGES}/server",
]  # fmt: skip
VERBS = ["memory/save", "memory/forget", "memory/restore"]
SENTENCE = "Discounts are never negative here."


@pytest.fixture(scope="module")
def team(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """Three nodes, so that each repository is on two of them and another has to ask."""
    with fresh_database(postgres) as url, open_team(url, tmp_path_factory.mktemp("pages")) as opened:
        repo = opened.repository("org/shop", dict(SHOP), ("**",))
        repo.git("checkout", "--quiet", "-b", "sale")
        cart = SHOP["shop/cart.py"].replace("100 - percent", "100 - 2 * percent")
        repo.commit("Sell at half", {"shop/cart.py": cart})
        repo.git("checkout", "--quiet", "main")
        opened.repository("org/bank", {"bank.py": "def discount_rate():\n    return 3\n"})
        opened.repository(HIDDEN, {f"{CANARY}.py": f"def {CANARY}_discount():\n    return 1\n"})
        for home in "abc":  # before anything is published: who starts first would take it, and keep it for a while
            opened.start_node(home)
        opened.work("worker")
        opened.await_ready()
        owner = opened.door(opened.token("owner", role="admin"))
        said = {"type": "rule", "content": f"The {CANARY} rule of the house.", "project": HIDDEN}
        assert not owner.call("remember", said).is_error
        assert not owner.call("remember", {**said, "content": SENTENCE, "project": "org/shop"}).is_error
        yield opened


@pytest.fixture(scope="module")
def tokens(team: Team) -> dict[str, str]:
    return {
        "ada": team.token("ada", "org/*"),
        "rita": team.token("rita", "org/*", role="reader"),
        "root": team.token("root", role="admin"),
        "nobody": team.token("nobody", "other/*"),
    }


def form_key(visitor: Visitor, page: str = f"{SHOP_PAGES}/memory/new") -> str:
    found = re.search(rb'name="form_key" value="([^"]+)"', visitor.get(page).body)
    assert found
    return found[1].decode()


def text(answer: Any) -> str:
    return " ".join(Markup(answer.body).text.split())


@pytest.mark.requirement("ruling/team-page/any-node")
def test_a_session_opens_every_page_on_every_node(team: Team, tokens: dict[str, str]) -> None:
    """Also on the node that has no replica of the repository."""
    shop = team.nodes[0].directory.state.repositories["org/shop"]
    assert any(shop.id not in node.replicas.ready for node in team.nodes)
    visitor = log_in(team, tokens["ada"])
    shown = {
        node.id: [move(team, visitor, node).get(page) for page in PAGES if not page.endswith("server")]
        for node in team.nodes
    }
    for answers in shown.values():
        assert [each.status for each in answers] == [200] * len(answers)
    first, *others = ([_steady(each.body) for each in answers] for answers in shown.values())
    assert all(other == first for other in others)
    assert SENTENCE in text(visitor.get(f"{SHOP_PAGES}/memory"))


def _steady(body: bytes) -> bytes:
    return re.sub(rb"in [\d.,]+ ms|\d+ (second|minute)s? ago|just now", b"", body)


@pytest.mark.requirement("ruling/team-page/session-needed")
@pytest.mark.parametrize("page", [*PAGES, "/server/events", f"{SHOP_PAGES}/server/events", f"/r/{HIDDEN}/-/"])
def test_without_a_session_there_is_the_login_alone(team: Team, tokens: dict[str, str], page: str) -> None:
    visitor = Visitor(team.ports[team.nodes[0].id])
    answer = visitor.get(page)
    assert answer.status == 401
    assert b"never negative" not in answer.body
    assert b"org/bank" not in answer.body
    # Neither a made-up cookie nor the token of programs opens a page, and a cookie opens no door of theirs.
    name = next(iter(log_in(team, tokens["ada"]).cookies))
    assert Visitor(visitor.port, {name: "guessed"}).get(page).status == 401
    assert visitor.get(page, Authorization=f"Bearer {tokens['ada']}").status == 401


def test_a_session_opens_nothing_that_programs_call(team: Team, tokens: dict[str, str]) -> None:
    visitor = log_in(team, tokens["root"])
    assert visitor.get("/metrics").status == 401
    assert visitor.get("/state?project=org/shop").status == 401
    assert visitor.post("/rpc", b"{}", Content_Type="application/json").status == 401
    assert visitor.post("/mcp", b"{}", Content_Type="application/json").status == 401
    assert visitor.get("/no/such").status in (401, 404)


@pytest.mark.requirement("ruling/team-page/unreadable-is-missing")
def test_an_unreadable_repository_is_the_same_page_as_none(team: Team, tokens: dict[str, str]) -> None:
    pages = [each.removeprefix(SHOP_PAGES) for each in PAGES if each.startswith(SHOP_PAGES)]
    for who in ("ada", "nobody"):
        visitor = log_in(team, tokens[who])
        key = form_key(visitor, "/")
        for page in [*pages, "/server/events"]:
            hidden, missing = (visitor.get(f"/r/{name}/-{page}") for name in (HIDDEN, "lab/nothing-at-all"))
            assert hidden.status == missing.status == 404, page
            assert hidden.body.replace(HIDDEN.encode(), b"N") == missing.body.replace(b"lab/nothing-at-all", b"N")
        for verb in VERBS:
            form = {"form_key": key, "id": "x", "type": "rule", "content": "A sentence of some length"}
            answers = [visitor.post(f"/r/{name}/-/{verb}", form) for name in (HIDDEN, "lab/nothing-at-all")]
            assert [each.status for each in answers] == [404, 404]
    assert log_in(team, tokens["root"]).get(f"/r/{HIDDEN}/-/").status == 200


@pytest.mark.requirement("ruling/team-page/unreadable-is-missing")
def test_nothing_of_an_unreadable_repository_is_on_any_page(
    team: Team, tokens: dict[str, str], trials: Callable[[int], int], seeded: random.Random
) -> None:
    visitors = [log_in(team, tokens[who], node) for who in ("ada", "rita", "nobody") for node in team.nodes[:2]]
    words = ["xylophon", "xylo", "discount", "lab", "lab/*", "**", "main", "org/shop", "lab/xylophon-repo", ".."]
    seen = 0
    for _ in range(trials(1_500)):
        visitor, page = seeded.choice(visitors), seeded.choice(PAGES)
        bare, _, query = page.partition("?")
        names = ("q", "name", "path", "ref", "base", "head", "project", "workspace", "repositories", "id", "type")
        given = [query, *(f"{seeded.choice(names)}={seeded.choice(words)}" for _ in range(seeded.randint(0, 3)))]
        answer = visitor.get(f"{bare}?{'&'.join(filter(None, given))}")
        assert answer.status < 500 or answer.status == 503, (page, given, text(answer))  # a node may be late to beat
        assert CANARY not in answer.body.decode().lower(), (page, given)
        seen += answer.status == 200
    assert seen > 10


@pytest.mark.requirement("ruling/team-page/ends-with-token")
def test_a_session_ends_with_its_token_and_with_the_log_out(team: Team) -> None:
    """Within the five seconds in which a token is believed, on every node; a page that listens ends too."""
    brief = team.record.tokens.create("brief", ["org/*"], "reader", days=6 / 86_400)
    here = {"revoked": log_in(team, team.token("gone", "org/*")), "expired": log_in(team, brief)}
    here["out"] = log_in(team, team.token("leaves", "org/*"))
    everywhere = [move(team, each, node) for each in here.values() for node in team.nodes]
    assert [each.get("/").status for each in everywhere] == [200] * len(everywhere)
    wire = http.client.HTTPConnection("127.0.0.1", here["revoked"].port, timeout=60)
    wire.request("GET", "/server/events", headers={"Cookie": _cookie(here["revoked"])})
    listening = wire.getresponse()
    assert b"retry" in listening.readline()
    team.record.tokens.revoke("gone")
    assert here["out"].post("/logout", {"form_key": form_key(here["out"])}).status == 303
    eventually(lambda: [each.get("/").status for each in everywhere] == [401] * len(everywhere), 30)
    assert b"event" in listening.read()  # it ends: otherwise this waits for good
    wire.close()


def _cookie(visitor: Visitor) -> str:
    return "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())


def test_a_token_that_is_wrong_opens_nothing(team: Team, tokens: dict[str, str]) -> None:
    visitor = Visitor(team.ports[team.nodes[0].id])
    origin = f"http://127.0.0.1:{visitor.port}"
    for given in ("", "cairn_wrong", tokens["ada"][:-1], "eyJhbGciOiJub25lIn0.e30.", "\x00"):
        assert visitor.post("/login", {"token": given}, Origin=origin).status == 403, given
    for elsewhere in ("http://127.0.0.1:1", "https://evil.example", "null"):
        assert visitor.post("/login", {"token": tokens["ada"]}, Origin=elsewhere).status == 403
    for next_ in ("https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"):
        answer = Visitor(visitor.port).post("/login", {"token": tokens["ada"], "next": next_}, Origin=origin)
        assert answer.headers["location"] == "/"


@pytest.mark.requirement("ruling/team-page/token-is-nowhere")
def test_the_token_is_in_no_cookie_page_address_or_table(team: Team, tokens: dict[str, str]) -> None:
    visitor = log_in(team, tokens["ada"])
    answer = visitor.post("/login", {"token": tokens["ada"]}, Origin=f"http://127.0.0.1:{visitor.port}")
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    assert tokens["ada"] not in str(answer.headers)
    secrets = [tokens["ada"], *visitor.cookies.values()]
    assert not any(each in visitor.get(page).body.decode() for page in PAGES for each in secrets)
    kept = str(team.record.database.rows("SELECT page_session::text FROM page_session"))
    assert not any(each in kept or each.encode().hex() in kept for each in secrets)


@pytest.mark.requirement("ruling/team-page/form-key")
@pytest.mark.parametrize("path", [*(f"{SHOP_PAGES}/{each}" for each in VERBS), "/logout"])
def test_nothing_changes_without_the_form_key_of_the_session(team: Team, tokens: dict[str, str], path: str) -> None:
    ours, other = log_in(team, tokens["ada"]), log_in(team, tokens["ada"])
    form = {"id": "x", "type": "issue", "content": "A changed sentence of some length"}
    right = {**form, "form_key": form_key(ours)}
    origin = {"Origin": f"http://127.0.0.1:{ours.port}"}
    tries = [
        ours.post(path, form, **origin),
        ours.post(path, {**form, "form_key": form_key(other)}, **origin),
        ours.post(path, right, Origin="http://127.0.0.1:1"),
        ours.post(path, right, Origin="https://evil.example"),
        ours.post(path, right, Origin="null"),
        ours.post(path, right, Sec_Fetch_Site="cross-site"),
        ours.post(path, right, Sec_Fetch_Site="same-site"),
        ours.post(path, right, Content_Type="text/plain"),
        ours.post(path, b"form_key=" + b"x" * 70_000, **origin),
    ]
    assert {each.status for each in tries} == {403}
    assert ours.get(path).status in (404, 405)
    assert b"A changed sentence" not in ours.get(f"{SHOP_PAGES}/memory").body


@pytest.mark.requirement("ruling/team-page/form-key")
@pytest.mark.parametrize("page", [*PAGES, "/login", "/static/page.css", f"{SHOP_PAGES}/server/events"])
def test_other_hosts_sites_and_frames_are_refused(team: Team, tokens: dict[str, str], page: str) -> None:
    visitor = log_in(team, tokens["ada"])
    for host in ("evil.example", f"evil.example:{visitor.port}", "127.0.0.1.nip.io"):
        assert visitor.get(page, Host=host).status == 403
    assert visitor.get(page, Origin="https://evil.example").status == 403
    if page in PAGES:
        for site in ("cross-site", "same-site"):
            assert visitor.get(page, Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors").status == 403
        given = visitor.get(page).headers
        assert "frame-ancestors 'none'" in given["content-security-policy"]
        assert given["x-frame-options"] == "DENY"
        assert given["cache-control"] == "no-store"


@pytest.mark.requirement("ruling/team-page/paths-and-refs")
@pytest.mark.parametrize(
    "page",
    [
        f"{SHOP_PAGES}/file?path=../../etc/passwd", f"{SHOP_PAGES}/file?path=/etc/passwd",
        f"{SHOP_PAGES}/file?path=.git/config", f"{SHOP_PAGES}/file?path=%00", f"{SHOP_PAGES}/file?path=../bank/bank.py",
        f"{SHOP_PAGES}/file?path=shop/cart.py&ref=--output=/x", f"{SHOP_PAGES}/branch?base=--upload-pack%3Dx&head=main",
        f"{SHOP_PAGES}/branch?base=main&head=ma%0ain", f"{SHOP_PAGES}/symbol?name=" + "x" * 5000,
        f"{SHOP_PAGES}/memory/edit?id=../x", "/r/../../etc/passwd/-/", "/r/org/shop/../bank/-/", "/r/org/-/", "/r//-/",
        "/r/%2e%2e/-/file?path=x", "/r/org/shop/-/-/memory", "/r/org/shop%00/-/", "/r/org/*/-/", "/r/**/-/",
        f"/r/org/shop/-/../../../{HIDDEN}/-/", "/r/-/-/", "/r/org/sh%6Fp%2F..%2Fbank/-/", "/r/" + "a/" * 2000 + "-/",
        "/?q=discount&repositories=/etc", "/?q=discount&repositories=[",
    ],
)  # fmt: skip
def test_tricks_in_an_address_get_an_error_page_and_nothing_else(team: Team, tokens: dict[str, str], page: str) -> None:
    answer = log_in(team, tokens["ada"]).get(page)
    assert answer.status in (400, 403, 404), answer.body
    assert b"root:x:" not in answer.body
    assert b"Traceback" not in answer.body
    assert str(team.folder).encode() not in answer.body


def test_a_bare_address_of_a_repository_leads_to_its_pages(team: Team, tokens: dict[str, str]) -> None:
    for path, leads in (("/r/org/shop", f"{SHOP_PAGES}/"), ("/r/org/shop/", f"{SHOP_PAGES}/"), ("/r/a/b", "/r/a/b/-/")):
        answer = log_in(team, tokens["ada"]).get(path)
        assert (answer.status, answer.headers["location"]) == (303, leads)


@pytest.mark.requirement("ruling/team-page/writers-alone")
def test_memory_is_written_by_writers_in_their_name_and_can_be_brought_back(team: Team, tokens: dict[str, str]) -> None:
    reader, writer = log_in(team, tokens["rita"]), log_in(team, tokens["ada"], team.nodes[1])
    said = "Prices are given in cents, always."
    form = {"type": "decision", "content": said, "symbol": "discount", "path": "shop/cart.py"}
    refused = reader.post(f"{SHOP_PAGES}/memory/save", {**form, "form_key": form_key(reader, "/")})
    assert refused.status == 403
    assert "is for writers" in text(refused)
    assert "Remember something" not in text(reader.get(f"{SHOP_PAGES}/memory"))
    key = form_key(writer)
    assert writer.post(f"{SHOP_PAGES}/memory/save", {**form, "form_key": key}).status == 303
    page = writer.get(f"{SHOP_PAGES}/memory").body.decode()
    card = re.search(rf"<li class=.card.*?{said}.*?</li>", page.replace("\n", " "))
    assert card
    assert "Stored as" in page
    assert "ada ·" in Markup(card[0].rpartition("<li")[2].encode()).text
    identity = re.findall(r'name="id" value="([^"]+)"', card[0].rpartition("<li")[2])[-1]
    assert reader.post(f"{SHOP_PAGES}/memory/forget", {"id": identity, "form_key": form_key(reader, "/")}).status == 403
    assert writer.post(f"{SHOP_PAGES}/memory/forget", {"id": identity, "form_key": key}).status == 303
    elsewhere = move(team, writer, team.nodes[2])
    offered = elsewhere.get(f"{SHOP_PAGES}/memory")
    assert "Forgotten." in text(offered)
    assert b"Undo" in offered.body
    undo = {"id": identity, "form_key": key}
    assert reader.post(f"{SHOP_PAGES}/memory/restore", {**undo, "form_key": form_key(reader, "/")}).status == 403
    assert elsewhere.post(f"{SHOP_PAGES}/memory/restore", undo).status == 303
    for each in (move(team, writer, node) for node in team.nodes):
        eventually(partial(_is_remembered, each, said), 10)
    assert elsewhere.post(f"{SHOP_PAGES}/memory/restore", undo).status == 404


def _is_remembered(visitor: Visitor, said: str) -> bool:
    return said in text(visitor.get(f"{SHOP_PAGES}/memory"))


def test_a_notice_is_believed_from_its_own_session_alone() -> None:
    given = write_notice("one", "Saved.", "d1")
    assert read_notice("one", given) == ("Saved.", "d1")
    assert read_notice("two", given) == ("", "")
    for broken in ("", ".", "x.y", given[1:], f"{given}0", "é.ü"):
        assert read_notice("one", broken) == ("", "")


@pytest.mark.requirement("ruling/team-page/own-calls")
def test_the_server_page_shows_ones_own_calls_and_an_administrator_those_of_all(
    team: Team, tokens: dict[str, str]
) -> None:
    assert not team.door(tokens["rita"], team.nodes[1]).call("git_log", {"project": "org/shop"}).is_error
    assert team.door(tokens["rita"]).call("git_log", {"project": "org/no"}).is_error
    assert not team.door(tokens["root"], team.nodes[2]).call("git_blame", {
        "project": "org/shop", "filePath": "README.md"}).is_error  # fmt: skip
    partly = team.token("partly", "lab/*", role="admin")
    pages = {who: text(log_in(team, token).get("/server")) for who, token in {**tokens, "partly": partly}.items()}
    assert "git_log" in pages["rita"]
    assert "git_blame" not in pages["rita"]
    assert "git_log" not in pages["nobody"]
    assert "git_log" in pages["root"]
    assert "git_blame" in pages["root"]
    assert "git_log" not in pages["partly"], "an administrator of some repositories sees the calls about those"
    assert team.nodes[0].id in pages["root"]
    assert not any(node.id in pages["rita"] for node in team.nodes)
    about = text(log_in(team, tokens["rita"]).get(f"{SHOP_PAGES}/server"))
    assert "git_log" in about
    assert "sale" in about


@pytest.mark.requirement("ruling/team-page/search-everywhere")
def test_a_search_goes_over_all_readable_repositories_and_leads_to_each(team: Team, tokens: dict[str, str]) -> None:
    visitor = log_in(team, tokens["ada"])
    page = visitor.get("/?q=discount")
    found = team.door(tokens["ada"]).call("search_code", {"query": "discount", "limit": 20}).value
    expected = [each["symbol"]["name"] if each["symbol"] else each["file"]["path"] for each in found["results"]]
    hits = re.findall(r'class="hit" href="([^"]+)"[^>]*>([^<]+)<', page.body.decode())
    assert [name for _, name in hits] == [each.rpartition("/")[2] for each in expected]
    assert {href.partition("/-/")[0] for href, _ in hits} == {"/r/org/shop", "/r/org/bank"}
    links = re.findall(r'href="(/r/[^"]+)"', page.body.decode())
    assert {visitor.get(each.partition("#")[0].replace("&amp;", "&")).status for each in links} == {200}
    assert "org/bank" not in text(visitor.get("/?q=discount&repositories=org/s*"))
    assert "2 repositories" in text(visitor.get("/"))
    assert "1 repository" in text(visitor.get("/?repositories=ban"))
    assert "org/bank" not in text(visitor.get("/?q=discount&repositories=sho"))
    assert text(log_in(team, tokens["nobody"]).get("/")).count("opens no repository") == 1


@pytest.mark.requirement("ruling/team-page/openid")
def test_a_token_of_the_identity_provider_logs_in_until_it_expires(team: Team) -> None:
    provider = Provider()
    provider.add("ES256", "one")
    rules = (GroupRule("shops", ("org/shop",), "writer"),)
    node = team.nodes[0]
    openid = OpenId(OpenIdSettings(provider.issuer, "cairn", rules))
    node.directory.openid = openid
    try:
        many = [f"group-{number:04}-of-a-large-company" for number in range(200)]
        token = provider.token("one", groups=["shops", *many], sub="u1", preferred_username="rita")
        assert len(token) > 5_000, "more than a cookie holds"
        visitor = log_in(team, token)
        assert SENTENCE in text(visitor.get(f"{SHOP_PAGES}/memory"))
        assert visitor.get("/r/org/bank/-/").status == 404
        assert "OpenID" in text(Visitor(visitor.port).get("/login"))
        # A name that the holder chose is nobody's calls but the holder's own.
        assert "git_log" not in text(visitor.get("/server"))
        old = provider.token("one", groups=["shops"], exp=int(time.time()) - 25)
        short = log_in(team, old)
        assert short.get("/").status == 200
        eventually(lambda: short.get("/").status == 401, 30)
    finally:
        node.directory.openid = None
        openid.close()
        provider.close()
