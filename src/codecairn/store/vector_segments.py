"""The tables about vector files: which segments there are, and whose rows stand where."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from codecairn.store.database import IndexStore

_RAISE = "UPDATE layer SET generation = generation + 1, counted = counted + (counted = generation)"
"""Vectors are another generation, in which imports are as they were counted."""


class Segment(NamedTuple):
    number: int
    encoder: str
    dimensions: int
    rows: int


class Placement(NamedTuple):
    """Where the rows of a file version stand in a segment, one a chunk."""

    file: int
    first: int
    rows: int


class Segments:
    def __init__(self, store: IndexStore) -> None:
        self._store = store

    def all(self) -> list[Segment]:
        with self._store.reading() as database:
            return segments_in(database)

    def open(self, encoder: str, dimensions: int) -> Segment:
        known = next((each for each in self.all() if each.encoder == encoder), None)
        if known is not None and known.dimensions == dimensions:
            return known
        return self._create(encoder, dimensions)

    def missing(self, layer: int, segment: Segment) -> list[int]:
        """Visible versions with chunks and no rows in a segment."""
        with self._store.reading() as database:
            rows = database.execute(
                "SELECT id FROM file WHERE id IN (SELECT file FROM manifest WHERE layer = ?) AND chunks > 0 "
                "AND NOT EXISTS (SELECT 1 FROM vector WHERE segment = ? AND vector.file = file.id) ORDER BY path",
                (layer, segment.number),
            )
            return [row[0] for row in rows]

    def add(self, layer: int, segment: Segment, placed: Sequence[Placement]) -> None:
        """Rows of versions that are visible already: a generation of its own, as answers change with them."""
        with self._store.writing() as database:
            add_rows(database, segment, placed)
            database.execute(f"{_RAISE} WHERE id = ?", (layer,))

    def drop(self, segment: Segment) -> None:
        with self._store.writing() as database:
            _drop(database, segment.number)

    def forget_rows(self, segment: Segment, rows: Sequence[int]) -> None:
        """Take the vectors from versions that have one of these rows: the next to catch up makes them again."""
        with self._store.writing() as database:
            database.executemany(
                "DELETE FROM vector WHERE segment = ?1 AND first <= ?2 AND first + rows > ?2",
                [(segment.number, row) for row in rows],
            )
            database.execute(_RAISE)

    def placements(self, segment: Segment) -> list[Placement]:
        """The rows that are still somebody's."""
        with self._store.reading() as database:
            rows = database.execute(
                "SELECT file, first, rows FROM vector WHERE segment = ? ORDER BY first", (segment.number,)
            )
            return [Placement(*row) for row in rows]

    def replace(self, old: Segment, new: Segment, placed: Sequence[Placement]) -> None:
        with self._store.writing() as database:
            add_rows(database, new, placed)
            _drop(database, old.number)
            database.execute(_RAISE)

    def begin(self, old: Segment) -> Segment:
        """An empty segment for the same encoder, which nobody looks at before `replace`."""
        return self._create("", old.dimensions)._replace(encoder=old.encoder)

    def _create(self, encoder: str, dimensions: int) -> Segment:
        ask = "INSERT INTO segment (encoder, dimensions, rows) VALUES (?, ?, 0)"
        with self._store.writing() as database:
            number = database.execute(ask, (encoder, dimensions)).lastrowid
        return Segment(number or 0, encoder, dimensions, 0)


def segments_in(database: sqlite3.Connection) -> list[Segment]:
    rows = database.execute("SELECT number, encoder, dimensions, rows FROM segment ORDER BY number DESC")
    return [Segment(*row) for row in rows]


def visible_in(database: sqlite3.Connection, segment: Segment, visible: str) -> list[tuple[str, Placement]]:
    """The rows of the versions that are visible by this condition, each with its path."""
    rows = database.execute(
        "SELECT manifest.path, vector.file, first, rows FROM manifest JOIN vector ON vector.file = manifest.file "  # noqa: S608 - our own names
        f"WHERE {visible} AND segment = ?",
        (segment.number,),
    )
    return [(row[0], Placement(*row[1:])) for row in rows]


def add_rows(database: sqlite3.Connection, segment: Segment, placed: Sequence[Placement]) -> None:
    database.executemany(
        "INSERT OR REPLACE INTO vector (segment, file, first, rows) VALUES (?, ?, ?, ?)",
        [(segment.number, each.file, each.first, each.rows) for each in placed],
    )
    end = max((each.first + each.rows for each in placed), default=segment.rows)
    database.execute(
        "UPDATE segment SET encoder = ?, rows = max(rows, ?) WHERE number = ?",
        (segment.encoder, end, segment.number),
    )


def _drop(database: sqlite3.Connection, number: int) -> None:
    database.execute("DELETE FROM vector WHERE segment = ?", (number,))
    database.execute("DELETE FROM segment WHERE number = ?", (number,))
