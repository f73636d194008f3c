"""One writer per index across processes.

The lock is the operating system's, on a file beside the index, so that it is free the moment its owner dies, however
it dies. The text of the file (who, since when, doing what) is for people, and is read without the lock.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from codecairn.clock import iso_seconds
from codecairn.errors import Busy, CairnError

_GLANCE_S = 0.02
_TURN_S = 0.03
"""For so long after one run the next of the same process leaves the lock to others, who look for it once a glance."""
_HEAD = 1 << 20
"""Windows locks bytes, and what is locked cannot be read: the byte that is locked lies far behind the text."""


class Owner(Struct, frozen=True):
    pid: int
    since: str
    doing: str


_OWNER = msgspec.json.Decoder(Owner)
"""Made once: msgspec takes a type apart when it is first asked for, and two threads at once end the process."""


class WriterLock:
    """Held by one thread of one process at a time; `held` tells whether by this object."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._thread = threading.Lock()
        self._released = 0.0

    @contextmanager
    def hold(self, doing: str, *, patience: float) -> Iterator[None]:
        """Hold the lock; raises Busy where it is not free in time."""
        with self.holding(doing, patience=patience) as had:
            if not had:
                owner = self.owner()
                who = f"process {owner.pid}, since {owner.since}" if owner and owner.pid else "another process"
                raise Busy(f"The index is being written by {who}", pid=owner.pid if owner else 0)
            yield

    @contextmanager
    def holding(self, doing: str, *, patience: float = 0.0) -> Iterator[bool]:
        """Yields True if the lock was acquired; waits for it as long as `patience` says."""
        deadline = time.monotonic() + patience
        if patience:
            time.sleep(max(0.0, self._released + _TURN_S - time.monotonic()))
        while not self._acquire(doing):
            if time.monotonic() >= deadline:
                yield False
                return
            time.sleep(_GLANCE_S)
        try:
            yield True
        finally:
            self._release()

    def owner(self) -> Owner | None:
        """The holder of the lock at this moment, if there is one."""
        if self._file is None and self._is_free():
            return None
        try:
            return _OWNER.decode(self._path.read_bytes())
        except (OSError, msgspec.MsgspecError):
            return Owner(0, "", "")  # it was taken this moment

    def _is_free(self) -> bool:
        """Tried with a lock that all who look can have at once, so that none is taken for a writer."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # somebody may have cleaned up
            file = os.open(self._path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        except OSError:
            return True  # nobody has ever held it, or nobody can
        try:
            return _try_lock(file, shared=True)
        finally:
            os.close(file)

    def _acquire(self, doing: str) -> bool:
        if not self._thread.acquire(blocking=False):
            return False
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as error:
            self._thread.release()
            raise CairnError(
                f"The index cannot be locked: {self._path}: {error.strerror}",
                remedy="Make the data directory writable, or name another with CAIRN_HOME.",
            ) from error
        if not _try_lock(file):
            os.close(file)
            self._thread.release()
            return False
        self._file = file
        said = Owner(os.getpid(), iso_seconds(), doing)
        with contextlib.suppress(OSError):
            os.ftruncate(file, 0)
            os.write(file, msgspec.json.encode(said))
        return True

    def _release(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file, self._released = None, time.monotonic()
        self._thread.release()


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: int, *, shared: bool = False) -> bool:
        del shared  # there is only one kind
        os.lseek(file, _HEAD, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(file, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _try_lock(file: int, *, shared: bool = False) -> bool:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
