"""Shared memory: what a team learnt of a repository, and how often its rules were used.

    memory_event   one row a discovery that was recorded or taken back, with its author. `number` counts within the
                   repository and is given out under a lock, so that a node that has read up to a number misses nothing
    usage          how often each rule of a repository's catalogue was used, by whomever, on whatever node
    delivery       one row a letter of a laptop, by the author and the letter's key, with its outcome: written together
                   with what the letter asks for, so that one that comes twice is done once. Kept for a year

A node writes an event before its caller hears that it is done, and replays the events of its repositories into the
memory that the tools read. Replaying twice changes nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from psycopg.types.json import Jsonb

from codecairn.store.discoveries import DiscoveryRow
from codecairn.team.database import Connected, Database
from codecairn.team_wire import Letter

CHANGED = "cairn_memory"
TABLES = """
CREATE TABLE memory_event (
    repository bigint NOT NULL REFERENCES repository ON DELETE CASCADE, number bigint NOT NULL,
    discovery text NOT NULL, body jsonb, author text NOT NULL, at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (repository, number)
);
CREATE TABLE usage (
    repository bigint NOT NULL REFERENCES repository ON DELETE CASCADE, entry text NOT NULL, count bigint NOT NULL,
    last_used text NOT NULL, PRIMARY KEY (repository, entry)
);
"""
DELIVERY = """
CREATE TABLE delivery (
    author text NOT NULL, key text NOT NULL, outcome text NOT NULL, at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (author, key)
);
"""
_NOTEBOOKS = 0x6E6F_7465
_COUNT = (
    "INSERT INTO usage VALUES (%s, %s, 1, %s) ON CONFLICT (repository, entry) DO UPDATE "
    "SET count = usage.count + 1, last_used = greatest(usage.last_used, excluded.last_used) RETURNING count, last_used"
)


class MemoryEvent(NamedTuple):
    number: int
    discovery: str
    row: DiscoveryRow | None
    """None where it was taken back."""


class Notebook:
    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, repository: int, discovery: str, row: DiscoveryRow | None, author: str) -> int:
        """Record an event; returns its number once it is safe."""
        with self._database.transaction() as connection:
            return _write_event(connection, repository, discovery, row, author)

    def deliver(self, repository: int, letter: Letter, row: DiscoveryRow | None, author: str, refused: str) -> str:
        """Do what a letter asks for, once, or note why it is refused; returns the outcome, that of the first time."""
        with self._database.transaction() as connection:
            claimed = connection.execute(
                "INSERT INTO delivery (author, key, outcome) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING RETURNING 1",
                (author, letter.key, refused),
            ).fetchone()
            if claimed is None:
                known = "SELECT outcome FROM delivery WHERE author = %s AND key = %s"
                found = connection.execute(known, (author, letter.key)).fetchone()
                return str(found[0]) if found else ""
            if refused:
                return refused
            if letter.kind == "use":
                connection.execute(_COUNT, (repository, letter.id, letter.at))
                connection.execute("SELECT pg_notify(%s, '')", (CHANGED,))
            else:
                _write_event(connection, repository, letter.id, row, author)
            return ""

    def forget_deliveries(self) -> None:
        """A letter that came a year ago does not come again."""
        self._database.execute("DELETE FROM delivery WHERE at < now() - interval '1 year'")

    def mark(self, repository: int, number: int) -> str:
        """Stands for an event: another one under the same number has another mark."""
        rows = self._database.rows(
            "SELECT md5(discovery || at::text) FROM memory_event WHERE repository = %s AND number = %s",
            repository, number,
        )  # fmt: skip
        return str(rows[0][0]) if rows else ""

    def since(self, repository: int, number: int) -> list[MemoryEvent]:
        rows = self._database.rows(
            "SELECT number, discovery, body FROM memory_event WHERE repository = %s AND number > %s ORDER BY number",
            repository, number,
        )  # fmt: skip
        return [MemoryEvent(each[0], each[1], _row(each[2])) for each in rows]

    def forgotten(self, repository: int, discovery: str) -> DiscoveryRow | None:
        """A discovery as it was before it was taken back; None where it is there, or never was."""
        rows = self._database.rows(
            "SELECT body FROM memory_event WHERE repository = %s AND discovery = %s ORDER BY number DESC LIMIT 2",
            repository, discovery,
        )  # fmt: skip
        bodies = [each[0] for each in rows]
        return _row(bodies[1]) if len(bodies) == 2 and bodies[0] is None else None

    def heads(self) -> dict[int, tuple[int, int]]:
        """For each repository the last number and all uses together: either is another where anything was written."""
        rows = self._database.rows(
            "SELECT id, (SELECT coalesce(max(number), 0) FROM memory_event WHERE repository = id), "
            "(SELECT coalesce(sum(count), 0)::bigint FROM usage WHERE repository = id) FROM repository"
        )
        return {number: (last, uses) for number, last, uses in rows}

    def count_use(self, repository: int, entry: str, at: str) -> tuple[int, str]:
        """Count a use, once for all nodes; returns the count and the latest use."""
        ((count, last),) = self._database.rows(_COUNT, repository, entry, at)
        return int(count), str(last)

    def uses(self, repository: int) -> list[tuple[str, int, str]]:
        ask = "SELECT entry, count, last_used FROM usage WHERE repository = %s"
        return [(entry, int(count), last) for entry, count, last in self._database.rows(ask, repository)]


def _write_event(connection: Connected, repository: int, discovery: str, row: DiscoveryRow | None, author: str) -> int:
    body: Any = Jsonb(msgspec.to_builtins(row)) if row is not None else None
    connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_NOTEBOOKS, repository))
    found = connection.execute(
        "INSERT INTO memory_event SELECT %s, coalesce(max(number), 0) + 1, %s, %s, %s "
        "FROM memory_event WHERE repository = %s RETURNING number",
        (repository, discovery, body, author, repository),
    ).fetchone()
    connection.execute("SELECT pg_notify(%s, '')", (CHANGED,))
    assert found is not None
    return int(found[0])


def _row(body: Any) -> DiscoveryRow | None:
    return msgspec.convert(body, DiscoveryRow) if body is not None else None
