"""Refs that nobody has asked for in a while, dropped on demand."""

from __future__ import annotations

from msgspec import Struct

from codecairn.cancel import Cancel
from codecairn.index.project_index import ProjectIndex
from codecairn.index.ref_use import Overlay, drop, verdicts

_PATIENCE_S = 5.0


class Pruned(Struct, frozen=True, kw_only=True):
    dropped: list[Overlay]
    kept: list[Overlay]


def prune(index: ProjectIndex, days: float, cancel: Cancel, *, dry_run: bool = False) -> Pruned:
    """Drop the refs that may go and are idle for so many days. Their versions are collected a day later, unless another
    ref has them."""
    opened = index.open_index()
    if opened is None:
        return Pruned(dropped=[], kept=[])
    if dry_run:
        found = verdicts(opened.store, index.git, days, cancel)
    else:
        with index.lock.hold("pruning", patience=_PATIENCE_S):
            found = verdicts(opened.store, index.git, days, cancel)
            drop(opened.store, [layer for layer, _, is_idle in found if is_idle])
    return Pruned(
        dropped=[overlay for _, overlay, is_idle in found if is_idle],
        kept=[overlay for _, overlay, is_idle in found if not is_idle],
    )
