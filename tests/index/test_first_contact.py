"""Calls that come while a project is indexed for the first time, and calls where it never was."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from codecairn.cancel import Cancel
from codecairn.connection import Connection
from codecairn.diff.changed_files import ChangedFiles, Comparison
from codecairn.index.activity import Activity
from codecairn.index.run import Options
from codecairn.serve import Service
from codecairn.source.refs import tip_of
from codecairn.tools import Call, waiting
from tests.support.doors import Answer, MemoryDoor, line_client, service
from tests.support.index import PYTHON
from tests.support.indexes import LastingWorkers
from tests.support.repo import Repo
from tests.support.wait import eventually

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search_code", {"query": "greet"}),
    ("find_symbol", {"symbol_name": "greet"}),
    ("find_references", {"symbol_name": "greet"}),
    ("get_call_graph", {"symbol_name": "greet"}),
    ("get_file_outline", {"path": "a.py"}),
    ("build_context_pack", {"task": "greet"}),
    ("context_search", {"query": "greet"}),
    ("list_refs", {}),
]


class Gate:
    """A run that stops at its first file until the test lets it go on."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()

    def __call__(self, done: int, total: int, said: str) -> None:
        del said
        if done and total:
            self.reached.set()
            assert self.open.wait(30)


@pytest.fixture
def served(repo: Repo, home: Path, lasting: LastingWorkers) -> Iterator[Service]:
    repo.commit("start", {"a.py": PYTHON, "b.py": "from a import greet\n\ngreet(1)\n"})
    one = service(repo.path, data=home)
    index = one.projects.current().index
    index._workers = lasting
    yield one
    index.close()


@contextmanager
def first_run(served: Service) -> Iterator[Gate]:
    """The first run, stopped at its first file."""
    index, gate = served.projects.current().index, Gate()
    with ThreadPoolExecutor() as pool:
        run = pool.submit(index.index, Options(), force=False, cancel=Cancel(), progress=gate)
        try:
            assert gate.reached.wait(30)
            yield gate
        finally:
            gate.open.set()
        run.result()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PATIENCE_S", 0.0)


@pytest.mark.requirement("ruling/first-contact/waits-for-first-run", "ruling/first-contact/progress-sent")
def test_a_call_waits_for_the_first_run_and_is_told_how_far_it_is(served: Service) -> None:
    with line_client(served) as client, first_run(served) as gate:
        client.initialize()
        asked = {"name": "find_references", "arguments": {"symbol_name": "greet"}, "_meta": {"progressToken": "t"}}
        number = client.start("tools/call", asked)
        told = client.take(lambda message: message.get("method") == "notifications/progress")
        assert (told["params"]["progress"], told["params"]["total"]) == (1, 2)
        gate.open.set()
        found = client.take(number)["result"]["structuredContent"]
    assert found["total_references"] == 2
    assert (found["metadata"]["result_completeness"], found["metadata"].get("warnings")) == ("complete", None)


@pytest.mark.requirement("ruling/first-contact/cancellable")
def test_a_call_that_is_withdrawn_waits_no_longer(served: Service) -> None:
    with first_run(served), ThreadPoolExecutor() as pool:
        call = Call(served.projects, Connection("c"), served.registry, "memory")
        asked: Callable[..., Any] = served.registry.call
        waiting = pool.submit(asked, served.registry.tools["find_symbol"], call, {"symbol_name": "greet"})
        call.cancel.set()
        assert "cancelled" in waiting.result(30).error.message


@pytest.mark.requirement("ruling/first-contact/never-nothing-found")
@pytest.mark.usefixtures("impatient")
def test_nothing_is_said_to_be_missing_where_nothing_was_searched(served: Service) -> None:
    with first_run(served):
        answers = {tool: MemoryDoor(served).call(tool, given) for tool, given in CALLS}
    found = answers.pop("search_code")
    assert not found.is_error, found.text
    assert found.value["message"].startswith("Nothing could be searched: 0 % indexed so far (0 of 2 files)")
    assert found.value["metadata"]["result_completeness"] == "partial"
    assert found.value["metadata"]["warnings"][0].endswith("grep_codebase sees everything now")
    context = answers.pop("context_search").value
    assert context["metadata"]["warnings"][0].endswith("grep_codebase sees everything now")
    codes = {tool: _error(answer)["code"] for tool, answer in answers.items()}
    assert codes == {
        "find_symbol": "index_not_ready", "find_references": "no_edges_available",
        "get_call_graph": "no_edges_available", "get_file_outline": "index_not_ready",
        "build_context_pack": "index_not_ready", "list_refs": "overlay_not_ready",
    }  # fmt: skip
    for tool, answer in answers.items():
        assert "again in a moment" in answer.text, tool


@pytest.mark.requirement("ruling/first-contact/says-how-much")
@pytest.mark.usefixtures("impatient")
def test_an_answer_from_a_part_of_the_files_says_how_much_that_is(served: Service) -> None:
    index = served.projects.current().index
    index.index(Options(), force=False, cancel=Cancel())
    _make_partial(served)
    index._activity = Activity(Options(), False, Cancel(), done=2, total=8)
    try:
        found = MemoryDoor(served).call("search_code", {"query": "greet"}).value
        missing = _error(MemoryDoor(served).call("find_symbol", {"symbol_name": "zzz_unknown"}))
        bound = MemoryDoor(served).call("find_references", {"symbol_name": "greet"}).value
    finally:
        index._activity = None
    note = "25 % indexed so far (2 of 8 files); grep_codebase sees everything now"
    assert found["results"]
    assert "results so far" in found["message"]
    for said in (found, bound):
        assert (said["metadata"]["warnings"][0], said["metadata"]["result_completeness"]) == (note, "partial")
    assert missing["code"] == "symbol_not_found"
    assert note in missing["message"]
    assert "again in a moment" in missing["data"]["remedy"]


