"""Audit: who asked which tool of which repository, when, with what outcome, and how much was answered.

    audit   one row a call and repository. The question and the answer are not kept, only the size of the answer

A row is written before the answer is sent. While the database does not answer, rows are kept in a file of the node and
written when it does.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import NamedTuple

import msgspec

from codecairn.team.database import Database, RecordUnavailable

TABLES = """
CREATE TABLE audit (
    at timestamptz NOT NULL, request text NOT NULL, token text NOT NULL, tool text NOT NULL,
    repository text NOT NULL, outcome text NOT NULL, size integer NOT NULL, node text NOT NULL
);
CREATE INDEX audit_at ON audit (at);
"""


class AuditRow(NamedTuple):
    at: str
    request: str
    token: str
    tool: str
    repository: str
    outcome: str
    size: int
    node: str


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

    def write(self, row: AuditRow) -> None:
        try:
            self._insert([row])
        except RecordUnavailable:
            self._keep(row)

    def _insert(self, rows: list[AuditRow]) -> None:
        with self._database.transaction() as connection, connection.cursor() as cursor:
            cursor.executemany("INSERT INTO audit VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", rows)

    def _keep(self, row: AuditRow) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        with self._lock, os.fdopen(os.open(self._spool, flags, 0o600), "ab") as file:
            file.write(b"\n" + msgspec.json.encode(row) + b"\n")  # the line before may have been cut
            file.flush()
            os.fsync(file.fileno())

    def flush(self) -> int:
        """Write what was kept while the database was away; a line that a crash has cut is passed over."""
        with self._lock:
            if not self._spool.exists():
                return 0
            lines = self._spool.read_bytes().split(b"\n")
            rows = [row for line in lines if (row := _decode(line)) is not None]
            self._insert(rows)
            self._spool.unlink()
            return len(rows)


def _row(line: bytes) -> AuditRow | None:
    try:
        return _decoder.decode(line)
    except msgspec.MsgspecError:
        return None
