"""The record in one file, without the programs of a PostgreSQL: written from a running server, read into an empty one.

    a zstd stream with a checksum, of
    one line of JSON        the format, the number of schema steps, the version of Cairn, the time
    for each table          a line of JSON with its name; then parts of COPY's text, each after its length in four
                            bytes; then a length of nothing
    one line of JSON        how many rows each table had: whoever reaches it has read everything

All tables are read in one snapshot, so the file is as consistent as a dump of `pg_dump`. Heartbeats and replicas are
left out: they belong to the nodes that ran. Everything is written in one transaction, each table after those that it
refers to. The file holds the hashes of tokens and the keys that machines share: only its owner may read it.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from graphlib import TopologicalSorter
from pathlib import Path
from typing import IO, Any, NamedTuple

import zstandard

from codecairn import __version__
from codecairn.clock import iso_seconds
from codecairn.errors import CairnError, InvalidInput
from codecairn.paths import printable
from codecairn.team.database import Connected, Database

FORMAT = 1
_LEFT_OUT = frozenset({"schema_step", "node", "replica"})
_LENGTH = struct.Struct(">I")
_LONGEST_LINE, _LONGEST_PART = 1 << 20, 1 << 27
_TABLES = """
SELECT c.relname, coalesce(array_agg(f.relname) FILTER (WHERE f.relname <> c.relname), '{}')
FROM pg_class c LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'f'
LEFT JOIN pg_class f ON f.oid = k.confrelid
WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace GROUP BY c.relname
"""
_IDENTITIES = "SELECT table_name, column_name FROM information_schema.columns WHERE is_identity = 'YES'"


class Backup(NamedTuple):
    created: str
    rows: Mapping[str, int]


def export_record(database: Database, path: Path) -> Backup:
    """Write everything that is to be kept into a file."""
    created, rows = iso_seconds(), dict[str, int]()
    with _new_file(path) as file, database.snapshot() as connection:
        ((steps,),) = connection.execute("SELECT count(*) FROM schema_step").fetchall()
        _write_line(file, {"format": FORMAT, "steps": steps, "product": __version__, "created": created})
        for table in _tables(connection):
            _write_line(file, {"table": table})
            rows[table] = _copy_out(connection, table, file)
            file.write(_LENGTH.pack(0))
        _write_line(file, {"rows": rows})
    return Backup(created, rows)


@contextmanager
def _new_file(path: Path) -> Iterator[IO[bytes]]:
    """A compressed file under its name once it is whole and on the disk."""
    partial = path.with_name(f"{path.name}.partial")
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(partial, flags, 0o600), "wb") as file:
            with compressor.stream_writer(file, closefd=False) as stream:
                yield stream
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise CairnError(f"{printable(str(path))} cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


def _tables(connection: Connected) -> list[str]:
    """Every table that is kept, each after those it refers to."""
    found: dict[str, list[str]] = dict(connection.execute(_TABLES).fetchall())
    return [name for name in TopologicalSorter(found).static_order() if name not in _LEFT_OUT]


def _copy_out(connection: Connected, table: str, file: IO[bytes]) -> int:
    with connection.cursor() as cursor:
        with cursor.copy(f'COPY "{table}" TO STDOUT'.encode()) as copy:
            for part in copy:
                file.write(_LENGTH.pack(len(part)))
                file.write(part)
        return cursor.rowcount


def import_record(database: Database, path: Path, steps: tuple[str, ...]) -> Backup:
    """Read a file into an empty database, whose schema is first that of the file and then today's."""
    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            header = _header(stream, len(steps))
            _check_empty(database, header["steps"])
            database.migrate(steps[: header["steps"]])
            rows = _load(database, stream)
    except (OSError, zstandard.ZstdError) as error:
        raise _refusal(f"it cannot be read: {error}") from error
    database.migrate(steps)
    return Backup(str(header["created"]), rows)


def _header(stream: IO[bytes], known: int) -> dict[str, Any]:
    header = _read_line(stream)
    if header.get("format") != FORMAT or not isinstance(header.get("steps"), int):
        raise _refusal("it was not written by `cairn team export`, or by a later one")
    if header["steps"] > known:
        raise _refusal(f"it is of Cairn {header.get('product')}, which is newer than this one")
    return header


def _check_empty(database: Database, steps: int) -> None:
    """Nothing is mixed: what is there already would be somebody's."""
    names = {row[0] for row in database.rows("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")}
    if not names:
        return
    taken = database.rows("SELECT count(*) FROM schema_step") if "schema_step" in names else [(-1,)]
    held = [each for each in ("repository", "token") if each in names]
    used = [each for each in held if database.rows(f"SELECT 1 FROM {each} LIMIT 1")]  # noqa: S608 - our own names
    if used or taken[0][0] != steps:
        remedy = "Make a new one (createdb), and give it as --database."
        raise InvalidInput("The database is not empty", param="database", remedy=remedy)


def _load(database: Database, stream: IO[bytes]) -> dict[str, int]:
    rows: dict[str, int] = {}
    with database.transaction() as connection:
        known = set(_tables(connection))
        connection.execute("DELETE FROM secret")  # whoever started a process has made keys; those of the file count
        while "table" in (line := _read_line(stream)):
            if line["table"] not in known:
                raise _refusal(f"it has a table {printable(str(line['table']))}")
            rows[line["table"]] = _copy_in(connection, line["table"], _parts(stream))
        if line.get("rows") != rows:
            raise _refusal("it has other rows than it says")
        for table, column in connection.execute(_IDENTITIES).fetchall():
            connection.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), "  # noqa: S608 - from the catalogue
                f"coalesce(max({column}), 1)) FROM {table}".encode()
            )
    return rows


def _copy_in(connection: Connected, table: str, parts: Iterable[bytes]) -> int:
    with connection.cursor() as cursor:
        with cursor.copy(f'COPY "{table}" FROM STDIN'.encode()) as copy:
            for part in parts:
                copy.write(part)
        return cursor.rowcount


def _parts(stream: IO[bytes]) -> Iterator[bytes]:
    while size := _LENGTH.unpack(_read(stream, _LENGTH.size))[0]:
        if size > _LONGEST_PART:
            raise _refusal("a part of it is too long")
        yield _read(stream, size)


def _write_line(stream: IO[bytes], value: Mapping[str, Any]) -> None:
    stream.write(json.dumps(value).encode() + b"\n")


def _read_line(stream: IO[bytes]) -> dict[str, Any]:
    line = bytearray()
    while not line.endswith(b"\n"):
        line += _read(stream, 1)
        if len(line) > _LONGEST_LINE:
            raise _refusal("it was not written by `cairn team export`")
    try:
        value: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise _refusal("it was not written by `cairn team export`") from error
    return value


def _read(stream: IO[bytes], size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = stream.read(size - len(parts))
        if not part:
            raise _refusal("it is cut off")
        parts += part
    return bytes(parts)


def _refusal(why: str) -> InvalidInput:
    return InvalidInput(f"Not a backup that can be used: {why}", param="file", remedy="Nothing was changed.")
