"""The connection to PostgreSQL: connections, transactions, notifications, and the numbered steps of the schema.

Steps run in one transaction each, under an advisory lock, so that any number of processes may start at once. A database
that is ahead of this version is refused. Errors of the driver become errors of ours here, and nowhere else.

A database that does not answer is not asked again for a second: what can be answered without it is not to wait for it,
and when it is back, it is found within that second.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from codecairn.errors import CairnError

Connected = psycopg.Connection[tuple[Any, ...]]
_MIGRATING = 0x6361_6972
"""The number of the advisory lock under which the schema moves."""
_MOST_CONNECTIONS = 8
_PATIENCE_S = 5.0
_CONNECT_S = 3
_AWAY_S = 1.0
_TRUSTED_S = 1.0
"""A connection that was used so lately works: to ask it first would double the time of a short statement."""


class RecordUnavailable(CairnError):
    http_status = 503
    title = "Team record unavailable"
    way_out = "Call again in a moment; an administrator looks at the database."


class Database:
    """PostgreSQL at a URL. Safe for threads: each statement or transaction has a connection of its own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._idle: list[tuple[float, Connected]] = []
        """When each was given back, and the connection."""
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        self._away_until = 0.0

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for _, each in idle:
            each.close()

    @contextmanager
    def transaction(self) -> Iterator[Connected]:
        """All of it holds, or none of it."""
        with self._connection() as connection, connection.transaction():
            yield connection

    def execute(self, statement: str, *values: Any) -> int:
        """Run one statement; returns how many rows it touched."""
        with self._connection() as connection:
            return connection.execute(statement.encode(), values).rowcount

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._connection() as connection:
            return connection.execute(statement.encode(), values).fetchall()

    @contextmanager
    def _connection(self) -> Iterator[Connected]:
        if time.monotonic() < self._away_until:
            raise RecordUnavailable("The team's database does not answer")
        if not self._room.acquire(timeout=_PATIENCE_S):
            raise RecordUnavailable("The team's database is busy")
        connection: Connected | None = None
        try:
            connection = self._connect()
            yield connection
        except psycopg.Error as error:
            raise self._translate(error) from error
        finally:
            self._room.release()
            self._give_back(connection)

    def _connect(self) -> Connected:
        """A connection that works: one that idled may have lost its server meanwhile."""
        while True:
            with self._lock:
                idled_at, connection = self._idle.pop() if self._idle else (0.0, None)
            if connection is None:
                return psycopg.connect(self.url, autocommit=True, connect_timeout=_CONNECT_S, application_name="cairn")
            if time.monotonic() - idled_at < _TRUSTED_S:
                return connection
            try:
                connection.execute("SELECT 1")
            except psycopg.Error:
                connection.close()
            else:
                return connection

    def _give_back(self, connection: Connected | None) -> None:
        if connection is None or connection.closed:
            return
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.close()
            return
        with self._lock:
            self._idle.append((time.monotonic(), connection))

    def _translate(self, error: psycopg.Error) -> CairnError:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            return CairnError(f"The team's database refused a statement: {reason}")
        self._away_until = time.monotonic() + _AWAY_S
        return RecordUnavailable(f"The team's database cannot be used: {reason}")

    @contextmanager
    def snapshot(self) -> Iterator[Connected]:
        """A transaction that reads one moment of the database, and changes nothing."""
        with self.transaction() as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield connection

    def notify(self, channel: str) -> None:
        self.execute("SELECT pg_notify(%s, '')", channel)

    def migrate(self, steps: Sequence[str]) -> int:
        """Bring the schema up to date; returns how many steps were taken."""
        with self.transaction() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
            connection.execute("CREATE TABLE IF NOT EXISTS schema_step (number integer PRIMARY KEY, taken timestamptz)")
            done = _count(connection)
        if done > len(steps):
            raise CairnError(
                f"The database has schema {done}; this version of Cairn knows {len(steps)}",
                remedy="Update Cairn on this machine.",
            )
        return sum(self._take(number, steps[number - 1]) for number in range(done + 1, len(steps) + 1))

    def _take(self, number: int, step: str) -> bool:
        """Take one step, unless another process did meanwhile."""
        with self.transaction() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
            if _count(connection) >= number:
                return False
            connection.execute(step.encode())
            connection.execute("INSERT INTO schema_step VALUES (%s, now())", (number,))
            return True


def _count(connection: Connected) -> int:
    row = connection.execute("SELECT count(*) FROM schema_step").fetchone()
    return int(row[0]) if row else 0


class Bell:
    """Wakes its waiters when a channel is notified, or after a while: a lost connection delays, and loses nothing."""

    def __init__(self, url: str, channels: Sequence[str], every: float) -> None:
        self._url, self._channels, self._every = url, channels, every
        self._rung = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="cairn-bell", daemon=True)
        self._thread.start()

    def wait(self) -> bool:
        """Wait for a ring or for the time to pass; False once it is closed."""
        self._rung.wait(self._every)
        self._rung.clear()
        return not self._closed.is_set()

    def ring(self) -> None:
        self._rung.set()

    def close(self) -> None:
        self._closed.set()
        self._rung.set()

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    def pause(self, seconds: float) -> None:
        """Wait for the time to pass, or for the end."""
        self._closed.wait(seconds)

    def _listen(self) -> None:
        while not self._closed.is_set():
            with contextlib.suppress(psycopg.Error), psycopg.connect(self._url, autocommit=True) as connection:
                for channel in self._channels:
                    connection.execute(f'LISTEN "{channel}"'.encode())
                self._rung.set()  # whatever was notified while nobody listened
                while not self._closed.is_set():
                    for _ in connection.notifies(timeout=1.0, stop_after=1):
                        self._rung.set()
            self._closed.wait(1.0)
