"""What is written to index.db, by the one who holds the lock (lock.py)."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from codecairn.store.index import CHUNK_COLUMNS, SYMBOL_COLUMNS, Checkout, Entry, IndexStore, checkout_of
from codecairn.store.segments import Placed, Segment, add_rows
from codecairn.store.version import FileVersion

_KEPT_UNNAMED_S = 86_400.0
Vectors = tuple[Segment, list[Placed]] | None
"""Where the vectors of versions stand that are written with them."""


class IndexWriter:
    def __init__(self, store: IndexStore) -> None:
        self.writing = store.writing

    def open_checkout(self, root: str, prefix: str) -> Checkout:
        with self.writing() as database:
            database.execute("INSERT OR IGNORE INTO checkout (root, prefix) VALUES (?, ?)", (root, prefix))
            row = database.execute("SELECT * FROM checkout WHERE root = ?", (root,)).fetchone()
        return checkout_of(row)

    def insert(self, versions: Sequence[FileVersion], vectors: Vectors = None) -> None:
        """Versions that nothing names yet, and so nobody sees; they are collected if nothing ever does."""
        with self.writing() as database:
            _insert_versions(database, versions, vectors)
            _mark_unnamed(database, {each.id for each in versions})

    def announce(self, ids: Iterable[int]) -> None:
        """Versions that are about to get documents: if the database never gets to know, those are dropped again."""
        with self.writing() as database:
            database.executemany(
                "INSERT OR IGNORE INTO dropped SELECT ?1 "
                "WHERE NOT EXISTS (SELECT 1 FROM file WHERE id = ?1 AND searchable = 1)",
                [(each,) for each in ids],
            )

    def publish(
        self, checkout: int, versions: Sequence[FileVersion], entries: Iterable[Entry], removed: Iterable[str] = (),
        vectors: Vectors = None,
    ) -> None:  # fmt: skip
        """One generation, whole or not at all. What it makes invisible stays, marked, until `collect`."""
        with self.writing() as database:
            _insert_versions(database, versions, vectors)
            before: set[int] = set()
            for entry in entries:
                before |= _named(database, checkout, entry.path)
                _write_entry(database, checkout, entry)
            for path in removed:
                before |= _named(database, checkout, path)
                database.execute("DELETE FROM manifest WHERE checkout = ? AND path = ?", (checkout, path))
            _mark_unnamed(database, before)
            database.execute("UPDATE checkout SET generation = generation + 1 WHERE id = ?", (checkout,))

    def finish(self, checkout: int, importers: Mapping[str, int] | None = None, /, **facts: Any) -> None:
        """Say how a run ended: columns of `checkout` and their values, and who is imported how often if that was
        counted. Other counts are another generation: they change what is found first."""
        columns = ", ".join(f"{name} = ?" for name in facts)
        values = [msgspec.json.encode(each).decode() if isinstance(each, dict) else each for each in facts.values()]
        with self.writing() as database:
            if importers is not None:
                _write_importers(database, checkout, importers)
            database.execute(f"UPDATE checkout SET {columns} WHERE id = ?", (*values, checkout))  # noqa: S608 - our own names

    def searchable(self, ids: Iterable[int]) -> None:
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

    def retired(self, ids: Iterable[int]) -> None:
        with self.writing() as database:
            database.executemany("DELETE FROM dropped WHERE file = ?", ((each,) for each in ids))

    def collect(self, now: float | None = None) -> int:
        """Forget versions that nothing has named for a day."""
        limit = (time.time() if now is None else now) - _KEPT_UNNAMED_S
        with self.writing() as database:
            ids = database.execute(
                "SELECT id FROM file WHERE unnamed_since < ? AND searchable = 0", (limit,)
            ).fetchall()
            for statement in (
                "DELETE FROM symbol WHERE file = ?",
                "DELETE FROM chunk WHERE file = ?",
                "DELETE FROM body WHERE file = ?",
                "DELETE FROM vector WHERE file = ?",
                "DELETE FROM file WHERE id = ?",
            ):
                database.executemany(statement, ids)
        return len(ids)

    def forget(self, checkout: int) -> None:
        """Drop a checkout; its versions are collected when nothing else has named them for a day."""
        with self.writing() as database:
            named = database.execute(
                "SELECT file FROM manifest WHERE checkout = ? AND file IS NOT NULL", (checkout,)
            ).fetchall()
            database.execute("DELETE FROM manifest WHERE checkout = ?", (checkout,))
            database.execute("DELETE FROM popularity WHERE checkout = ?", (checkout,))
            database.execute("DELETE FROM checkout WHERE id = ?", (checkout,))
            _mark_unnamed(database, {row[0] for row in named})


def _insert_versions(database: sqlite3.Connection, versions: Sequence[FileVersion], vectors: Vectors) -> None:
    if vectors is not None:
        add_rows(database, *vectors)
    ordered = sorted(versions, key=lambda each: each.id)
    database.executemany("DELETE FROM dropped WHERE file = ?", [(each.id,) for each in ordered])
    database.executemany(
        "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, NULL)",
        [
            (
                each.id, each.path, each.blob, each.language, each.package, each.lines, each.size, each.error_nodes,
                each.complaint, len(each.symbols), len(each.chunks), sum(chunk.length for chunk in each.chunks),
            )
            for each in ordered
        ],
    )  # fmt: skip
    database.executemany(
        "INSERT OR REPLACE INTO body VALUES (?, ?, ?, ?, ?, ?)",
        [(each.id, each.text, each.links, each.terms, each.uses, each.head) for each in ordered],
    )
    astuple = msgspec.structs.astuple
    database.executemany(
        f"INSERT OR REPLACE INTO symbol (file, {SYMBOL_COLUMNS}) VALUES ({', '.join('?' * 15)})",  # noqa: S608 - our own names
        [(each.id, *astuple(symbol)) for each in ordered for symbol in each.symbols],
    )
    database.executemany(
        f"INSERT OR REPLACE INTO chunk (file, {CHUNK_COLUMNS}) VALUES ({', '.join('?' * 7)})",  # noqa: S608 - our own names
        [(each.id, *astuple(chunk)) for each in ordered for chunk in each.chunks],
    )


def _named(database: sqlite3.Connection, checkout: int, path: str) -> set[int]:
    row = database.execute("SELECT file FROM manifest WHERE checkout = ? AND path = ?", (checkout, path)).fetchone()
    return {row[0]} if row and row[0] is not None else set()


def _write_entry(database: sqlite3.Connection, checkout: int, entry: Entry) -> None:
    database.execute(
        "INSERT OR REPLACE INTO manifest VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (checkout, entry.path, entry.file, entry.reason, entry.detail, *entry.stat),
    )
    if entry.file is not None:
        database.execute(
            "UPDATE file SET unnamed_since = NULL WHERE id = ? AND unnamed_since IS NOT NULL", (entry.file,)
        )


def _write_importers(database: sqlite3.Connection, checkout: int, importers: Mapping[str, int]) -> None:
    ask = "SELECT path, importers FROM popularity WHERE checkout = ?"
    before: dict[str, int] = dict(database.execute(ask, (checkout,)).fetchall())
    lost, other = before.keys() - importers.keys(), importers.items() - before.items()
    database.executemany(
        "DELETE FROM popularity WHERE checkout = ? AND path = ?", [(checkout, path) for path in sorted(lost)]
    )
    database.executemany(
        "INSERT OR REPLACE INTO popularity VALUES (?, ?, ?)", [(checkout, *each) for each in sorted(other)]
    )
    raised = 1 if lost or other else 0
    database.execute("UPDATE checkout SET generation = generation + ? WHERE id = ?", (raised, checkout))
    database.execute("UPDATE checkout SET counted = generation WHERE id = ?", (checkout,))


def _mark_unnamed(database: sqlite3.Connection, ids: set[int]) -> None:
    database.executemany(
        "UPDATE file SET unnamed_since = ? WHERE id = ? AND NOT EXISTS (SELECT 1 FROM manifest WHERE file = ?)",
        [(time.time(), each, each) for each in ids],
    )
