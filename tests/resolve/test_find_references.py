"""find_references: what it takes, what it answers, and what it refuses to bind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from codecairn.budget import MOST_CHARACTERS
from codecairn.cancel import Cancel
from codecairn.cli import main
from codecairn.errors import Cancelled
from codecairn.resolve.engine import Engine
from codecairn.resolve.pick import pick_definition
from codecairn.resolve.references import references_to
from codecairn.store.view import open_view
from tests.support.doors import JSON_DOORS
from tests.support.indexes import LastingWorkers
from tests.support.search import Asking, Built, Doors, asking, built_from, doors_to

FILES: dict[str, str | bytes] = {
    "auth/__init__.py": "from .tokens import validate\n",
    "auth/tokens.py": '''\
"""Tokens."""


class Token:
    def check(self) -> bool:
        return True


class Signed(Token):
    def check(self) -> bool:
        return super().check()


def validate(token: Token) -> bool:
    return token.check() and token.check()


def twice(token: Token) -> bool:
    first = validate(token)
    return first and validate(token)
''',
    "auth/other.py": "def validate() -> None:\n    return None\n",
    "app/main.py": """\
from auth import validate
from auth.tokens import Signed, Token


def run(anything):
    if validate(Signed()):
        anything.check()
    return map(validate, [Token()])
""",
    "web/shape.ts": """\
