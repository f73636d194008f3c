"""Reads from index.db, by any number of threads; writer.py writes it."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from codecairn.errors import CairnError, IndexIncompatible
from codecairn.store import integrity
from codecairn.store.file_version import CHUNK_COLUMNS, PARTS, SYMBOL_COLUMNS, FileVersion, Stat
from codecairn.store.integrity import Losses
from codecairn.store.layers import BASE, WORKING_TREE, Layer, layers_in
from codecairn.store.schema import SCHEMA, SEALED, TABLES
from codecairn.store.tallies import WatchedConnection, write_tallies

msgspec.json.Decoder(FileVersion)  # takes the type apart here and now: two threads that did so at once would crash
_BUSY_S = 10.0
_MOST_IDLE = 4
_READER_CACHE, _WRITER_CACHE = "PRAGMA cache_size = -1024", "PRAGMA cache_size = -4096"
"""kB of pages. The system has read pages at hand as well; those of a connection go with each edit, and their 4 kB each
leave holes that the allocator cannot give back. Changed ones that find no room are written twice."""


class Entry(NamedTuple):
    """One path of a manifest: a version, or the reason why there is none."""

    path: str
    file: int | None
    reason: str
    detail: str
    stat: Stat


class Totals(Struct, frozen=True):
    files: int
    indexed: int
    symbols: int
    chunks: int
    lines: int
    terms: int
    vectors: int
    complaints: int
    """Files of which something could not be read."""
    languages: dict[str, int]
    """How many files have each, the most first."""


class IndexStore:
    """index.db in one folder. Each reader has a connection of its own: none waits for another, or for the writer."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "index.db"
        self._idle: list[WatchedConnection] = []
        self._lock = threading.Lock()
        self._closed = False

    @classmethod
    def create(cls, folder: Path) -> IndexStore:
        store = cls(folder)
        with store.translating(), closing(store._connect()) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {SCHEMA};")
            write_tallies(database)
            database.execute("COMMIT")
        return store

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()

    def __del__(self) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One snapshot: whatever is read inside belongs to one generation."""
        with self.translating(), self._connection() as database:
            database.execute("BEGIN")
            yield database

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction of the one writer."""
        with self.translating(), self._connection() as database:
            database.execute(_WRITER_CACHE)
            try:
                tally = database.watch()
                database.execute("BEGIN IMMEDIATE")
                yield database
                tally.write(database)
                database.execute("COMMIT")
            finally:
                database.execute(_READER_CACHE)

    @contextmanager
    def _connection(self) -> Iterator[WatchedConnection]:
        """A connection that nobody else uses meanwhile; `close` never takes one away that is in use."""
        with self._lock:
            database = self._idle.pop() if self._idle else None
        if database is None:
            database = self._connect()
            if database.execute("PRAGMA user_version").fetchone()[0] != SCHEMA:
                database.close()
                raise IndexIncompatible("The index was written by another version of Cairn")
        try:
            yield database
        finally:
            with contextlib.suppress(sqlite3.Error):
                database.rollback()
            with self._lock:
                is_kept = not self._closed and len(self._idle) < _MOST_IDLE
                if is_kept:
                    self._idle.append(database)
            if not is_kept:
                database.close()

    def _connect(self) -> WatchedConnection:
        database = sqlite3.connect(
            self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False, factory=WatchedConnection
        )
        # A generation that was published stays published, power cut or not: the lexical index relies on it.
        database.execute("PRAGMA synchronous = FULL")
        database.execute(_READER_CACHE)
        return database

    def find_damage(self) -> Losses:
        """What is not as it was written. Raises IndexIncompatible where all of the database is damaged."""
        with self.reading() as database:
            return integrity.check(database)

    def count_documents(self) -> int | None:
        """How many documents the lexical index has; None while some are on their way in or out."""
        with self.reading() as database:
            if database.execute("SELECT 1 FROM dropped LIMIT 1").fetchone():
                return None
            return int(database.execute("SELECT total(chunks) FROM file WHERE searchable = 1").fetchone()[0])

    def paths_of(self, files: Sequence[int]) -> frozenset[str]:
        """Where any layer shows these versions."""
        ask = "SELECT path FROM manifest WHERE file = ?"
        with self.reading() as database:
            return frozenset(row[0] for file in files for row in database.execute(ask, (file,)))

    def give_up(self, lost: Losses) -> None:
        """Forget what is damaged, so that the next run makes it anew."""
        with self.writing() as database:
            integrity.give_up(database, lost)

    @contextmanager
    def translating(self) -> Iterator[None]:
        """Say of an error of SQLite's what it means for the index."""
        try:
            yield
        except sqlite3.Error as error:
            raise _unusable(self.path, error) from error

    def layers(self, condition: str = "true", *values: object) -> list[Layer]:
        with self.reading() as database:
            return layers_in(database, condition, *values)

    def checkout(self, root: str) -> Layer | None:
        """The layer of a folder's working tree."""
        return next(iter(self.layers(WORKING_TREE, root)), None)

    def checkouts(self) -> list[Layer]:
        return self.layers("name = '' ORDER BY root")

    def layer(self, id_: int) -> Layer | None:
        return next(iter(self.layers("id = ?", id_)), None)

    def base(self, scope: str) -> Layer | None:
        return next(iter(self.layers(BASE, scope)), None)

    def refs(self, scope: str) -> list[Layer]:
        """The layers of branches, tags and commits: the base first, then the others by name."""
        return self.layers("root = '' AND scope = ? ORDER BY base IS NOT NULL, name", scope)

    def overlays(self) -> list[Layer]:
        """Every ref that is laid over a base, in whatever scope."""
        return self.layers("base IS NOT NULL ORDER BY name, scope")

    def ref_names(self) -> set[str]:
        return {layer.name for layer in self.layers("name <> ''")}

    def manifest(self, layer: int) -> dict[str, Entry]:
        with self.reading() as database:
            return _entries(database, "layer = ?", layer)

    def sizes(self, layer: int) -> dict[str, int]:
        """The bytes of the text of each version that a layer names, by path."""
        ask = "SELECT manifest.path, file.size FROM manifest JOIN file ON file.id = manifest.file WHERE layer = ?"
        with self.reading() as database:
            return dict(database.execute(ask, (layer,)))

    def entries_below(self, layer: int, paths: Iterable[str]) -> dict[str, Entry]:
        """The manifest of these paths, and of what lies below them."""
        below = "layer = ?1 AND (path = ?2 OR (path > ?2 || '/' AND path < ?2 || '0'))"
        found: dict[str, Entry] = {}
        with self.reading() as database:
            for path in paths:
                found |= _entries(database, below, layer, path)
        return found

    def stamps(self, layer: int) -> list[tuple[str, int, int, int, int]]:
        """The path and the stamp of every entry, by path."""
        ask = "SELECT path, size, mtime_ns, inode, ctime_ns FROM manifest WHERE layer = ? ORDER BY path"
        with self.reading() as database:
            return database.execute(ask, (layer,)).fetchall()

    def entry(self, layer: int, path: str) -> Entry | None:
        with self.reading() as database:
            return _entries(database, "layer = ? AND path = ?", layer, path).get(path)

    def versions_at(self, paths: Iterable[str]) -> dict[str, list[int]]:
        """The versions known of each path, visible anywhere or not."""
        found: dict[str, list[int]] = {}
        with self.reading() as database:
            for path in paths:
                ids = [row[0] for row in database.execute(f"SELECT id FROM file WHERE path = ? AND {SEALED}", (path,))]  # noqa: S608
                if ids:
                    found[path] = ids
        return found

    def versions_of(self, contents: Mapping[str, bytes]) -> list[tuple[str, bytes, int, str]]:
        """The versions known of these contents by path: path, blob, version, language."""
        ask = f"SELECT path, blob, id, language FROM file WHERE path = ? AND blob = ? AND {SEALED}"  # noqa: S608
        with self.reading() as database:
            return [row for each in contents.items() for row in database.execute(ask, each)]

    def keys(self) -> set[int]:
        """Every version that is whole, whether or not a manifest names it."""
        with self.reading() as database:
            return {row[0] for row in database.execute(f"SELECT id FROM file WHERE {SEALED}")}  # noqa: S608

    def named_by_refs(self, names: Iterable[str]) -> dict[int, bool]:
        """The versions that these refs name themselves, and whether each was first read for a branch."""
        ask = (
            "SELECT file.id, on_branch FROM layer JOIN manifest ON manifest.layer = layer.id "
            "JOIN file ON file.id = manifest.file WHERE layer.root = '' AND layer.name = ?"
        )
        with self.reading() as database:
            return {row[0]: bool(row[1]) for name in names for row in database.execute(ask, (name,))}

    def totals(self, layer: int) -> Totals:
        """What a layer holds, told in one walk over its files."""
        with self.reading() as database:
            files = database.execute("SELECT count(*) FROM manifest WHERE layer = ?", (layer,)).fetchone()[0]
            rows = database.execute(
                "SELECT language, count(*), total(symbols), total(chunks), total(lines), total(terms), "
                "total(complaint <> '') FROM manifest JOIN file ON file.id = manifest.file WHERE layer = ? "
                "GROUP BY language ORDER BY count(*) DESC, language",
                (layer,),
            ).fetchall()
            vectors = database.execute(
                "SELECT total(rows) FROM manifest JOIN vector ON vector.file = manifest.file WHERE layer = ? "
                "GROUP BY segment ORDER BY 1 DESC LIMIT 1",
                (layer,),
            ).fetchone()
        columns = zip(*(row[1:] for row in rows), strict=True) if rows else [()] * 6
        indexed, symbols, chunks, lines, terms, complaints = (int(sum(each)) for each in columns)
        made, spoken = int(vectors[0]) if vectors else 0, {row[0]: row[1] for row in rows}
        return Totals(files, indexed, symbols, chunks, lines, terms, made, complaints, spoken)

    def reasons(self, layer: int) -> dict[str, int]:
        with self.reading() as database:
            rows = database.execute(
                "SELECT reason, count(*) FROM manifest WHERE layer = ? AND file IS NULL GROUP BY reason", (layer,)
            )
            return dict(rows.fetchall())

    def has_name(self, name: str) -> bool:
        """Whether a symbol of any version has this name, whatever its case."""
        with self.reading() as database:
            ask = "SELECT 1 FROM symbol WHERE name = ? COLLATE NOCASE LIMIT 1"
            return database.execute(ask, (name,)).fetchone() is not None

    def blob(self, file: int) -> bytes | None:
        with self.reading() as database:
            row = database.execute("SELECT blob FROM file WHERE id = ?", (file,)).fetchone()
        return row[0] if row else None

    def load(self, file: int) -> FileVersion | None:
        with self.reading() as database:
            head = database.execute(
                "SELECT id, path, blob, language, package, lines, size, error_nodes, complaint, "
                "on_branch FROM file WHERE id = ?",
                (file,),
            ).fetchone()
            if head is None:
                return None
            *head, on_branch = head
            symbols = database.execute(f"SELECT {SYMBOL_COLUMNS} FROM symbol WHERE file = ? ORDER BY number", (file,))  # noqa: S608
            chunks = database.execute(f"SELECT {CHUNK_COLUMNS} FROM chunk WHERE file = ? ORDER BY number", (file,))  # noqa: S608
            rows = (symbols.fetchall(), chunks.fetchall())
            with integrity.reading_version(database, file):
                (body,) = database.execute(f"SELECT {', '.join(PARTS)} FROM body WHERE file = ?", (file,)).fetchall()  # noqa: S608
                return msgspec.convert((*head, *rows, *body, bool(on_branch)), FileVersion)

    def on_branch(self, file: int) -> bool | None:
        """Whether a version was first read for a branch; None where it is not known."""
        with self.reading() as database:
            row = database.execute("SELECT on_branch FROM file WHERE id = ?", (file,)).fetchone()
        return bool(row[0]) if row else None

    def unsearchable(self, ids: Sequence[int]) -> list[int]:
        """Which of these known versions have lost their documents since nothing named them."""
        with self.reading() as database:
            ask = "SELECT id FROM file WHERE id = ? AND searchable = 0"
            return [each for each in ids if database.execute(ask, (each,)).fetchone()]


def differing_paths(store: IndexStore, one: Layer, other: Layer) -> set[str]:
    """The paths of which two whole layers have other versions."""
    first, second = (
        {(entry.path, entry.file) for entry in store.manifest(layer.id).values() if entry.file is not None}
        for layer in (one, other)
    )
    return {path for path, _ in first ^ second}


def _entries(database: sqlite3.Connection, condition: str, *values: object) -> dict[str, Entry]:
    ask = f"SELECT path, file, reason, detail, size, mtime_ns, inode, ctime_ns FROM manifest WHERE {condition}"  # noqa: S608
    rows = database.execute(ask, values)
    return {path: Entry(path, file, reason, detail, Stat(*stat)) for path, file, reason, detail, *stat in rows}


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
