"""Refs that are indexed, as people look after them: when each was last used, who uses it now, which may go."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack
from itertools import count
from pathlib import Path

from msgspec import Struct

from codecairn.cancel import Cancel
from codecairn.errors import Busy
from codecairn.index.live import Opened, ProjectIndex
from codecairn.source.refs import tips, worktrees
from codecairn.store.layers import Layer
from codecairn.store.lock import WriterLock
from codecairn.store.overlays import OverlayWriter
from codecairn.store.place import last_used, note_use

_DAY_S = 86_400.0
_EVERY_S = 60.0
_PATIENCE_S = 5.0
KEPT_DAYS = 30.0
"""How long a ref is kept that nobody asks for, once its branch is gone from the repository."""


def note_ref_use(folder: Path, layer: Layer, *, now: bool = False) -> None:
    note_use(folder, _mark(layer), 0.0 if now else _EVERY_S)


def last_ref_use(folder: Path, layer: Layer) -> float:
    return max(last_used(folder, _mark(layer)) or 0.0, layer.finished_at or 0.0)


def _mark(layer: Layer) -> str:
    return f"used-{layer.id}"


class Leases:
    """What keeps a ref that a connection has switched to from being dropped, by this process or another: a lock that
    ends with the process, however it ends."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, Path], ExitStack] = {}
        self._numbers = count()
        self._lock = threading.Lock()

    def hold(self, connection: str, root: Path, folder: Path, layer: Layer | None) -> None:
        """In place of what the connection held before; None gives that back."""
        with self._lock:
            held = self._held.pop((connection, root), None)
            if held is not None:
                held.close()
            if layer is not None:
                stack = self._held[connection, root] = ExitStack()
                lock = WriterLock(folder / f"lease-{layer.id}-{os.getpid()}-{next(self._numbers)}")
                stack.enter_context(lock.holding("a connection is on this ref"))


def is_leased(folder: Path, layer: Layer) -> bool:
    leased = False
    for path in folder.glob(f"lease-{layer.id}-*"):
        if WriterLock(path).owner() is not None:
            leased = True
        else:
            path.unlink(missing_ok=True)  # of a process that has ended
    return leased


class Dropped(Struct, frozen=True, kw_only=True):
    ref: str
    reason: str
    idle_days: float
    files: int


def prune(index: ProjectIndex, days: float, cancel: Cancel, *, dry_run: bool = False) -> list[Dropped]:
    """Drop what nobody has asked for in so many days: never the base, what a connection is on, or what is checked
    out. Its versions are collected a day later, unless another ref has them."""
    opened = index.opened()
    if opened is None:
        return []
    if dry_run:
        return [each for _, each in _idle(index, opened, days, cancel)]
    with index.lock.holding("pruning", patience=_PATIENCE_S) as had:
        if not had:
            raise Busy("The index is being written", pid=owner.pid if (owner := index.owner()) else 0)
        idle = _idle(index, opened, days, cancel)
        OverlayWriter(opened.store).drop(layer.id for layer, _ in idle)
        for layer, _ in idle:
            (opened.folder / _mark(layer)).unlink(missing_ok=True)
    return [each for _, each in idle]


def _idle(index: ProjectIndex, opened: Opened, days: float, cancel: Cancel) -> list[tuple[Layer, Dropped]]:
    here = tips(index.git, cancel)
    checked_out = {each.branch for each in worktrees(index.git, cancel)}
    found = []
    for layer in opened.store.overlays():
        idle = max(0.0, time.time() - last_ref_use(opened.folder, layer)) / _DAY_S
        if idle < days or layer.name in checked_out or is_leased(opened.folder, layer):
            continue
        is_known = layer.name in here or layer.name == layer.head
        reason = "not used" if is_known else "gone from the repository"
        files = opened.store.totals(layer.id).indexed
        found.append((layer, Dropped(ref=layer.name, reason=reason, idle_days=round(idle, 1), files=files)))
    return found
