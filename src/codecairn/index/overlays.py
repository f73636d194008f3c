"""Refs that are indexed, as people look after them: when each was last used, who uses it now, which may go."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from codecairn.cancel import Cancel
from codecairn.config import KEPT_DAYS
from codecairn.source.git import Git
from codecairn.source.refs import tips, worktrees
from codecairn.store.index import IndexStore
from codecairn.store.layers import Layer
from codecairn.store.lock import WriterLock
from codecairn.store.overlays import OverlayWriter
from codecairn.store.place import last_used, note_use

if TYPE_CHECKING:
    from codecairn.index.live import ProjectIndex

_DAY_S = 86_400.0
_EVERY_S = 60.0
_PATIENCE_S = 5.0


def note_ref_use(folder: Path, layer: Layer, *, now: bool = False) -> None:
    note_use(folder, _mark(layer), 0.0 if now else _EVERY_S)


def last_ref_use(folder: Path, layer: Layer) -> float:
    return max(last_used(folder, _mark(layer)) or 0.0, layer.finished_at or 0.0)


def _mark(layer: Layer) -> str:
    return f"used-{layer.id}"


class Leases:
    """What keeps a ref that a connection has switched to from being dropped, by this process or another: locks that
    end with the process, however it ends."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, Path], ExitStack] = {}
        self._lock = threading.Lock()

    def hold(self, connection: str, root: Path, *leases: Path) -> None:
        """In place of what the connection held before; none gives that back."""
        with self._lock:
            held = self._held.pop((connection, root), None)
            if held is not None:
                held.close()
            if leases:
                stack = self._held[connection, root] = ExitStack()
                for each in leases:
                    lock = WriterLock(each.with_name(f"{each.name}-{secrets.token_hex(8)}"))
                    stack.enter_context(lock.holding("a connection is on this ref"))

    @property
    def are_held(self) -> bool:
        return bool(self._held)

    def end(self, connection: str) -> None:
        """Give back all that a connection held: it is gone."""
        with self._lock:
            for key in [key for key in self._held if key[0] == connection]:
                self._held.pop(key).close()


def lease_of(folder: Path, layer: Layer) -> Path:
    return folder / f"lease-{layer.id}"


def is_leased(lease: Path) -> bool:
    leased = False
    for path in lease.parent.glob(f"{lease.name}-*"):
        if WriterLock(path).owner() is not None:
            leased = True
        else:
            path.unlink(missing_ok=True)  # of a process that has ended
    return leased


class Overlay(Struct, frozen=True, kw_only=True):
    ref: str
    reason: str
    """Why it is dropped, or why it is kept."""
    idle_days: float
    files: int


class Pruned(Struct, frozen=True, kw_only=True):
    dropped: list[Overlay]
    kept: list[Overlay]


def prune(index: ProjectIndex, days: float, cancel: Cancel, *, dry_run: bool = False) -> Pruned:
    """Drop what nobody has asked for in so many days: never the base, what a connection is on, or what is checked
    out. Its versions are collected a day later, unless another ref has them."""
    opened = index.opened()
    if opened is None:
        return Pruned(dropped=[], kept=[])
    if dry_run:
        return _told(_verdicts(opened.store, index.git, days, cancel))
    with index.lock.holding("pruning", patience=_PATIENCE_S) as had:
        if not had:
            raise index.busy()
        verdicts = _verdicts(opened.store, index.git, days, cancel)
        _drop(opened.store, [layer for layer, _, is_idle in verdicts if is_idle])
    return _told(verdicts)


def drop_gone(store: IndexStore, git: Git, cancel: Cancel) -> list[str]:
    """Drop refs whose branch is gone from the repository and that nobody has asked for in KEPT_DAYS; who calls holds
    the lock. Where none is that old, which is nearly always, git is not asked."""
    folder = store.path.parent
    if all(_idle_days(folder, layer) < KEPT_DAYS for layer in store.overlays()):
        return []
    gone = [
        layer for layer, told, is_idle in _verdicts(store, git, KEPT_DAYS, cancel) if is_idle and told.reason == _GONE
    ]
    _drop(store, gone)
    return [layer.name for layer in gone]


_GONE = "gone from the repository"
_Verdict = tuple[Layer, Overlay, bool]
"""A ref, what is to be said of it, and whether it may go."""


def _told(verdicts: Collection[_Verdict]) -> Pruned:
    dropped = [told for _, told, is_idle in verdicts if is_idle]
    return Pruned(dropped=dropped, kept=[told for _, told, is_idle in verdicts if not is_idle])


def _drop(store: IndexStore, layers: Collection[Layer]) -> None:
    OverlayWriter(store).drop(layer.id for layer in layers)
    for layer in layers:
        (store.path.parent / _mark(layer)).unlink(missing_ok=True)


def _idle_days(folder: Path, layer: Layer) -> float:
    return max(0.0, time.time() - last_ref_use(folder, layer)) / _DAY_S


def _verdicts(store: IndexStore, git: Git, days: float, cancel: Cancel) -> list[_Verdict]:
    folder, here = store.path.parent, tips(git, cancel)
    checked_out = {each.branch for each in worktrees(git, cancel)}
    found = []
    for layer in store.overlays():
        idle = _idle_days(folder, layer)
        in_use = _in_use(folder, layer, checked_out, idle, days)
        is_known = layer.name in here or layer.name == layer.head
        reason = in_use or ("not used" if is_known else _GONE)
        files = store.totals(layer.id).indexed
        told = Overlay(ref=layer.name, reason=reason, idle_days=round(idle, 1), files=files)
        found.append((layer, told, not in_use))
    return found


def _in_use(folder: Path, layer: Layer, checked_out: Collection[str | None], idle: float, days: float) -> str:
    """Why a ref may not go; nothing where it may."""
    if is_leased(lease_of(folder, layer)):
        return "a connection is on it"
    if layer.name in checked_out:
        return "checked out"
    return "used lately" if idle <= days else ""
