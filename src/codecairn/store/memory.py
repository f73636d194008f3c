"""memory.db: what people and agents recorded about a project. It is migrated, never rebuilt.

    usage        how often each instruction was used, and when last
    shown        how many connections each instruction was shown to unasked, and when last
    discovery    what was learnt of the project, and what of it each is about (discoveries.py)
    revision     one number, raised with every change of a discovery
    session      what one connection did, in one stretch (sessions.py)
    access       which file was opened when, and by which tool; as much as boosts and ages are told from
    link         other projects that are searched along with this one (links.py)

SQLite in WAL mode: any number of processes read and write one file, a write is atomic, and what a call has answered
survives the end of the process. `PRAGMA data_version` tells whether another process has written since.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from codecairn.errors import CairnError

_BUSY_MS = 10_000
_GLANCE_S = 0.01
NOTE_PATIENCE_S = 2.0
"""For what is noted beside a call: rather lost than waited for."""


Connection = sqlite3.Connection


@dataclass(frozen=True)
class Usage:
    count: int
    last_used: str


def _create_usage(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE usage (id TEXT PRIMARY KEY, count INTEGER NOT NULL, last_used TEXT NOT NULL)")


def _create_discovery(database: sqlite3.Connection) -> None:
    database.execute(
        "CREATE TABLE discovery (id TEXT PRIMARY KEY, type TEXT NOT NULL, content TEXT NOT NULL, module TEXT, "
        "session TEXT, created TEXT NOT NULL, updated TEXT NOT NULL, path TEXT, symbol TEXT, name TEXT, kind TEXT, "
        "stable_id TEXT, content_hash BLOB, origin TEXT, revision INTEGER NOT NULL)"
    )
    database.execute("CREATE INDEX discovery_about ON discovery (path, symbol)")
    database.execute("CREATE TABLE revision (number INTEGER NOT NULL)")
    database.execute("INSERT INTO revision VALUES (0)")


def _create_session(database: sqlite3.Connection) -> None:
    database.execute(
        "CREATE TABLE session (id TEXT PRIMARY KEY, began REAL NOT NULL, active REAL NOT NULL, ended REAL, "
        "tools TEXT NOT NULL, files TEXT NOT NULL, queries TEXT NOT NULL)"
    )
    database.execute("CREATE INDEX session_active ON session (active)")
    database.execute("CREATE TABLE access (path TEXT NOT NULL, at REAL NOT NULL, tool TEXT NOT NULL, session TEXT)")
    database.execute("CREATE INDEX access_path ON access (path, at)")
    database.execute("CREATE INDEX access_at ON access (at)")


def _create_link(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE link (root TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, linked TEXT NOT NULL)")


def _create_shown(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE shown (id TEXT PRIMARY KEY, count INTEGER NOT NULL, last_used TEXT NOT NULL)")


def _create_outbox(database: sqlite3.Connection) -> None:
    database.execute(
        "CREATE TABLE outbox (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, "
        "id TEXT NOT NULL, at TEXT NOT NULL, line TEXT NOT NULL, refused TEXT NOT NULL DEFAULT '')"
    )
    database.execute("CREATE TABLE shared (id TEXT PRIMARY KEY)")
    database.execute("CREATE TABLE team_read (number INTEGER NOT NULL, mark TEXT NOT NULL, repository TEXT NOT NULL)")
    database.execute("INSERT INTO team_read VALUES (0, '', '')")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    _create_usage, _create_discovery, _create_session, _create_link, _create_shown, _create_outbox,
)  # fmt: skip
"""Numbered by position; appended to, never edited."""


def _post_nothing(database: sqlite3.Connection) -> None:
    """Nobody else is told."""


class Memory:
    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._usage: dict[str, Usage] = {}
        self._shown: dict[str, Usage] = {}
        self._seen: int | None = None
        self._path = path
        with self._translating():
            self._open()

    def _open(self) -> None:
        self._database = sqlite3.connect(
            self._path, timeout=_BUSY_MS / 1000, isolation_level=None, check_same_thread=False
        )
        _prepare(self._database)
        self._file = _identity(self._path)

    def _current(self) -> sqlite3.Connection:
        """The database at the path: one that was deleted or replaced since would take what is written with it."""
        if _identity(self._path) != self._file:
            self._database.close()
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._seen = None
            self._open()
        return self._database

    def track(self, identity: str, now: str, post: Callable[[sqlite3.Connection], None] = _post_nothing) -> Usage:
        """Count one use, in one statement, so that no two processes can lose one between them. `post` writes with it
        what is to be told elsewhere."""
        statement = (
            "INSERT INTO usage (id, count, last_used) VALUES (?, 1, ?) "
            "ON CONFLICT (id) DO UPDATE SET count = count + 1, last_used = max(last_used, excluded.last_used) "
            "RETURNING count, last_used"
        )
        with self.writing() as database:
            ((count, last_used),) = database.execute(statement, (identity, now)).fetchall()
            post(database)
            self._usage = {**self._usage, identity: Usage(count, last_used)}
            return self._usage[identity]

    def set_usage(self, counts: Iterable[tuple[str, int, str]]) -> None:
        """Take counts that are kept elsewhere, for many machines."""
        with self.writing() as database:
            database.executemany("INSERT OR REPLACE INTO usage (id, count, last_used) VALUES (?, ?, ?)", list(counts))
        self._seen = None

    def forget_counts(self) -> None:
        """Counts were written beside this module: they are read again."""
        self._seen = None

    def usage(self) -> dict[str, Usage]:
        """Every count; the dict is never changed after it is returned."""
        with self.reading() as database:
            self._catch_up(database)
            return self._usage

    def shown(self) -> dict[str, Usage]:
        """Every count of instructions that were shown; the dict is never changed after it is returned."""
        with self.reading() as database:
            self._catch_up(database)
            return self._shown

    def _catch_up(self, database: sqlite3.Connection) -> None:
        version = database.execute("PRAGMA data_version").fetchone()[0]
        if version != self._seen:
            self._usage, self._shown = (_counts(database, table) for table in ("usage", "shown"))
            self._seen = version

    def note_shown(self, identities: Sequence[str], now: str) -> None:
        """Count each as shown once more."""
        statement = (
            "INSERT INTO shown (id, count, last_used) VALUES (?, 1, ?) "
            "ON CONFLICT (id) DO UPDATE SET count = count + 1, last_used = max(last_used, excluded.last_used)"
        )
        with self.writing(NOTE_PATIENCE_S) as database:
            database.executemany(statement, [(each, now) for each in identities])
            self._seen = None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The database to ask; one thread at a time."""
        with self._lock, self._translating():
            yield self._current()

    @contextmanager
    def writing(self, patience_s: float | None = None) -> Iterator[sqlite3.Connection]:
        """The database to change: all that is done inside holds, or none of it. While another process writes, this
        one's readers need not wait, too."""
        deadline = time.monotonic() + (_BUSY_MS / 1000 if patience_s is None else patience_s)
        while True:
            with self.reading() as database:
                if _begin_writing(database, is_last=time.monotonic() >= deadline):
                    is_done = False
                    try:
                        yield database
                        is_done = True
                    finally:
                        database.execute("COMMIT" if is_done else "ROLLBACK")
                    return
            time.sleep(_GLANCE_S)

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if isinstance(error, sqlite3.OperationalError) and _is_busy(error):
                raise CairnError(
                    f"Another program writes the memory of this project and does not end: {error}",
                    remedy=f"Call again in a moment, or see which program has {self._path} open.",
                ) from error
            ways = "restore it from a backup, free the disk, or move it aside to start afresh"
            raise CairnError(
                f"The memory of this project cannot be used: {error}", remedy=f"Look at {self._path}: {ways}."
            ) from error

    def close(self) -> None:
        with self._lock:  # closing frees statements that another thread may be in
            self._database.close()

    def __del__(self) -> None:
        if hasattr(self, "_database"):
            self.close()


