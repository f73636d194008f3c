"""Whether index.db holds what was written to it, and which versions do not.

SQLite notices a page that makes no sense, and nothing of a bit that fell over in a name. So every version has a seal:
a digest of all its rows, taken in the transaction that writes them. Whoever checks takes it again. Frames carry a
checksum of their own besides, which is looked at whenever one is read.

A version that is damaged loses its seal and its rows. One without a seal counts as unknown, and its layers as read by
another extractor, so that the next run looks at all their files and parses the damaged ones alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import zstandard
from blake3 import blake3

from codecairn.errors import IndexIncompatible, VersionDamaged

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
Row = tuple[Any, ...]


def seal(database: sqlite3.Connection, rows: Mapping[int, Sequence[Sequence[Row]]]) -> None:
    """Seal versions: for each its rows in the four tables, in order, as the database gives them back."""
    sealed = [(file, _digest(each)) for file, each in rows.items()]
    database.executemany("INSERT OR REPLACE INTO seal VALUES (?, ?)", sealed)


def check(database: sqlite3.Connection) -> list[int]:
    """The versions that are not what was written. Raises IndexIncompatible where the database itself is damaged."""
    said = [row[0] for row in database.execute("PRAGMA integrity_check(1)")]
    if said != ["ok"]:
        raise IndexIncompatible(f"The index is damaged: {said[0]}", damaged=True)
    seals = dict(database.execute("SELECT file, digest FROM seal").fetchall())
    named = {row[0] for row in database.execute("SELECT id FROM file")}
    whole = {file for file in named if file in seals and _is_sealed(database, file, seals[file])}
    misplaced = {row[2] for row in database.execute(_MISPLACED)}
    return sorted((named - whole) | misplaced)


def unseal(database: sqlite3.Connection, files: Iterable[int]) -> None:
    """Give up versions that are damaged, and entries that lead nowhere; what names them is to be looked at anew."""
    damaged = [(each,) for each in files]
    lost = database.execute(_MISPLACED).fetchall()
    again = "UPDATE layer SET extractors = '' WHERE id IN (SELECT layer FROM manifest WHERE file = ?)"
    database.executemany(again, damaged)
    database.executemany("UPDATE layer SET extractors = '' WHERE id = ?", [row[:1] for row in lost])
    database.executemany("DELETE FROM manifest WHERE layer = ? AND path = ?", [row[:2] for row in lost])
    for table in TABLES_OF_A_VERSION:
        database.executemany(f"DELETE FROM {table} WHERE file = ?", damaged)  # noqa: S608 - our own names
        database.execute(f"DELETE FROM {table} WHERE file NOT IN (SELECT id FROM file)")  # noqa: S608 - our own names


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
