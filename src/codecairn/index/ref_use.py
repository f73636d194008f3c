"""Refs that are indexed, as people look after them: when each was last used, who uses it now, which may go."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from codecairn.cancel import Cancel
from codecairn.config import KEPT_DAYS
from codecairn.source.git import Git
from codecairn.source.refs import tips, worktrees
from codecairn.store.database import IndexStore
from codecairn.store.folders import last_used, note_use
from codecairn.store.layers import Layer
from codecairn.store.ref_writer import RefWriter
from codecairn.store.writer_lock import WriterLock

_DAY_S = 86_400.0
_EVERY_S = 60.0


def note_ref_use(folder: Path, layer: Layer, *, now: bool = False) -> None:
    note_use(folder, _mark(layer), 0.0 if now else _EVERY_S)


def last_ref_use(folder: Path, layer: Layer) -> float:
    return max(last_used(folder, _mark(layer)) or 0.0, layer.finished_at or 0.0)


def _mark(layer: Layer) -> str:
    return f"used-{layer.id}"


class Leases:
    """Keep a ref that a connection has switched to from being dropped, by this process or another: locks that
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


def drop_gone(store: IndexStore, git: Git, cancel: Cancel) -> list[str]:
    """Drop refs whose branch is gone from the repository and that nobody has asked for in KEPT_DAYS; who calls holds
    the lock. Where none is that old, which is nearly always, git is not asked."""
    folder = store.path.parent
    if all(_idle_days(folder, layer) < KEPT_DAYS for layer in store.overlays()):
        return []
    gone = [
        layer for layer, told, is_idle in verdicts(store, git, KEPT_DAYS, cancel) if is_idle and told.reason == _GONE
    ]
    drop(store, gone)
    return [layer.name for layer in gone]


_GONE = "gone from the repository"
Verdict = tuple[Layer, Overlay, bool]
"""A ref, what is to be said of it, and whether it may go."""


def drop(store: IndexStore, layers: Collection[Layer]) -> None:
    """Forget refs; the caller holds the lock."""
    RefWriter(store).drop(layer.id for layer in layers)
    for layer in layers:
        (store.path.parent / _mark(layer)).unlink(missing_ok=True)


def _idle_days(folder: Path, layer: Layer) -> float:
    return max(0.0, time.time() - last_ref_use(folder, layer)) / _DAY_S


def verdicts(store: IndexStore, git: Git, days: float, cancel: Cancel) -> list[Verdict]:
    """Which refs may go: never the base, what a connection is on, or what is checked out."""
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
