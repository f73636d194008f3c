"""Which worker takes which job: each language is learnt by few, and every job is taken."""

from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from codecairn.cancel import Cancel
from codecairn.index import worker_pool
from codecairn.index.worker_pool import WaitingJobs, Workers, jobs_for
from tests.support.wait import eventually


def waiting(*paths: str) -> WaitingJobs:
    return WaitingJobs(jobs_for(Path("/p"), "", "sha1", paths, {}))


def test_a_job_is_of_one_language() -> None:
    paths = [f"{name}{number}.{ending}" for number in range(40) for name, ending in (("a", "py"), ("b", "go"))]
    jobs = jobs_for(Path("/p"), "", "sha1", [*paths, "README.md"], {})
    assert sorted(path for job in jobs for path in job.paths) == sorted([*paths, "README.md"])
    assert all(len({path.rpartition(".")[2] for path in job.paths}) == 1 for job in jobs)
    assert {job.language for job in jobs} == {"python", "go", "text"}


def test_a_worker_takes_what_it_knows_before_what_nobody_knows() -> None:
    jobs, known = waiting("a.py", "b.go", "c.py"), set[str]()
    taken = [job.paths for job in iter(lambda: jobs.take(known), None)]
    assert taken == [["a.py"], ["c.py"], ["b.go"]]
    assert known == {"python", "go"}


def test_few_jobs_are_left_to_who_knows_their_language_and_many_are_shared() -> None:
    jobs = waiting(*(f"{number}.swift" for number in range(4)))
    first, second = set[str](), set[str]()
    assert jobs.take(first) is not None
    assert jobs.take(second) is not None
    assert jobs.take(set()) is None
    assert jobs.take(first) is not None
    assert jobs.take(second) is not None
    assert jobs.take(first) is None


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_job_is_taken(workers: int) -> None:
    paths = [f"{number}.{ending}" for number in range(9) for ending in ("py", "go", "rs", "txt", "md")]
    jobs, known = waiting(*paths), [set[str]() for _ in range(workers)]
    left, taken = list(range(workers)), list[str]()
    while left:
        at = left.pop(0)
        if (job := jobs.take(known[at])) is not None:
            taken += job.paths
            left.append(at)
    assert sorted(taken) == sorted(paths)


def test_one_worker_rests_and_the_others_end(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"m{number}.py").write_text(f"def f{number}(): ...\n")
    workers = Workers(tmp_path, most=2)
    paths = [f"m{number}.py" for number in range(30)]
    try:
        for _ in range(2):
            outcomes = list(workers.outcomes(jobs_for(tmp_path, "", "sha1", paths, {}), Cancel()))
            assert sorted(each.path for each in outcomes if each.version) == sorted(paths)
            workers.rest()
            assert len(workers.idle) == 1
    finally:
        workers.close()
    assert not workers.idle


def test_a_worker_is_not_blamed_while_what_it_gave_waits_to_be_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [f"m{number}.py" for number in range(32)]
    for path in paths:
        (tmp_path / path).write_text("def f(): ...\n" * 2000)
    monkeypatch.setattr(worker_pool, "_STALLED_S", -1.0)  # whoever is asked anything at this moment has stalled
    worker = worker_pool._Worker(tmp_path)
    given = []
    try:
        for outcome in worker._answers(jobs_for(tmp_path, "", "sha1", paths, {})[0]):
            worker.end_if_stalled()
            given.append(outcome.path)
    finally:
        worker.end()
    assert given == jobs_for(tmp_path, "", "sha1", paths, {})[0].paths
    assert len(given) > 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody tells the processor time of a child")
def test_a_worker_without_the_processor_is_not_slow_and_its_file_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.py").write_text("def f(): ...\n")
    monkeypatch.setattr(worker_pool, "_STALLED_S", 0.05)
    workers = Workers(tmp_path, most=1)
    worker = workers._take()
    os.kill(worker._start().pid, signal.SIGSTOP)
    workers.idle.append(worker)
    jobs = jobs_for(tmp_path, "", "sha1", ["m.py"], {})
    try:
        with ThreadPoolExecutor() as pool:
            found = pool.submit(list, workers.outcomes(jobs, Cancel()))
            eventually(lambda: worker._asked_at is not None and time.monotonic() - worker._asked_at > 1.0)
            assert not found.done()
            assert worker._blame is None
            monkeypatch.setattr(worker_pool, "_LONGEST_S", 0.05)
            (outcome,) = found.result(60)
    finally:
        workers.close()
    assert (outcome.path, outcome.reason) == ("m.py", "failed")  # of which every run tries to read it


def test_a_worker_that_had_the_processor_all_along_is_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.py").write_text("def f(): ...\n")
    monkeypatch.setattr(worker_pool, "_STALLED_S", -1.0)
    workers = Workers(tmp_path, most=1)
    worker = workers._take()
    os.kill(worker._start().pid, signal.SIGSTOP)
    workers.idle.append(worker)
    try:
        (outcome,) = workers.outcomes(jobs_for(tmp_path, "", "sha1", ["m.py"], {}), Cancel())
    finally:
        workers.close()
    assert (outcome.path, outcome.reason) == ("m.py", "slow to parse")
