"""File versions, by key.

    file_version   the key (store/file_version.py: a hash of path, content and reader) and the version itself, as the
                   workers of the local index send it: MessagePack, compressed. A key is written once and never changes
    holding        the versions that the published refs of a repository name, and whether each was read for a branch
                   alone. A token may take by key what the repositories that it may read hold

The table grows with distinct versions, not with branches or clones. A version that nothing holds is collected a day
after a publication last asked for it; the foreign key keeps a publication from naming one that is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from codecairn.store.file_version import FileVersion, pack_version, unpack_version
from codecairn.team.database import Connected, Database
from codecairn.team_wire import SentVersion

TABLES = """
CREATE TABLE file_version (
    key bigint PRIMARY KEY, content bytea NOT NULL, asked_for timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE file_version ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE TABLE holding (
    repository bigint NOT NULL REFERENCES repository ON DELETE CASCADE, version bigint NOT NULL REFERENCES file_version,
    on_branch boolean NOT NULL, PRIMARY KEY (repository, version)
);
CREATE INDEX holding_version ON holding (version);
"""
_AT_ONCE = 200
"""Versions of one statement: some 3 MB."""


class Versions:
    def __init__(self, database: Database) -> None:
        self._database = database

    def lacking(self, keys: Sequence[int]) -> list[int]:
        """The keys that the record does not have. The others count as asked for, and stay for a day."""
        known = self._database.rows(
            "UPDATE file_version SET asked_for = now() WHERE key = ANY(%s) RETURNING key", list(keys)
        )
        return sorted(set(keys) - {row[0] for row in known})

    def put(self, versions: Sequence[FileVersion]) -> None:
        with self._database.transaction() as connection, connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO file_version (key, content) VALUES (%s, %s) "
                "ON CONFLICT (key) DO UPDATE SET asked_for = now()",
                [(each.id, pack_version(each)) for each in sorted(versions, key=lambda each: each.id)],
            )

    def keys_of(self, repository: int) -> dict[int, bool]:
        """The keys that a repository holds, and whether each is a branch's alone."""
        return dict(self._database.rows("SELECT version, on_branch FROM holding WHERE repository = %s", repository))

    def take(self, keys: Mapping[int, bool]) -> Iterator[list[FileVersion]]:
        """The versions of these keys, some at a time; one that is gone by now is left out."""
        listed = sorted(keys)
        for start in range(0, len(listed), _AT_ONCE):
            part = listed[start : start + _AT_ONCE]
            found = self._database.rows("SELECT content FROM file_version WHERE key = ANY(%s)", part)
            versions = [unpack_version(content) for (content,) in found]
            yield [msgspec.structs.replace(each, on_branch=keys[each.id]) for each in versions]

    def held(self, keys: Sequence[int], repositories: Sequence[int]) -> list[SentVersion]:
        """The versions of these keys that one of these repositories holds, as they are kept."""
        rows = self._database.rows(
            "SELECT key, on_branch, content FROM file_version JOIN "
            "(SELECT version, bool_and(on_branch) AS on_branch FROM holding "
            "WHERE version = ANY(%s) AND repository = ANY(%s) GROUP BY version) AS named ON version = key",
            list(keys), list(repositories),
        )  # fmt: skip
        return [SentVersion(*row) for row in rows]

    def collect(self) -> int:
        """Forget versions that nothing holds and nobody asked for in a day."""
        return self._database.execute(
            "DELETE FROM file_version WHERE asked_for < now() - interval '1 day' "
            "AND NOT EXISTS (SELECT 1 FROM holding WHERE holding.version = file_version.key)"
        )

    def size(self) -> int:
        ((size,),) = self._database.rows("SELECT pg_total_relation_size('file_version')")
        return int(size)


def hold(connection: Connected, repository: int, keys: Mapping[int, bool]) -> None:
    """These versions, and no others, are the repository's. What it holds already is not written again."""
    rows = connection.execute("SELECT version, on_branch FROM holding WHERE repository = %s", (repository,)).fetchall()
    held: dict[int, bool] = dict(rows)
    gone = sorted(held.keys() - keys.keys())
    other = sorted(key for key, on_branch in keys.items() if held.get(key) != on_branch)
    if gone:
        connection.execute("DELETE FROM holding WHERE repository = %s AND version = ANY(%s)", (repository, gone))
    if other:
        connection.execute(
            "INSERT INTO holding (repository, version, on_branch) SELECT %s, * FROM unnest(%s::bigint[], "
            "%s::boolean[]) ON CONFLICT (repository, version) DO UPDATE SET on_branch = excluded.on_branch",
            (repository, other, [keys[each] for each in other]),
        )
