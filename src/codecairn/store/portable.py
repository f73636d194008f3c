"""A copy of the committed part of an index: refs, the versions they name, and the rows of other stores for those.

Working trees stay behind, with every word that was never committed: nothing is deleted from a copy of the whole, where
it would still stand between the rows. The database is written anew, row by row, and so are the vectors; documents are
made again from the rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from codecairn.errors import CairnError, IndexIncompatible
from codecairn.store.database import IndexStore
from codecairn.store.integrity import our_tables, tables_in
from codecairn.store.layers import Layer
from codecairn.store.lexical import Lexical
from codecairn.store.schema import SCHEMA
from codecairn.store.tallies import write_tallies
from codecairn.store.vector_segments import Placement, Segment, add_rows

_COPIED = {
    "layer": "root = ''",
    "manifest": "layer IN (SELECT id FROM layer)",
    "popularity": "layer IN (SELECT id FROM layer)",
    "file": "id IN (SELECT file FROM manifest)",
    "body": "file IN (SELECT id FROM file)",
    "symbol": "file IN (SELECT id FROM file)",
    "chunk": "file IN (SELECT id FROM file)",
    "seal": "file IN (SELECT id FROM file)",
}
"""Each by what was copied before it, in the order of its key."""
_KEYS = {
    "manifest": "layer, path",
    "popularity": "layer, path",
    "symbol": "file, number",
    "chunk": "file, number",
}
_COPIED_ROWS = (
    "SELECT file, first, rows FROM source.vector WHERE segment = ? AND file IN (SELECT id FROM file) ORDER BY first"
)


def copy_committed(source: IndexStore, folder: Path) -> IndexStore:
    """A database of the refs alone, and its vectors. The lock must be held: vectors that are moved meanwhile would be
    lost on the way."""
    copy = IndexStore.create(folder)
    with _translating(), closing(sqlite3.connect(copy.path, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("ATTACH DATABASE ? AS source", (str(source.path),))
        database.execute("BEGIN")
        for table, wanted in _COPIED.items():
            order = _KEYS.get(table, "1")
            database.execute(f"INSERT INTO {table} SELECT * FROM source.{table} WHERE {wanted} ORDER BY {order}")  # noqa: S608 - our own names
        database.execute("UPDATE file SET unnamed_since = NULL, searchable = 1")
        _copy_vectors(database, source.path.parent, folder)
        write_tallies(database)
        database.execute("COMMIT")
        database.execute("DETACH DATABASE source")
    return copy


def _copy_vectors(database: sqlite3.Connection, source: Path, folder: Path) -> None:
    from codecairn.store.vectors import VectorFiles  # noqa: PLC0415 - numpy takes longer to import than a word to find

    before, after = VectorFiles(source / "vectors"), VectorFiles(folder / "vectors")
    for row in database.execute("SELECT * FROM source.segment WHERE encoder <> ''").fetchall():
        old = Segment(*row)
        if before.is_whole(old):
            new = old._replace(rows=0)
            database.execute("INSERT INTO segment VALUES (?, ?, ?, ?)", new)
            placed = [Placement(*each) for each in database.execute(_COPIED_ROWS, (old.number,))]
            add_rows(database, new, before.copy(old, placed, after, new))


def write_documents(store: IndexStore, folder: Path, step: Callable[[int, int], None]) -> None:
    """The lexical index of everything that a database holds."""
    with store.reading() as database:
        ids = [row[0] for row in database.execute("SELECT id FROM file ORDER BY path, id")]
    with Lexical.create(folder).writing() as writing:
        for done, version in enumerate(filter(None, map(store.load, ids)), 1):
            writing.add(version)
            step(done, len(ids))
        writing.commit()


def refs_of(store: IndexStore) -> list[Layer]:
    """Every ref, in whatever scope."""
    return store.layers("root = '' ORDER BY scope, base IS NOT NULL, name")


def check_foreign(folder: Path) -> None:
    """Raise unless a database from elsewhere has our tables and nothing else (a trigger would run when we write), is
    whole, and is of refs alone."""
    store = IndexStore(folder)
    try:
        with store.reading() as database:
            database.execute("PRAGMA trusted_schema = OFF")
            if tables_in(database) != our_tables():
                raise _unsound("it has other tables")
            if database.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise _unsound("it is damaged")
            for ask in _NONE_OF:
                if database.execute(ask).fetchone():
                    raise _unsound("it holds what no ref has")
    finally:
        store.close()


_NONE_OF = (
    "SELECT 1 FROM layer WHERE root <> '' OR name = ''",
    "SELECT 1 FROM manifest WHERE path LIKE '/%' OR '/' || path || '/' LIKE '%/../%'",
    "SELECT 1 FROM manifest WHERE file IS NOT NULL AND file NOT IN (SELECT id FROM file)",
    "SELECT 1 FROM manifest WHERE layer NOT IN (SELECT id FROM layer)",
    "SELECT 1 FROM layer WHERE base IS NOT NULL AND base NOT IN (SELECT id FROM layer WHERE base IS NULL)",
)


def _unsound(why: str) -> IndexIncompatible:
    return IndexIncompatible(f"The database is not one of ours: {why}", remedy="Export it again.", schema=SCHEMA)


@contextmanager
def _translating() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise CairnError(
            f"The index cannot be copied: {error}",
            remedy="Free space in the data directory, or index anew with --force.",
        ) from error
