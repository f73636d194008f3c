"""get_file_outline: a file's symbols as they stand in each other, a folder's files, and what has no outline."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from codecairn import tools
from codecairn.budget import DEFAULT_CHARACTERS
from codecairn.cli import main
from tests.registry.samples import assert_conforms
from tests.support.doors import DOORS
from tests.support.pages import place_of
from tests.support.search import Asking, Built, Doors
from tests.support.symbols import LEDGER, refusal, value_of


def outline(asking: Asking, path: str, **arguments: Any) -> dict[str, Any]:
    return value_of(asking.answer("get_file_outline", path=path, **arguments))


def refused(asking: Asking, path: str, **arguments: Any) -> dict[str, Any]:
    return refusal(asking.answer("get_file_outline", path=path, **arguments))


def drawn(symbols: list[dict[str, Any]], depth: int = 0) -> Iterator[str]:
    for each in symbols:
        yield f"{'  ' * depth}{each['kind']} {each['name']} {each['line_start']}-{each['line_end']}"
        yield from drawn(each.get("children", []), depth + 1)


def names(symbols: list[dict[str, Any]]) -> Iterator[str]:
    for each in symbols:
        yield each["name"]
        yield from names(each.get("children", []))


LEDGER_OUTLINE = """\
const LIMIT 3-3
class Account 6-20
  method __init__ 9-11
  field owner 10-10
  field cents 11-11
  method withdraw 14-20
class Savings 23-25
  method withdraw 24-25
