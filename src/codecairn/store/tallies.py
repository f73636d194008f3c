"""Tallies: for each table, how many rows it has and a digest of all of them, kept apart from the rows.

SQLite takes a page that lost its rows for an empty one, where no index of the table says otherwise, and a number that
changed for another number. File versions have seals (integrity.py). The other tables have a tally each, which changes
in the transaction that changes their rows: triggers of the writer's own connection tell of each row that comes or goes,
whatever statement does it. The digest is the exclusive or of the rows' digests, so that a row is taken out as it was
put in, in any order. A tally that is missing is damage, too.

A row that is told of costs 3 µs; an index run tells of some five a file.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from blake3 import blake3

from codecairn.store.layers import Layer

SEQUENCES = "sqlite_sequence"
"""The numbers handed out last, one for each of two tables. No trigger sees them."""
_COLUMNS: dict[str, Sequence[str]] = {
    "layer": Layer.__struct_fields__,
    "manifest": ("layer", "path", "file", "reason", "detail", "size", "mtime_ns", "inode", "ctime_ns"),
    "popularity": ("layer", "path", "importers"),
    "dropped": ("file",),
    "segment": ("number", "encoder", "dimensions", "rows"),
    "vector": ("segment", "file", "first", "rows"),
    "file": ("id", "searchable", "unnamed_since"),
}
"""Of `file`, what no seal is about."""
_SELECTED = {name: f"SELECT {', '.join(columns)} FROM {name}" for name, columns in _COLUMNS.items()}  # noqa: S608 - our own names
_SELECTED[SEQUENCES] = "SELECT name, seq FROM sqlite_sequence"
NAMES = tuple(_SELECTED)


class Tally:
    """The changes of one transaction."""

    def __init__(self) -> None:
        self._rows: Counter[str] = Counter()
        self._digests: Counter[str] = Counter()

    def clear(self) -> None:
        self._rows.clear()
        self._digests.clear()

    def add(self, table: str, *row: Any) -> None:
        self._rows[table] += 1
        self._digests[table] ^= _digest(row)

    def remove(self, table: str, *row: Any) -> None:
        self._rows[table] -= 1
        self._digests[table] ^= _digest(row)

    def write(self, database: sqlite3.Connection) -> None:
        """Write what changed. A tally that is missing stays so."""
        kept = _kept(database)
        changed = [
            (table, rows + self._rows[table], int.from_bytes(digest, "big") ^ self._digests[table])
            for table, (rows, digest) in kept.items()
            if table in self._rows
        ]
        changed.append((SEQUENCES, *_count(database, SEQUENCES)))  # a row that is ignored has had a number, too
        _set(database, "UPDATE tally SET rows = ?2, digest = ?3 WHERE name = ?1", changed)


class WatchedConnection(sqlite3.Connection):
    """A connection whose transactions are tallied once `watch` was called."""

    tally: Tally | None = None

    def watch(self) -> Tally:
        if self.tally is None:
            tally = Tally()
            self.create_function("row_comes", -1, tally.add)
            self.create_function("row_goes", -1, tally.remove)
            self.execute("PRAGMA recursive_triggers = ON")  # or rows that are replaced go unseen
            for table, columns in _COLUMNS.items():
                for trigger in _triggers(table, columns):
                    self.execute(trigger)
            self.tally = tally
        self.tally.clear()
        return self.tally


def _triggers(table: str, columns: Sequence[str]) -> list[str]:
    comes = f"SELECT row_comes('{table}', {', '.join(f'NEW.{each}' for each in columns)});"
    goes = f"SELECT row_goes('{table}', {', '.join(f'OLD.{each}' for each in columns)});"
    done = (("INSERT", comes), ("DELETE", goes), (f"UPDATE OF {', '.join(columns)}", goes + comes))
    return [
        f"CREATE TEMP TRIGGER {table}_{event[:6].lower()} AFTER {event} ON main.{table} BEGIN {body} END"
        for event, body in done
    ]


def write_tallies(database: sqlite3.Connection, tables: Iterable[str] = NAMES) -> None:
    """Count the rows there are, and take them for right."""
    counted = [(table, *_count(database, table)) for table in tables]
    _set(database, "INSERT OR REPLACE INTO tally VALUES (?, ?, ?)", counted)


def find_miscounted(database: sqlite3.Connection) -> frozenset[str]:
    """The tables whose rows are not those that were written."""
    kept = _kept(database)
    counted = {table: _count(database, table) for table in NAMES}
    return frozenset(
        table for table, (rows, digest) in counted.items() if kept.get(table) != (rows, digest.to_bytes(8, "big"))
    )


def _kept(database: sqlite3.Connection) -> dict[str, tuple[int, bytes]]:
    return {name: (rows, digest) for name, rows, digest in database.execute("SELECT name, rows, digest FROM tally")}


def _count(database: sqlite3.Connection, table: str) -> tuple[int, int]:
    rows = digest = 0
    for row in database.execute(_SELECTED[table]):
        rows, digest = rows + 1, digest ^ _digest(row)
    return rows, digest


def _set(database: sqlite3.Connection, statement: str, counted: Iterable[tuple[str, int, int]]) -> None:
    database.executemany(statement, [(table, rows, digest.to_bytes(8, "big")) for table, rows, digest in counted])


def _digest(row: Sequence[Any]) -> int:
    return int.from_bytes(blake3(msgspec.msgpack.encode(row)).digest(8), "big")
