"""What the contract says of the product as a whole, through a real door."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codecairn import tools
from codecairn.serve import jsonrpc
from tests.search.conftest import lasting
from tests.support.indexes import LastingWorkers
from tests.support.refs import APP, AUTH, Gate
from tests.support.repo import Repo
from tests.support.search import asking, index

__all__ = ["lasting"]

TABLE = {
    "000": ["git_log", "git_blame", "git_diff", "context_search"],
    "001": ["read_file", "grep_codebase"],
    "002": ["index_codebase", "search_code", "get_status"],
    "003": [
        "health_check", "instructions_list", "instructions_get", "instructions_search", "instructions_diff",
        "prompt_review", "integrity_verify", "usage_track", "usage_hotset", "metrics_snapshot", "gates_evaluate",
    ],
    "004": ["diff_context", "find_references", "explain_ranking", "list_refs", "switch_ref"],
}  # fmt: skip


@pytest.mark.requirement("ruling/registry/listed-tools-advertised")
def test_every_tool_of_the_five_families_is_advertised() -> None:
    named = [name for family in TABLE.values() for name in family]
    assert len(named) == 25
    assert set(named) <= {each["name"] for each in jsonrpc.list_tools(tools.standard())}


LONG = "def long_story(value):\n" + "".join(f"    value = tell(value, {number})\n" for number in range(400))


@pytest.fixture
def gate(tmp_path: Path, lasting: LastingWorkers) -> Iterator[Gate]:
    repo = Repo.create(tmp_path / "gate")
    repo.commit("start", {"pkg/__init__.py": "", "pkg/auth.py": AUTH, "pkg/app.py": APP, "pkg/story.py": LONG})
    one = Gate(repo, asking(index(repo.path, tmp_path / "home", lasting)))
    one.asking.project.index._workers = lasting
    yield one
    one.asking.close()


DOCUMENTED: dict[str, tuple[dict[str, Any], set[str]]] = {
    "read_file": ({"path": "pkg/app.py"}, {"file", "dependencies", "metadata"}),
    "grep_codebase": ({"pattern": "validate"}, {"matches", "pattern", "totalMatches", "filesSearched"}),
    "search_code": ({"query": "validate"}, {"success", "query", "results", "statistics", "message"}),
    "get_status": ({}, {"success", "indexed", "project", "statistics", "health", "message"}),
    "index_codebase": ({}, {"success", "project_id", "statistics", "message"}),
    "context_search": ({"query": "validate token"}, {"results", "query", "totalFound", "searchTime"}),
    "git_log": ({}, {"commits"}),
    "git_blame": ({"filePath": "pkg/app.py"}, {"lines"}),
    "git_diff": ({}, {"files", "summary"}),
    "find_references": ({"symbol_name": "validate_token"}, {"symbol", "references", "total_references", "metadata"}),
    "diff_context": (
        {}, {"base_ref", "head_ref", "merge_base_commit", "affected_files", "file_changes", "changes", "metadata"},
    ),
    "list_refs": ({}, {"refs", "total_refs", "vcs_mode", "metadata"}),
    "switch_ref": ({"ref": "main"}, {"ref", "previous_ref", "worktree_path", "status", "last_indexed_commit"}),
    "explain_ranking": (
        {"query": "validate", "result_path": "pkg/auth.py", "result_line_start": 1},
        {"query", "result", "scoring", "scoring_details", "metadata"},
    ),
}  # fmt: skip
NEW = {"unresolved", "next_cursor", "nextCursor", "cut"}
"""What only who asked for more than the seeds gets."""


@pytest.mark.requirement("ruling/additions/additions-change-nothing")
@pytest.mark.parametrize("tool", DOCUMENTED)
def test_who_gives_only_documented_parameters_gets_the_documented_form(tool: str, gate: Gate) -> None:
    arguments, fields = DOCUMENTED[tool]
    rooted = {"path": str(gate.repo.path)} if tool in ("search_code", "get_status", "index_codebase") else {}
    answer = gate.call(tool, **rooted, **arguments)
    assert fields <= answer.keys()
    assert [name for name in NEW & answer.keys() if answer[name] is not None] == []


@pytest.mark.requirement("ruling/metadata/clamping-warned")
@pytest.mark.parametrize(("tool", "named"), [("find_references", {"symbol_name": "login"}), ("diff_context", {})])
def test_a_limit_beyond_the_most_is_clamped_and_said(tool: str, named: dict[str, str], gate: Gate) -> None:
    answer = gate.call(tool, limit=1_000_000, **named)
    assert any("limit: 1000000" in each and "1000" in each for each in answer["metadata"]["warnings"])
    assert "warnings" not in gate.call(tool, limit=1000, **named)["metadata"]


@pytest.mark.requirement("ruling/metadata/duplicates-counted")
def test_further_pieces_of_a_result_are_dropped_and_counted(gate: Gate) -> None:
    found = gate.call("search_code", path=str(gate.repo.path), query="tell a long story value")
    names = [each["symbol"]["name"] for each in found["results"] if each["symbol"]]
    assert names.count("long_story") == 1
    assert found["metadata"]["suppressed_duplicate_count"] >= 1
    single = gate.call("search_code", path=str(gate.repo.path), query="login")
    assert "suppressed_duplicate_count" not in single["metadata"]


@pytest.mark.requirement("ruling/symbol-identity/content-hash-text")
def test_a_symbol_is_changed_exactly_where_its_text_is(gate: Gate) -> None:
    gate.repo.git("checkout", "--quiet", "-b", "other")
    moved = "# further down now\n\n" + AUTH.replace("return bool(token)", "return token is not None")
    gate.repo.commit("other", {"pkg/auth.py": moved})
    changes = gate.call("diff_context")["changes"]
    assert [(each["symbol"], each["change_type"]) for each in changes] == [("validate_token", "modified")]
    assert changes[0]["before"]["symbol_stable_id"] == changes[0]["after"]["symbol_stable_id"]
