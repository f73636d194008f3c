"""cairn search: what a person reads in a terminal, what a pipe gets, and the same as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from codecairn.cli import main
from tests.support.repo import Repo
from tests.support.search import SHOP, Built

ESCAPE = "\x1b["


@pytest.fixture
def searched(shop: Built, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shop, which is indexed already."""
    monkeypatch.setenv("CAIRN_HOME", str(shop.home))
    return shop.root


def cairn(*arguments: object, color: bool = False) -> Result:
    return CliRunner().invoke(main, ["search", *(str(each) for each in arguments)], color=color)


def structured(*arguments: object) -> Any:
    ran = cairn(*arguments, "--json")
    assert ran.exit_code == 0, ran.output
    return json.loads(ran.stdout)


def test_a_result_is_its_place_its_signature_and_the_lines_that_matter(searched: Path) -> None:
    ran = cairn("validate", "token", "--root", searched, "-n", 1)
    assert ran.exit_code == 0, ran.output
    counted, head, _, *lines = ran.stdout.splitlines()
    assert counted == '1 result for "validate token"'
    found = re.fullmatch(r"1\. (\S+):(\d+)-\d+  func ValidateToken\(token string\) bool", head)
    assert found is not None, head
    text = SHOP["internal/auth/service.go"]
    assert isinstance(text, str)
    source = text.split("\n")
    assert found[1] == "internal/auth/service.go"
    assert source[int(found[2]) - 1].startswith("// ValidateToken")
    assert lines
    for line in lines:
        number, shown = line[:6], line[8:]
        assert source[int(number) - 1].strip() == shown
        assert "token" in shown.lower()


def test_a_pipe_gets_no_colour_and_a_terminal_gets_the_words_marked(searched: Path) -> None:
    assert ESCAPE not in cairn("token", "--root", searched).output
    coloured = cairn("token", "--root", searched, color=True).stdout
    assert re.search(r"\x1b\[\d+mtoken\x1b\[0m", coloured)


def test_json_is_what_the_tool_answers(searched: Path) -> None:
    value = structured("order", "--root", searched, "--limit", 3)
    assert len(value["results"]) == value["statistics"]["returned_results"] == 3
    assert value["query"] == "order"
    assert value["metadata"]["freshness_status"] == "fresh"


def test_options_reach_the_search(searched: Path) -> None:
    value = structured(
        "order", "--root", searched, "--mode", "keyword", "--language", "go", "--path", "internal/orders"
    )
    assert {each["file"]["path"] for each in value["results"]} == {"internal/orders/repository.go"}
    assert not value["metadata"].get("warnings")
    assert cairn("order", "--root", searched, "--mode", "fuzzy").exit_code == 2
    assert cairn("order", "--root", searched, "-n", 0).exit_code == 2
    assert cairn("order", "--root", searched, "--limit", 0).exit_code == 2
    assert cairn("--root", searched).exit_code == 2


def test_a_named_project_is_searched_from_a_folder_that_is_none(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert structured("validate", "token", "--root", searched)["results"]


def test_explain_adds_up(searched: Path) -> None:
    ran = cairn("compute_tax", "--root", searched, "-n", 1, "--explain")
    assert ran.exit_code == 0, ran.output
    rows = re.findall(r"^ +(-?\d+\.\d{3})  (\w+) *(.*)$", ran.stdout, re.MULTILINE)
    parts = {name: float(value) for value, name, _ in rows}
    total = parts.pop("total")
    assert sum(parts.values()) == pytest.approx(total, abs=0.01)
    assert {"bm25", "exact_match", "named"} <= parts.keys()
    assert all(reason for _, name, reason in rows if name != "total")


def test_nothing_found_is_status_one(searched: Path) -> None:
    for arguments in ((), ("--json",)):
        ran = cairn("zzzyyyxxx", "--root", searched, *arguments)
        assert ran.exit_code == 1
    assert cairn("zzzyyyxxx", "--root", searched).stdout.startswith(
        '0 results for "zzzyyyxxx"\nNothing that is indexed'
    )


@pytest.mark.parametrize("arguments", [(" ",), ("x" * 1001,), ("x", "--language", "cobol")])
def test_a_refusal_is_said_and_not_traced(arguments: tuple[str, ...], searched: Path) -> None:
    ran = cairn(*arguments, "--root", searched)
    assert ran.exit_code == 1
    assert ran.stderr.startswith("Error: ")
    assert "Traceback" not in ran.output
    assert ran.stdout == ""


def test_a_project_is_indexed_first_and_brought_up_to_date(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    repo.commit("start", {"a.py": "def alpha(): ...\n", "deep/er/b.py": "def beta(): ...\n"})
    assert cairn("alpha", "--root", repo.path).stdout.splitlines()[1] == "1. a.py:1  def alpha()"
    repo.write("c.py", "def gamma(): ...\n")
    monkeypatch.chdir(repo.path / "deep" / "er")
    assert cairn("gamma").stdout.splitlines()[1] == "1. c.py:1  def gamma()"


def test_the_lines_of_a_symbol_that_is_cut_have_their_own_numbers(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    lines = ["def long(x):", *(f"    x += {at}" for at in range(250)), "    return settle(x)  # the needle", ""]
    repo.commit("start", {"a.py": "\n".join(lines)})
    ran = cairn("needle", "--root", repo.path)
    numbered = [(line[:6], line[8:]) for line in ran.stdout.splitlines()[2:]]
    assert (f"{252:>6}", lines[251].strip()) in numbered
    assert all(lines[int(number) - 1].strip() == shown for number, shown in numbered if number.strip())


def test_words_that_look_like_patterns_are_words(searched: Path) -> None:
    for query in ("(.*token", "[", "a|b", "\\"):
        assert cairn(query, "--root", searched).exit_code in (0, 1), query
