"""Sessions and accesses as memory.db keeps them. Times are seconds since 1970, as `time.time` tells them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec import Struct

from codecairn.store.memory import NOTE_PATIENCE_S, Memory

DAY_S = 86_400.0
WEEK_S = 7 * DAY_S
_KEPT_S = 30 * DAY_S
"""Accesses older than that are dropped: nothing is told from them any more."""
_MOST_SESSIONS = 1_000


class SessionRow(Struct, frozen=True, kw_only=True):
    id: str
    began: float
    active: float
    """When it last did anything."""
    ended: float | None
    tools: dict[str, int]
    files: dict[str, int]
    """How often each file was opened, the latest last."""
    queries: list[str]


class Access(NamedTuple):
    path: str
    at: float
    tool: str
    session: str


class FileAccess(NamedTuple):
    """The accesses to one file."""

    last: float
    this_week: int


class SessionStore:
    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def save(self, rows: Iterable[SessionRow], accesses: Iterable[Access], now: float) -> None:
        with self._memory.writing(NOTE_PATIENCE_S) as database:
            database.executemany("INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?, ?, ?, ?)", map(_values, rows))
            database.executemany("INSERT INTO access VALUES (?, ?, ?, ?)", accesses)
            database.execute("DELETE FROM access WHERE at < ?", (now - _KEPT_S,))
            database.execute(
                "DELETE FROM session WHERE id IN (SELECT id FROM session ORDER BY active DESC LIMIT -1 OFFSET ?)",
                (_MOST_SESSIONS,),
            )

    def recent(self, most: int = 30) -> list[SessionRow]:
        """Latest first."""
        with self._memory.reading() as database:
            rows = database.execute("SELECT * FROM session ORDER BY active DESC, id LIMIT ?", (most,)).fetchall()
        return [_session(row) for row in rows]

    def accesses(self, now: float) -> dict[str, FileAccess]:
        """Every file that was opened lately: when last, and how often in the last seven days."""
        with self._memory.reading() as database:
            rows = database.execute(
                "SELECT path, max(at), total(at > ?) FROM access GROUP BY path", (now - WEEK_S,)
            ).fetchall()
        return {path: FileAccess(last, int(count)) for path, last, count in rows}


def _values(row: SessionRow) -> tuple[object, ...]:
    encoded = (msgspec.json.encode(each).decode() for each in (row.tools, row.files, row.queries))
    return row.id, row.began, row.active, row.ended, *encoded


def _session(values: tuple[str, float, float, float | None, str, str, str]) -> SessionRow:
    id_, began, active, ended, tools, files, queries = values
    counts = [msgspec.json.decode(each, type=dict[str, int]) for each in (tools, files)]
    return SessionRow(
        id=id_, began=began, active=active, ended=ended, tools=counts[0], files=counts[1],
        queries=msgspec.json.decode(queries, type=list[str]),
    )  # fmt: skip