@pytest.mark.requirement("ruling/first-contact/never-indexed-names-call")
def test_where_nothing_was_ever_indexed_the_error_names_the_call_that_works(served: Service, repo: Repo) -> None:
    door = MemoryDoor(served)
    for tool, given in CALLS:
        answer = door.call(tool, given)
        assert answer.is_error, tool
        assert "index_codebase" in answer.text, tool
    remedy = _error(door.call("find_symbol", {"symbol_name": "greet"}))["data"]["remedy"]
    assert f'index_codebase {{"path": "{repo.path.resolve()}"}}' in remedy
    assert not door.call("index_codebase", {"path": str(repo.path.resolve())}).is_error
    assert not door.call("find_symbol", {"symbol_name": "greet"}).is_error


@pytest.mark.requirement("ruling/refs-by-call/limited")
@pytest.mark.usefixtures("impatient")
def test_a_ref_that_takes_too_long_is_indexed_behind_the_answer(served: Service, repo: Repo) -> None:
    served.projects.current().index.index(Options(), force=False, cancel=Cancel())
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit("more", {"c.py": "def later():\n    pass\n"})
    repo.git("checkout", "--quiet", "main")
    door = MemoryDoor(served)
    asked = {"symbol_name": "later", "ref": "feature"}
    refused = _error(door.call("find_symbol", asked))
    assert (refused["code"], refused["data"]["ref"]) == ("overlay_not_ready", "feature")
    assert "again in a moment" in refused["data"]["remedy"]
    found = eventually(lambda: _value(door.call("find_symbol", asked)))
    assert found is not None
    assert found["symbols"][0]["path"] == "c.py"


@pytest.mark.requirement("ruling/refs-by-call/moved-answers-stale-when-late", "ruling/metadata/stale-ref-head")
def test_a_moved_ref_that_takes_too_long_answers_as_it_was(
    served: Service, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = served.projects.current().index
    index.index(Options(), force=False, cancel=Cancel())
    repo.commit("more", {"c.py": "def later():\n    pass\n"})
    monkeypatch.setattr(waiting, "PATIENCE_S", 0.0)
    index._activity = Activity(Options(), False, Cancel())
    try:
        found = MemoryDoor(served).call("find_symbol", {"symbol_name": "greet", "ref": "main"}).value
    finally:
        index._activity = None
    assert found["metadata"]["freshness_status"] == "stale"
    assert "has moved" in found["metadata"]["warnings"][0]


def test_a_moved_ref_whose_old_commit_is_pruned_is_compared_as_git_has_it(
    served: Service, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = served.projects.current().index
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit("first try", {"c.py": "def first():\n    pass\n"})
    index.index(Options(), force=False, cancel=Cancel())
    index.index(Options(), force=False, cancel=Cancel(), ref=tip_of(index.git, "feature", Cancel()))
    repo.git("reset", "--quiet", "--hard", "main")
    repo.commit("second try", {"c.py": "def second():\n    pass\n"})
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "--quiet", "--prune=now")
    monkeypatch.setattr(waiting, "PATIENCE_S", 0.0)
    index._activity = Activity(Options(), False, Cancel())
    door = MemoryDoor(served)
    try:
        found = door.call("diff_context", {"base_ref": "main", "head_ref": "feature"}).value
        live = door.call("diff_context", {"base_ref": "main", "head_ref": "live"})
    finally:
        index._activity = None
    assert [each["symbol"] for each in found["changes"]] == ["second"]
    assert "is gone from the repository: its callers are not counted yet" in found["metadata"]["warnings"][0]
    assert _error(live)["code"] == "overlay_not_ready"


def test_a_commit_that_is_pruned_while_it_is_compared_is_said_to_be_gone(
    served: Service, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = served.projects.current().index
    index.index(Options(), force=False, cancel=Cancel())
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit("first try", {"c.py": "def first():\n    pass\n"})
    looked = Comparison.file_changes

    def prune_first(comparison: Comparison) -> ChangedFiles:
        repo.git("reset", "--quiet", "--hard", "main")
        repo.git("reflog", "expire", "--expire=now", "--all")
        repo.git("gc", "--quiet", "--prune=now")
        return looked(comparison)

    monkeypatch.setattr(Comparison, "file_changes", prune_first)
    refused = _error(MemoryDoor(served).call("diff_context", {"base_ref": "main", "head_ref": "feature"}))
    assert refused["code"] == "overlay_not_ready"
    assert "is gone from the repository" in refused["message"]


def test_a_ref_that_is_gone_over_again_answers_at_once_and_has_not_moved(
    served: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = served.projects.current().index
    index.index(Options(), force=False, cancel=Cancel())
    monkeypatch.setattr(waiting, "PATIENCE_S", 0.0)
    index._activity = Activity(Options(), False, Cancel(), ref=tip_of(index.git, "main", Cancel()))
    try:
        found = MemoryDoor(served).call("find_symbol", {"symbol_name": "greet", "ref": "main"}).value
    finally:
        index._activity = None
    assert found["metadata"]["freshness_status"] == "syncing"
    assert "warnings" not in found["metadata"]


def _make_partial(served: Service) -> None:
    """As if a first run had come as far as it has."""
    opened = served.projects.current().index.open_index()
    assert opened is not None
    with opened.store.writing() as database:
        database.execute("UPDATE layer SET complete = 0 WHERE root <> ''")


def _error(answer: Answer) -> dict[str, Any]:
    assert answer.is_error, answer.text
    error: dict[str, Any] = answer.value["error"]
    return error


def _value(answer: Answer) -> dict[str, Any] | None:
    return None if answer.is_error else answer.value
