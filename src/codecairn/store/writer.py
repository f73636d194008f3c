"""Writes to index.db, by the holder of the lock (lock.py)."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from codecairn.store.database import Entry, IndexStore
from codecairn.store.file_version import FileVersion
from codecairn.store.integrity import TABLES_OF_A_VERSION, Row, seal
from codecairn.store.layers import WORKING_TREE, Layer, layer_in
from codecairn.store.vector_segments import Placement, Segment, add_rows

_KEPT_UNNAMED_S = 86_400.0
Vectors = tuple[Segment, list[Placement]] | None
"""Where the vectors of versions stand that are written with them."""


class Content(NamedTuple):
    """Versions, where their vectors stand, and the changes of a manifest: written in one transaction."""

    versions: Sequence[FileVersion] = ()
    entries: Sequence[Entry] = ()
    removed: Collection[str] = ()
    """Paths that are no more."""
    vectors: Vectors = None


class IndexWriter:
    def __init__(self, store: IndexStore) -> None:
        self.writing = store.writing

    def open_checkout(self, root: str, prefix: str) -> Layer:
        with self.writing() as database:
            database.execute("INSERT OR IGNORE INTO layer (root, prefix) VALUES (?, ?)", (root, prefix))
            layer = layer_in(database, WORKING_TREE, root)
        assert layer is not None
        return layer

    def insert(self, content: Content) -> None:
        """Insert versions that nothing names yet, and so nobody sees; they are collected if nothing ever does."""
        with self.writing() as database:
            insert_versions(database, content)
            mark_unnamed(database, {each.id for each in content.versions})

    def announce(self, ids: Iterable[int]) -> None:
        """Versions that are about to get documents: if the database never gets to know, those are dropped again."""
        with self.writing() as database:
            database.executemany(
                "INSERT OR IGNORE INTO dropped SELECT ?1 "
                "WHERE NOT EXISTS (SELECT 1 FROM file WHERE id = ?1 AND searchable = 1)",
                [(each,) for each in ids],
            )

    def publish(self, layer: int, content: Content) -> None:
        """One generation, whole or not at all. Versions that it makes invisible stay, marked, until `collect`."""
        with self.writing() as database:
            insert_versions(database, content)
            removed = sorted(content.removed)
            before = files_at(database, layer, [*(entry.path for entry in content.entries), *removed])
            write_entries(database, layer, content.entries)
            gone = [(layer, path) for path in removed]
            database.executemany("DELETE FROM manifest WHERE layer = ? AND path = ?", gone)
            mark_unnamed(database, before)
            database.execute("UPDATE layer SET generation = generation + 1 WHERE id = ?", (layer,))

    def finish(self, layer: int, importers: Mapping[str, int] | None = None, /, **facts: Any) -> None:
        """Say how a run ended: columns of `layer` and their values, and who is imported how often if that was
        counted. Other counts are another generation: they change what is found first."""
        with self.writing() as database:
            if importers is not None:
                _write_importers(database, layer, importers)
            set_facts(database, layer, facts)

    def mark_searchable(self, ids: Iterable[int]) -> None:
        with self.writing() as database:
            for each in ids:
                database.execute("UPDATE file SET searchable = 1 WHERE id = ?", (each,))
                database.execute("DELETE FROM dropped WHERE file = ?", (each,))

    def retire(self) -> list[int]:
        """Unnamed versions that still have documents: noted in `dropped`, to be taken from the lexical index."""
        with self.writing() as database:
            ids = database.execute("SELECT id FROM file WHERE unnamed_since IS NOT NULL AND searchable = 1").fetchall()
            database.executemany("UPDATE file SET searchable = 0 WHERE id = ?", ids)
            database.executemany("INSERT OR IGNORE INTO dropped VALUES (?)", ids)
            return [row[0] for row in database.execute("SELECT file FROM dropped")]

    def forget_retired(self, ids: Iterable[int]) -> None:
        with self.writing() as database:
            database.executemany("DELETE FROM dropped WHERE file = ?", ((each,) for each in ids))

    def collect(self, now: float | None = None) -> int:
        """Forget versions that nothing has named for a day."""
        limit = (time.time() if now is None else now) - _KEPT_UNNAMED_S
        with self.writing() as database:
            old = "SELECT id FROM file WHERE unnamed_since < ? AND searchable = 0"
            ids = database.execute(old, (limit,)).fetchall()
            for table in TABLES_OF_A_VERSION:
                database.executemany(f"DELETE FROM {table} WHERE file = ?", ids)  # noqa: S608 - our own names
            database.executemany("DELETE FROM file WHERE id = ?", ids)
        return len(ids)

    def forget(self, layer: int) -> None:
        """Drop a checkout; its versions are collected when nothing else has named them for a day."""
        with self.writing() as database:
            delete_layer(database, layer)


def delete_layer(database: sqlite3.Connection, layer: int) -> None:
    files = files_of(database, layer)
    for table, column in (("manifest", "layer"), ("popularity", "layer"), ("layer", "id")):
        database.execute(f"DELETE FROM {table} WHERE {column} = ?", (layer,))  # noqa: S608 - our own names
    mark_unnamed(database, files)


def files_of(database: sqlite3.Connection, layer: int) -> set[int]:
    ask = "SELECT file FROM manifest WHERE layer = ? AND file IS NOT NULL"
    return {row[0] for row in database.execute(ask, (layer,))}


def set_facts(database: sqlite3.Connection, layer: int, facts: Mapping[str, Any]) -> None:
    columns = ", ".join(f"{name} = ?" for name in facts)
    values = [msgspec.json.encode(each).decode() if isinstance(each, dict) else each for each in facts.values()]
    database.execute(f"UPDATE layer SET {columns} WHERE id = ?", (*values, layer))  # noqa: S608 - our own names


def insert_versions(database: sqlite3.Connection, content: Content) -> None:
    if content.vectors is not None:
        add_rows(database, *content.vectors)
    ordered = sorted(content.versions, key=lambda each: each.id)
    rows = {each.id: _rows_of(each) for each in ordered}
    database.executemany("DELETE FROM dropped WHERE file = ?", [(each.id,) for each in ordered])
    database.executemany(
        "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, NULL, ?)",
        [(each, *file) for each, ((file,), _, _, _) in rows.items()],
    )
    for at, (table, width) in enumerate((("body", 6), ("symbol", 15), ("chunk", 7)), 1):
        database.executemany(
            f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * width)})",  # noqa: S608 - our own names
            chain.from_iterable(each[at] for each in rows.values()),
        )
    seal(database, rows)


def _rows_of(version: FileVersion) -> tuple[list[Row], list[Row], list[Row], list[Row]]:
    """The rows of a version in `file` (but for its id), `body`, `symbol` and `chunk`."""
    id_, astuple = version.id, msgspec.structs.astuple
    file = (
        version.path, version.blob, version.language, version.package, version.lines, version.size,
        version.error_nodes, version.complaint, len(version.symbols), len(version.chunks),
        sum([chunk.length for chunk in version.chunks]), int(version.on_branch),
    )  # fmt: skip
    body = (id_, version.text, version.links, version.terms, version.uses, version.head)
    symbols = [(id_, *astuple(symbol)) for symbol in version.symbols]
    return [file], [body], symbols, [(id_, *astuple(chunk)) for chunk in version.chunks]


def files_at(database: sqlite3.Connection, layer: int, paths: Sequence[str]) -> set[int]:
    """The versions that a layer has at these paths."""
    ask = (
        "SELECT file FROM json_each(?) AS wanted CROSS JOIN manifest ON layer = ? AND manifest.path = wanted.value "
        "WHERE file IS NOT NULL"
    )
    return {row[0] for row in database.execute(ask, (msgspec.json.encode(paths).decode(), layer))}


def write_entries(database: sqlite3.Connection, layer: int, entries: Sequence[Entry]) -> None:
    database.executemany(
        "INSERT OR REPLACE INTO manifest VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(layer, each.path, each.file, each.reason, each.detail, *each.stat) for each in entries],
    )
    database.executemany(
        "UPDATE file SET unnamed_since = NULL WHERE id = ? AND unnamed_since IS NOT NULL",
        [(each.file,) for each in entries if each.file is not None],
    )


def _write_importers(database: sqlite3.Connection, layer: int, importers: Mapping[str, int]) -> None:
    ask = "SELECT path, importers FROM popularity WHERE layer = ?"
    before: dict[str, int] = dict(database.execute(ask, (layer,)).fetchall())
    lost, other = before.keys() - importers.keys(), importers.items() - before.items()
    database.executemany(
        "DELETE FROM popularity WHERE layer = ? AND path = ?", [(layer, path) for path in sorted(lost)]
    )
    database.executemany(
        "INSERT OR REPLACE INTO popularity VALUES (?, ?, ?)", [(layer, *each) for each in sorted(other)]
    )
    raised = 1 if lost or other else 0
    database.execute("UPDATE layer SET generation = generation + ? WHERE id = ?", (raised, layer))
    database.execute("UPDATE layer SET counted = generation WHERE id = ?", (layer,))


def mark_unnamed(database: sqlite3.Connection, ids: set[int]) -> None:
    """Note which of these versions no manifest names, and since when."""
    database.executemany(
        "UPDATE file SET unnamed_since = ?1 WHERE id = ?2 AND NOT EXISTS (SELECT 1 FROM manifest WHERE file = ?2)",
        [(time.time(), each) for each in ids],
    )
