"""The outbox of a project: what was recorded here and is to reach the team server, and how far the team's was read.

    outbox      one row a letter, in the order in which they were written, with a key of its own for good. It is written
                in the transaction of what it tells of, and goes when the team server has said what became of it; one
                that was refused stays, with the reason, until somebody has seen it
    shared      the discoveries that the team knows
    team_read   the last event of the team that is in this memory

Whatever ends a process, a letter is either here or delivered; delivered twice, it is done once (its key tells).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from codecairn.clock import timestamp
from codecairn.store.discoveries import DiscoveryRow, delete_row, put_rows
from codecairn.store.memory import Connection, Memory
from codecairn.team_wire import Letter

_COLUMNS = "key, kind, id, at, line"


class TeamPosition(NamedTuple):
    number: int
    mark: str
    repository: str


class TeamNews(NamedTuple):
    """The answer to a round of letters, checked, ready to be written."""

    outcomes: Mapping[str, str]
    """By the key of the letter why it was refused; empty where it was done."""
    is_anew: bool
    rows: Mapping[str, DiscoveryRow | None]
    uses: Sequence[tuple[str, int, str]]
    position: TeamPosition


def post_letter(database: Connection, kind: str, identity: str, line: str = "") -> None:
    """Write a letter, inside the caller's transaction."""
    values = (secrets.token_hex(16), kind, identity, timestamp(), line)
    database.execute(f"INSERT INTO outbox ({_COLUMNS}) VALUES (?, ?, ?, ?, ?)", values)  # noqa: S608 - our own names


def is_known_to_team(database: Connection, identity: str) -> bool:
    """Whether the team knows a discovery, or will."""
    ask = "SELECT 1 FROM shared WHERE id = ?1 UNION ALL SELECT 1 FROM outbox WHERE id = ?1 AND refused = ''"
    return database.execute(ask, (identity,)).fetchone() is not None


class Outbox:
    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def waiting(self, most: int) -> list[Letter]:
        """The first letters that are to be delivered."""
        ask = f"SELECT {_COLUMNS} FROM outbox WHERE refused = '' ORDER BY number LIMIT ?"  # noqa: S608
        with self._memory.reading() as database:
            rows = database.execute(ask, (most,)).fetchall()
        return [Letter(key=key, kind=kind, id=identity, at=at, line=line) for key, kind, identity, at, line in rows]

    def count(self) -> int:
        with self._memory.reading() as database:
            return int(database.execute("SELECT count(*) FROM outbox WHERE refused = ''").fetchone()[0])

    def refusals(self) -> list[tuple[str, str, str]]:
        """Kind, id and reason of each letter that the team server refused."""
        with self._memory.reading() as database:
            return database.execute(
                "SELECT kind, id, refused FROM outbox WHERE refused <> '' ORDER BY number"
            ).fetchall()

    def drop_refusals(self) -> None:
        with self._memory.writing() as database:
            database.execute("DELETE FROM outbox WHERE refused <> ''")

    def position(self) -> TeamPosition:
        with self._memory.reading() as database:
            return TeamPosition(*database.execute("SELECT number, mark, repository FROM team_read").fetchone())

    def take(self, news: TeamNews) -> None:
        """Write what the team server said, all of it or nothing."""
        with self._memory.writing() as database:
            is_undone = _settle(database, news.outcomes)
            waiting = {row[0] for row in database.execute("SELECT id FROM outbox WHERE refused = ''")}
            if news.is_anew:
                _drop_unknown(database, news.rows.keys() | waiting)
            _write(database, {id_: row for id_, row in news.rows.items() if id_ not in waiting})
            _set_uses(database, news.uses)
            number, mark, repository = news.position
            read = (0, "", repository) if is_undone else (number, mark, repository)
            database.execute("UPDATE team_read SET number = ?, mark = ?, repository = ?", read)
        self._memory.forget_counts()


def _settle(database: Connection, outcomes: Mapping[str, str]) -> bool:
    """Returns True if something was taken back here that the team keeps: everything is to be read again."""
    database.executemany("DELETE FROM outbox WHERE key = ?", [(key,) for key, reason in outcomes.items() if not reason])
    refused = [(reason, key) for key, reason in outcomes.items() if reason]
    database.executemany("UPDATE outbox SET refused = ? WHERE key = ?", refused)
    kinds = [database.execute("SELECT kind FROM outbox WHERE key = ?", (key,)).fetchone() for _, key in refused]
    return ("forget",) in kinds


def _drop_unknown(database: Connection, known: Iterable[str]) -> None:
    """Remove what the team once knew and knows no more."""
    for identity in {row[0] for row in database.execute("SELECT id FROM shared")} - set(known):
        delete_row(database, identity)
        database.execute("DELETE FROM shared WHERE id = ?", (identity,))


def _write(database: Connection, rows: Mapping[str, DiscoveryRow | None]) -> None:
    put_rows(database, [row for row in rows.values() if row is not None])
    for identity, row in rows.items():
        if row is None:
            delete_row(database, identity)
            database.execute("DELETE FROM shared WHERE id = ?", (identity,))
        else:
            database.execute("INSERT OR IGNORE INTO shared VALUES (?)", (identity,))


def _set_uses(database: Connection, uses: Sequence[tuple[str, int, str]]) -> None:
    """The team's counts, and those on their way to it."""
    ask = "SELECT id, count(*) FROM outbox WHERE kind = 'use' AND refused = '' GROUP BY id"
    ours = dict(database.execute(ask).fetchall())
    database.executemany(
        "INSERT INTO usage (id, count, last_used) VALUES (?1, ?2, ?3) "
        "ON CONFLICT (id) DO UPDATE SET count = ?2, last_used = max(last_used, ?3)",
        [(identity, count + ours.get(identity, 0), last) for identity, count, last in uses],
    )
