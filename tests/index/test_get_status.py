"""get_status, and the metadata that every answer of the index carries."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from codecairn import tools
from codecairn.cancel import Cancel
from codecairn.errors import Cancelled
from codecairn.index import batch
from codecairn.index.run import Options
from codecairn.store.writer_lock import WriterLock
from tests.support.doors import JSON_DOORS, Door
from tests.support.index import GO, PYTHON, Ask, Open, fill
from tests.support.repo import Repo

SIX = {
    "cruxe_protocol_version", "freshness_status", "indexing_status", "result_completeness", "ref", "schema_status",
}  # fmt: skip


def status(ask: Ask, root: Path) -> dict[str, Any]:
    answer = ask("get_status", root)
    assert not answer.is_error, answer.text
    return answer.value


@pytest.mark.requirement(
    "002/get_status/indexed-fields",
    "002/get_status/project-fields",
    "002/get_status/project-languages",
    "002/get_status/statistics-totals",
    "002/get_status/statistics-index-facts",
    "002/get_status/health-fields",
    "002/get_status/go-fields-for-go",
)
def test_an_indexed_project_is_described(door_name: str, through: Callable[[str, Path], Door], repo: Repo) -> None:
    repo.commit("start", {"go.mod": "module example.org/shop // ours\n\ngo 1.21\n", "pay.go": GO, "a.py": PYTHON})
    door = through(door_name, repo.path)
    began = datetime.now(UTC).replace(microsecond=0)
    ran = door.call("index_codebase", {"path": str(repo.path)}).value
    answer = door.call("get_status", {"path": str(repo.path)})
    value = answer.value
    if door_name in JSON_DOORS:
        assert json.loads(answer.text) == value
    assert (value["success"], value["indexed"]) == (True, True)
    assert value["message"] == "Project indexed successfully with 3 files"
    project = value["project"]
    assert (project["id"], project["root_path"]) == (ran["project_id"], str(repo.path))
    assert (project["module_name"], project["go_version"]) == ("example.org/shop", "1.21")
    assert project["index_version"].count(".") == 2
    assert {"go", "python"} <= set(project["languages"])
    statistics = value["statistics"]
    assert statistics["total_files"] == 3
    assert statistics["total_symbols"] == ran["statistics"]["symbols_extracted"]
    assert statistics["total_chunks"] == ran["statistics"]["chunks_created"]
    assert statistics["total_embeddings"] == statistics["total_chunks"]
    assert statistics["index_size_mb"] > 0
    assert datetime.fromisoformat(statistics["last_indexed_at"]) >= began
    assert statistics["indexing_duration_seconds"] > 0
    assert value["health"] == {"database_accessible": True, "embeddings_available": True, "fts_indexes_built": True}


@pytest.mark.requirement("002/get_status/not-indexed-nulls", "002/get_status/not-indexed-message")
def test_a_project_without_an_index_is_told_the_way_to_one(
    door_name: str, through: Callable[[str, Path], Door], repo: Repo
) -> None:
    repo.commit("start", {"a.py": PYTHON})
    value = through(door_name, repo.path).call("get_status", {"path": str(repo.path)}).value
    assert (value["success"], value["indexed"]) == (True, False)
    assert (value["project"], value["statistics"], value["health"]) == (None, None, None)
    assert value["message"] == "Project not indexed. Run index_codebase to create index."
    metadata = value["metadata"]
    assert (metadata["indexing_status"], metadata["schema_status"]) == ("not_indexed", "not_indexed")
    assert metadata["result_completeness"] == "partial"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("module shop\n", ("shop", None)),
        ('module "quoted.org/x"\ngo 1.22.1\ntoolchain go1.22.2\n', ("quoted.org/x", "1.22.1")),
        ("// module no\n\nmodule\tyes.org/y\n\nrequire (\n\tgo.uber.org/zap v1.0.0\n)\n", ("yes.org/y", None)),
        ("", (None, None)),
    ],
)
def test_what_go_mod_says_is_read(text: str, expected: tuple[str | None, str | None], ask: Ask, tmp_path: Path) -> None:
    root = fill(tmp_path / "go", {"go.mod": text, "a.go": GO})
    ask("index_codebase", root)
    project = status(ask, root)["project"]
    assert (project["module_name"], project["go_version"]) == expected


def test_a_project_that_is_no_go_module_has_none(ask: Ask, repo: Repo) -> None:
    repo.commit("start", {"a.py": PYTHON})
    ask("index_codebase", repo.path)
    project = status(ask, repo.path)["project"]
    assert (project["module_name"], project["go_version"], project["languages"]) == (None, None, ["python"])


@pytest.mark.requirement("002/get_status/total-files-manifest")
def test_total_files_counts_what_is_listed_without_a_version_too(ask: Ask, repo: Repo) -> None:
    repo.commit("start", {"a.py": PYTHON, "big.bin": b"\0" * 100, "data.csv": "1,2\n"})
    fill(repo.path, {"vendor/v.py": PYTHON})
    ask("index_codebase", repo.path)
    statistics = status(ask, repo.path)["statistics"]
    assert statistics["total_files"] == 3
    skipped = {each["reason"]: each["count"] for each in statistics["skipped"]}
    assert skipped == {"binary": 1, "data": 1, "vendored": 1}


def test_the_size_is_the_size_of_the_files(ask: Ask, repo: Repo, home: Path) -> None:
    repo.commit("start", {"a.py": PYTHON})
    ask("index_codebase", repo.path)
    (folder,) = (each for each in (home / "indexes").iterdir() if each.is_dir())
    measured = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert status(ask, repo.path)["statistics"]["index_size_mb"] == pytest.approx(measured / 1e6, abs=0.001)


@pytest.mark.requirement(
    "ruling/metadata/on-002-004-successes",
    "004/metadata/protocol-version",
    "004/metadata/freshness-values",
    "004/metadata/indexing-values",
    "004/metadata/completeness-values",
    "004/metadata/schema-values",
)
def test_every_success_says_its_ground(ask: Ask, repo: Repo) -> None:
    repo.commit("start", {"a.py": PYTHON})
    arguments: dict[str, dict[str, Any]] = {
        "search_code": {"query": "greet"},
        "explain_ranking": {"query": "greet", "result_path": "a.py", "result_line_start": 1},
        "get_file_outline": {"path": "a.py"},
        "switch_ref": {"ref": "live"},
        "build_context_pack": {"task": "greet"},
        "remember": {"type": "rule", "content": "Everybody is greeted by name."},
        **{name: {"symbol_name": "greet"} for name in ("find_symbol", "find_references", "get_call_graph")},
    }
    built = [each.name for each in tools.standard().tools.values() if each.family in ("index", "refs")]
    built.sort(key="forget".__eq__)
    for name in ("get_status", "index_codebase", *built):
        answer = ask(name, repo.path, **arguments.get(name, {}))
        assert not answer.is_error, answer.text
        if name == "remember":
            arguments["forget"] = {"id": answer.value["discovery"]["id"]}
        metadata = answer.value["metadata"]
        assert metadata.keys() >= SIX
        assert metadata["cruxe_protocol_version"] == "1.0"
        assert metadata["freshness_status"] in {"fresh", "stale", "syncing"}
        assert metadata["indexing_status"] in {"not_indexed", "indexing", "ready", "failed"}
        assert metadata["result_completeness"] in {"complete", "partial", "truncated"}
        assert metadata["schema_status"] in {"compatible", "not_indexed", "reindex_required", "corrupt_manifest"}


@pytest.mark.requirement("004/metadata/ref-reported", "ruling/metadata/no-ref-worktree")
def test_the_ref_is_the_branch_that_is_checked_out(ask: Ask, repo: Repo) -> None:
    repo.commit("start", {"a.py": PYTHON})
    assert ask("index_codebase", repo.path).value["metadata"]["ref"] == "main"
    repo.git("checkout", "--quiet", "-b", "topic/one")
    assert status(ask, repo.path)["metadata"]["ref"] == "topic/one"


@pytest.mark.requirement("ruling/metadata/detached-ref-commit")
def test_on_a_detached_head_the_ref_is_the_commit(ask: Ask, repo: Repo) -> None:
    commit = repo.commit("start", {"a.py": PYTHON})
    repo.git("checkout", "--quiet", "--detach")
    assert ask("index_codebase", repo.path).value["metadata"]["ref"] == commit


@pytest.mark.requirement("ruling/metadata/non-git-ref-live")
def test_without_git_the_ref_is_live(ask: Ask, tmp_path: Path) -> None:
    root = fill(tmp_path / "plain", {"a.py": PYTHON})
    assert ask("index_codebase", root).value["metadata"]["ref"] == "live"
    assert status(ask, root)["metadata"]["ref"] == "live"


@pytest.mark.requirement("ruling/metadata/partial-when-unsearched")
def test_an_index_that_was_never_finished_is_partial(ask: Ask, indexed: Open, repo: Repo) -> None:
    repo.commit("start", {"a.py": PYTHON})
    project = indexed(repo.path)
    project.run()
    opened = project.project.index.open_index()
    assert opened is not None
    with opened.store.writing() as database:
        database.execute("UPDATE layer SET complete = 0")
    metadata = status(ask, repo.path)["metadata"]
    assert (metadata["result_completeness"], metadata["freshness_status"]) == ("partial", "stale")
    ask("index_codebase", repo.path)
    assert status(ask, repo.path)["metadata"]["result_completeness"] == "complete"


@pytest.mark.requirement("ruling/metadata/truncated-when-cut", "ruling/metadata/truncation-flagged")
def test_more_errors_than_are_listed_are_counted_and_flagged(ask: Ask, repo: Repo) -> None:
    repo.commit("start", {f"bad{number}.py": "def (((\n" for number in range(101)})
    value = ask("index_codebase", repo.path).value
    assert (len(value["errors"]), value["statistics"]["files_failed"]) == (100, 101)
    assert value["metadata"]["result_completeness"] == "truncated"
    assert value["metadata"]["safety_limit_applied"] is True
    assert "101 files read around syntax errors; the first 100 errors are listed" in value["message"]


@pytest.mark.requirement("ruling/metadata/syncing-during-update")
def test_an_update_by_whomever_is_seen(ask: Ask, indexed: Open, repo: Repo) -> None:
    repo.commit("start", {"a.py": PYTHON})
    project = indexed(repo.path)
    project.run()
    with WriterLock(project.project.index.folder / "lock").holding("indexing") as had:
        assert had
        metadata = status(ask, repo.path)["metadata"]
    assert (metadata["freshness_status"], metadata["indexing_status"]) == ("syncing", "ready")
    assert status(ask, repo.path)["metadata"]["freshness_status"] == "fresh"


def test_many_may_ask_at_once_while_it_is_built_anew(ask: Ask, repo: Repo) -> None:
    repo.commit("start", {f"part{number}.py": PYTHON for number in range(20)})
    ask("index_codebase", repo.path)
    seen: list[dict[str, Any]] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            seen.append(ask("get_status", repo.path).value)

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for each in lookers:
        each.start()
    try:
        for _ in range(3):
            assert ask("index_codebase", repo.path, force_reindex=True).value["statistics"]["files_indexed"] == 20
    finally:
        stop.set()
        for each in lookers:
            each.join()
    assert seen
    assert {each["statistics"]["total_files"] for each in seen} == {20}


@pytest.fixture
def interrupted(indexed: Open, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """A project of which the first run was cancelled when it had published some of its files."""
    monkeypatch.setattr(batch, "_FIRST_BATCH_S", 0.0)
    monkeypatch.setattr(batch, "_LONGEST_BATCH_S", 0.0)
    repo.commit("start", {f"part{number}.py": PYTHON for number in range(20)})
    project, cancel = indexed(repo.path), Cancel()

    def stop_half_way(done: int, total: int, said: str) -> None:
        del said
        if total and done > total // 2:
            cancel.set()

    with pytest.raises(Cancelled):
        project.project.index.index(Options(), force=False, cancel=cancel, progress=stop_half_way)
    return repo


@pytest.mark.requirement("ruling/metadata/interrupted-said")
def test_a_first_run_that_was_interrupted_is_told_as_such(
    door_name: str, through: Callable[[str, Path], Door], interrupted: Repo
) -> None:
    door = through(door_name, interrupted.path)
    value = door.call("get_status", {"path": str(interrupted.path)}).value
    there, total = value["progress"]["files_done"], value["progress"]["files_total"]
    assert 0 < there < total == 20
    assert there == value["statistics"]["total_files"]
    assert f"Indexing was interrupted: {there} of 20 files are there" in value["message"]
    assert "index_codebase" in value["message"]
    assert "cairn index" in value["message"]
    metadata = value["metadata"]
    assert (metadata["indexing_status"], metadata["freshness_status"]) == ("failed", "stale")
    assert metadata["result_completeness"] == "partial"
    found = door.call("search_code", {"path": str(interrupted.path), "query": "greet"}).value["metadata"]
    assert any("interrupted" in each for each in found["warnings"])
    door.call("index_codebase", {"path": str(interrupted.path)})
    after = door.call("get_status", {"path": str(interrupted.path)}).value
    assert (after["message"], after["progress"]) == ("Project indexed successfully with 20 files", None)


def test_counts_say_what_they_count(ask: Ask, repo: Repo) -> None:
    repo.commit("start", {"a.py": PYTHON, "notes.md": "# Notes\n", "big.bin": b"\0" * 100})
    fill(repo.path, {"vendor/v.py": PYTHON})
    ask("index_codebase", repo.path)
    statistics = status(ask, repo.path)["statistics"]
    assert (statistics["total_files"], statistics["files_indexed"], statistics["files_as_text"]) == (3, 2, 1)
