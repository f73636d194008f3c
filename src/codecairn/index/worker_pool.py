"""Worker processes: parsing holds Python's lock, so it is done outside this process, on as many cores as there are."""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

import msgspec

from codecairn.allocator import with_large_pages
from codecairn.cancel import Cancel
from codecairn.config import child_environment
from codecairn.errors import CairnError, Cancelled
from codecairn.index.digest import Outcome
from codecairn.index.worker import Job, read_frame, write_frame
from codecairn.parse.language import language_of
from codecairn.source import process

MOST_WORKERS = 4
_FILES_A_WORKER = 12
"""Starting a worker costs as much as it takes one to read about this many files."""
_START_ATTEMPTS = 3
"""A system that is short of memory may end a worker before it is ready, and not the next one."""
_MOST_LOSSES = 3
"""Children that end over one file before it is given up: what ended the first may have been somebody else."""
_STALLED_S = 20.0
"""Of processor time for one file. Where other programs have the machine, that takes as long as it takes."""
_LONGEST_S = 200.0
"""By the clock: a worker that waits for something, or gets a tenth of a core."""
_NO_LANGUAGE = "text"
_JOBS_LEFT_ALONE = 2
"""Jobs of one language: to learn it for so few takes as long as to wait for who knows it."""
_MOST_WAITING = 48
"""Outcomes read and not yet written: what bounds memory, whatever the size of the repository."""


_CRASHED = ("failed", "the parser crashed on it")
_OUTCOME = msgspec.msgpack.Decoder(Outcome)
_Done = queue.Queue[Outcome | CairnError | None]
"""Outcomes as workers hand them over; None where one has no more."""


