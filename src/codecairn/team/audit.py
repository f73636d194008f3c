"""Audit: who asked which tool of which repository, when, with what outcome, and how much was answered.

    audit   one row a call and repository. The question and the answer are not kept, only the size of the answer.
            `token` is the caller's name for people, which a holder of an OpenID token may have chosen; `caller` is the
            number that nobody chooses. Rows of older nodes have neither it nor `ms` and `door`

A row is written before the answer is sent; those of calls that end at the same time are written together, since each
commit waits for the disk. While the database does not answer, rows are kept in a file of the node and written when it
does.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from codecairn.store.writer_lock import WriterLock
from codecairn.team.database import Database, RecordUnavailable

TABLES = """
CREATE TABLE audit (
    at timestamptz NOT NULL, request text NOT NULL, token text NOT NULL, tool text NOT NULL,
    repository text NOT NULL, outcome text NOT NULL, size integer NOT NULL, node text NOT NULL
);
CREATE INDEX audit_at ON audit (at);
"""
_LOCK_PATIENCE_S = 5.0
SINCE = "ALTER TABLE audit ADD caller bigint, ADD ms real, ADD door text;"


class AuditRow(NamedTuple):
    at: str
    request: str
    token: str
    tool: str
    repository: str
    outcome: str
    size: int
    node: str
    caller: int = 0
    ms: float = 0.0
    door: str = ""


_KINDS = ("timestamptz", "text", "text", "text", "text", "text", "integer", "text", "bigint", "real", "text")
_INSERT = (
    f"INSERT INTO audit ({', '.join(AuditRow._fields)}) "  # noqa: S608 - names of columns
    f"SELECT * FROM unnest({', '.join(f'%s::{kind}[]' for kind in _KINDS)})"
)
_decoder = msgspec.json.Decoder(AuditRow)


def _decode(line: bytes) -> AuditRow | None:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


class Audit:
    def __init__(self, database: Database, spool: Path) -> None:
        self._database = database
        self._spool = spool
        self._lock = threading.Lock()
        self._others = WriterLock(spool.with_suffix(".lock"))
        """Held by whoever reads or writes the file: several nodes of one machine may share it."""
        self._waiting: list[AuditRow] = []
        self._room, self._turn = threading.Lock(), threading.Lock()

    def write(self, row: AuditRow) -> None:
        """Write a row, with all that wait; whoever had the turn before may have written it meanwhile."""
        with self._room:
            self._waiting.append(row)
        with self._turn:
            with self._room:
                rows, self._waiting = self._waiting, []
            self._write(rows)

    def _write(self, rows: list[AuditRow]) -> None:
        try:
            self._insert(rows)
        except RecordUnavailable:
            self._keep(rows)

    def _insert(self, rows: list[AuditRow]) -> None:
        if rows:
            self._database.execute(_INSERT, *map(list, zip(*rows, strict=True)))

    def _keep(self, rows: list[AuditRow]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        with self._alone(), os.fdopen(os.open(self._spool, flags, 0o600), "ab") as file:
            for row in rows:
                file.write(b"\n" + msgspec.json.encode(row) + b"\n")  # the line before may have been cut
            file.flush()
            os.fsync(file.fileno())

    def rows(self, since: str, most: int) -> list[AuditRow]:
        """The latest rows since a moment, newest first."""
        found = self._database.rows(
            "SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), request, token, tool, "
            "repository, outcome, size, node, coalesce(caller, 0), coalesce(ms, 0), coalesce(door, '') "
            "FROM audit WHERE at >= %s::timestamptz ORDER BY at DESC LIMIT %s",
            since, most,
        )  # fmt: skip
        return [AuditRow(*row) for row in found]

    def flush(self) -> int:
        """Write what was kept while the database was away; a line that a crash has cut is passed over."""
        if not self._spool.exists():
            return 0
        with self._alone():
            lines = self._spool.read_bytes().split(b"\n") if self._spool.exists() else []
            rows = [row for line in lines if (row := _decode(line)) is not None]
            self._insert(rows)
            self._spool.unlink(missing_ok=True)
            return len(rows)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock, self._others.holding("audit", patience=_LOCK_PATIENCE_S):
            yield
