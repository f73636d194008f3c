"""Refs, checked out for who has switched to them: folders in the data directory, as long as somebody is on them.

    worktrees/KEY/lock             who adds or removes
    worktrees/KEY/NAME.json        that NAME is ours: the ref, the commit, whether it was ever whole
    worktrees/KEY/NAME/            the worktree
    worktrees/KEY/NAME.lease-…     one a connection that is on it (overlays.py)

KEY is the index's. A folder without its note is not ours and is never touched. One that is ours is removed when nobody
holds a lease, unless there is something in it that only it has.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import Struct

from codecairn.cancel import Cancel
from codecairn.errors import CairnError, Cancelled, OverlayNotReady
from codecairn.index.project_index import ProjectIndex
from codecairn.index.ref_use import is_leased
from codecairn.source.worktrees import add_worktree, changes_in, is_worktree, move_worktree, remove_worktree
from codecairn.store.folders import make_private_folder
from codecairn.store.layers import Layer
from codecairn.store.writer_lock import WriterLock

_LONGEST_NAME = 60
_UNUSED, _ON_IT, _HALF_MADE = "nobody is on it", "a connection is on it", "it was never whole"


class _Note(Struct, frozen=True):
    ref: str
    commit: str
    is_whole: bool


_NOTE = msgspec.json.Decoder(_Note)


@dataclass(frozen=True)
class Checkout:
    path: Path
    """Of the project in it."""
    warnings: list[str] = field(default_factory=list)


class WorktreeOutcome(Struct, frozen=True, kw_only=True):
    """A worktree of ours that was looked at: removed, or kept for a reason."""

    ref: str
    path: str
    is_removed: bool
    reason: str


class Worktrees:
    def __init__(self, index: ProjectIndex) -> None:
        self._index = index
        self._git = index.git

    @cached_property
    def _folder(self) -> Path:
        return self._index.home / "worktrees" / self._index.folder.name

    @cached_property
    def _lock(self) -> WriterLock:
        return WriterLock(self._folder / "lock")

    def ensure(self, layer: Layer, lease: Callable[[Path], None], cancel: Cancel) -> Checkout:
        """The ref as it is indexed, checked out, and leased before anybody can remove it."""
        make_private_folder(self._folder)
        with self._locking():
            folder = self._folder / safe_name(layer.name)
            try:
                warnings = self._make(folder, layer, cancel)
            except Cancelled:
                raise
            except (CairnError, OSError) as error:
                raise _failure(layer, error) from error
            lease(_lease(folder))
        return Checkout(folder / self._git.layout(cancel).prefix, warnings)

    def _make(self, folder: Path, layer: Layer, cancel: Cancel) -> list[str]:
        note = _read(folder)
        if note is None and folder.exists():
            raise CairnError(f"{folder} is in the way, and was not made by Cairn")
        if note is None or not note.is_whole or not folder.exists():
            self._add(folder, layer, cancel)
            return []
        if not is_worktree(self._git, folder, cancel):
            raise CairnError(f"{folder} is no worktree of this repository any more")
        return [] if note.commit == layer.head else self._move(folder, note, layer, cancel)

    def _add(self, folder: Path, layer: Layer, cancel: Cancel) -> None:
        if folder.exists():
            remove_worktree(self._git, folder, cancel)
        _write(folder, _Note(layer.name, layer.head, is_whole=False))
        try:
            add_worktree(self._git, folder, layer.head, cancel)
        except CairnError:
            self._remove(folder, Cancel())
            raise
        _write(folder, _Note(layer.name, layer.head, is_whole=True))

    def _move(self, folder: Path, note: _Note, layer: Layer, cancel: Cancel) -> list[str]:
        """The ref has moved since; a worktree that somebody is at work in is left as it is."""
        why = _ON_IT if is_leased(_lease(folder)) else changes_in(self._git, folder, note.commit, cancel)
        if why:
            return [f"The worktree is still at {note.commit[:10]}: {why}."]
        _write(folder, _Note(layer.name, layer.head, is_whole=False))
        move_worktree(self._git, folder, layer.head, cancel)
        _write(folder, _Note(layer.name, layer.head, is_whole=True))
        return []

    def clean(self, cancel: Cancel, *, dry_run: bool = False) -> list[WorktreeOutcome]:
        """Remove what nobody is on; every worktree of ours, and what became of it. Where another process is at it,
        nothing is done: it cleans as well."""
        if not self._folder.is_dir():
            return []
        with self._lock.holding("cleaning") as had:
            if not had:
                return []
            found = [(folder, note) for folder in self._folders() if (note := _read(folder)) is not None]
            left = [self._look_at(folder, note, cancel) for folder, note in found]
            for each in left:
                if each.is_removed and not dry_run:
                    self._remove(Path(each.path), cancel)
        return left

    def _folders(self) -> list[Path]:
        return sorted(each.with_suffix("") for each in self._folder.glob("*.json"))

    def _look_at(self, folder: Path, note: _Note, cancel: Cancel) -> WorktreeOutcome:
        kept = _ON_IT if is_leased(_lease(folder)) else ""
        if not kept and note.is_whole and folder.exists():
            kept = changes_in(self._git, folder, note.commit, cancel)
        reason = kept or (_UNUSED if note.is_whole else _HALF_MADE)
        return WorktreeOutcome(ref=note.ref, path=str(folder), is_removed=not kept, reason=reason)

    def _remove(self, folder: Path, cancel: Cancel) -> None:
        remove_worktree(self._git, folder, cancel)
        if not folder.exists():  # on Windows what is open stays, and is tried again the next time
            with contextlib.suppress(OSError):
                _note_of(folder).unlink(missing_ok=True)

    @contextmanager
    def _locking(self) -> Iterator[None]:
        with self._lock.holding("worktrees", patience=self._git.timeout) as had:
            if not had:
                raise OverlayNotReady(
                    "Another process is checking out a ref of this repository", remedy="Call again in a moment."
                )
            yield


def safe_name(ref: str) -> str:
    """A name for a folder on any file system, and another for every ref."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", ref).strip(".-")[:_LONGEST_NAME]
    return f"{plain or 'ref'}-{hashlib.sha256(ref.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"


def _lease(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lease")


def _note_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.json")


def _read(folder: Path) -> _Note | None:
    try:
        return _NOTE.decode(_note_of(folder).read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None


def _write(folder: Path, note: _Note) -> None:
    path = _note_of(folder)
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(msgspec.json.encode(note))
        partial.replace(path)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def _failure(layer: Layer, error: CairnError | OSError) -> OverlayNotReady:
    said = error.message if isinstance(error, CairnError) else str(error)
    return OverlayNotReady(
        f"{layer.name} could not be checked out: {said}", ref=layer.name,
        remedy="Free space, or serve without --worktrees: answers need no checkout.",
    )  # fmt: skip