class Workers:
    """A few workers, started when first needed and kept until `close`, so that a file saved is read at once."""

    def __init__(self, folder: Path, most: int | None = None) -> None:
        self._folder = folder
        self._most = most or min(MOST_WORKERS, os.cpu_count() or 1)
        self.idle: list[_Worker] = []
        self._lock = threading.Lock()

    def outcomes(self, jobs: list[Job], cancel: Cancel) -> Iterator[Outcome]:
        """Every path of every job, in no order."""
        files = sum(len(job.paths) for job in jobs)
        workers = [self._take() for _ in range(max(1, min(self._most, len(jobs), files // _FILES_A_WORKER + 1)))]
        waiting = WaitingJobs(jobs)
        done: _Done = queue.Queue(_MOST_WAITING)
        stop = threading.Event()
        for worker in workers:
            threading.Thread(target=worker.serve, args=(waiting, done, stop), daemon=True).start()
        try:
            yield from _arriving(done, workers, cancel)
        finally:
            stop.set()
            for worker in workers:
                self._give_back(worker)

    def _take(self) -> _Worker:
        with self._lock:
            return self.idle.pop() if self.idle else _Worker(self._folder)

    def _give_back(self, worker: _Worker) -> None:
        if worker.was_stopped():  # the run was abandoned: what it is at is nobody's business any more
            return
        with self._lock:
            self.idle.append(worker)

    def rest(self) -> None:
        """End all that have nothing to do but one, which is enough for a file saved: each holds 40 MB."""
        self._end_idle_but(1)

    def close(self) -> None:
        self._end_idle_but(0)

    def _end_idle_but(self, kept: int) -> None:
        with self._lock:
            workers, self.idle = self.idle[kept:], self.idle[:kept]
        for worker in workers:
            worker.end()


def _arriving(done: _Done, workers: list[_Worker], cancel: Cancel) -> Iterator[Outcome]:
    left = len(workers)
    while left:
        cancel.check()
        for worker in workers:
            worker.end_if_stalled()
        try:
            outcome = done.get(timeout=0.2)
        except queue.Empty:
            continue
        if isinstance(outcome, CairnError):
            raise outcome
        if outcome is None:
            left -= 1
        else:
            yield outcome


class WaitingJobs:
    """Jobs that nobody has taken yet.

    A worker compiles the queries of each language that it meets, which takes from 10 ms (Go) to 900 (Swift). So it
    takes jobs of languages that it knows, then of one that nobody knows, and of another's only where many are left.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._by_language: dict[str, deque[Job]] = {}
        for job in jobs:
            self._by_language.setdefault(job.language, deque()).append(job)
        self._begun: set[str] = set()
        self._lock = threading.Lock()

    def take(self, known: set[str]) -> Job | None:
        """The next job for a worker that knows these languages, to which the job's is added; None where none is left
        for it."""
        with self._lock:
            left = {language: len(jobs) for language, jobs in self._by_language.items() if jobs}
            language = (
                next((each for each in left if each in known), None)
                or next((each for each in left if each not in self._begun), None)
                or max((each for each in left if left[each] > _JOBS_LEFT_ALONE), key=left.__getitem__, default=None)
            )
            if language is None:
                return None
            self._begun.add(language)
            known.add(language)
            return self._by_language[language].popleft()


class _Worker:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._child: process.Child | None = None
        self._asked_at: float | None = None
        self._cpu_before: float | None = None
        self._blame: tuple[str, str] | None = None
        """Why its child was ended: a reason and its detail."""
        self._is_busy = False
        self._languages: set[str] = set()
        """Those that it has taken jobs of. Kept where its child was lost: what is left of them may be left to it."""
        self._turn = threading.Lock()

    def serve(self, waiting: WaitingJobs, done: _Done, stop: threading.Event) -> None:
        """Jobs until there are none left; then a None, so that who waits knows."""
        self._is_busy = True
        try:
            while not stop.is_set() and (job := waiting.take(self._languages)) is not None:
                for outcome in self._perform(job, stop):
                    _hand_over(outcome, done, stop)
        except CairnError as error:
            _hand_over(error, done, stop)
        with self._turn:
            if stop.is_set():
                self.end()
            self._is_busy = False
        _hand_over(None, done, stop)

    def _perform(self, job: Job, stop: threading.Event) -> Iterator[Outcome]:
        left = list(job.paths)
        blamed, losses = "", 0
        while left and not stop.is_set():
            for outcome in self._answers(msgspec.structs.replace(job, paths=left)):
                left.remove(outcome.path)
                yield outcome
            if not left or stop.is_set():
                return
            if process.is_leaving():
                raise Cancelled("The server is leaving")
            blame = self._blame
            self.end()
            blamed, losses = left[0], losses + 1 if blamed == left[0] else 1
            if blame is not None or losses == _MOST_LOSSES:
                reason, detail = blame or _CRASHED
                yield Outcome(left.pop(0), reason=reason, detail=detail)

    def _answers(self, job: Job) -> Iterator[Outcome]:
        """The answers of the child until it is done, or gone."""
        child = self._start()
        try:
            write_frame(_pipe(child.stdin), msgspec.msgpack.encode(job))
            while True:
                self._cpu_before = process.cpu_seconds(child)
                self._asked_at = time.monotonic()
                frame = read_frame(_pipe(child.stdout))
                self._asked_at = None  # until it is asked again: what is handed over may wait for a batch being written
                if not frame:
                    break
                yield _OUTCOME.decode(frame)
        except (OSError, ValueError):
            pass  # the child is gone; what it still owed is told by who counts
        finally:
            self._asked_at = None

    def end_if_stalled(self) -> None:
        """End the child if its file takes too long: one that had the processor for it all is left alone until it
        changes, another is tried again by every run."""
        asked_at, child = self._asked_at, self._child
        if asked_at is None or child is None:
            return
        by_clock = time.monotonic() - asked_at
        now, before = process.cpu_seconds(child), self._cpu_before
        if by_clock > _STALLED_S and (now is None or before is None or now - before > _STALLED_S):
            self._blame = ("slow to parse", f"reading it took over {_STALLED_S:g} s")
        elif by_clock > _LONGEST_S:
            self._blame = ("failed", f"reading it was not done after {_LONGEST_S:g} s")
        else:
            return
        process.kill(child)

    def _start(self) -> process.Child:
        if self._child is not None and self._child.poll() is None:
            return self._child
        for _ in range(_START_ATTEMPTS):
            self.end()
            # -P: a module of the project must not stand in for one of ours.
            command = [sys.executable, "-P", "-m", "codecairn.index.worker"]
            try:
                child = process.start(command, folder=self._folder, environment=with_large_pages(child_environment()))
            except OSError:  # no memory, no descriptors, or the folder was removed
                break
            self._child = child
            self._blame = None
            if read_frame(_pipe(child.stdout)) is not None:
                return child
        raise CairnError(
            "A worker process cannot be started, so nothing can be indexed",
            remedy=f"Run `{sys.executable} -P -m codecairn.index.worker </dev/null` and see what it says.",
        )

    def was_stopped(self) -> bool:
        """Whether it was in the middle of something. The thread that serves then ends the child, killed here, since
        pipes must not be closed under who reads them."""
        with self._turn:
            child = self._child
            if self._is_busy and child is not None:
                process.kill(child)
            return self._is_busy

    def end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            process.end(child)


def _hand_over(item: Outcome | CairnError | None, done: _Done, stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            done.put(item, timeout=0.2)
        except queue.Full:
            continue
        return


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def jobs_for(
    root: Path, prefix: str, algorithm: str, paths: Iterable[str], known: dict[str, list[int]],
    contents: Mapping[str, bytes] | None = None,
) -> list[Job]:  # fmt: skip
    """Small jobs, so that workers finish together; each in one language, as its name tells. Paths in `contents` are
    not read from the folder."""
    given = contents or {}
    by_language: dict[str, list[str]] = {}
    for path in paths:
        language = language_of(path)
        by_language.setdefault(language.data.name if language else _NO_LANGUAGE, []).append(path)
    size = max(1, min(32, sum(map(len, by_language.values())) // (MOST_WORKERS * 4)))
    return [
        Job(
            str(root), prefix, algorithm, part, {path: known[path] for path in part if path in known},
            {path: given[path] for path in part if path in given}, language,
        )
        for language, ordered in by_language.items()
        for part in (ordered[at : at + size] for at in range(0, len(ordered), size))
    ]  # fmt: skip
