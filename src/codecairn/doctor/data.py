"""The data directory: whether it can be used, and what was left behind in it."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codecairn.doctor import Finding, Patient, fault, good, warning
from codecairn.errors import CairnError
from codecairn.index.indexed_roots import list_roots
from codecairn.store import folders
from codecairn.store.lexical import size_of
from codecairn.store.writer_lock import WriterLock

_ANOTHER = "or name another with CAIRN_HOME."
_DAY_S = 86_400.0


def check_folder(patient: Patient) -> Iterator[Finding]:
    home = patient.home
    there = next(each for each in (home, *home.parents) if each.exists())
    if not there.is_dir():
        yield fault("Data", f"{there} is no folder", f"Move it away, {_ANOTHER}")
        return
    if not os.access(there, os.W_OK | os.X_OK):
        yield fault("Data", f"{there} cannot be written", f"chmod u+rwx '{there}', {_ANOTHER}")
        return
    free = shutil.disk_usage(there).free / 1e6
    if free < patient.least_free_mb:
        yield fault("Data", f"{free:,.0f} MB are left on the disk of {home}", f"Free some space, {_ANOTHER}")
        return
    is_open = home.exists() and home.stat().st_mode & 0o077
    exposed = [each for each in _folders(home) if is_open and each.stat().st_mode & 0o077]
    if exposed and sys.platform != "win32":
        yield warning("Data", f"others on this machine can read {exposed[0]}", f"chmod 700 '{home}'")
        return
    size = size_of(home) / 1e6 if home.exists() else 0.0
    yield good("Data", f"{home}, {size:,.0f} MB, {free / 1e3:,.0f} GB free")


def check_leftovers(patient: Patient) -> Iterator[Finding]:
    left = list(leftovers(patient.home))
    if left:
        size = sum(map(size_of, left)) / 1e6
        yield warning("Leftovers", f"{len(left)} of runs that were killed, {size:,.1f} MB", "cairn doctor --clean")
    gone = [each for each in _roots(patient.home) if each.is_gone]
    if gone:
        size = sum({each.folder: each.size_mb for each in gone}.values())
        said = f"{len(gone)} indexed folders are gone, {size:,.1f} MB"
        yield warning("Leftovers", said, "cairn projects --prune")


def _roots(home: Path) -> list[Any]:
    try:
        return list(list_roots(home))
    except (OSError, CairnError):
        return []


def leftovers(home: Path) -> Iterator[Path]:
    """Builds that were never finished, and work that was killed."""
    for folder in _folders(home / "indexes"):
        current = folders.current_epoch(folder)
        is_written = WriterLock(folder / "lock").owner() is not None
        if not is_written:
            yield from (each for each in _folders(folder) if each != current and (each / "index.db").exists())
    yield from (each for each in _folders(home / "work") if time.time() - each.stat().st_mtime > _DAY_S)


def clean(home: Path) -> int:
    """Delete what was left behind; returns how much it was."""
    left = list(leftovers(home))
    for each in left:
        shutil.rmtree(each, ignore_errors=True)
    return len(left)


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(each for each in parent.iterdir() if each.is_dir())
    except OSError:
        return []
