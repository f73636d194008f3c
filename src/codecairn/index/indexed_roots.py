"""Lists what is indexed on this machine, for people who wonder where their disk went."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from codecairn.errors import CairnError
from codecairn.store import folders
from codecairn.store.database import IndexStore
from codecairn.store.lexical import size_of
from codecairn.store.writer import IndexWriter
from codecairn.store.writer_lock import WriterLock


class IndexedRoot(Struct, frozen=True, kw_only=True):
    root: str
    is_gone: bool
    files: int
    size_mb: float
    """Of the whole index, which checkouts of one repository share."""
    last_used: float | None
    folder: str
    problem: str = ""


def list_roots(home: Path) -> list[IndexedRoot]:
    return sorted((each for folder in _folders(home) for each in _roots(folder)), key=lambda each: each.root)


def _folders(home: Path) -> list[Path]:
    return sorted(each for each in (home / "indexes").glob("*") if each.is_dir())


def _roots(folder: Path) -> Iterator[IndexedRoot]:
    size = round(size_of(folder) / 1e6, 1)
    epoch = folders.current_epoch(folder)
    if epoch is None:
        return
    store = IndexStore(epoch)
    try:
        for layer in store.checkouts():
            yield IndexedRoot(
                root=layer.root, is_gone=not Path(layer.root).is_dir(), files=store.totals(layer.id).files,
                size_mb=size, last_used=folders.last_used(folder) or layer.finished_at, folder=folder.name,
            )  # fmt: skip
    except CairnError as error:
        yield IndexedRoot(
            root="?", is_gone=False, files=0, size_mb=size, last_used=folders.last_used(folder), folder=folder.name,
            problem=error.message,
        )  # fmt: skip
    finally:
        store.close()


def prune(home: Path) -> list[IndexedRoot]:
    """Forget roots that are gone, and whole indexes of which no root is left; those being written are passed over."""
    pruned = []
    for folder in _folders(home):
        roots = list(_roots(folder))
        gone = [each for each in roots if each.is_gone]
        if not gone:
            continue
        with WriterLock(folder / "lock").holding("pruning") as had:
            if had:
                _forget(folder, gone, every=len(gone) == len(roots))
                pruned += gone
    return pruned


def _forget(folder: Path, gone: list[IndexedRoot], *, every: bool) -> None:
    if every:
        shutil.rmtree(folder, ignore_errors=True)
        return
    epoch = folders.current_epoch(folder)
    assert epoch is not None
    store = IndexStore(epoch)
    writer = IndexWriter(store)
    for each in gone:
        layer = store.checkout(each.root)
        if layer is not None:
            writer.forget(layer.id)
    store.close()
