"""Lines of the process's own stdin and stdout, read and written by threads.

File descriptor 1 is pointed at stderr and 0 at nothing from then on, so neither a stray print nor a child can touch the
protocol. Nothing heavy is imported here: the first line is read before anything else is ready.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

LONGEST_LINE = 16 << 20
_LINES_AHEAD = 256
TOO_LONG = object()
"""Stands for a line that is longer than may be."""

Deliver = Callable[[Any], object]


class LineStream:
    """Lines in and lines out, read and written by threads."""

    def __init__(self, reads: BinaryIO, writes: BinaryIO) -> None:
        self._input, self._output = reads, writes
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(_LINES_AHEAD)
        self._writer = threading.Thread(target=self._write, daemon=True)
        self.broken = threading.Event()

    @classmethod
    def of_process(cls) -> LineStream:
        """The process's own stdin and stdout, taken away from everybody else in it."""
        sys.stdout.flush()
        wire = cls(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
        _divert(0, os.open(os.devnull, os.O_RDONLY))
        _divert(1, _duplicate_of_stderr())
        return wire

    def start(self, deliver: Deliver) -> None:
        self._writer.start()
        threading.Thread(target=self._read, args=(deliver,), daemon=True).start()

    def send(self, line: bytes) -> None:
        self._outbox.put(line)

    def release_line(self) -> None:
        """A delivered line has been dealt with; the reader may go one further."""
        self._room.release()

    def close(self) -> None:
        self._input.close()
        self._output.close()

    def flush(self, seconds: float) -> None:
        self._outbox.put(None)
        self._writer.join(seconds)

    def _read(self, deliver: Deliver) -> None:
        while line := self._input.readline(LONGEST_LINE):
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                while (rest := self._input.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                    pass
                deliver(TOO_LONG)
            elif line.strip():
                deliver(line)
            else:
                continue
            self._room.acquire()
        deliver(None)

    def _write(self) -> None:
        while (line := self._outbox.get()) is not None:
            try:
                self._output.write(line)
                self._output.flush()
            except (OSError, ValueError):  # the client is gone; its stdin end tells the rest
                self.broken.set()
                return


def _divert(descriptor: int, target: int) -> None:
    os.dup2(target, descriptor)
    os.close(target)


def _duplicate_of_stderr() -> int:
    try:
        return os.dup(2)
    except OSError:  # started with stderr closed
        return os.open(os.devnull, os.O_WRONLY)
