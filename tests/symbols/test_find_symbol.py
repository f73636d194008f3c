"""find_symbol: what a name may look like, what is found first, and how much of it is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result

from codecairn import tools
from codecairn.budget import DEFAULT_CHARACTERS
from codecairn.cli import main
from tests.registry.samples import assert_conforms
from tests.support.doors import DOORS, JSON_DOORS
from tests.support.pages import place_of
from tests.support.search import Asking, Built, Doors
from tests.support.symbols import LEDGER, refusal, value_of


def find(asking: Asking, name: str, **arguments: Any) -> dict[str, Any]:
    return value_of(asking.answer("find_symbol", symbol_name=name, **arguments))


def found(asking: Asking, name: str, **arguments: Any) -> list[tuple[str, str, str]]:
    symbols = find(asking, name, **arguments)["symbols"]
    return [(each["qualified_name"], each["path"], each["match"]) for each in symbols]


def refused(asking: Asking, name: str, **arguments: Any) -> dict[str, Any]:
    return refusal(asking.answer("find_symbol", symbol_name=name, **arguments))


@pytest.mark.requirement("ruling/further-tools/find-symbol")
def test_a_definition_is_found_with_its_source_at_every_door(door_name: str, gates: Doors) -> None:
    answer = gates(door_name).call("find_symbol", {"symbol_name": "Account.withdraw"})
    assert_conforms(tools.standard().tools["find_symbol"], answer)
    (each,) = value_of(answer)["symbols"]
    assert (each["name"], each["qualified_name"], each["kind"]) == (
        "withdraw",
        "bank.ledger.Account.withdraw",
        "method",
    )
    assert (each["path"], each["language"], each["match"]) == ("bank/ledger.py", "python", "exact")
    lines = LEDGER.split("\n")
    assert lines[each["line_start"] - 1].strip() == each["signature"] + ":"
    assert lines[each["line_end"] - 1].strip() == "return self.cents"
    assert each["body"] == "\n".join(lines[each["body_start_line"] - 1 : each["line_end"]])
    assert each["body"].strip().startswith("# Moves money out.")
    assert each["symbol_stable_id"].startswith("b3:")
    assert each["symbol_id"].startswith("sym_")
    assert answer.value["metadata"]["freshness_status"] == "fresh"
    assert answer.value["metadata"]["result_completeness"] == "complete"
    if door_name in JSON_DOORS:
        assert json.loads(answer.text)["symbols"] == answer.value["symbols"]


@pytest.mark.requirement("ruling/registry/same-value-every-door")
def test_every_door_finds_the_same(gates: Doors) -> None:
    answers = [gates(name).call("find_symbol", {"symbol_name": "transfer"}).value["symbols"] for name in DOORS]
    assert all(each == answers[0] for each in answers)


@pytest.mark.parametrize(
    ("name", "qualified"),
    [
        ("Account", "bank.ledger.Account"),
        ("bank.ledger.Account.withdraw", "bank.ledger.Account.withdraw"),
        ("Account#withdraw", "bank.ledger.Account.withdraw"),
        ("Account::withdraw", "bank.ledger.Account.withdraw"),
        ("Account.withdraw()", "bank.ledger.Account.withdraw"),
        ("Account.withdraw(self, cents=max(1, 2))", "bank.ledger.Account.withdraw"),
        ("def print_report() -> None", "bank.report.print_report"),
        ("bank/report.py:transfer", "bank.report.transfer"),
        ("bank/report:transfer", "bank.report.transfer"),
        ("./bank/report.py:transfer", "bank.report.transfer"),
        ("report.transfer", "bank.report.transfer"),
        ("Cart<Line>.add", "web/cart.Cart.add"),
        ("web/cart.ts:Cart.add", "web/cart.Cart.add"),
        ("Cart[int].add", "web/cart.Cart.add"),
        ("Cart.[Symbol.iterator]", "web/cart.Cart.[Symbol.iterator]"),
        ("[Symbol.iterator]", "web/cart.Cart.[Symbol.iterator]"),
        ("Cart.#lines", "web/cart.Cart.#lines"),
        ("Shelf.Put", "store.Shelf.Put"),
        ("func (s *Shelf) Put(thing string) error", "store.Shelf.Put"),
        ("(*Shelf).Put", "store.Shelf.Put"),
        ("Mill::Job#<=>", "Mill::Job#<=>"),
        ("<=>", "Mill::Job#<=>"),
        ("Job#done?", "Mill::Job#done?"),
        ("atlas::Key::operator==", "atlas::Key::operator=="),
        ("operator ==", "atlas::Key::operator=="),
        ("Key::operator()", "atlas::Key::operator()"),
        ("operator[]", "atlas::Key::operator[]"),
        ("  Account \n".strip("\n"), "bank.ledger.Account"),
    ],
)
def test_a_name_is_understood_in_any_notation(yard: Asking, name: str, qualified: str) -> None:
    best, *_ = found(yard, name)
    assert best[0].endswith(qualified)
    assert best[2] == "exact"


def test_the_same_letters_stand_before_others_and_products_before_tests(yard: Asking) -> None:
    assert found(yard, "transfer") == [
        ("bank.ledger.transfer", "bank/ledger.py", "exact"),
        ("bank.report.transfer", "bank/report.py", "exact"),
        ("bank.tests.test_ledger.transfer", "bank/tests/test_ledger.py", "exact"),
        ("web/cart.Transfer", "web/cart.ts", "other_case"),
    ]
    assert found(yard, "ACCOUNT.WithDraw") == [("bank.ledger.Account.withdraw", "bank/ledger.py", "other_case")]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("bank.Account.withdraw", "bank.ledger.Account.withdraw"),  # re-exported one level up
        ("withdrw", "bank.ledger.Account.withdraw"),
        ("withdarw", "bank.ledger.Account.withdraw"),
        ("Account.withdrawl", "bank.ledger.Account.withdraw"),
        ("Savings.withdrawl", "bank.ledger.Savings.withdraw"),
        ("print_rep", "bank.report.print_report"),
        ("report", "bank.report.print_report"),
        ("reportPrint", "bank.report.print_report"),
        ("print_*", "bank.report.print_report"),
        ("lines", "web/cart.Cart.#lines"),
    ],
)
def test_where_nothing_has_the_name_near_ones_are_found(yard: Asking, name: str, first: str) -> None:
    best, *_ = found(yard, name)
    assert (best[0], best[2]) == (first, "near")


@pytest.mark.parametrize(
    ("name", "qualified"),
    [
        ("Savings.owner", "bank.ledger.Account.owner"),
        ("bank.ledger.Savings.__init__", "bank.ledger.Account.__init__"),
        ("VAULT.withdraw", "bank.ledger.Savings.withdraw"),
        ("Rack.Put", "store.Shelf.Put"),
    ],
)
def test_a_member_is_found_by_a_type_or_a_value_that_has_it_from_elsewhere(
    yard: Asking, name: str, qualified: str
) -> None:
    (each,) = find(yard, name)["symbols"]
    assert (each["qualified_name"], each["match"]) == (qualified, "inherited")
    assert "body" in each


def test_nothing_near_is_an_error_that_says_what_to_do(yard: Asking) -> None:
    error = refused(yard, "zzqqxxyy")
    assert error["code"] == "symbol_not_found"
    assert "search_code" in error["data"]["remedy"]


def test_filters_keep_a_kind_a_language_and_a_path(yard: Asking) -> None:
    assert [each[1] for each in found(yard, "transfer", path="bank/report.py")] == ["bank/report.py"]
    assert [each[1] for each in found(yard, "transfer", path="**/tests/**")] == ["bank/tests/test_ledger.py"]
    assert [each[1] for each in found(yard, "transfer", language="typescript")] == ["web/cart.ts"]
    assert {each[1] for each in found(yard, "transfer", kind="fn")} == {each[1] for each in found(yard, "transfer")}
    assert found(yard, "withdraw", kind="method") == found(yard, "withdraw")
    error = refused(yard, "transfer", kind="class", path="bank")
    assert error["code"] == "symbol_not_found"
    assert "bank.ledger.transfer" in error["data"]["candidates"]


@pytest.mark.parametrize(
    ("arguments", "param"),
    [
        ({"symbol_name": ""}, "symbol_name"),
        ({"symbol_name": " \u00a0"}, "symbol_name"),
        ({"symbol_name": "a\x00b"}, "symbol_name"),
        ({"symbol_name": "a" * 10_240}, "symbol_name"),
        ({"symbol_name": "x", "kind": "banana"}, "kind"),
        ({"symbol_name": "x", "language": "klingon"}, "language"),
        ({"symbol_name": "x", "path": "a["}, "path_filter"),
        ({"symbol_name": "x", "limit": 0}, "limit"),
        ({"symbol_name": "x", "cursor": "-1"}, "cursor"),
        ({"symbol_name": "x", "workspace": "relative"}, "workspace"),
    ],
)
def test_a_bad_argument_is_named(yard: Asking, arguments: dict[str, Any], param: str) -> None:
    error = refusal(yard.answer("find_symbol", **arguments))
    assert (error["code"], error["data"]["param"]) == ("invalid_input", param)


@pytest.mark.parametrize(
    "name",
    ["*", "**", ".", "::", "/", "()", "<>", "[", "\\", "a" * 500, "." * 500, "<" * 500, "a.b" * 160, "名前", "%_"],
)
def test_odd_names_find_nothing_and_break_nothing(yard: Asking, name: str) -> None:
    answer = yard.answer("find_symbol", symbol_name=name)
    assert_conforms(tools.standard().tools["find_symbol"], answer)
    if answer.is_error:
        assert refusal(answer)["code"] == "symbol_not_found"


def test_pages_follow_each_other(yard: Asking) -> None:
    whole = found(yard, "transfer")
    page = find(yard, "transfer", limit=3)
    assert (page["total_symbols"], place_of(page["next_cursor"])) == (4, "3")
    assert page["metadata"]["result_completeness"] == "truncated"
    rest = find(yard, "transfer", limit=3, cursor=page["next_cursor"])
    assert rest["next_cursor"] is None
    assert [each["path"] for each in page["symbols"] + rest["symbols"]] == [each[1] for each in whole]


def test_the_best_are_shown_whole_and_the_rest_by_their_signatures(own: Callable[..., Asking]) -> None:
    asking = own(
        {f"m{number}.py": "def same() -> int:\n    '''What it does.'''\n    return 1\n" for number in range(6)}
    )
    symbols = find(asking, "same")["symbols"]
    assert ["body" in each for each in symbols] == [True] * 3 + [False] * 3
    assert symbols[-1]["signature"] == "def same() -> int"
    assert symbols[-1]["doc"] == "What it does."


def test_a_type_too_long_to_show_has_its_members_by_their_heads(own: Callable[..., Asking]) -> None:
    methods = "".join(
        f"\n    def method_{number}(self) -> int:\n" + "        value = 1\n" * 12 + "        return value\n"
        for number in range(60)
    )
    asking = own({"big.py": f"class Big:\n    size = 60\n{methods}"})
    answer = asking.answer("find_symbol", symbol_name="Big")
    (each,) = value_of(answer)["symbols"]
    assert each["body_cut"] is True
    assert each["body"].startswith("class Big:\n    size = 60\n\n    def method_0(self) -> int:\n        …\n")
    assert "method_59" in each["body"]
    assert len(answer.text) <= DEFAULT_CHARACTERS


def test_an_ordinary_answer_stays_small_whatever_it_finds(own: Callable[..., Asking]) -> None:
    body = "def same() -> str:\n" + "    print('a line of some length, to fill the page')\n" * 150
    asking = own({f"folder/module_{number}.py": body for number in range(30)})
    answer = asking.answer("find_symbol", symbol_name="same")
    assert len(value_of(answer)["symbols"]) == 10
    assert len(answer.text) <= DEFAULT_CHARACTERS
    assert 0 < len(json.loads(answer.text)["symbols"]) <= 10


def test_an_edit_is_found_once_indexed_and_said_to_be_stale_before(own: Callable[..., Asking]) -> None:
    asking = own({"a.py": "def before() -> None:\n    pass\n"})
    (asking.root / "a.py").write_text("def after() -> None:\n    pass\n", encoding="utf-8")
    assert find(asking, "before")["metadata"]["freshness_status"] == "stale"
    assert not asking.answer("index_codebase", path=str(asking.root)).is_error
    assert found(asking, "after") == [("a.after", "a.py", "exact")]


def test_what_is_not_indexed_is_an_error(own: Callable[..., Asking]) -> None:
    asking = own({"a.py": "def f() -> None:\n    pass\n"}, indexed=False)
    assert refused(asking, "f")["code"] == "index_not_ready"


def test_another_ref_is_refused(yard: Asking) -> None:
    assert found(yard, "Account", ref="main") == found(yard, "Account")
    assert refused(yard, "Account", ref="elsewhere")["code"] == "ref_not_indexed"


def cairn(built: Built, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    monkeypatch.setenv("CAIRN_HOME", str(built.home))
    return CliRunner().invoke(main, ["symbol", *arguments, "--root", str(built.root)])


def test_the_command_prints_the_source_as_it_is(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = cairn(built, monkeypatch, "Savings.withdraw")
    assert ran.exit_code == 0, ran.output
    count, head, *lines = ran.stdout.splitlines()
    assert count == "1 symbol"
    found = re.fullmatch(r"bank/ledger\.py:(\d+)-(\d+)  method bank\.ledger\.Savings\.withdraw", head)
    assert found is not None, head
    assert lines[-1] == LEDGER.split("\n")[int(found[2]) - 1]
    assert "\n".join(lines) in LEDGER


def test_the_command_answers_in_json_and_fails_with_the_remedy(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    value = json.loads(cairn(built, monkeypatch, "transfer", "--json", "-n", "1").stdout)
    assert value["total_symbols"] == 4
    ran = cairn(built, monkeypatch, "zzqqxxyy")
    assert ran.exit_code == 1
    assert "search_code" in ran.output
