"""Waiting for what another thread or process is about to do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def eventually(condition: Callable[[], T], seconds: float = 20) -> T:
    """The first true value of `condition`, looked at until then; an assertion fails if it never comes."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)
    return value


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not yet collected does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:  # it ended between the opening and the reading
        return False
    except FileNotFoundError:
        return not Path("/proc/self").exists()


class SlowGit:
    """A `git` that never ends, in a folder for PATH; it leaves a child of its own, and writes both pids down."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pids_file = folder / "pids"
        self._met: list[int] = []
        """Those that ran when the test first looked, by the call that it is about."""
        folder.mkdir()
        program = folder / "git"
        program.write_text(f'#!/bin/sh\nsleep 600 &\necho "$$ $!" >> "{self.pids_file}"\nwait\n')
        program.chmod(0o755)

    @property
    def path(self) -> str:
        return f"{self.folder}{os.pathsep}{os.environ['PATH']}"

    def started(self) -> list[int]:
        """The pids, once there are some."""
        pids = eventually(lambda: [int(pid) for pid in self._noted()])
        self._met = self._met or pids
        return pids

    def _noted(self) -> list[str]:
        if not self.pids_file.exists():
            return []
        noted = self.pids_file.read_text()
        return noted.split() if noted.endswith("\n") else []

    def all_gone(self) -> None:
        """The call's own are gone at once; one that the server started beside it ends with its time, half a minute."""
        pids = self.started()
        eventually(lambda: not any(is_alive(pid) for pid in self._met))
        eventually(lambda: not any(is_alive(pid) for pid in pids), 60)
