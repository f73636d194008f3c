"""What the pages show, without a browser: each from the tools' own answers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import quote

import pytest

from codecairn.page.highlight import code_lines, mark_name, mark_query
from codecairn.page.side_by_side import rows_of
from codecairn.page.visible import make_visible
from tests.page.conftest import CART
from tests.support.page import Markup, PageServer, Visitor, page_server
from tests.support.repo import Repo

SEARCH = "/?q=how+is+the+price+lowered"


def text(visitor: Visitor, path: str, status: int = 200) -> str:
    answer = visitor.get(path)
    assert answer.status == status, (path, answer.status)
    return " ".join(Markup(answer.body).text.split())


@pytest.mark.requirement("ruling/page/tools-alone")
def test_a_search_shows_what_the_tool_finds_in_its_order(standing: PageServer, visitor: Visitor) -> None:
    found = standing.call("search_code", query="how is the price lowered")
    page = visitor.get(SEARCH).body.decode()
    names = re.findall(r'class="hit"[^>]*>([^<]+)<', page)
    expected = [
        each["symbol"]["name"] if each["symbol"] else each["file"]["path"].rpartition("/")[2]
        for each in found["results"]
    ]
    assert names == expected
    assert names[0] == "discount"
    assert "<mark" in page


def test_a_search_can_be_filtered_and_its_part_asked_for_alone(visitor: Visitor) -> None:
    assert "test_total" not in visitor.get("/?q=total&path=shop").body.decode()
    assert "No symbol" not in text(visitor, "/?q=total&kind=function&lang=python&mode=keyword&ref=sale")
    part = visitor.get(SEARCH, Cairn_Part="1").body.decode()
    assert "<html" not in part
    assert 'class="hit"' in part
    assert "Nothing found" in text(visitor, "/?q=qqqqxyzzy")
    failed = visitor.get("/?q=total&lang=klingon", Cairn_Part="1")
    assert failed.status == 400
    assert b"<html" not in failed.body


@pytest.mark.requirement("ruling/page/why-adds-up")
def test_why_shows_every_signal_and_they_add_up_to_the_rank(standing: PageServer, visitor: Visitor) -> None:
    first = standing.call("search_code", query="how is the price lowered")["results"][0]
    page = visitor.get(f"/why?q=how+is+the+price+lowered&at={first['file']['path']}&line={first['file']['start_line']}")
    shown = [float(each) for each in re.findall(r'class="number">([+-]\d+\.\d+)<', page.body.decode())]
    total = re.search(r'class="total".*?class="number">([\d.]+)<', page.body.decode())
    assert total
    assert float(total[1]) == pytest.approx(first["ranking_score"], abs=0.001)
    assert sum(shown) == pytest.approx(first["ranking_score"], abs=0.0006 * (len(shown) + 1))


def test_a_symbol_shows_its_definition_its_uses_and_the_unresolved(visitor: Visitor) -> None:
    page = text(visitor, "/symbol?name=discount&path=shop/cart.py")
    assert "def discount(price, percent):" in page
    assert "shop/till.py" in page
    assert "return discount(price, 0)" in page
    assert "Unresolved" in page
    assert "return thing.discount(3, 4)" in page
    assert "Discounts are never negative." in page


def test_the_calls_of_a_symbol_are_a_picture_to_walk_in(visitor: Visitor) -> None:
    page = visitor.get("/symbol?name=discount&path=shop/cart.py&tab=graph").body.decode()
    addresses = re.findall(r'<a href="([^"]+)"><g ', page)
    assert "<style" not in page
    (caller,) = {each for each in addresses if "cart.total" in each}
    assert visitor.get(caller.replace("&amp;", "&")).status == 200


def test_the_history_and_the_tests_of_a_symbol(visitor: Visitor) -> None:
    assert "Open the shop" in text(visitor, "/symbol?name=discount&path=shop/cart.py&tab=history")
    assert "tests.test_cart.test_total" in text(visitor, "/symbol?name=discount&path=shop/cart.py&tab=tests")


def test_a_branch_shows_before_and_after_side_by_side(visitor: Visitor) -> None:
    page = visitor.get("/branch?base=main&head=sale").body.decode()
    assert 'class="gone"' in page
    assert 'class="come">    return price * <ins>max' in page
    shown = text(visitor, "/branch?base=main&head=sale")
    assert "1 symbol in 1 file" in shown
    assert "Called by" in shown
    assert "no such ref" not in shown
    assert "Discounts are never negative." in shown
    assert visitor.get("/branch?base=main&head=no-such-branch").status == 400


def test_a_change_leads_to_the_callers_that_it_lost(served: PageServer, shop: Repo) -> None:
    """A symbol that was renamed says who called it before; one deleted in the working tree is shown where it was."""
    (shop.path / "shop/cart.py").write_text(CART.replace("def discount", "def rebate").partition("def total")[0])
    served.call("index_codebase")
    visitor = served.visitor()
    page = visitor.get("/branch").body.decode()
    before = re.search(r'0 callers \(<a href="([^"]+)">was 2</a>\)', page)
    deleted = re.search(r'<h3><a href="([^"]+)">total</a></h3>', page)
    assert before, page
    assert deleted, page
    assert "return discount(price, 0)" in text(visitor, before[1].replace("&amp;", "&"))
    assert "def total(items):" in text(visitor, deleted[1].replace("&amp;", "&"))


def test_uses_on_one_line_are_one_row_and_a_part_of_them_says_so(served: PageServer, shop: Repo) -> None:
    lines = [f"sum_of([{number}])" for number in range(600)]
    shop.commit("Count", {"shop/many.py": "\n".join(["from shop.cart import total as sum_of", "", *lines, ""])})
    shop.commit("Count", {"shop/few.py": "from shop.cart import discount as lower\n\nlower(1, 2)\n"})
    served.call("index_codebase")
    visitor = served.visitor()
    page = visitor.get("/symbol?name=discount&path=shop/cart.py").body.decode()
    assert page.count('discount</mark> <b class="k">as</b> lower') == 1
    assert "imports, references" in page
    assert "500 of them here" in text(visitor, "/symbol?name=total&path=shop/cart.py")


def test_drift_shows_the_lines_of_its_symbol_and_on_demand_the_rest(served: PageServer, shop: Repo) -> None:
    tail = "\n\n".join(f"\ndef filler_{number}():\n    return {number}" for number in range(20))
    shop.commit("Fill up", {"shop/cart.py": CART + tail + "\n"})
    served.call("index_codebase")
    kept = served.call("remember", type="decision", content="Discounts are never negative.", symbol="discount")
    gone = served.call("remember", type="issue", content="The filler is slow on Mondays.", symbol="filler_19")
    changed = (CART + tail + "\n").replace("100 - percent", "90 - percent").replace("filler_19", "other")
    shop.commit("Change both ends", {"shop/cart.py": changed}, date="2037-01-01T00:00:00Z")
    served.call("index_codebase")
    visitor = served.visitor()
    page = text(visitor, f"/memory/drift?id={kept['discovery']['id']}")
    assert "90 - percent" in page
    assert "def other():" not in page
    assert "def other():" in text(visitor, f"/memory/drift?id={kept['discovery']['id']}&whole=1")
    assert "def filler_19():" in text(visitor, f"/memory/drift?id={gone['discovery']['id']}")
    listed = visitor.get("/memory").body.decode()
    assert listed.count("what changed since") == 2


def test_rules_show_integrity_gates_and_their_text(visitor: Visitor) -> None:
    page = text(visitor, "/rules")
    assert "Every fix brings a test" in page
    assert "intact" in page
    assert "passed" in page
    assert "0 rules" in text(visitor, "/rules?q=nothing+of+the+kind")


def test_the_server_shows_calls_of_others_with_masked_arguments(standing: PageServer, visitor: Visitor) -> None:
    standing.call("grep_codebase", pattern="password=hunter2hunter2hunter2")
    page = text(visitor, "/server")
    assert "grep_codebase" in page
    assert "hunter2" not in page
    assert "instructions_list" not in page.partition("Methods since")[0]


def test_errors_say_what_is_wrong_and_the_way_out(visitor: Visitor) -> None:
    assert "shop/cart.py" in text(visitor, "/file?path=shop/crat.py", 404)
    assert "There is nothing at this address." in text(visitor, "/no/such/page", 404)
    program = visitor.get("/no/such/page", Accept="application/json")
    assert (program.status, program.body) == (404, b"Not Found")


@pytest.mark.requirement("ruling/page/memory-verbs")
def test_a_discovery_is_added_edited_forgotten_and_brought_back_as_it_was(served: PageServer) -> None:
    visitor, origin = served.visitor(), {"Origin": served.origin}
    key = {"form_key": visitor.form_key()}
    form = {"type": "decision", "content": "Prices are kept in cents.", "symbol": "discount", "path": "shop/cart.py"}
    assert visitor.post("/memory/save", {**key, **form}, **origin).status == 303
    (row,) = served.service.projects.current().discoveries.all()
    edited = {**key, **form, "id": row.id, "type": "rule", "content": "Every sum of money is a whole number of cents."}
    visitor.post("/memory/save", edited, **origin)
    (row,) = served.service.projects.current().discoveries.all()
    assert (row.type, row.content) == ("rule", "Every sum of money is a whole number of cents.")
    visitor.post("/memory/forget", {**key, "id": row.id}, **origin)
    assert served.service.projects.current().discoveries.all() == []
    assert b'action="/memory/restore"' in visitor.get("/memory").body
    assert served.visitor().post("/memory/restore", {"id": row.id}, **origin).status == 403
    visitor.post("/memory/restore", {**key, "id": row.id}, **origin)
    assert served.service.projects.current().discoveries.all() == [row]
    refused = visitor.post("/memory/save", {**key, "type": "rule", "content": "short"}, **origin)
    assert refused.status == 400


def test_memory_is_searched_and_sifted(standing: PageServer, visitor: Visitor) -> None:
    assert "1 of 1 discovery" in text(visitor, "/memory")
    assert "1 of 1" in text(visitor, "/memory?q=negative+discounts&type=decision&state=fresh")
    assert "0 of 1" in text(visitor, "/memory?type=issue")


@pytest.mark.requirement("ruling/page/confirmed")
def test_rebuilding_and_pruning_say_first_what_they_would_do(served: PageServer) -> None:
    served.call("index_codebase", ref="sale")
    visitor, origin = served.visitor(), {"Origin": served.origin}
    key = {"form_key": visitor.form_key()}
    assert "nothing would be dropped" in text(visitor, "/server/confirm?verb=prune")
    assert "files" in text(visitor, "/server/confirm?verb=rebuild")
    assert visitor.post("/server/prune", {**key, "days": "30"}, **origin).status == 303
    assert "0 dropped" in text(visitor, "/server")
    visitor.post("/server/rebuild", key, **origin)
    assert "Rebuilding" in text(visitor, "/server")
    for thread in threading.enumerate():
        if thread.name == "cairn-rebuild":
            thread.join(30)


@pytest.mark.requirement("ruling/page/weight")
@pytest.mark.parametrize(
    "path", ["/", SEARCH, "/symbol?name=discount", "/branch?base=main&head=sale", "/memory", "/server"]
)
def test_a_page_with_its_files_weighs_less_than_100_kb_and_asks_nobody_else(visitor: Visitor, path: str) -> None:
    page = visitor.get(path)
    found = Markup(page.body)
    files = [each for each in found.addresses if each.startswith("/static/")]
    assert len(page.body) + sum(len(visitor.get(each).body) for each in files) < 100_000
    assert all(each.startswith(("/", "#")) for each in found.addresses), found.addresses
    assert "style" not in found.attributes
    assert not any(name.startswith("on") for name in found.attributes)


def test_odd_characters_are_spelled_out() -> None:
    assert make_visible("a\u202eb\x00c\u200bd\te\nf") == "a⟨202E⟩b⟨0⟩c⟨200B⟩d\te\nf"
    (line,) = code_lines("x = '\u202eevil'", "python")
    assert "\u202e" not in line.html
    assert "202E" in line.html


@pytest.mark.parametrize("language", ["python", "go", "rust", "typescript", "c", "java", "no such language"])
def test_colours_change_no_text(language: str) -> None:
    source = "# c\nfn f(a: T) -> 'str' { return \"é\" + 12 } // x\n\n\tclass A:\n"
    lines = code_lines(source, language, 7, mark_name("return"))
    plain = [re.sub("<[^>]+>", "", str(each.html)) for each in lines]
    assert "\n".join(plain).replace("&#34;", '"').replace("&#39;", "'").replace("&gt;", ">") == source.rstrip("\n")
    assert [each.number for each in lines] == [7, 8, 9, 10]


def test_words_of_a_question_are_marked_where_identifiers_have_them() -> None:
    mark = mark_query("where are the sessions")
    (line,) = code_lines("mozzarella obsession getSession SESSION_ID sessions", "", 1, mark)
    assert line.html == ("mozzarella obsession get<mark>Session</mark> <mark>SESSION</mark>_ID <mark>sessions</mark>")


def test_a_diff_is_paired_line_by_line() -> None:
    rows = rows_of([" same", "-price = 1", "+price = 2", "-gone", "… 3 more lines"])
    assert [(each.before, each.after) for each in rows[1:3]] == [
        ("price = <ins>1</ins>", "price = <ins>2</ins>"),
        ("gone", None),
    ]
    assert rows[0].is_same
    assert rows[3].remark == "… 3 more lines"


@pytest.mark.requirement("ruling/page/lazy")
def test_neither_stdio_nor_a_command_imports_anything_of_the_pages(tmp_path: Path) -> None:
    script = "import sys; import codecairn.serve.stdio, codecairn.serve.mcp, codecairn.cli.serve, codecairn.tools\n"
    script += "print([name for name in sys.modules if name.startswith(('codecairn.page', 'jinja2', 'markupsafe'))])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ran.stdout.strip() == "[]"
    script = "import sys; import codecairn.serve.http; print('jinja2' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ran.stdout.strip() == "False"


@pytest.mark.requirement("ruling/page/open-command")
def test_open_serves_the_project_and_finds_the_server_that_runs(shop: Repo, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "codecairn", "open", "--print"]
    environment = {**os.environ, "CAIRN_HOME": str(tmp_path / "home")}
    first = subprocess.Popen(
        command, cwd=shop.path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    try:
        assert first.stdout
        link = first.stdout.readline().strip()
        again = subprocess.run(command, cwd=shop.path, env=environment, capture_output=True, text=True, check=True)
        assert again.stdout.strip().partition("?")[0] == link.partition("?")[0]
        port = int(link.split(":")[2].partition("/")[0])
        for each in (link, again.stdout.strip()):
            visitor = Visitor(port)
            assert visitor.get("/" + each.partition("://")[2].partition("/")[2]).status == 303
            assert visitor.get(f"/file?path={quote('shop/cart.py')}").status == 200
        (mark,) = (tmp_path / "home" / "pages").iterdir()
        if os.name == "posix":
            assert mark.stat().st_mode & 0o077 == 0
    finally:
        first.terminate()
        first.communicate(timeout=20)
    assert list((tmp_path / "home" / "pages").iterdir()) == []


AGENTS = """\
# Rules

