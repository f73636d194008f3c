"""What is read from index.db, by any number of threads; writer.py writes it."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from codecairn.errors import CairnError, IndexIncompatible
from codecairn.store.schema import SCHEMA, TABLES
from codecairn.store.version import ChunkRow, FileVersion, Stat, SymbolRow

_BUSY_S = 10.0
SYMBOL_COLUMNS = ", ".join(SymbolRow.__struct_fields__)
CHUNK_COLUMNS = ", ".join(ChunkRow.__struct_fields__)
_MOST_IDLE_READERS = 8


class Entry(NamedTuple):
    """One path of a manifest: a version, or the reason why there is none."""

    path: str
    file: int | None
    reason: str
    detail: str
    stat: Stat


@dataclass(frozen=True)
class Checkout:
    id: int
    root: str
    prefix: str
    generation: int
    complete: bool
    tests: bool
    vendor: bool
    ref: str
    head: str
    module: str | None
    go_version: str | None
    finished_at: float | None
    seconds: float | None
    used_at: float | None
    extractors: str
    excluded: dict[str, int]
    counted: int
    """The generation whose imports were counted last."""


@dataclass(frozen=True)
class Totals:
    files: int
    indexed: int
    symbols: int
    chunks: int
    lines: int
    terms: int
    vectors: int


class IndexStore:
    """index.db in one folder. Each reader has a connection of its own: none waits for another, or for the writer."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "index.db"
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._closed = False

    @classmethod
    def create(cls, folder: Path) -> IndexStore:
        store = cls(folder)
        with store._told():
            database = store._connect()
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {SCHEMA}; COMMIT;")
            database.close()
        return store

    def close(self) -> None:
        with self._lock:
            self._closed = True
            connections, self._idle = [*self._idle, *([self._writer] if self._writer else [])], []
            self._writer = None
        for each in connections:
            each.close()

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        # A generation that was published stays published, power cut or not: the lexical index relies on it.
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA cache_size = -8192")
        return database

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One snapshot: whatever is read inside belongs to one generation."""
        with self._told():
            with self._lock:
                database = self._idle.pop() if self._idle else None
            if database is None:
                database = self._connect()
                if database.execute("PRAGMA user_version").fetchone()[0] != SCHEMA:
                    database.close()
                    raise IndexIncompatible("The index was written by another version of Cairn")
            database.execute("BEGIN")
            try:
                yield database
            finally:
                self._returned(database)

    def _returned(self, database: sqlite3.Connection) -> None:
        with contextlib.suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        with self._lock:
            kept = not self._closed and len(self._idle) < _MOST_IDLE_READERS
            if kept:
                self._idle.append(database)
        if not kept:
            database.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction of the one writer."""
        with self._told():
            if self._writer is None:
                self._writer = self._connect()
            database = self._writer
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute("COMMIT")
            finally:
                if database.in_transaction:
                    with contextlib.suppress(sqlite3.Error):
                        database.execute("ROLLBACK")

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _unusable(self.path, error) from error

    def checkout(self, root: str) -> Checkout | None:
        with self.reading() as database:
            return self.checkout_in(database, root)

    def checkout_in(self, database: sqlite3.Connection, root: str) -> Checkout | None:
        row = database.execute("SELECT * FROM checkout WHERE root = ?", (root,)).fetchone()
        return checkout_of(row) if row else None

    def checkouts(self) -> list[Checkout]:
        with self.reading() as database:
            return [checkout_of(row) for row in database.execute("SELECT * FROM checkout ORDER BY root")]

    def manifest(self, checkout: int) -> dict[str, Entry]:
        with self.reading() as database:
            rows = database.execute(
                "SELECT path, file, reason, detail, size, mtime_ns, inode, ctime_ns FROM manifest WHERE checkout = ?",
                (checkout,),
            )
            return {row[0]: _entry(row) for row in rows}

    def entries_below(self, checkout: int, paths: Iterable[str]) -> dict[str, Entry]:
        """The manifest of these paths, and of what lies below them."""
        found: dict[str, Entry] = {}
        with self.reading() as database:
            for path in paths:
                rows = database.execute(
                    "SELECT path, file, reason, detail, size, mtime_ns, inode, ctime_ns FROM manifest "
                    "WHERE checkout = ?1 AND (path = ?2 OR (path > ?2 || '/' AND path < ?2 || '0'))",
                    (checkout, path),
                )
                found |= {row[0]: _entry(row) for row in rows}
        return found

    def versions_at(self, paths: Iterable[str]) -> dict[str, list[int]]:
        """The versions known of each path, visible anywhere or not."""
        found: dict[str, list[int]] = {}
        with self.reading() as database:
            for path in paths:
                ids = [row[0] for row in database.execute("SELECT id FROM file WHERE path = ?", (path,))]
                if ids:
                    found[path] = ids
        return found

    def totals(self, checkout: int) -> Totals:
        with self.reading() as database:
            files = database.execute("SELECT count(*) FROM manifest WHERE checkout = ?", (checkout,)).fetchone()[0]
            row = database.execute(
                "SELECT count(*), total(symbols), total(chunks), total(lines), total(terms) FROM manifest "
                "JOIN file ON file.id = manifest.file WHERE checkout = ?",
                (checkout,),
            ).fetchone()
            vectors = database.execute(
                "SELECT total(rows) FROM manifest JOIN vector ON vector.file = manifest.file WHERE checkout = ? "
                "GROUP BY segment ORDER BY 1 DESC LIMIT 1",
                (checkout,),
            ).fetchone()
        indexed, symbols, chunks, lines, terms = (int(each) for each in row)
        return Totals(files, indexed, symbols, chunks, lines, terms, int(vectors[0]) if vectors else 0)

    def languages(self, checkout: int) -> dict[str, int]:
        with self.reading() as database:
            rows = database.execute(
                "SELECT language, count(*) FROM manifest JOIN file ON file.id = manifest.file WHERE checkout = ? "
                "GROUP BY language ORDER BY count(*) DESC, language",
                (checkout,),
            )
            return dict(rows.fetchall())

    def reasons(self, checkout: int) -> dict[str, int]:
        with self.reading() as database:
            rows = database.execute(
                "SELECT reason, count(*) FROM manifest WHERE checkout = ? AND file IS NULL GROUP BY reason", (checkout,)
            )
            return dict(rows.fetchall())

    def complaints(self, checkout: int) -> list[tuple[str, str]]:
        """Files of which something could not be read, with the reason, in the order of their paths."""
        with self.reading() as database:
            rows = database.execute(
                "SELECT manifest.path, complaint FROM manifest JOIN file ON file.id = manifest.file "
                "WHERE checkout = ? AND complaint <> '' ORDER BY manifest.path",
                (checkout,),
            )
            return rows.fetchall()

    def entry(self, checkout: int, path: str) -> Entry | None:
        with self.reading() as database:
            row = database.execute(
                "SELECT path, file, reason, detail, size, mtime_ns, inode, ctime_ns FROM manifest "
                "WHERE checkout = ? AND path = ?",
                (checkout, path),
            ).fetchone()
        return _entry(row) if row else None

    def blob(self, file: int) -> bytes | None:
        with self.reading() as database:
            row = database.execute("SELECT blob FROM file WHERE id = ?", (file,)).fetchone()
        return row[0] if row else None

    def load(self, file: int) -> FileVersion | None:
        with self.reading() as database:
            row = database.execute(
                "SELECT id, path, blob, language, package, lines, size, error_nodes, complaint, text, links, "
                "body.terms, uses, head FROM file JOIN body ON body.file = file.id WHERE file.id = ?",
                (file,),
            ).fetchone()
            if row is None:
                return None
            symbols = database.execute(f"SELECT {SYMBOL_COLUMNS} FROM symbol WHERE file = ? ORDER BY number", (file,))  # noqa: S608
            chunks = database.execute(f"SELECT {CHUNK_COLUMNS} FROM chunk WHERE file = ? ORDER BY number", (file,))  # noqa: S608
            heads = [SymbolRow(*each) for each in symbols], [ChunkRow(*each) for each in chunks]
        return msgspec.convert((*row[:9], *heads, *row[9:]), FileVersion)

    def unsearchable(self, ids: Sequence[int]) -> list[int]:
        """Which of these known versions have lost their documents since nothing named them."""
        with self.reading() as database:
            ask = "SELECT id FROM file WHERE id = ? AND searchable = 0"
            return [each for each in ids if database.execute(ask, (each,)).fetchone()]


def _entry(row: tuple[Any, ...]) -> Entry:
    path, file, reason, detail, *stat = row
    return Entry(path, file, reason, detail, Stat(*stat))


def checkout_of(row: tuple[Any, ...]) -> Checkout:
    named: dict[str, Any] = dict(zip(Checkout.__dataclass_fields__, row, strict=True))
    named["excluded"] = msgspec.json.decode(named["excluded"], type=dict[str, int])
    return Checkout(**named | {name: bool(named[name]) for name in ("complete", "tests", "vendor")})


def _unusable(path: Path, error: sqlite3.Error) -> CairnError:
    code = getattr(error, "sqlite_errorcode", None)
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return CairnError(f"The index cannot be written: {error}", remedy=f"Free space on the disk of {path.parent}.")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return CairnError(
            f"The index cannot be opened: {path}: {error}",
            remedy="Make the data directory writable, or name another with CAIRN_HOME.",
        )
    if code == sqlite3.SQLITE_BUSY:
        return CairnError("The index is being written by another process", remedy="Call again in a moment.")
    return IndexIncompatible(f"The index is damaged: {error}", damaged=True)