def _counts(database: sqlite3.Connection, table: str) -> dict[str, Usage]:
    rows = database.execute(f"SELECT id, count, last_used FROM {table}").fetchall()  # noqa: S608 - a name of ours
    return {identity: Usage(count, last) for identity, count, last in rows}


def _is_busy(error: sqlite3.OperationalError) -> bool:
    """Whether another process has the database, for whatever of the reasons that SQLite tells apart."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def _begin_writing(database: sqlite3.Connection, *, is_last: bool) -> bool:
    """Begin a transaction at once; False where another process has one. The last try raises then."""
    database.execute("PRAGMA busy_timeout = 0")
    try:
        database.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if is_last or not _is_busy(error):
            raise
        return False
    finally:
        database.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    return True


def _prepare(database: sqlite3.Connection) -> None:
    """Bring the file up to date; one that is so already is not written to, and may be read-only."""
    database.execute("PRAGMA synchronous = NORMAL")
    if database.execute("PRAGMA user_version").fetchone()[0] != len(MIGRATIONS):
        _enter_wal_mode(database)
        _migrate(database)


def _enter_wal_mode(database: sqlite3.Connection) -> None:
    """SQLite does not wait for a lock here as it does elsewhere, and several servers may start at one moment."""
    deadline = time.monotonic() + _BUSY_MS / 1000
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _migrate(database: sqlite3.Connection) -> None:
    database.execute("BEGIN IMMEDIATE")
    try:
        done = database.execute("PRAGMA user_version").fetchone()[0]
        if done > len(MIGRATIONS):
            raise sqlite3.DatabaseError(f"written by a newer version (schema {done})")
        for migration in MIGRATIONS[done:]:
            migration(database)
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    except sqlite3.Error:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file lies at a path; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
