"""Whether index.db holds what was written to it, and which versions do not.

SQLite notices a page that makes no sense, and nothing of a bit that fell over in a name. So every version has a seal:
a digest of all its rows, taken in the transaction that writes them. Whoever checks takes it again. Frames carry a
checksum of their own besides, which is looked at whenever one is read. The other tables are tallied (tallies.py), and
the tables themselves are compared with those that were created.

A version that is damaged loses its seal and its rows. One without a seal counts as unknown, and its layers as read by
another extractor, so that the next run looks at all their files and parses the damaged ones alone. Counts of imports,
places of vectors and manifests are made anew by the next run as well. Of the rest nothing tells what it was: the index
is damaged as a whole, and is built anew when somebody asks for it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

import msgspec
import zstandard
from blake3 import blake3

from codecairn.errors import IndexIncompatible, VersionDamaged
from codecairn.store.schema import TABLES
from codecairn.store.tallies import find_miscounted, write_tallies

_FILE = "SELECT path, blob, language, package, lines, size, error_nodes, complaint, symbols, chunks, terms, on_branch "
_ROWS = (
    f"{_FILE} FROM file WHERE id = ?",
    "SELECT * FROM body WHERE file = ?",
    "SELECT * FROM symbol WHERE file = ? ORDER BY number",
    "SELECT * FROM chunk WHERE file = ? ORDER BY number",
)
TABLES_OF_A_VERSION = ("symbol", "chunk", "body", "vector", "seal")
_MISPLACED = (
    "SELECT manifest.layer, manifest.path, manifest.file FROM manifest JOIN layer ON layer.id = manifest.layer "
    "LEFT JOIN file ON file.id = manifest.file "
    "WHERE manifest.file IS NOT NULL AND file.path IS NOT layer.prefix || manifest.path"
)
"""Entries that name no version, or one of another path."""
_MADE_ANEW = {
    "popularity": ("DELETE FROM popularity", "UPDATE layer SET generation = generation + 1, counted = -1"),
    "vector": ("DELETE FROM vector", "DELETE FROM segment", "UPDATE layer SET generation = generation + 1"),
    "segment": ("DELETE FROM vector", "DELETE FROM segment", "UPDATE layer SET generation = generation + 1"),
    "manifest": ("UPDATE layer SET extractors = '', counted = -1",),
}
"""The tables that a run makes anew, and what makes it do so."""
Row = tuple[Any, ...]


class Losses(NamedTuple):
    """What is not as it was written."""

    versions: list[int]
    tables: frozenset[str]


NO_LOSSES = Losses([], frozenset())


def seal(database: sqlite3.Connection, rows: Mapping[int, Sequence[Sequence[Row]]]) -> None:
    """Seal versions: for each its rows in the four tables, in order, as the database gives them back."""
    sealed = [(file, _digest(each)) for file, each in rows.items()]
    database.executemany("INSERT OR REPLACE INTO seal VALUES (?, ?)", sealed)


def check(database: sqlite3.Connection) -> Losses:
    """What is not as it was written. Raises IndexIncompatible where that cannot be made anew piece by piece."""
    said = [row[0] for row in database.execute("PRAGMA integrity_check(1)")]
    if said != ["ok"]:
        raise IndexIncompatible(f"The index is damaged: {said[0]}", damaged=True)
    if tables_in(database) != our_tables():
        raise IndexIncompatible("The index is damaged: it has other tables than were made", damaged=True)
    tables = find_miscounted(database)
    if lost := sorted(tables - _MADE_ANEW.keys()):
        raise IndexIncompatible(f"The index is damaged: rows of {', '.join(lost)} are not as written", damaged=True)
    seals = dict(database.execute("SELECT file, digest FROM seal").fetchall())
    named = {row[0] for row in database.execute("SELECT id FROM file")}
    whole = {file for file in named if file in seals and _is_sealed(database, file, seals[file])}
    misplaced = {row[2] for row in database.execute(_MISPLACED)}
    return Losses(sorted((named - whole) | misplaced), tables)


def give_up(database: sqlite3.Connection, lost: Losses) -> None:
    """Give up what is damaged, and entries that lead nowhere; what names them is to be looked at anew."""
    write_tallies(database, lost.tables)  # what is left of them, from which the rows below are taken
    _unseal(database, lost.versions)
    for table in sorted(lost.tables):
        for statement in _MADE_ANEW[table]:
            database.execute(statement)


def _unseal(database: sqlite3.Connection, files: Sequence[int]) -> None:
    damaged = [(each,) for each in files]
    lost = database.execute(_MISPLACED).fetchall()
    again = "UPDATE layer SET extractors = '' WHERE id IN (SELECT layer FROM manifest WHERE file = ?)"
    database.executemany(again, damaged)
    database.executemany("UPDATE layer SET extractors = '' WHERE id = ?", [row[:1] for row in lost])
    database.executemany("DELETE FROM manifest WHERE layer = ? AND path = ?", [row[:2] for row in lost])
    for table in TABLES_OF_A_VERSION:
        database.executemany(f"DELETE FROM {table} WHERE file = ?", damaged)  # noqa: S608 - our own names
        database.execute(f"DELETE FROM {table} WHERE file NOT IN (SELECT id FROM file)")  # noqa: S608 - our own names


def tables_in(database: sqlite3.Connection) -> set[tuple[str, str, str]]:
    return set(database.execute("SELECT type, name, ifnull(sql, '') FROM sqlite_master").fetchall())


def our_tables() -> set[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(TABLES)
        return tables_in(database)


@contextmanager
def reading_version(database: sqlite3.Connection, file: int) -> Iterator[None]:
    """Raise VersionDamaged where a part of a version is missing, or cannot be decoded."""
    try:
        yield
    except (zstandard.ZstdError, msgspec.MsgspecError, ValueError, TypeError) as error:
        raise _damage(database, file) from error


def _damage(database: sqlite3.Connection, file: int) -> VersionDamaged:
    row = database.execute("SELECT path FROM manifest WHERE file = ?", (file,)).fetchone()
    path = row[0] if row else f"version {file:x}"
    return VersionDamaged(f"The index is damaged: what it keeps of {path} cannot be read", path=path, file=file)


def _is_sealed(database: sqlite3.Connection, file: int, digest: bytes) -> bool:
    try:
        return _digest(_rows_of(database, file)) == digest
    except (sqlite3.OperationalError, msgspec.MsgspecError, UnicodeError):  # a text that is none any more
        return False


def _rows_of(database: sqlite3.Connection, file: int) -> list[list[Row]]:
    return [database.execute(ask, (file,)).fetchall() for ask in _ROWS]


def _digest(rows: Sequence[Sequence[Row]]) -> bytes:
    return blake3(msgspec.msgpack.encode(rows)).digest(16)