export interface Shape {
  area(): number;
}
export class Square implements Shape {
  area(): number {
    return 1;
  }
}
""",
}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Built:
    """A small project in a repository on branch main."""
    return built_from(FILES, tmp_path_factory.mktemp("gate"), lasting)


@pytest.fixture(scope="session")
def gate(built: Built) -> Iterator[Asking]:
    opened = asking(built)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def gates(built: Built) -> Iterator[Doors]:
    """A door to the project by its name, opened once."""
    with doors_to(built) as doors:
        yield doors


def find(gate: Asking, symbol_name: str, **arguments: Any) -> dict[str, Any]:
    answer = gate.answer("find_references", symbol_name=symbol_name, **arguments)
    assert not answer.is_error, answer.text
    return answer.value


def refused(gate: Asking, **arguments: Any) -> dict[str, Any]:
    answer = gate.answer("find_references", **arguments)
    assert answer.is_error, answer.text
    error: dict[str, Any] = answer.value["error"]
    return error


def places(found: dict[str, Any], rows: str = "references") -> list[tuple[str, int]]:
    return [(each["path"], each["line_start"]) for each in found[rows]]


@pytest.mark.requirement(
    "004/find_references/symbol-fields",
    "004/find_references/reference-fields",
    "004/find_references/from-symbol-fields",
    "ruling/symbol-identity/stable-id-form",
    "ruling/symbol-identity/symbol-id-form",
)
def test_an_answer_has_the_documented_form_at_every_door(door_name: str, gates: Doors) -> None:
    answer = gates(door_name).call("find_references", {"symbol_name": "tokens.validate"})
    assert not answer.is_error, answer.text
    found = answer.value
    if door_name in JSON_DOORS:
        assert json.loads(answer.text) == found
    symbol = found["symbol"]
    assert symbol.keys() == {
        "symbol_id", "symbol_stable_id", "name", "qualified_name", "kind", "path", "line_start",
    }  # fmt: skip
    assert (symbol["qualified_name"], symbol["kind"]) == ("auth.tokens.validate", "fn")
    assert (symbol["path"], symbol["line_start"]) == ("auth/tokens.py", 14)
    assert symbol["symbol_stable_id"].startswith("b3:")
    assert len(symbol["symbol_stable_id"]) == len("b3:") + 64
    assert symbol["symbol_id"].startswith("sym_")
    for each in found["references"]:
        assert {"path", "line_start", "edge_type", "source_layer", "context", "from_symbol"} <= each.keys()
        assert {"confidence", "resolver"} <= each.keys()
        assert each["from_symbol"].keys() == {"symbol_id", "symbol_stable_id", "name", "qualified_name", "kind"}
        assert each["source_layer"] in ("base", "overlay")


@pytest.mark.requirement("004/find_references/line-of-reference", "004/find_references/several-in-function")
def test_every_use_is_a_row_with_its_own_line(gate: Asking) -> None:
    found = find(gate, "tokens.validate", kind="calls")
    assert places(found) == [("app/main.py", 6), ("auth/tokens.py", 19), ("auth/tokens.py", 20)]
    assert [each["context"] for each in found["references"]] == [
        "if validate(Signed()):", "first = validate(token)", "return first and validate(token)",
    ]  # fmt: skip
    assert [each["from_symbol"]["name"] for each in found["references"]] == ["run", "twice", "twice"]


def test_a_use_outside_any_definition_is_its_modules(gate: Asking) -> None:
    found = find(gate, "tokens.validate", kind="imports")
    assert [each["from_symbol"]["kind"] for each in found["references"]] == ["module", "module"]
    assert [each["from_symbol"]["qualified_name"] for each in found["references"]] == ["app.main", "auth"]


@pytest.mark.requirement("004/find_references/all-edge-types", "004/find_references/kind-filter")
def test_all_kinds_of_use_are_found_and_told_apart(gate: Asking) -> None:
    kinds = {each["edge_type"] for each in find(gate, "tokens.validate")["references"]}
    assert kinds == {"imports", "calls", "references"}
    assert places(find(gate, "Token", kind="extends")) == [("auth/tokens.py", 9)]
    assert places(find(gate, "Shape", kind="implements")) == [("web/shape.ts", 4)]


@pytest.mark.requirement("004/find_references/symbol-name-required")
def test_a_call_without_a_name_is_refused(door_name: str, gates: Doors) -> None:
    answer = gates(door_name).call("find_references", {"kind": "calls"})
    assert answer.is_error
    assert answer.value["error"]["code"] == "invalid_input"


@pytest.mark.requirement("004/find_references/kind-values")
def test_an_unknown_kind_is_refused(gate: Asking) -> None:
    assert refused(gate, symbol_name="Token", kind="mentions")["code"] == "invalid_input"


@pytest.mark.requirement("004/find_references/qualified-name-accepted")
@pytest.mark.parametrize(
    "name",
    [
        "Signed", "tokens.Signed", "auth.tokens.Signed", "auth/tokens.py:Signed", "auth/tokens:Signed",
        "tokens::Signed", "auth/tokens#Signed", "Signed()",
    ],
)  # fmt: skip
def test_a_name_may_be_qualified_in_any_notation(gate: Asking, name: str) -> None:
    assert find(gate, name)["symbol"]["qualified_name"] == "auth.tokens.Signed"


@pytest.mark.requirement("004/find_references/candidates-together")
def test_a_name_of_two_symbols_is_answered_for_both(door_name: str, gates: Doors) -> None:
    found = gates(door_name).call("find_references", {"symbol_name": "validate"}).value
    assert (found["symbol"]["qualified_name"], found["total_references"]) == ("auth.tokens.validate", 6)
    (other,) = found["candidates"]
    assert other.keys() == {"symbol", "references", "total_references", "unresolved_count", "elsewhere_count"}
    assert (other["symbol"]["qualified_name"], other["total_references"]) == ("auth.other.validate", 0)
    assert found["metadata"]["result_completeness"] == "complete"


def test_symbols_of_one_name_share_a_page_and_the_likeliest_goes_on(own: Callable[..., Asking]) -> None:
    def module(count: int) -> str:
        return "def f():\n    pass\n" + "".join(f"def user{number}():\n    f()\n" for number in range(count))

    many = own({"a.py": module(8), "b.py": module(5), "tests/test_c.py": module(20)})
    found = find(many, "f", limit=9)
    assert (found["symbol"]["path"], len(found["references"]), found["total_references"]) == ("a.py", 3, 8)
    told = [(each["symbol"]["path"], len(each["references"]), each["total_references"]) for each in found["candidates"]]
    assert told == [("b.py", 3, 5), ("tests/test_c.py", 3, 20)]
    assert found["metadata"]["result_completeness"] == "truncated"
    rest = find(many, "f", limit=9, cursor=found["next_cursor"])
    assert (len(rest["references"]), rest["candidates"], rest["next_cursor"]) == (5, None, None)


@pytest.mark.requirement("004/find_references/ambiguous-symbol")
def test_a_name_of_more_than_five_symbols_lists_the_likeliest(own: Callable[..., Asking]) -> None:
    folders = ["tests/", *(f"m{number}/" for number in range(5))]
    many = own({f"{folder}a.py": "def f():\n    pass\n" for folder in folders})
    for tool in ("find_references", "get_call_graph"):
        error = many.answer(tool, symbol_name="f").value["error"]
        assert (error["code"], error["data"]["total_candidates"]) == ("ambiguous_symbol", 6)
        first, *_, last = error["data"]["candidates"]
        assert (first["qualified_name"], first["path"], first["line_start"]) == ("m0.a.f", "m0/a.py", 1)
        assert last["path"] == "tests/a.py"
        assert "m0.a.f (m0/a.py:1)" in error["message"]
        assert "m0.a.f" in error["data"]["remedy"]


@pytest.mark.requirement("004/find_references/one-to-a-reader")
def test_a_declaration_and_its_definition_are_one(own: Callable[..., Asking]) -> None:
    asked = own(
        {
            "src/pot.h": "int fill(int cups);\n",
            "src/pot.c": '#include "pot.h"\nint fill(int cups) {\n  return cups;\n}\nint twice() { return fill(2); }\n',
            "src/main.c": '#include "pot.h"\nint main(void) {\n  return fill(1);\n}\n',
            "tools/other.c": "static int fill(int cups) {\n  return 0;\n}\nint run(void) { return fill(3); }\n",
        }
    )
    found = find(asked, "fill")
    assert (found["symbol"]["path"], found["symbol"]["line_start"]) == ("src/pot.c", 2)
    assert {("src/main.c", 3), ("src/pot.c", 5)} <= set(places(found))
    assert [each["symbol"]["path"] for each in found["candidates"]] == ["tools/other.c"]
    graph = asked.answer("get_call_graph", symbol_name="fill", direction="callers").value
    assert {each["name"] for each in graph["nodes"]} == {"fill", "twice", "main"}
    assert [each["path"] for each in graph["candidates"]] == ["tools/other.c"]


@pytest.mark.requirement("004/find_references/one-to-a-reader")
def test_a_member_of_an_interface_and_what_implements_it_are_one(own: Callable[..., Asking]) -> None:
    asked = own(
        {
            "port/Port.java": "package port;\npublic interface Port {\n  void send(String it);\n}\n",
            "port/Wire.java": "package port;\nclass Wire implements Port {\n  public void send(String it) {}\n}\n",
            "port/Use.java": (
                'package port;\nclass Use {\n  void a(Port p) {\n    p.send("1");\n  }\n'
                '  void b(Wire w) {\n    w.send("2");\n  }\n}\n'
            ),
        }
    )
    found = find(asked, "send")
    assert found["candidates"] is None
    assert {("port/Use.java", 4), ("port/Use.java", 7)} <= set(places(found))


@pytest.mark.requirement("004/find_references/one-to-a-reader")
def test_overloads_are_one(own: Callable[..., Asking]) -> None:
    source = (
        "from typing import overload\n\n@overload\ndef f(a: int) -> int: ...\n@overload\ndef f(a: str) -> str: ...\n"
    )
    found = find(own({"a.py": f"{source}def f(a):\n    return a\n\nf(1)\n"}), "f")
    assert found["candidates"] is None
    assert ("a.py", 10) in places(found)


@pytest.mark.requirement("ruling/nearest/names")
@pytest.mark.parametrize("tool", ["find_references", "get_call_graph"])
def test_an_unknown_name_names_the_nearest(gate: Asking, tool: str) -> None:
    error = gate.answer(tool, symbol_name="Singed").value["error"]
    assert error["code"] == "symbol_not_found"
    assert error["data"]["near"][0] == "auth.tokens.Signed"
    assert "Did you mean auth.tokens.Signed" in error["data"]["remedy"]


@pytest.mark.requirement("004/find_references/path-line-picks-definition")
def test_path_and_line_pick_the_definition(gate: Asking) -> None:
    assert find(gate, "validate", path="auth/other.py", line=1)["total_references"] == 0
    assert find(gate, "validate", path="auth/tokens.py", line=14)["total_references"] == 6
    assert refused(gate, symbol_name="validate", line=1)["code"] == "invalid_input"


@pytest.mark.requirement("004/find_references/limit-default-20", "004/find_references/total-references")
def test_twenty_are_returned_unless_told_otherwise_and_all_are_counted(
    own: Callable[..., Asking],
) -> None:
    calls = "".join(f"def user{number}():\n    target()\n" for number in range(30))
    many = own({"many.py": f"def target():\n    pass\n{calls}"})
    found = find(many, "target")
    assert (len(found["references"]), found["total_references"]) == (20, 30)
    assert found["metadata"]["result_completeness"] == "truncated"
    rest = find(many, "target", cursor=found["next_cursor"])
    assert len(set(places(found) + places(rest))) == 30
    assert (rest["next_cursor"], rest["metadata"]["result_completeness"]) == (None, "complete")
    assert len(find(many, "target", limit=1000)["references"]) == 30
    assert refused(many, symbol_name="target", limit=0)["code"] == "invalid_input"
    assert refused(many, symbol_name="target", cursor="-1")["code"] == "invalid_input"


def test_a_text_too_long_is_cut_in_both_lists_and_its_cursor_goes_on_there(own: Callable[..., Asking]) -> None:
    calls = "".join(f"def user{number}(it):\n    target()\n    it.member()\n" for number in range(300))
    many = own({"many.py": f"def target():\n    pass\nclass C:\n    def member(self): ...\n{calls}"})
    for name in ("target", "C.member"):
        asked = {"symbol_name": name, "limit": 1000, "include_unresolved": True}
        whole = many.answer("find_references", **asked)
        found = json.loads(whole.text)
        assert len(whole.text) <= MOST_CHARACTERS
        assert 0 < found["cut"]["shown"] < 300
        rest = many.answer("find_references", **asked, cursor=found["next_cursor"]).value
        for rows in ("references", "unresolved"):
            assert found[rows] + rest[rows] == whole.value[rows]


def test_of_a_very_long_line_the_part_around_the_reference_is_shown(own: Callable[..., Asking]) -> None:
    padding = " + ".join(["1"] * 150)
    long = own({"a.py": f"def target(): ...\n\n\nx = {padding} + target() + {padding}\n"})
    (row,) = find(long, "target")["references"]
    assert "target()" in row["context"]
    assert len(row["context"]) <= 400


@pytest.mark.requirement("004/find_references/unresolved-counted", "004/find_references/unresolved-on-request")
def test_what_could_not_be_bound_is_counted_and_listed_on_request(gate: Asking) -> None:
    found = find(gate, "Signed.check")
    assert ("app/main.py", 7) not in places(found)
    assert found["unresolved_count"] == 1
    assert found.get("unresolved") is None
    listed = find(gate, "Signed.check", include_unresolved=True)["unresolved"]
    assert [(each["path"], each["line_start"], each["context"]) for each in listed] == [
        ("app/main.py", 7, "anything.check()")
    ]


def test_an_inherited_call_is_the_parents(gate: Asking) -> None:
    assert ("auth/tokens.py", 11) in places(find(gate, "Token.check"))


@pytest.mark.requirement("004/find_references/symbol-not-found")
def test_an_unknown_name_is_not_found_and_near_ones_are_named(gate: Asking) -> None:
    error = refused(gate, symbol_name="validate_token")
    assert error["code"] == "symbol_not_found"
    assert "auth.tokens.validate" in error["data"]["near"]


@pytest.mark.requirement("004/find_references/no-edges-available")
def test_a_project_that_is_not_indexed_has_no_edges(own: Callable[..., Asking]) -> None:
    bare = own({"a.py": "def a(): ...\n"}, indexed=False)
    assert refused(bare, symbol_name="a")["code"] == "no_edges_available"


@pytest.mark.requirement("ruling/additions/workspace-on-find-references")
def test_a_workspace_may_be_named(gate: Asking, own: Callable[..., Asking]) -> None:
    assert find(gate, "Signed", workspace=str(gate.root))["symbol"]["name"] == "Signed"
    other = own({"b.py": "def elsewhere(): ...\n\n\nelsewhere()\n"})
    assert places(find(other, "elsewhere", workspace=str(other.root))) == [("b.py", 4)]


def test_a_ref_is_the_branch_that_is_checked_out_or_is_refused(gate: Asking) -> None:
    assert find(gate, "Signed", ref="main") == find(gate, "Signed")
    assert refused(gate, symbol_name="Signed", ref="elsewhere")["code"] == "ref_not_indexed"


def test_an_error_says_how_the_index_stands_and_what_to_do(gate: Asking) -> None:
    answer = gate.answer("find_references", symbol_name="nothing_like_it")
    assert answer.value["metadata"]["indexing_status"] == "ready"
    assert answer.value["error"]["data"]["remedy"]


@pytest.mark.requirement(
    "ruling/symbol-identity/stable-id-ignores-edits", "ruling/symbol-identity/stable-id-inputs",
)  # fmt: skip
def test_ids_outlive_a_change_of_line_and_signature(own: Callable[..., Asking]) -> None:
    before = own({"a.py": "def f(x): ...\n\n\nclass C:\n    def f(self): ...\n"})
    after = own({"a.py": "import os\n\n\ndef f(x, y=1): return os\n\n\nclass C:\n    def f(self): ...\n"})
    ids = [find(each, "f", path="a.py", line=line)["symbol"] for each, line in ((before, 1), (after, 4), (after, 8))]
    assert ids[0]["symbol_stable_id"] == ids[1]["symbol_stable_id"] != ids[2]["symbol_stable_id"]
    assert ids[0]["symbol_id"] == ids[1]["symbol_id"] != ids[2]["symbol_id"]


def test_a_withdrawn_call_ends_between_two_files_and_spoils_nothing(own: Callable[..., Asking]) -> None:
    users = {f"user{number}.py": "from a import target\n\n\ntarget()\n" for number in range(20)}
    many = own({"a.py": "def target(): ...\n", **users})
    opened = many.project.index.open_index()
    assert opened is not None
    with open_view(opened.store, opened.lexical, str(many.root), many.project.guard.blocks) as view:
        assert view is not None
        cancel = Cancel()
        engine = Engine(view, cancel)
        target = pick_definition(engine, "target")
        cancel.set()
        with pytest.raises(Cancelled):
            references_to(engine, target)
    assert find(many, "target")["total_references"] == 40


def refs(built: Built, *arguments: str) -> Result:
    return CliRunner().invoke(
        main, ["refs", *arguments, "--root", str(built.root)], env={"CAIRN_HOME": str(built.home)}
    )


def test_the_command_prints_each_use_under_its_file(built: Built) -> None:
    ran = refs(built, "tokens.validate", "--kind", "calls")
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.splitlines() == [
        "3 references to auth.tokens.validate (auth/tokens.py:14)",
        "Calls:",
        "app/main.py",
        "    6 run: if validate(Signed()):",
        "auth/tokens.py",
        "   19 twice: first = validate(token)",
        "   20 twice: return first and validate(token)",
    ]


def test_the_command_lists_what_could_not_be_bound_and_prints_json(built: Built) -> None:
    ran = refs(built, "Signed.check", "--unresolved")
    assert "1 use of the name could not be bound" in ran.stdout
    assert "Not bound to any definition:\napp/main.py\n    7 run: anything.check()" in ran.stdout
    answer = json.loads(refs(built, "tokens.validate", "--json").stdout)
    assert answer["total_references"] == 6


def test_the_command_prints_every_symbol_of_a_name(built: Built) -> None:
    ran = refs(built, "validate")
    assert ran.exit_code == 0
    assert "6 references to auth.tokens.validate" in ran.stdout
    assert "0 references to auth.other.validate" in ran.stdout
    assert ran.stdout.startswith("2 symbols have this name")
    assert refs(built, "validate", "--path", "auth/tokens.py", "--line", "14").exit_code == 0
