"""list_refs, switch_ref and `ref` on the other tools, through real doors."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from codecairn.cancel import Cancel
from codecairn.connection import Connection
from codecairn.index.activity import Activity
from codecairn.index.run import Options
from codecairn.index.status import index_status
from codecairn.tools import waiting
from tests.support.doors import DOORS
from tests.support.refs import APP, AUTH, REFRESH, Gate
from tests.support.repo import Repo
from tests.support.search import Doors, asking

METADATA = {
    "cruxe_protocol_version", "freshness_status", "indexing_status", "result_completeness", "ref", "schema_status",
}  # fmt: skip


@pytest.mark.requirement(
    "004/list_refs/top-level-fields", "004/list_refs/ref-fields", "004/list_refs/one-default",
    "004/list_refs/default-no-merge-base", "004/list_refs/workspace-default-current",
)  # fmt: skip
@pytest.mark.parametrize("door", DOORS)
def test_the_refs_are_listed_in_the_documented_form_at_every_door(door: str, gates: Doors) -> None:
    answer = gates(door).call("list_refs")
    assert not answer.is_error, answer.text
    found = answer.value
    assert found.keys() == {"refs", "total_refs", "vcs_mode", "metadata"}
    assert (found["total_refs"], found["vcs_mode"]) == (2, True)
    main, feature = found["refs"]
    fields = {
        "ref", "is_default", "last_indexed_commit", "merge_base_commit", "file_count", "symbol_count", "status",
        "last_accessed_at",
    }  # fmt: skip
    assert main.keys() == feature.keys() == fields
    assert (main["ref"], main["is_default"], main["merge_base_commit"]) == ("main", True, None)
    assert (feature["ref"], feature["is_default"]) == ("feature", False)
    assert feature["merge_base_commit"] == main["last_indexed_commit"]
    assert found["metadata"].keys() >= METADATA


@pytest.mark.requirement("004/list_refs/overlay-counts-own")
def test_a_branch_counts_what_is_its_own(at_gate: Gate) -> None:
    at_gate.index("feature")
    at_gate.index("bare")
    refs = at_gate.refs()
    assert (refs["main"]["file_count"], refs["main"]["symbol_count"]) == (4, 3)
    assert (refs["feature"]["file_count"], refs["feature"]["symbol_count"]) == (1, 2)
    assert (refs["bare"]["file_count"], refs["bare"]["symbol_count"]) == (1, 1)


@pytest.mark.requirement("004/list_refs/non-vcs-live")
def test_a_folder_without_git_is_one_ref(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    (root / "a.py").write_text("def a(): pass\n")
    one = asking(_built(root, tmp_path / "home"))
    try:
        assert not one.answer("index_codebase", path=str(root)).is_error
        found = one.answer("list_refs").value
        (live,) = found["refs"]
        assert (found["total_refs"], found["vcs_mode"]) == (1, False)
        assert (live["ref"], live["is_default"], live["file_count"], live["symbol_count"]) == ("live", True, 1, 1)
        assert (live["last_indexed_commit"], live["merge_base_commit"]) == (None, None)
        refused = one.answer("search_code", path=str(root), query="a", ref="main")
        assert refused.is_error
        assert "Not a git repository" in refused.text
        assert not one.answer("switch_ref", ref="live").is_error
    finally:
        one.close()


def _built(root: Path, home: Path) -> Any:
    from tests.support.search import Built

    return Built(root.resolve(), home)


@pytest.mark.requirement("004/list_refs/project-not-found")
@pytest.mark.parametrize("tool", ["list_refs"])
def test_a_workspace_that_is_no_project_is_refused(tool: str, at_gate: Gate) -> None:
    empty = at_gate.repo.path / "pkg"
    error = at_gate.refused(tool, workspace=str(empty))
    assert error["code"] == "project_not_found"
    assert error["data"]["remedy"]


@pytest.mark.requirement("002/index_codebase/ref-option-indexes-ref", "004/find_references/ref-scoped")
def test_an_indexed_branch_is_asked_by_its_name(at_gate: Gate) -> None:
    said = at_gate.index("feature")
    assert (said["statistics"]["files_indexed"], said["metadata"]["ref"]) == (1, "feature")
    assert at_gate.uses("validate_token", "main") == [
        ("pkg/app.py", 1, "base"), ("pkg/app.py", 5, "base"), ("pkg/auth.py", 6, "base"),
    ]  # fmt: skip
    at_gate.index("bare")
    assert at_gate.uses("validate_token", "bare") == [("pkg/auth.py", 6, "base")]


@pytest.mark.requirement("004/find_references/overlay-call-base-symbol", "004/metadata/source-layer-values")
def test_a_call_on_a_branch_to_what_only_the_base_has_is_the_overlays(at_gate: Gate) -> None:
    at_gate.index("feature")
    assert at_gate.uses("validate_token", "feature") == [
        ("pkg/app.py", 1, "overlay"), ("pkg/app.py", 5, "overlay"), ("pkg/app.py", 9, "overlay"),
        ("pkg/auth.py", 6, "base"),
    ]  # fmt: skip


@pytest.mark.requirement("ruling/additions/ref-on-code-tools")
@pytest.mark.parametrize("ref", ["feature", "refs/heads/feature", "HEAD~0", "v1"])
def test_every_tool_about_code_takes_a_ref(at_gate: Gate, ref: str) -> None:
    at_gate.index(ref)
    has_refresh = "feature" in ref
    root = str(at_gate.repo.path)
    found = at_gate.call("search_code", path=root, query="refresh", ref=ref)
    names = [each["symbol"]["name"] for each in found["results"] if each["symbol"]]
    assert ("refresh" in names) is has_refresh
    layers = {each["file"]["path"]: each["source_layer"] for each in found["results"]}
    assert set(layers.values()) <= ({"base", "overlay"} if has_refresh else {"base"})
    outline = at_gate.call("get_file_outline", path="pkg/app.py", ref=ref)
    assert [each["name"] for each in outline["files"][0]["symbols"]] == ["login", *(["refresh"] if has_refresh else [])]
    assert outline["files"][0]["source_layer"] == ("overlay" if has_refresh else "base")
    symbol = at_gate.call("find_symbol", symbol_name="login", ref=ref)["symbols"][0]
    assert symbol["source_layer"] == ("overlay" if has_refresh else "base")
    graph = at_gate.call("get_call_graph", symbol_name="validate_token", ref=ref)
    assert ("refresh" in {each["name"] for each in graph["nodes"]}) is has_refresh
    assert {each["source_layer"] for each in graph["nodes"]} <= {"base", "overlay"}


def test_a_result_is_explained_on_the_ref_it_was_found_on(at_gate: Gate) -> None:
    at_gate.index("feature")
    (first, *_) = at_gate.call("search_code", path=str(at_gate.repo.path), query="refresh", ref="feature")["results"]
    place = {"result_path": first["file"]["path"], "result_line_start": first["file"]["start_line"]}
    explained = at_gate.call("explain_ranking", query="refresh", ref="feature", **place)
    assert explained["scoring"]["total"] == first["ranking_score"]
    assert explained["result"]["source_layer"] == "overlay"
    assert at_gate.refused("explain_ranking", query="refresh", ref="main", **place)["code"] == "result_not_found"


@pytest.mark.requirement(
    "004/switch_ref/result-fields", "004/switch_ref/later-calls-use-ref", "004/switch_ref/explicit-ref-wins",
    "004/switch_ref/state-per-connection",
)  # fmt: skip
def test_a_connection_stays_on_the_ref_it_switched_to(at_gate: Gate) -> None:
    at_gate.index("feature")
    switched = at_gate.call("switch_ref", ref="feature")
    assert switched.keys() == {
        "ref", "previous_ref", "worktree_path", "status", "last_indexed_commit", "metadata",
    }  # fmt: skip
    assert (switched["ref"], switched["previous_ref"], switched["status"]) == ("feature", "main", "active")
    assert switched["last_indexed_commit"] == at_gate.repo.git("rev-parse", "feature")
    assert switched["worktree_path"] is None
    assert switched["metadata"]["ref"] == "feature"
    assert len(at_gate.uses("validate_token")) == 4
    assert len(at_gate.uses("validate_token", "main")) == 3
    another = Gate(at_gate.repo, at_gate.asking.another_connection())
    assert len(another.uses("validate_token")) == 3
    assert at_gate.call("switch_ref", ref="main")["previous_ref"] == "feature"
    assert len(at_gate.uses("validate_token")) == 3


@pytest.mark.requirement("004/switch_ref/base-and-live-no-overlay")
def test_the_base_and_the_working_tree_can_always_be_switched_to(at_gate: Gate) -> None:
    at_gate.repo.write("pkg/app.py", APP + REFRESH)
    at_gate.index()
    assert at_gate.call("switch_ref", ref="main")["status"] == "active"
    assert len(at_gate.uses("validate_token")) == 3
    live = at_gate.call("switch_ref", ref="live")
    assert (live["ref"], live["worktree_path"]) == ("live", str(at_gate.repo.path))
    assert at_gate.uses("validate_token")[2] == ("pkg/app.py", 9, "overlay")


@pytest.mark.requirement("004/switch_ref/stateless-warns")
def test_without_a_connection_the_answer_says_that_nothing_is_remembered(gates: Doors) -> None:
    for door in ("modern", "rpc"):
        said = gates(door).call("switch_ref", {"ref": "feature"})
        assert any("`ref`" in each for each in said.value["metadata"]["warnings"]), door
        found = gates(door).call("find_references", {"symbol_name": "validate_token"})
        assert found.value["total_references"] == 3, door
    for door in ("stdio", "http"):
        said = gates(door).call("switch_ref", {"ref": "feature"})
        assert "warnings" not in said.value["metadata"], door
        assert gates(door).call("find_references", {"symbol_name": "validate_token"}).value["total_references"] == 4
        assert not gates(door).call("switch_ref", {"ref": "live"}).is_error


@pytest.mark.requirement("004/switch_ref/ref-required")
def test_a_switch_needs_a_ref(gates: Doors) -> None:
    answer = gates("stdio").call("switch_ref", {})
    assert answer.value["error"]["code"] == "invalid_input"


@pytest.mark.requirement("004/switch_ref/updates-last-accessed")
def test_a_switch_is_a_use(at_gate: Gate) -> None:
    at_gate.index("feature")
    opened = at_gate.asking.project.index.open_index()
    assert opened is not None
    layer = next(each for each in opened.store.overlays() if each.name == "feature")
    with opened.store.writing() as database:
        database.execute("UPDATE layer SET finished_at = 1000 WHERE id = ?", (layer.id,))
    (opened.folder / f"used-{layer.id}").unlink(missing_ok=True)
    assert at_gate.refs()["feature"]["last_accessed_at"] == "1970-01-01T00:16:40Z"
    at_gate.call("switch_ref", ref="feature")
    assert at_gate.refs()["feature"]["last_accessed_at"] > "2020"


@pytest.mark.requirement("ruling/refs-by-call/indexed-by-call")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("find_references", {"symbol_name": "refresh"}), ("find_symbol", {"symbol_name": "refresh"}),
        ("get_call_graph", {"symbol_name": "refresh"}), ("get_file_outline", {"path": "."}),
        ("search_code", {"query": "refresh"}), ("build_context_pack", {"task": "refresh"}),
        ("context_search", {"query": "refresh"}), ("read_file", {"path": "pkg/app.py", "includeDeps": True}),
    ],
)  # fmt: skip
def test_a_ref_that_is_not_indexed_is_indexed_by_the_call_that_names_it(
    at_gate: Gate, tool: str, arguments: dict[str, Any]
) -> None:
    said = at_gate.call(tool, ref="feature", **arguments)
    assert (said["metadata"]["ref"], said["metadata"]["freshness_status"]) == ("feature", "fresh")
    assert "feature" in at_gate.refs()


@pytest.mark.requirement("ruling/refs-by-call/unknown-names-nearest")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("find_symbol", {"symbol_name": "login"}), ("search_code", {"query": "login"}), ("switch_ref", {}),
        ("read_file", {"path": "pkg/app.py"}), ("grep_codebase", {"pattern": "login"}), ("git_log", {}),
        ("git_blame", {"filePath": "pkg/app.py"}),
    ],
)  # fmt: skip
def test_a_ref_that_git_does_not_know_names_the_nearest(at_gate: Gate, tool: str, arguments: dict[str, Any]) -> None:
    at_gate.repo.git("update-ref", "refs/remotes/origin/stable/5.2.x", "main")
    answer = at_gate.asking.answer(tool, ref="stable/5.2.x", **arguments)
    assert answer.is_error
    assert answer.rpc_error is not None
    assert answer.rpc_error["data"]["near"][0] == "origin/stable/5.2.x"
    assert "Did you mean origin/stable/5.2.x" in answer.text


@pytest.mark.requirement("004/switch_ref/ref-not-indexed")
def test_a_switch_to_a_ref_that_is_not_indexed_says_how_to_index_it(at_gate: Gate) -> None:
    error = at_gate.refused("switch_ref", ref="feature")
    assert error["code"] == "ref_not_indexed"
    assert "index_codebase" in error["data"]["remedy"]
    assert "feature" in error["data"]["remedy"]
    unknown = at_gate.refused("switch_ref", ref="nowhere")
    assert unknown["code"] == "ref_not_indexed"
    assert "index_codebase" not in unknown["data"]["remedy"]
    for hostile in ("--all", "-x", "a\nb", "\0", " "):
        assert at_gate.asking.answer("switch_ref", ref=hostile).is_error


@pytest.mark.requirement("004/switch_ref/overlay-not-ready")
def test_a_ref_that_is_being_indexed_is_not_ready(at_gate: Gate) -> None:
    at_gate.repo.git("checkout", "--quiet", "feature")
    at_gate.asking.project.index._activity = Activity(Options(), False, Cancel())
    try:
        error = at_gate.refused("switch_ref", ref="feature")
    finally:
        at_gate.asking.project.index._activity = None
    assert error["code"] == "overlay_not_ready"
    at_gate.index()
    assert at_gate.call("switch_ref", ref="feature")["status"] == "active"


def test_a_project_that_is_indexed_for_the_first_time_has_no_refs_to_list_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "PATIENCE_S", 0.0)
    root = tmp_path / "plain"
    root.mkdir()
    one = asking(_built(root, tmp_path / "home"))
    one.project.index._activity = Activity(Options(), False, Cancel())
    try:
        assert one.answer("list_refs").value["error"]["code"] == "overlay_not_ready"
    finally:
        one.project.index._activity = None
        one.close()


@pytest.mark.requirement("ruling/metadata/explicit-ref-ignores-worktree", "ruling/refs-by-call/moved-caught-up")
def test_a_ref_is_as_fresh_as_its_own_commit(at_gate: Gate) -> None:
    at_gate.index("feature")
    at_gate.repo.write("pkg/app.py", "def other():\n    pass\n")
    found = at_gate.call("find_references", symbol_name="validate_token", ref="feature")
    assert (found["total_references"], found["metadata"]["freshness_status"]) == (4, "fresh")
    at_gate.repo.git("checkout", "--quiet", "--force", "feature")
    at_gate.repo.commit("more", {"pkg/auth.py": AUTH + "\n\nvalidate_token(1)\n"})
    assert at_gate.refs()["feature"]["status"] == "stale"
    found = at_gate.call("find_references", symbol_name="validate_token", ref="feature")
    assert (found["total_references"], found["metadata"]["freshness_status"]) == (5, "fresh")


def test_a_ref_whose_imports_are_not_counted_is_finished_before_it_is_called_fresh(at_gate: Gate) -> None:
    """A run that was killed leaves one behind, and so does another process that is laying it at this moment."""
    at_gate.index("feature")
    before = at_gate.call("search_code", query="validate token", ref="feature")
    opened = at_gate.asking.project.index.open_index()
    assert opened is not None
    with closing(sqlite3.connect(opened.folder / "index.db", isolation_level=None)) as database:
        database.execute("DELETE FROM popularity WHERE layer = (SELECT id FROM layer WHERE name = 'feature')")
        database.execute("UPDATE layer SET generation = generation + 1 WHERE name = 'feature'")
    standing = index_status(at_gate.asking.project.index, Cancel(), "feature")
    assert standing.freshness == "stale"
    after = at_gate.call("search_code", query="validate token", ref="feature")
    assert after["metadata"]["freshness_status"] == "fresh"
    assert [row["ranking_score"] for row in after["results"]] == [row["ranking_score"] for row in before["results"]]


def test_a_commit_is_never_stale_whatever_its_branch_does(at_gate: Gate) -> None:
    at_gate.index("feature")
    commit = at_gate.repo.git("rev-parse", "feature")
    at_gate.repo.git("checkout", "--quiet", "feature")
    at_gate.repo.commit("more", {"pkg/auth.py": AUTH + "\n\nvalidate_token(1)\n"})
    for ref, uses in ((commit, 4), ("feature", 5), (commit, 4)):
        found = at_gate.call("find_references", symbol_name="validate_token", ref=ref)
        assert (found["total_references"], found["metadata"]["freshness_status"]) == (uses, "fresh")


def test_what_is_checked_out_and_what_was_indexed_before_is_kept_up(at_gate: Gate) -> None:
    at_gate.index("bare")
    at_gate.repo.git("checkout", "--quiet", "bare")
    at_gate.repo.commit("more", {"pkg/more.py": "from pkg.lean import lean\n\nlean()\n"})
    at_gate.repo.git("checkout", "--quiet", "feature")
    at_gate.index()
    refs = at_gate.refs()
    assert {name: each["status"] for name, each in refs.items()} == dict.fromkeys(("main", "bare", "feature"), "active")
    assert at_gate.uses("lean", "bare") == [("pkg/more.py", 1, "overlay"), ("pkg/more.py", 3, "overlay")]


def test_a_branch_that_is_deleted_keeps_answering_and_says_so(at_gate: Gate) -> None:
    at_gate.index("feature")
    at_gate.repo.git("branch", "--quiet", "-D", "feature")
    at_gate.index()
    assert at_gate.refs()["feature"]["status"] == "gone"
    found = at_gate.call("find_references", symbol_name="validate_token", ref="feature")
    assert (found["total_references"], found["metadata"]["freshness_status"]) == (4, "stale")
    assert any("gone" in each for each in found["metadata"]["warnings"])


def test_a_branch_that_comes_again_is_the_new_one(at_gate: Gate) -> None:
    at_gate.index("feature")
    at_gate.repo.git("branch", "--quiet", "--force", "feature", "bare")
    at_gate.index("feature")
    assert at_gate.uses("validate_token", "feature") == [("pkg/auth.py", 6, "base")]


def test_another_default_branch_takes_the_place_of_the_base(at_gate: Gate) -> None:
    at_gate.index("feature")
    at_gate.index("bare")
    before = {ref: at_gate.uses("validate_token", ref) for ref in ("main", "feature", "bare")}
    at_gate.repo.git("update-ref", "refs/remotes/origin/feature", "feature")
    at_gate.repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/feature")
    at_gate.index()
    refs = at_gate.refs()
    assert [name for name, each in refs.items() if each["is_default"]] == ["feature"]
    for ref, uses in before.items():
        assert [use[:2] for use in at_gate.uses("validate_token", ref)] == [use[:2] for use in uses]
    assert at_gate.uses("validate_token", "main")[0] == ("pkg/app.py", 1, "overlay")


def test_worktrees_share_everything(at_gate: Gate) -> None:
    at_gate.index("feature")
    tree = at_gate.repo.path / "tree"
    at_gate.repo.git("worktree", "add", "--quiet", str(tree), "feature")
    assert at_gate.call("switch_ref", ref="feature")["worktree_path"] == str(tree)
    said = at_gate.call("index_codebase", path=str(tree))
    assert said["statistics"]["files_indexed"] == 0
    there = at_gate.call("find_references", symbol_name="validate_token", workspace=str(tree))
    assert [each["source_layer"] for each in there["references"]] == ["overlay", "overlay", "base", "overlay"]
    folders = {at_gate.asking.served.projects.open(root).index.folder for root in (at_gate.repo.path, tree)}
    assert len(folders) == 1


def test_line_ends_that_git_converts_make_no_other_version(opened: Callable[[Repo], Gate], tmp_path: Path) -> None:
    repo = Repo.create(tmp_path / "ends")
    repo.git("config", "core.autocrlf", "true")
    repo.commit("start", {"a.py": "def a():\r\n    return 1\r\n", "b.txt": "one\r\ntwo\r\n"})
    assert "\r" not in repo.git("show", "main:a.py")
    gate = opened(repo)
    assert gate.call("find_symbol", symbol_name="a")["symbols"][0]["source_layer"] == "base"


def test_a_project_in_a_folder_of_its_repository_has_refs_of_its_own(at_gate: Gate) -> None:
    inner = str(at_gate.repo.path / "pkg")
    for ref in (None, "feature"):
        at_gate.call("index_codebase", path=inner, **({"ref": ref} if ref else {}))
    listed = at_gate.call("list_refs", workspace=inner)["refs"]
    assert [(each["ref"], each["file_count"]) for each in listed] == [("main", 3), ("feature", 1)]
    outline = at_gate.call("get_file_outline", path="app.py", workspace=inner, ref="feature")
    assert [each["name"] for each in outline["files"][0]["symbols"]] == ["login", "refresh"]


def test_options_are_a_matter_of_the_refs_too(at_gate: Gate) -> None:
    at_gate.repo.commit("tests", {"tests/test_app.py": "from pkg.auth import validate_token\n"})
    at_gate.call("index_codebase", path=str(at_gate.repo.path), include_tests=False)
    assert ("tests/test_app.py", 1, "base") not in at_gate.uses("validate_token", "main")
    at_gate.index()
    assert ("tests/test_app.py", 1, "base") in at_gate.uses("validate_token", "main")


def test_submodules_links_and_what_is_no_text_are_left_out_of_a_ref(at_gate: Gate, tmp_path: Path) -> None:
    other = Repo.create(tmp_path / "other")
    commit = other.commit("start", {"x.py": "x = 1\n"})
    repo = at_gate.repo
    repo.git("checkout", "--quiet", "-b", "odd")
    (repo.path / "link.py").symlink_to("pkg/app.py")
    repo.write("blob.bin", b"\0\1\2")
    repo.git("add", "--all")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
    repo.git("commit", "--quiet", "--message", "odd")
    repo.git("checkout", "--quiet", "--force", "main")
    at_gate.index("odd")
    outline = at_gate.call("get_file_outline", path=".", ref="odd")
    assert outline["total_files"] == 4
    assert at_gate.refused("get_file_outline", path="blob.bin", ref="odd")["data"]["state"] == "binary"


def test_a_shallow_clone_has_its_branches(at_gate: Gate, opened: Callable[[Repo], Gate], tmp_path: Path) -> None:
    source = f"file://{at_gate.repo.path}"
    at_gate.repo.git("clone", "--quiet", "--depth=1", "--no-single-branch", source, str(tmp_path / "shallow"))
    gate = opened(Repo(tmp_path / "shallow"))
    gate.index("origin/feature")
    assert len(gate.uses("validate_token", "origin/feature")) == 4
    assert gate.refs()["origin/feature"]["merge_base_commit"] is None


def test_a_partial_clone_lacks_what_it_lacks_and_names_it(
    at_gate: Gate, opened: Callable[[Repo], Gate], tmp_path: Path
) -> None:
    at_gate.repo.git("config", "uploadpack.allowFilter", "true")
    source = f"file://{at_gate.repo.path}"
    at_gate.repo.git("clone", "--quiet", "--filter=blob:none", source, str(tmp_path / "partial"))
    gate = opened(Repo(tmp_path / "partial"))
    said = " ".join(gate.index("origin/feature")["metadata"]["warnings"])
    assert "partial clone" in said
    assert "pkg/app.py" in said
    found = gate.call("find_references", symbol_name="validate_token", ref="origin/feature")
    assert [each["path"] for each in found["references"]] == ["pkg/auth.py"]
    assert found["metadata"]["result_completeness"] == "partial"
    assert any("not in this clone" in each for each in found["metadata"]["warnings"])


def test_a_branch_is_meant_before_a_tag_of_its_name(at_gate: Gate) -> None:
    at_gate.repo.git("tag", "feature", "main")
    at_gate.index("feature")
    assert len(at_gate.uses("validate_token", "feature")) == 4
    assert at_gate.refs()["feature"]["status"] == "active"
    at_gate.index("refs/tags/feature")
    assert len(at_gate.uses("validate_token", "refs/tags/feature")) == 3
    assert at_gate.refs()["refs/tags/feature"]["status"] == "active"


def test_a_clone_in_which_nothing_is_checked_out_says_so(at_gate: Gate, tmp_path: Path) -> None:
    bare = Repo.create(at_gate.repo.path / "sub" / "unborn")
    bare.git("fetch", "--quiet", str(at_gate.repo.path), "feature:refs/remotes/origin/feature")
    answer = at_gate.asking.answer("index_codebase", path=str(bare.path), ref="origin/feature")
    assert answer.is_error
    assert "default branch" in answer.text


def test_two_connections_may_be_on_two_refs_at_once(at_gate: Gate) -> None:
    at_gate.index("feature")
    at_gate.index("bare")
    counts: dict[str, set[int]] = {}

    def ask(ref: str) -> None:
        one = Gate(at_gate.repo, type(at_gate.asking)(at_gate.asking.served, at_gate.asking.root, Connection(ref)))
        one.call("switch_ref", ref=ref)
        counts[ref] = {len(one.uses("validate_token")) for _ in range(20)}

    threads = [threading.Thread(target=ask, args=(ref,)) for ref in ("feature", "bare", "main")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert counts == {"feature": {4}, "bare": {1}, "main": {3}}
