"""One writer at a time, in one process and across processes, and what that means for who asks meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tantivy

from codecairn.cancel import Cancel
from codecairn.errors import Busy, Cancelled
from codecairn.index.run import Options, Report
from codecairn.store import lexical
from codecairn.store.writer_lock import WriterLock
from tests.support.doors import MemoryDoor, service
from tests.support.index import PYTHON, Ask, Indexed, Open, fill
from tests.support.repo import Repo
from tests.support.wait import eventually, is_alive
from tests.support.wire import ServerProcess

HOLDER = """
import sys
from pathlib import Path
from codecairn.store.writer_lock import WriterLock
with WriterLock(Path(sys.argv[1])).holding("indexing") as had:
    print(had, flush=True)
    sys.stdin.read()
"""
has_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="tells children by /proc")


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
def project(repo: Repo, indexed: Open) -> Indexed:
    repo.commit("start", {"a.py": PYTHON, "b.py": PYTHON, "tests/test_a.py": PYTHON})
    return indexed(repo.path)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as threads:
        yield threads


@contextmanager
def foreign(lock: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock."""
    command = [sys.executable, "-c", HOLDER, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        try:
            yield holder
        finally:
            holder.kill()


@pytest.mark.requirement("002/index_codebase/second-call-32002")
def test_a_second_explicit_call_is_refused_and_told_how_far_the_first_is(
    repo: Repo, home: Path, pool: ThreadPoolExecutor
) -> None:
    repo.commit("start", {"a.py": PYTHON, "b.py": PYTHON})
    served = service(repo.path, data=home)
    index, gate = served.projects.open(repo.path).index, Gate()
    first = pool.submit(index.index, Options(), force=False, cancel=Cancel(), progress=gate)
    assert gate.reached.wait(30)
    try:
        for options in ({}, {"force_reindex": True}, {"include_tests": False}):
            answer = MemoryDoor(served).call("index_codebase", {"path": str(repo.path), **options})
            assert answer.rpc_error is not None
            assert answer.rpc_error["code"] == -32002
            assert answer.rpc_error["data"]["pid"] == os.getpid()
            assert answer.rpc_error["data"]["progress"]["total"] == 2
            assert answer.rpc_error["data"]["remedy"]
        status = MemoryDoor(served).call("get_status", {"path": str(repo.path)}).value
        assert status["progress"]["files_total"] == 2
        assert status["metadata"]["freshness_status"] == "syncing"
        assert status["metadata"]["indexing_status"] == "indexing"
    finally:
        gate.open.set()
    assert first.result().files_indexed == 2
    assert not MemoryDoor(served).call("index_codebase", {"path": str(repo.path)}).is_error
    index.close()


@pytest.mark.requirement("002/index_codebase/foreign-lock-32002")
def test_a_lock_that_another_process_holds_is_named(project: Indexed, ask: Ask) -> None:
    with foreign(project.project.index.folder / "lock") as holder:
        assert ask("get_status", project.root).value["metadata"]["freshness_status"] == "syncing"
        answer = ask("index_codebase", project.root)
        assert answer.rpc_error is not None
        assert (answer.rpc_error["code"], answer.rpc_error["data"]["pid"]) == (-32002, holder.pid)
    assert not ask("index_codebase", project.root).is_error


def test_a_lock_of_the_lexical_index_that_is_late_to_go_is_waited_for(
    project: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.run()
    opened = project.project.index.open_index()
    assert opened is not None
    held = [tantivy.Index.open(str(opened.folder / "lexical")).writer(heap_size=15_000_000, num_threads=1)]
    monkeypatch.setattr(lexical, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: held.clear()))
    fill(project.root, {"c.py": PYTHON})
    assert project.run().files_indexed == 1
    assert held == []
    held.append(tantivy.Index.open(str(opened.folder / "lexical")).writer(heap_size=15_000_000, num_threads=1))
    monkeypatch.setattr(lexical, "_LOCK_PATIENCE_S", 0.0)
    with pytest.raises(Busy), opened.lexical.writing():
        pass


def test_a_dead_owners_lock_is_taken_over(project: Indexed) -> None:
    lock = project.project.index.folder / "lock"
    with foreign(lock) as holder:
        holder.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
        holder.wait()
        assert str(holder.pid).encode() in lock.read_bytes()
        assert project.project.index.owner() is None
        assert project.run().files_indexed == 3


def test_looking_at_a_lock_takes_it_from_nobody(project: Indexed) -> None:
    path = project.project.index.folder / "lock"
    lookers = [WriterLock(path) for _ in range(4)]
    with WriterLock(path).holding("indexing") as had:
        assert had
        assert {each.owner().pid for each in lookers if each.owner()} == {os.getpid()}  # type: ignore[union-attr]
    with ThreadPoolExecutor() as pool:
        assert set(pool.map(lambda each: each.owner(), lookers * 50)) == {None}


@contextmanager
def own_run(project: Indexed, pool: ThreadPoolExecutor, paths: set[str] | None = None) -> Iterator[Future[Any]]:
    """A run of the server's own, held up until the end of the block."""
    index = project.project.index
    with WriterLock(index.folder / "lock").holding("indexing") as had:
        assert had
        run = pool.submit(index.update, paths, patience=30)
        eventually(lambda: index.activity)
        yield run


@pytest.mark.requirement("002/index_codebase/joins-own-run")
def test_an_explicit_call_joins_the_servers_own_run(project: Indexed, pool: ThreadPoolExecutor) -> None:
    with own_run(project, pool) as own:
        explicit = pool.submit(project.run)
        assert not explicit.done()
    assert explicit.result() is own.result()
    assert explicit.result().files_indexed == 3


@pytest.mark.requirement("002/index_codebase/supersedes-own-run")
@pytest.mark.parametrize("options", [{"force": True}, {"tests": False}, {"vendor": True}], ids=str)
def test_an_explicit_call_that_wants_something_else_supersedes_it(
    options: dict[str, bool], project: Indexed, pool: ThreadPoolExecutor
) -> None:
    with own_run(project, pool) as own:
        explicit: Future[Report] = pool.submit(project.run, **options)
        index = project.project.index
        eventually(lambda: index.activity is not None and bool(index.activity.cancel))
    assert isinstance(own.exception(), Cancelled)
    assert explicit.result().files_indexed == (2 if options == {"tests": False} else 3)


def test_an_explicit_call_during_a_watch_run_is_about_the_whole_project(
    project: Indexed, repo: Repo, pool: ThreadPoolExecutor
) -> None:
    project.run()
    for name in ("a.py", "b.py"):
        repo.write(name, f"def {name[0]}(): ...\n")
    with own_run(project, pool, {"a.py"}) as own:
        explicit = pool.submit(project.run)
    assert own.result().files_indexed == 1
    assert explicit.result().files_indexed == 1
    assert project.names() == {"a", "b", "greet"}


def test_a_second_own_run_gives_way_to_an_explicit_one(project: Indexed, pool: ThreadPoolExecutor) -> None:
    gate = Gate()
    index = project.project.index
    first = pool.submit(index.index, Options(), force=False, cancel=Cancel(), progress=gate)
    assert gate.reached.wait(30)
    try:
        assert index.update(None) is None
        with pytest.raises(Busy):
            project.run()
    finally:
        gate.open.set()
    assert first.result().files_indexed == 3


def test_own_runs_without_end_keep_no_explicit_call_waiting(project: Indexed, pool: ThreadPoolExecutor) -> None:
    index = project.project.index
    with own_run(project, pool):
        explicit = pool.submit(index.index, Options(), force=True, cancel=Cancel())
        eventually(lambda: bool(index._claims))
    assert explicit.result().files_indexed == 3
    with index._claims.waiting():
        assert index.update(None) is None
    assert index.update(None) is not None


def test_a_writer_that_writes_all_the_time_lets_another_process_in(tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    busy, ended = WriterLock(tmp_path / "lock"), threading.Event()

    def write_all_the_time() -> int:
        runs = 0
        while not ended.is_set():
            with busy.hold("indexing", patience=30):
                runs += 1
                time.sleep(0.05)
        return runs

    writing = pool.submit(write_all_the_time)
    try:
        for _ in range(3):
            with WriterLock(tmp_path / "lock").hold("indexing", patience=20):
                pass
    finally:
        ended.set()
    assert writing.result() > 0


def test_a_caller_that_withdraws_leaves_the_index_usable(project: Indexed, pool: ThreadPoolExecutor) -> None:
    gate, cancel = Gate(), Cancel()
    first = pool.submit(project.project.index.index, Options(), force=False, cancel=cancel, progress=gate)
    assert gate.reached.wait(30)
    cancel.set()
    gate.open.set()
    assert isinstance(first.exception(), Cancelled)
    project.run()
    assert set(project.versions()) == {"a.py", "b.py", "tests/test_a.py"}
    assert project.stands().freshness == "fresh"


def children(pid: int) -> list[int]:
    told = (path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    found = [int(each) for part in told for each in part]
    return [each for each in found if b"codecairn.index.worker" in Path(f"/proc/{each}/cmdline").read_bytes()]


@has_proc
def test_a_worker_that_is_killed_is_replaced(repo: Repo, indexed: Open) -> None:
    repo.commit("start", {f"part{number}.py": f"def part{number}(): ...\n" for number in range(200)})
    killed: list[int] = []

    def kill_one(done: int, total: int, said: str) -> None:
        del total, said
        if done in (1, 40, 90):
            for worker in children(os.getpid())[:1]:
                killed.append(worker)
                os.kill(worker, signal.SIGKILL)

    project = indexed(repo.path, own_workers=True)
    report = project.project.index.index(Options(), force=False, cancel=Cancel(), progress=kill_one)
    assert killed
    assert (report.files_indexed, report.failed) == (200, {})
    assert len(project.names()) == 200


def serving(repo: Path, home: Path, folder: Path, *options: str) -> ServerProcess:
    return ServerProcess(*options, "--root", str(repo), folder=folder, CAIRN_HOME=str(home))


def call(server: ServerProcess, tool: str, root: Path, **arguments: Any) -> dict[str, Any]:
    answer = server.request("tools/call", {"name": tool, "arguments": {"path": str(root), **arguments}})
    value: dict[str, Any] = answer["result"]["structuredContent"]
    return value


@has_proc
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, None], ids=["killed", "terminated", "input ended"])
def test_no_worker_outlives_its_server(end: signal.Signals | None, repo: Repo, home: Path, tmp_path: Path) -> None:
    repo.commit("start", {"a.py": PYTHON})
    with serving(repo.path, home, tmp_path, "--no-index") as server:
        server.initialize()
        call(server, "index_codebase", repo.path)
        workers = children(server.process.pid)
        assert workers
        if end is None:
            assert server.close() == 0
        else:
            server.process.send_signal(end)
            server.process.wait(10)
        eventually(lambda: not any(is_alive(worker) for worker in workers))


def test_the_start_up_run_never_refuses_a_call(repo: Repo, home: Path, tmp_path: Path) -> None:
    repo.commit("start", {**{f"part{number}.py": PYTHON for number in range(40)}, "tests/test_a.py": PYTHON})
    with serving(repo.path, home, tmp_path) as server:
        server.initialize()
        first = call(server, "index_codebase", repo.path)
        assert first["statistics"]["files_indexed"] + first["statistics"]["files_skipped"] == 41
        without = call(server, "index_codebase", repo.path, include_tests=False)
        assert without["success"] is True
        assert call(server, "get_status", repo.path)["statistics"]["total_files"] == 40
        assert server.close() == 0


def test_two_servers_of_one_repository_agree(repo: Repo, home: Path, tmp_path: Path) -> None:
    repo.commit("start", {f"part{number}.py": f"def part{number}(): ...\n" for number in range(20)})
    with serving(repo.path, home, tmp_path) as one, serving(repo.path, home, tmp_path) as other:
        for server in (one, other):
            server.initialize()

        def agree(symbols: int) -> bool:
            seen = [call(server, "get_status", repo.path) for server in (one, other)]
            return all(
                each["indexed"]
                and each["metadata"]["freshness_status"] == "fresh"
                and each["statistics"]["total_symbols"] == symbols
                for each in seen
            )

        eventually(lambda: agree(20))
        repo.write("part0.py", "def one(): ...\ndef two(): ...\n")
        eventually(lambda: agree(21))
        assert (one.close(), other.close()) == (0, 0)


@pytest.mark.parametrize("module", ["codecairn/__init__.py", "msgspec.py", "blake3.py", "sitecustomize.py"])
def test_a_projects_own_modules_do_not_stand_in_for_ours(
    module: str, tmp_path: Path, home: Path, indexed: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "imported"
    root = fill(tmp_path / "hostile", {module: f"open({str(mark)!r}, 'w').close()\nraise SystemExit(3)\n"})
    monkeypatch.chdir(root)
    project = indexed(root, own_workers=True)
    assert project.run().files_indexed == 1
    assert not mark.exists()
