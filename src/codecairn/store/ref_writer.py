"""Refs as they are written: the base whole, every other ref laid over it; a change is one transaction (schema.py)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from codecairn.store.database import Entry, IndexStore
from codecairn.store.file_version import Stat
from codecairn.store.layers import Layer, Scope, layers_in
from codecairn.store.schema import GONE
from codecairn.store.writer import (
    Content,
    delete_layer,
    files_at,
    files_of,
    insert_versions,
    mark_unnamed,
    set_facts,
    write_entries,
)

NO_STAMP = Stat(0, 0, 0, 0)
"""Entries that are read from git have no stamp."""
_REF = "root = '' AND name = ? AND scope = ?"


def tombstone(path: str) -> Entry:
    """The entry of a ref that has no file where the base has one."""
    return Entry(path, None, GONE, "", NO_STAMP)


class RefWriter:
    def __init__(self, store: IndexStore) -> None:
        self._store = store
        self._writing = store.writing

    def create_base(self, scope: Scope, name: str, content: Content, **facts: Any) -> Layer:
        """Create the first base of a scope."""
        with self._writing() as database:
            insert_versions(database, content)
            layer = _open(database, scope, name, None)
            write_entries(database, layer, content.entries)
            return _publish(database, layer, facts)

    def lay(self, scope: Scope, name: str, base: Layer, content: Content, **facts: Any) -> Layer:
        """Lay a ref over the base, in the place of its former layer. Paths that are no more become tombstones, and
        entries equal to the base's are not stored."""
        with self._writing() as database:
            insert_versions(database, content)
            layer = _open(database, scope, name, base.id)
            before = files_of(database, layer)
            database.execute("DELETE FROM manifest WHERE layer = ?", (layer,))
            write_entries(database, layer, [*content.entries, *map(tombstone, sorted(content.removed))])
            _drop_what_shows_through(database, "manifest", base.id, layer)
            mark_unnamed(database, before | {each.id for each in content.versions})
            return _publish(database, layer, facts)

    def move(self, base: Layer, name: str, content: Content, **facts: Any) -> Layer:
        """Move the base to another commit, maybe of another branch. Refs over it show what they showed before; the
        branch that was the base goes on as a ref over the new one."""
        paths = {*(entry.path for entry in content.entries), *content.removed}
        with self._writing() as database:
            insert_versions(database, content)
            if name != base.name:
                _rename(database, base, name)
            before = files_at(database, base.id, sorted(paths))
            _hold(database, "manifest", base.id, paths)
            database.executemany(
                "DELETE FROM manifest WHERE layer = ? AND path = ?", [(base.id, path) for path in sorted(paths)]
            )
            write_entries(database, base.id, content.entries)
            for each in _overlays_of(database, base.id):
                _drop_what_shows_through(database, "manifest", base.id, each, paths)
            mark_unnamed(database, before | {each.id for each in content.versions})
            return _publish(database, base.id, facts)

    def count(self, layer: Layer, importers: Mapping[str, int]) -> None:
        """How often files are imported: those where it is another number than before, or than the base has."""
        with self._writing() as database:
            if layer.base is None:
                _hold(database, "popularity", layer.id, importers.keys())
            else:
                database.execute("DELETE FROM popularity WHERE layer = ?", (layer.id,))
            database.executemany(
                "INSERT OR REPLACE INTO popularity VALUES (?, ?, ?)",
                [(layer.id, path, count) for path, count in sorted(importers.items())],
            )
            if layer.base is None:
                database.execute("DELETE FROM popularity WHERE layer = ? AND importers = 0", (layer.id,))
            for each in _overlays_of(database, layer.id) if layer.base is None else [layer.id]:
                _drop_what_shows_through(database, "popularity", layer.base or layer.id, each)
            raised = 1 if importers else 0
            database.execute("UPDATE layer SET generation = generation + ? WHERE id = ?", (raised, layer.id))
            database.execute("UPDATE layer SET counted = generation WHERE id = ?", (layer.id,))

    def drop(self, layers: Iterable[int]) -> None:
        """Forget refs; their versions are collected when nothing else has named them for a day."""
        with self._writing() as database:
            for layer in layers:
                delete_layer(database, layer)


