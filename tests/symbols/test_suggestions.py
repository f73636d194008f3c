"""What was nearly meant, the call that would work, and the names a project root goes by: through tools and commands."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from codecairn import tools
from codecairn.tools.schema import UNLISTED
from tests.support.search import Asking, Built, Doors, error_of
from tests.support.symbols import refusal, value_of


def data_of(answer: Any) -> dict[str, Any]:
    assert answer.is_error, answer.text
    fault: dict[str, Any] = answer.rpc_error["data"]
    return fault


@pytest.mark.requirement("ruling/nearest/paths")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "bank/legder.py"}), ("get_file_outline", {"path": "bank/legder.py"}),
        ("git_blame", {"filePath": "bank/legder.py"}), ("git_log", {"filePath": "bank/legder.py"}),
        ("read_file", {"path": "bank/legder.py", "ref": "main"}),
        ("remember", {"type": "issue", "content": "It is owed twice over.", "path": "bank/legder.py"}),
        ("explain_ranking", {"query": "x", "result_path": "bank/legder.py", "result_line_start": 1}),
    ],
)  # fmt: skip
def test_a_path_that_is_not_there_names_the_nearest(yard: Asking, tool: str, arguments: dict[str, Any]) -> None:
    answer = yard.answer(tool, **arguments)
    assert data_of(answer)["near"][0] == "bank/ledger.py"
    assert "Did you mean bank/ledger.py" in answer.text


@pytest.mark.requirement("ruling/nearest/paths")
def test_what_may_not_be_read_is_not_suggested(yard: Asking) -> None:
    assert ".env" not in data_of(yard.answer("read_file", path="env"))["near"]


@pytest.mark.requirement("ruling/nearest/words")
@pytest.mark.parametrize(
    ("tool", "arguments", "near"),
    [
        ("find_symbol", {"symbol_name": "Account", "language": "pyton"}, "python"),
        ("find_symbol", {"symbol_name": "Account", "language": "c++"}, "cpp"),
        ("find_symbol", {"symbol_name": "Account", "kind": "clas"}, "class"),
        ("find_references", {"symbol_name": "Account", "kind": "call"}, "calls"),
        ("search_code", {"query": "x", "filters": {"symbol_types": ["class", "functon"]}}, "function"),
        ("find_references", {"symbolNam": "Account"}, "symbol_name"),
    ],
)
def test_a_word_that_is_none_names_the_nearest(yard: Asking, tool: str, arguments: dict[str, Any], near: str) -> None:
    answer = yard.answer(tool, **arguments)
    assert data_of(answer)["near"][0] == near
    assert f"Did you mean {near}?" in answer.text


@pytest.mark.requirement("ruling/nearest/words")
def test_a_tool_that_is_none_names_the_nearest(gates: Doors) -> None:
    for door in ("stdio", "rpc"):
        fault = error_of(gates(door).call("find_refs"))
        assert "find_references" in json.dumps(fault)


@pytest.mark.requirement("ruling/nearest/missing-argument")
def test_a_forgotten_argument_is_named_in_a_call_that_works(yard: Asking) -> None:
    data = refusal(yard.answer("find_references", kind="calls"))["data"]
    assert data["param"] == "symbol_name"
    assert 'find_references {"symbol_name": "Type.method", "kind": "calls"}' in data["remedy"]
    several = refusal(yard.answer("explain_ranking", query="x"))["data"]
    assert several["remedy"].startswith("Give result_path and result_line_start, such as explain_ranking ")


@pytest.mark.requirement("ruling/nearest/filter-without-file")
def test_a_filter_that_no_file_passes_is_said(yard: Asking) -> None:
    def warned(**filters: Any) -> str:
        found = value_of(yard.answer("search_code", query="transfer", **filters))
        assert found["results"] == []
        return " ".join(found["metadata"]["warnings"])

    assert "path_filter bnak" in warned(path_filter="bnak")
    assert "Did you mean bank?" in warned(path_filter="bnak")
    assert "file_pattern *.zig" in warned(filters={"file_pattern": "*.zig"})
    assert "language rust" in warned(language="rust")
    refused = refusal(yard.answer("find_symbol", symbol_name="transfer", path="bnak"))
    assert "No indexed file matches path bnak. Did you mean bank?" in refused["data"]["remedy"]
    grepped = value_of(yard.answer("grep_codebase", pattern="transfer", filePattern="**/*.zig"))
    assert "no file matches filePattern **/*.zig" in grepped["message"]
    compared = value_of(yard.answer("diff_context", base_ref="main", head_ref="main", path_filter="bnak"))
    assert any("path_filter bnak" in each for each in compared["metadata"]["warnings"])


ROOTED = {
    "search_code": {"query": "transfer"}, "get_status": {}, "index_codebase": {},
    "find_symbol": {"symbol_name": "transfer"}, "list_refs": {}, "git_log": {}, "read_file": {"path": "README.md"},
    "git_blame": {"filePath": "README.md"}, "git_diff": {}, "grep_codebase": {"pattern": "transfer"},
    "context_search": {"query": "transfer"}, "get_call_graph": {"symbol_name": "ledger.transfer"},
}  # fmt: skip


@pytest.mark.requirement("ruling/project-root/optional", "ruling/project-root/two-names")
@pytest.mark.parametrize("tool", ROOTED)
def test_the_project_root_may_be_left_out_or_named_by_either_word(yard: Asking, tool: str) -> None:
    given, root = ROOTED[tool], str(yard.root)
    value_of(yard.answer(tool, **given))
    value_of(yard.answer(tool, **given, workspace=root))
    if "path" not in given and tool not in ("find_symbol", "git_log", "git_blame", "git_diff", "grep_codebase"):
        value_of(yard.answer(tool, **given, path=root))
    assert yard.answer(tool, **given, workspace="/no/such/root").is_error


@pytest.mark.requirement("ruling/project-root/two-names")
def test_two_roots_that_differ_are_refused(yard: Asking, tmp_path: Path) -> None:
    data = data_of(yard.answer("search_code", query="x", path=str(yard.root), workspace=str(tmp_path)))
    assert data["param"] == "workspace"


def test_names_that_are_only_accepted_are_not_advertised() -> None:
    known = tools.standard().tools
    hidden = {name for name, each in known.items() if UNLISTED in json.dumps(each.input_schema)}
    assert {"search_code", "git_log", "read_file"} <= hidden
    assert all("workspace" not in known[name].short_input_schema["properties"] for name in hidden)


def cairn(built: Built, *arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "codecairn", *arguments], cwd=folder or built.root, capture_output=True, text=True,
        timeout=120, check=False, env={**os.environ, "CAIRN_HOME": str(built.home)},
    )  # fmt: skip


@pytest.mark.requirement("ruling/nearest/words", "ruling/nearest/names", "ruling/refs-by-call/unknown-names-nearest")
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["serch", "x"], 2, "Did you mean search?"),
        (["memory", "lst"], 2, "Did you mean list?"),
        (["call", "find_refs"], 2, "Did you mean find_references?"),
        (["refs", "transfr"], 1, "transfer"),
        (["search", "transfer", "--ref", "man"], 1, "Did you mean main?"),
    ],
)
def test_the_terminal_suggests_too(built: Built, arguments: list[str], status: int, said: str) -> None:
    ran = cairn(built, *arguments)
    assert (ran.returncode, ran.stdout) == (status, "")
    assert said in ran.stderr


@pytest.mark.requirement("ruling/project-root/two-names")
def test_the_shell_takes_both_names_of_the_root(built: Built, tmp_path: Path) -> None:
    for option in ("--root", "--workspace"):
        for command in (["symbol", "transfer"], ["status"], ["branches"], ["grep", "transfer"]):
            ran = cairn(built, *command, option, str(built.root), folder=tmp_path)
            assert ran.returncode == 0, ran.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is made by pty")
def test_a_command_that_indexes_first_draws_how_far_it_is_on_a_terminal(built: Built, tmp_path: Path) -> None:
    import pty

    home = {**os.environ, "CAIRN_HOME": str(tmp_path / "home"), "TERM": "xterm"}
    command = [sys.executable, "-m", "codecairn", "symbol", "transfer", "--json"]
    seen, terminal = pty.openpty()
    drawn = bytearray()
    with subprocess.Popen(
        command, cwd=built.root, stdout=subprocess.PIPE, stderr=terminal, stdin=subprocess.DEVNULL, env=home
    ) as running:
        os.close(terminal)
        watcher = threading.Thread(target=_watch, args=(seen, drawn))
        watcher.start()
        assert running.stdout is not None
        told = json.loads(running.stdout.read())
    watcher.join(30)
    os.close(seen)
    assert told["symbols"]
    assert "━" in drawn.decode("utf-8", "replace")
    piped = cairn(Built(built.root, tmp_path / "other"), "symbol", "transfer", "--json")
    assert "━" not in piped.stderr


def _watch(terminal: int, drawn: bytearray) -> None:
    """Keep what is drawn on a terminal until nobody draws any more."""
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 1 << 12):
            drawn += part