Prices are lowered in `shop/cart.py` by `discount()`; `shop/till.py` sells,
`shop/gone.py` pays them back.
"""


@pytest.mark.requirement("ruling/page/rules-named")
def test_rules_show_dead_anchors_and_a_change_the_rules_it_touches(shop: Repo, tmp_path: Path) -> None:
    shop.commit("Write rules down", {"AGENTS.md": AGENTS, "shop/gone.py": "def back():\n    return 1\n"})
    shop.git("rm", "--quiet", "shop/gone.py")
    shop.commit("Pay nothing back", {})
    shop.git("checkout", "--quiet", "-b", "rename")
    shop.commit("Say it otherwise", {"shop/cart.py": CART.replace("discount", "rebate")})
    shop.git("mv", "shop/till.py", "shop/desk.py")
    shop.commit("Move the till", {})
    shop.git("checkout", "--quiet", "main")
    with page_server(shop.path, tmp_path / "home") as server:
        server.call("index_codebase")
        visitor = server.visitor()
        rules = text(visitor, "/rules")
        assert "Dead anchors" in rules
        assert "shop/gone.py was deleted" in rules
        assert "AGENTS.md:4" in rules
        page = text(visitor, "/branch?base=main&head=rename")
        assert "1 rule holds for these files" in page
        assert "Every fix brings a test" in page
        assert "Rules that name what this change takes away" in page
        assert "discount is rebate now" in page
        assert "shop/till.py is shop/desk.py now" in page
        assert "takes away" not in text(visitor, "/branch?base=main~1&head=main~1")
