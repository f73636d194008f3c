"""Versions that are kept as a difference to another version of the same path, their basis (schema.py).

Each part is compressed with the basis's same part as dictionary: of a file of 5,000 bytes in which a line changed and
a function came, 100 bytes of text are left. Symbols and chunks are one part too, in which numbers of lines and symbols
are written as the step from the row before: a line more changes one number, not all that follow. (Links in steps would
take 60 bytes instead of 260, and reading them five times as long.)
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Literal, TypeVar

import msgspec
import zstandard
from msgspec import Struct
from msgspec.structs import replace

from codecairn.store.soundness import damaged_version
from codecairn.store.version import LEVEL, ChunkRow, FileVersion, SymbolRow, packed, unpacked

Rows = tuple[list[SymbolRow], list[ChunkRow]]
SYMBOL_COLUMNS = ", ".join(SymbolRow.__struct_fields__)
CHUNK_COLUMNS = ", ".join(ChunkRow.__struct_fields__)
Part = Literal["text", "links", "terms", "uses"]
PARTS: tuple[Part, ...] = ("text", "links", "terms", "uses")
_STEPPED: dict[type[Struct], tuple[str, ...]] = {
    SymbolRow: ("number", "start_line", "end_line", "name_line", "parent"),
    ChunkRow: ("number", "start_line", "end_line", "symbol"),
}
_Row = TypeVar("_Row", bound=Struct)


class Bodies:
    """The parts of versions as they were when they were read, in whatever form they are kept."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def part(self, file: int, part: Part) -> bytes:
        with _reading(self._database, file):
            data, basis = self._kept(file, part)
            return unpacked(data) if basis is None else _unpacked_against(data, self._whole(basis, part))

    def packed(self, file: int, part: Part) -> bytes:
        with _reading(self._database, file):
            data, basis = self._kept(file, part)
            return bytes(data) if basis is None else packed(self.part(file, part))

    def head(self, file: int) -> str:
        with _reading(self._database, file):
            data, basis = self._kept(file, "head")
            if basis is None:
                return str(data)
            return _unpacked_against(data, self._kept(basis, "head")[0].encode()).decode()

    def _whole(self, basis: int, part: Part) -> bytes:
        """A part of what is a basis, and so whole itself."""
        return unpacked(self._kept(basis, part)[0])

    def _kept(self, file: int, part: str) -> tuple[Any, int | None]:
        ask = f"SELECT body.{part}, basis FROM body JOIN file ON id = file WHERE file = ?"  # noqa: S608 - our own names
        (row,) = self._database.execute(ask, (file,)).fetchall()
        return row[0], row[1]

    def rows(self, file: int, basis: int | None) -> Rows:
        with _reading(self._database, file):
            return self._whole_rows(file) if basis is None else self._differing_rows(file, basis)

    def _differing_rows(self, file: int, basis: int) -> Rows:
        ((data,),) = self._database.execute("SELECT rows FROM difference WHERE file = ?", (file,)).fetchall()
        rows = msgspec.msgpack.decode(_unpacked_against(data, _encoded(self._whole_rows(basis))), type=Rows)
        return _summed(rows[0]), _summed(rows[1])

    def _whole_rows(self, file: int) -> Rows:
        symbols = self._database.execute(f"SELECT {SYMBOL_COLUMNS} FROM symbol WHERE file = ? ORDER BY number", (file,))  # noqa: S608
        chunks = self._database.execute(f"SELECT {CHUNK_COLUMNS} FROM chunk WHERE file = ? ORDER BY number", (file,))  # noqa: S608
        return [SymbolRow(*each) for each in symbols], [ChunkRow(*each) for each in chunks]

    def shared(self, file: int) -> list[int]:
        """Of a difference, for each chunk the number of the basis's chunk that is the same, or -1."""
        with _reading(self._database, file):
            ((data,),) = self._database.execute("SELECT shared FROM difference WHERE file = ?", (file,)).fetchall()
            return [at for first, count in msgspec.msgpack.decode(data) for at in _run(first, count)]


@contextmanager
def _reading(database: sqlite3.Connection, file: int) -> Iterator[None]:
    """Say of what does not decode, or is not there, whose it is."""
    try:
        yield
    except (zstandard.ZstdError, msgspec.MsgspecError, ValueError, TypeError) as error:
        raise damaged_version(database, file) from error


def insert_difference(database: sqlite3.Connection, version: FileVersion) -> None:
    """The body and the rows of a version that has a basis."""
    assert version.basis is not None
    bodies = Bodies(database)
    parts = [_packed_against(unpacked(getattr(version, part)), bodies.part(version.basis, part)) for part in PARTS]
    head = _packed_against(version.head.encode(), bodies.head(version.basis).encode())
    database.execute("INSERT OR REPLACE INTO body VALUES (?, ?, ?, ?, ?, ?)", (version.id, *parts, head))
    symbols, chunks = bodies.rows(version.basis, None)
    rows = _packed_against(_encoded((version.symbols, version.chunks)), _encoded((symbols, chunks)))
    shared = msgspec.msgpack.encode(list(_runs(version.shared)))
    database.execute(
        "INSERT OR REPLACE INTO difference VALUES (?, ?, ?, ?)", (version.id, len(version.own), shared, rows)
    )
    added = {each.name for each in version.symbols} - {each.name for each in symbols}
    database.executemany("INSERT OR IGNORE INTO added VALUES (?, ?)", [(version.id, name) for name in sorted(added)])


def folded(name: str) -> str:
    """A name as SQLite's NOCASE compares it: only ASCII letters have a case."""
    return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _runs(shared: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Numbers as stretches of following ones: the first and how many; -1 is followed by -1."""
    start = 0
    for at, (one, next_) in enumerate(pairwise([*shared, -2]), 1):
        if next_ != (one + 1 if one >= 0 else -1):
            yield shared[start], at - start
            start = at


def _run(first: int, count: int) -> Iterable[int]:
    return range(first, first + count) if first >= 0 else [-1] * count


def _encoded(rows: Rows) -> bytes:
    return msgspec.msgpack.encode((_steps(rows[0]), _steps(rows[1])))


def _steps(rows: list[_Row]) -> list[_Row]:
    names = _STEPPED[type(rows[0])] if rows else ()
    before, found = [0] * len(names), list[_Row]()
    for row in rows:
        now = [getattr(row, name) for name in names]
        found.append(replace(row, **{name: at - last for name, at, last in zip(names, now, before, strict=True)}))
        before = now
    return found


def _summed(rows: list[_Row]) -> list[_Row]:
    names = _STEPPED[type(rows[0])] if rows else ()
    at, found = [0] * len(names), list[_Row]()
    for row in rows:
        at = [last + getattr(row, name) for name, last in zip(names, at, strict=True)]
        found.append(replace(row, **dict(zip(names, at, strict=True))))
    return found


def _packed_against(data: bytes, basis: bytes) -> bytes:
    if not basis:
        return packed(data)
    compressor = zstandard.ZstdCompressor(level=LEVEL, dict_data=_dictionary(basis), write_checksum=True)
    compressed: bytes = compressor.compress(data)
    return compressed


def _unpacked_against(data: bytes, basis: bytes) -> bytes:
    if not basis:
        return unpacked(data)
    return zstandard.ZstdDecompressor(dict_data=_dictionary(basis)).decompress(data)


def _dictionary(basis: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(basis, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