def _open(database: sqlite3.Connection, scope: Scope, name: str, base: int | None) -> int:
    database.execute(
        "INSERT OR IGNORE INTO layer (name, scope, base, prefix, tests, vendor, ref) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (name, scope.key, base, scope.prefix, scope.tests, scope.vendor, name),
    )
    return layers_in(database, _REF, name, scope.key)[0].id


def _rename(database: sqlite3.Connection, base: Layer, name: str) -> None:
    for former in layers_in(database, _REF, name, base.scope):
        delete_layer(database, former.id)
    database.execute("UPDATE layer SET name = ?, ref = ? WHERE id = ?", (name, name, base.id))
    kept = _open(database, base.within, base.name, base.id)
    facts = {"head": base.head, "extractors": base.extractors, "finished_at": base.finished_at}
    _publish(database, kept, {**facts, "excluded": base.excluded})
    database.execute("UPDATE layer SET counted = generation WHERE id = ?", (kept,))


def _publish(database: sqlite3.Connection, layer: int, facts: Mapping[str, Any]) -> Layer:
    set_facts(database, layer, {"complete": 1, **facts})
    database.execute("UPDATE layer SET generation = generation + 1 WHERE id = ?", (layer,))
    return layers_in(database, "id = ?", layer)[0]


def _overlays_of(database: sqlite3.Connection, base: int) -> list[int]:
    return [row[0] for row in database.execute("SELECT id FROM layer WHERE base = ?", (base,))]


_HELD = {
    "manifest": "below.file, ifnull(below.reason, 'gone'), ifnull(below.detail, ''), 0, 0, 0, 0",
    "popularity": "ifnull(below.importers, 0)",
}
_SAME = {
    "manifest": "below.file IS manifest.file AND below.reason = manifest.reason",
    "popularity": "below.importers = popularity.importers",
}
_NOTHING = {"manifest": f"reason = '{GONE}'", "popularity": "importers = 0"}


def _hold(database: sqlite3.Connection, table: str, base: int, paths: Iterable[str]) -> None:
    """Write what shows through from the base under these paths into every layer over it."""
    _note_paths(database, paths)
    database.execute(
        f"INSERT OR IGNORE INTO {table} SELECT layer.id, moved.path, {_HELD[table]} FROM layer JOIN moved "  # noqa: S608 - our own names
        f"LEFT JOIN {table} AS below ON below.layer = ? AND below.path = moved.path WHERE layer.base = ?",
        (base, base),
    )


def _drop_what_shows_through(
    database: sqlite3.Connection, table: str, base: int, layer: int, paths: Iterable[str] | None = None
) -> None:
    """Delete the rows of a layer that are equal to the base's."""
    among = ""
    if paths is not None:
        _note_paths(database, paths)
        among = "AND path IN (SELECT path FROM moved)"
    found = f"SELECT 1 FROM {table} AS below WHERE below.layer = ? AND below.path = {table}.path"  # noqa: S608 - our own names
    database.execute(
        f"DELETE FROM {table} WHERE layer = ? {among} AND (EXISTS ({found} AND {_SAME[table]}) "  # noqa: S608
        f"OR ({_NOTHING[table]} AND NOT EXISTS ({found})))",
        (layer, base, base),
    )


def _note_paths(database: sqlite3.Connection, paths: Iterable[str]) -> None:
    database.execute("CREATE TEMP TABLE IF NOT EXISTS moved (path TEXT PRIMARY KEY) WITHOUT ROWID")
    database.execute("DELETE FROM moved")
    database.executemany("INSERT OR IGNORE INTO moved VALUES (?)", [(path,) for path in paths])
