"""Discoveries as memory.db keeps them.

A discovery may be about a symbol or a file. Then it holds what that was when it was recorded: the path, the symbol's
qualified name and lasting id, and a hash of the content, by which a later look tells whether the code has changed.
Every change raises `revision` and stamps the row with it, so that who keeps rows in memory reads only those that moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import astuple

from codecairn.store.memory import Connection, Memory


class DiscoveryRow(Struct, frozen=True, kw_only=True):
    id: str
    type: str
    content: str
    module: str | None = None
    session: str | None = None
    created: str
    updated: str
    path: str | None = None
    symbol: str | None = None
    """The qualified name; null for what is about a file, or about nothing in particular."""
    name: str | None = None
    kind: str | None = None
    stable_id: str | None = None
    content_hash: bytes | None = None
    """Of the symbol's or the file's text; null where that was not known."""
    origin: str | None = None
    """The source it was harvested from."""

    @property
    def is_bound(self) -> bool:
        return self.path is not None or self.symbol is not None


_COLUMNS = ", ".join(DiscoveryRow.__struct_fields__)
_MARKS = ", ".join("?" * len(DiscoveryRow.__struct_fields__))
_SELECT = f"SELECT {_COLUMNS} FROM discovery"  # noqa: S608 - our own names
_PUT = f"INSERT OR REPLACE INTO discovery ({_COLUMNS}, revision) VALUES ({_MARKS}, ?)"  # noqa: S608


class Discoveries:
    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def revision(self) -> int:
        with self._memory.reading() as database:
            return int(database.execute("SELECT number FROM revision").fetchone()[0])

    def stamps(self) -> dict[str, int]:
        """The revision at which each discovery last changed."""
        with self._memory.reading() as database:
            return dict(database.execute("SELECT id, revision FROM discovery").fetchall())

    def count(self) -> int:
        with self._memory.reading() as database:
            return int(database.execute("SELECT count(*) FROM discovery").fetchone()[0])

    def get(self, identity: str) -> DiscoveryRow | None:
        return next(iter(self._rows("WHERE id = ?", identity)), None)

    def since(self, revision: int) -> list[DiscoveryRow]:
        """The discoveries that changed after a revision, oldest first."""
        return self._rows("WHERE revision > ? ORDER BY revision, id", revision)

    def all(self, type_: str | None = None, module: str | None = None) -> list[DiscoveryRow]:
        """Newest first."""
        where = "WHERE (?1 IS NULL OR type = ?1) AND (?2 IS NULL OR module = ?2 COLLATE NOCASE)"
        return self._rows(f"{where} ORDER BY updated DESC, id", type_, module)

    def about(self, path: str | None, symbol: str | None, mentioning: Sequence[str] = ()) -> list[DiscoveryRow]:
        """Those with this very binding, or with none; of these only such as have one of some texts, in small letters,
        where any are given."""
        mention = " OR ".join(["instr(lower(content), ?)"] * len(mentioning)) or "true"
        where = f"WHERE path IS ? AND symbol IS ? AND ({mention}) ORDER BY created, id"
        return self._rows(where, path, symbol, *mentioning)

    def on_paths(self, paths: Iterable[str]) -> list[DiscoveryRow]:
        """Those about one of these files, or about a symbol that stood in it."""
        return [row for path in sorted(set(paths)) for row in self._rows("WHERE path = ? ORDER BY created, id", path)]

    def origins(self) -> set[str]:
        with self._memory.reading() as database:
            return {row[0] for row in database.execute("SELECT origin FROM discovery WHERE origin IS NOT NULL")}

    def put(self, rows: Iterable[DiscoveryRow]) -> None:
        """Store each, in place of one with its id."""
        with self._memory.writing() as database:
            put_rows(database, rows)

    def remove(self, identity: str) -> bool:
        with self._memory.writing() as database:
            return delete_row(database, identity)

    def _rows(self, condition: str, *values: object) -> list[DiscoveryRow]:
        with self._memory.reading() as database:
            return [_row(each) for each in database.execute(f"{_SELECT} {condition}", values)]


def put_rows(database: Connection, rows: Iterable[DiscoveryRow]) -> None:
    """Store each, inside the caller's transaction."""
    database.execute("UPDATE revision SET number = number + 1")
    (revision,) = database.execute("SELECT number FROM revision").fetchone()
    database.executemany(_PUT, [(*astuple(row), revision) for row in rows])


def delete_row(database: Connection, identity: str) -> bool:
    """Remove one, inside the caller's transaction."""
    database.execute("UPDATE revision SET number = number + 1")
    return database.execute("DELETE FROM discovery WHERE id = ?", (identity,)).rowcount > 0


def _row(values: tuple[object, ...]) -> DiscoveryRow:
    return DiscoveryRow(**dict(zip(DiscoveryRow.__struct_fields__, values, strict=True)))  # type: ignore[arg-type]