fn transfer 28-30"""


@pytest.mark.requirement("ruling/further-tools/get-file-outline")
def test_a_file_is_its_symbols_nested_at_every_door(door_name: str, gates: Doors) -> None:
    answer = gates(door_name).call("get_file_outline", {"path": "bank/ledger.py"})
    assert_conforms(tools.standard().tools["get_file_outline"], answer)
    value = value_of(answer)
    (file,) = value["files"]
    assert (file["path"], file["language"], file["lines"]) == ("bank/ledger.py", "python", len(LEDGER.splitlines()))
    assert "\n".join(drawn(file["symbols"])) == LEDGER_OUTLINE
    assert file["symbols"][1]["children"][0]["signature"] == "def __init__(self, owner: str) -> None"
    assert (value["total_symbols"], value["next_cursor"]) == (9, None)
    assert value["metadata"]["freshness_status"] == "fresh"


@pytest.mark.requirement("ruling/registry/same-value-every-door")
def test_every_door_draws_the_same(gates: Doors) -> None:
    answers = [gates(name).call("get_file_outline", {"path": "."}).value for name in DOORS]
    assert all(each["files"] == answers[0]["files"] for each in answers)


def test_a_folder_is_its_files_nearest_first_with_their_top_level(yard: Asking) -> None:
    value = outline(yard, "bank")
    assert [each["path"] for each in value["files"]] == [
        "bank/ledger.py",
        "bank/report.py",
        "bank/vault.py",
        "bank/tests/test_ledger.py",
    ]
    assert list(drawn(value["files"][0]["symbols"])) == [
        line for line in LEDGER_OUTLINE.split("\n") if not line.startswith(" ")
    ]
    assert value["folders"] == [{"path": "bank/tests", "files": 1}]
    assert (value["total_files"], value["files_without_symbols"]) == (5, 1)


@pytest.mark.parametrize("path", [".", "./", "./."])
def test_the_whole_project_is_a_folder_too(yard: Asking, path: str) -> None:
    value = outline(yard, path)
    assert "native/key.cpp" in {each["path"] for each in value["files"]}
    assert {"path": "bank", "files": 5} in value["folders"]
    assert not any(each["path"].startswith(("build", ".env")) for each in value["files"])


@pytest.mark.parametrize("path", ["bank/", "./bank", "bank//"])
def test_a_folder_may_be_written_in_several_ways(yard: Asking, path: str) -> None:
    assert outline(yard, path)["files"] == outline(yard, "bank")["files"]


def test_a_document_is_its_headings(yard: Asking) -> None:
    (file,) = outline(yard, "README.md")["files"]
    assert list(drawn(file["symbols"])) == [
        "section Yard 1-13", "  section Install 5-10", "    section Linux 5-10", "  section Use 11-13",
    ]  # fmt: skip


def test_pages_follow_each_other_and_each_says_what_it_is_in(yard: Asking) -> None:
    first = outline(yard, "bank/ledger.py", limit=4)
    assert list(names(first["files"][0]["symbols"])) == ["LIMIT", "Account", "__init__", "owner"]
    assert (place_of(first["next_cursor"]), first["metadata"]["result_completeness"]) == ("4", "truncated")
    second = outline(yard, "bank/ledger.py", limit=100, cursor=first["next_cursor"])
    assert list(names(second["files"][0]["symbols"])) == [
        "Account", "cents", "withdraw", "Savings", "withdraw", "transfer",
    ]  # fmt: skip
    assert second["next_cursor"] is None


def test_pages_of_a_folder_count_files(yard: Asking) -> None:
    whole = [each["path"] for each in outline(yard, ".")["files"]]
    found, cursor = list[str](), None
    while True:
        page = outline(yard, ".", limit=3, **({"cursor": cursor} if cursor else {}))
        found += [each["path"] for each in page["files"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        assert page["files"]
    assert found == whole


def test_an_ordinary_answer_stays_small_and_goes_on_where_it_was_cut(own: Callable[..., Asking]) -> None:
    source = "".join(
        f"def function_number_{number}(first: int, second: str) -> None:\n    pass\n\n\n" for number in range(400)
    )
    asking = own({"wide.py": source, "folder/wide.py": source})
    found, cursor = list[str](), None
    while True:
        answer = asking.answer("get_file_outline", path="wide.py", **({"cursor": cursor} if cursor else {}))
        assert len(answer.text) <= DEFAULT_CHARACTERS
        value = value_of(answer)
        assert json.loads(answer.text)["files"] == value["files"]
        found += names(value["files"][0]["symbols"])
        cursor = value["next_cursor"]
        if cursor is None:
            break
    assert found == [f"function_number_{number}" for number in range(400)]
    (file,) = outline(asking, "folder")["files"]
    assert (len(file["symbols"]), file["omitted_symbols"]) == (40, 360)


@pytest.mark.parametrize(
    ("path", "state"),
    [("no/such.py", "unknown"), ("build/made.py", "not_indexed"), ("build", "not_indexed"), ("logo.png", "binary")],
)
def test_what_has_no_outline_says_why(yard: Asking, path: str, state: str) -> None:
    error = refused(yard, path)
    assert (error["code"], error["data"]["state"]) == ("file_not_found", state)


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("ledger.py", "bank/ledger.py"),
        ("bank/ledgr.py", "bank/ledger.py"),
        ("src/Bank", "bank"),
        ("cart.ts", "web/cart.ts"),
    ],
)
def test_a_path_that_is_none_is_told_its_neighbours(yard: Asking, path: str, near: str) -> None:
    error = refused(yard, path)
    assert error["data"]["near"][0] == near
    assert near in error["data"]["remedy"]


@pytest.mark.parametrize("path", [".env", ".git/config", "a/.git", "id_rsa", "node_modules/x.js"])
def test_a_blocked_path_is_refused(yard: Asking, path: str) -> None:
    assert refused(yard, path)["code"] == "workspace_not_allowed"


def test_a_link_out_of_the_project_is_refused(own: Callable[..., Asking], tmp_path: Path) -> None:
    asking = own({"a.py": "x = 1\n"})
    (tmp_path / "outside.py").write_text("y = 1\n", encoding="utf-8")
    (asking.root / "out.py").symlink_to(tmp_path / "outside.py")
    assert refused(asking, "out.py")["code"] == "workspace_not_allowed"


@pytest.mark.parametrize(
    "path", ["", " ", "/etc/passwd", "../x", "a/../../x", "a\x00b", "-x", "C:\\x", "a" * 5000, "~\ud800"]
)
def test_a_path_that_may_not_be_is_invalid(yard: Asking, path: str) -> None:
    assert refused(yard, path)["code"] == "invalid_input"


@pytest.mark.parametrize("path", ["*", "bank/*.py", "名前", "%", "bank/ledger.py/x", "'", "\\"])
def test_odd_paths_name_nothing(yard: Asking, path: str) -> None:
    assert refused(yard, path)["code"] in ("file_not_found", "invalid_input")


def test_what_the_grammar_could_not_read_is_said(own: Callable[..., Asking]) -> None:
    asking = own({"broken.py": "def good() -> None:\n    pass\n\n\ndef bad(:\n  ((((\n" + "@@ ][ \n" * 30})
    assert any("syntax error" in each for each in outline(asking, "broken.py")["metadata"]["warnings"])


def test_what_is_not_indexed_is_an_error(own: Callable[..., Asking]) -> None:
    assert refused(own({"a.py": "x = 1\n"}, indexed=False), "a.py")["code"] == "index_not_ready"


def cairn(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["outline", *(str(each) for each in arguments)])


@pytest.fixture
def home(built: Built, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAIRN_HOME", str(built.home))
    return built.root


def test_the_command_draws_files_and_folders(home: Path) -> None:
    ran = cairn(home / "bank/ledger.py", home / "bank")
    assert ran.exit_code == 0, ran.output
    lines = ran.stdout.splitlines()
    assert lines[0] == "bank/ledger.py  python, 30 lines"
    assert lines[3] == "     9-11    def __init__(self, owner: str) -> None"
    assert "bank/tests/  1" in lines
    assert "bank/tests/test_ledger.py  python, 2 lines" in lines


def test_the_command_reads_a_file_that_no_index_knows(home: Path, tmp_path: Path) -> None:
    ignored = home / "build" / "made.py"
    assert cairn(ignored).stdout.splitlines()[1:] == ["      1-2  def made() -> None"]
    (tmp_path / "alone.go").write_text("package a\n\nfunc F() {}\n", encoding="utf-8")
    assert cairn(tmp_path / "alone.go").stdout.splitlines()[1:] == ["        3  func F()"]
    (tmp_path / "notes.bin").write_bytes(b"\0\1")
    assert cairn(tmp_path / "notes.bin").exit_code == 1


def test_the_command_answers_in_json(home: Path) -> None:
    assert json.loads(cairn(home / "bank", "--json").stdout)["total_files"] == 5
