"""python -m codecairn.index.worker: reads files for an index run.

Started fresh, never forked from a server with threads; imports what parsing needs and no more. Frames (four bytes of
length, then msgpack) come in on stdin, each a Job, and go out on stdout: an empty one when it is ready, then for each
job its Outcomes and an empty one. It ends when its stdin does, so none outlives who started it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import signal
import sys
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from codecairn.index.digest import Outcome, digest, digest_blob

_MOST_MEMORY = 4 << 30
_LONGEST_FILE_S = 60.0
"""Whoever started this ends it sooner; where that one was killed, a file that takes for ever must not."""


class Job(Struct, frozen=True, array_like=True):
    root: str
    prefix: str
    algorithm: str
    paths: list[str]
    known: dict[str, list[int]]
    contents: dict[str, bytes] = {}
    """Blobs of git by path; other paths are read from the folder."""
    language: str = ""
    """Of all its files, as their names tell it."""


def write_frame(stream: IO[bytes], data: bytes) -> None:
    stream.write(len(data).to_bytes(4, "big") + data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """None where the other side is gone."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    size = int.from_bytes(head, "big")
    data = stream.read(size)
    return data if len(data) == size else None


def main() -> None:
    _limit_memory()
    gc.freeze()  # what was imported stays; what a file needs goes by itself, and looking for circles costs a tenth
    gc.set_threshold(50_000, 20, 100)
    with os.fdopen(os.dup(1), "wb") as sink:
        os.dup2(2, 1)  # what a library prints must not end up between frames
        _serve(sys.stdin.buffer, sink)


def _serve(source: IO[bytes], sink: IO[bytes]) -> None:
    write_frame(sink, b"")
    while (frame := read_frame(source)) is not None:
        job = msgspec.msgpack.decode(frame, type=Job)
        root = Path(job.root)
        for path in job.paths:
            _end_in(_LONGEST_FILE_S)
            write_frame(sink, msgspec.msgpack.encode(_digest(root, job, path)))
        _end_in(0)
        write_frame(sink, b"")


def _end_in(seconds: float) -> None:
    """End this process after so long, in whatever library it is then; 0 takes that back.

    A timer of the system costs a thirtieth of the thread that faulthandler starts for each call."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
    elif seconds:
        faulthandler.dump_traceback_later(seconds, exit=True)
    else:
        faulthandler.cancel_dump_traceback_later()


def _limit_memory() -> None:
    """A few hundred bytes can make a grammar ask for gigabytes; then the parser fails, and not the machine."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 - Windows has none

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))


def _digest(root: Path, job: Job, path: str) -> Outcome:
    try:
        known = frozenset(job.known.get(path, ()))
        if path in job.contents:
            return digest_blob(job.prefix, path, job.contents[path], known, job.algorithm)
        return digest(root, job.prefix, path, known, job.algorithm)
    except (RecursionError, MemoryError, ValueError, LookupError, TypeError, AssertionError) as error:
        return Outcome(path, reason="failed", detail=f"{type(error).__name__}: {error}"[:300])


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)
