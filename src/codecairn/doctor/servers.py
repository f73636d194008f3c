"""Servers that run on this machine. Each leaves a mark in the data directory: its process, its version, its project."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from codecairn import __version__
from codecairn.doctor import Finding, Patient, good, warning

_HAS_PROC = Path("/proc/self").exists()


def announce(home: Path, about: str) -> None:
    """Leave a mark for as long as this process serves. A data directory that cannot be written stops nobody."""
    with contextlib.suppress(OSError):
        folder = home / "servers"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for each in _marks(home):
            if not _runs(each):  # it was killed
                each.unlink()
        (folder / str(os.getpid())).write_text(f"{__version__}\n{about}\n", encoding="utf-8")


def withdraw(home: Path) -> None:
    with contextlib.suppress(OSError):
        (home / "servers" / str(os.getpid())).unlink()


def check_running(patient: Patient) -> Iterator[Finding]:
    running = [each.read_text(encoding="utf-8").splitlines() for each in _marks(patient.home) if _runs(each)]
    old = [(version, about) for version, about in running if version != __version__]
    for version, about in old:
        said = f"one of version {version} runs ({about}); this is {__version__}"
        yield warning("Servers", said, "Restart the client that started it.")
    if not old:
        yield good("Servers", f"{len(running)} running, of this version" if running else "none runs now")


def _marks(home: Path) -> list[Path]:
    try:
        return sorted(each for each in (home / "servers").iterdir() if each.name.isdigit())
    except OSError:
        return []


def _runs(mark: Path) -> bool:
    """Whether the process is there, and began before it left its mark: numbers are given again."""
    try:
        if _HAS_PROC:
            return Path("/proc", mark.name).stat().st_mtime <= mark.stat().st_mtime + 1
        os.kill(int(mark.name), 0)
    except OSError:
        return False
    else:
        return True
