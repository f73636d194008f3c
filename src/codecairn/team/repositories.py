"""Repositories and their published refs.

    repository   name (`org/repo`, the word by which callers name it), the URL it is fetched from, the globs of refs
                 that are indexed beside the default branch; `state` and `reason` say how the last job ended:
                 `new`, `ready`, `failing` (the forge does not answer, or the like: tried again, answers go on) or
                 `quarantined` (three workers died of it: an administrator takes it up again with `cairn team add`);
                 `pushed` is when the job was asked for that published last
    ref          a row is a published manifest: the commit, and the versions of the readers it was read by. The
                 paths and contents of a commit are git's to tell, the versions are in `holding` (versions.py), written
                 before this row in the same transaction. A restored backup is therefore whole

Every publication raises `generation` and notifies the channel `cairn_refs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from codecairn.errors import InvalidInput
from codecairn.paths import has_control, printable
from codecairn.team.database import Connected, Database

CHANGED = "cairn_refs"
TABLES = """
CREATE TABLE repository (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, url text NOT NULL,
    globs text[] NOT NULL DEFAULT '{}', state text NOT NULL DEFAULT 'new', reason text NOT NULL DEFAULT '',
    default_branch text NOT NULL DEFAULT '', generation bigint NOT NULL DEFAULT 0,
    added timestamptz NOT NULL DEFAULT now(), published timestamptz, looked_at timestamptz
);
CREATE TABLE ref (
    repository bigint NOT NULL REFERENCES repository ON DELETE CASCADE, name text NOT NULL, commit text NOT NULL,
    readers text NOT NULL, published timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (repository, name)
);
"""
PUSHED = "ALTER TABLE repository ADD COLUMN pushed timestamptz;"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*){1,3}")
_COLUMNS = "id, name, url, globs, state, reason, default_branch, generation"


class TeamRepository(NamedTuple):
    id: int
    name: str
    url: str
    globs: list[str]
    state: str
    reason: str
    default_branch: str
    generation: int


class PublishedRef(NamedTuple):
    name: str
    commit: str
    readers: str


def check_repository_name(name: str) -> str:
    if not _NAME.fullmatch(name) or ".." in name:
        reason = "two to four parts of letters, digits, dots, dashes and underscores, such as org/repo"
        raise InvalidInput(f"Not a repository name: {printable(name)}", param="name", reason=reason)
    return name


def name_from_url(url: str) -> str:
    """The last two parts of a URL or path, as a repository is called."""
    parts = [part for part in re.split(r"[/:\\]", url.rstrip("/\\").removesuffix(".git")) if part]
    return "/".join(parts[-2:])


def check_url(url: str) -> str:
    if url.startswith("-") or has_control(url) or "::" in url or not url.strip():
        raise InvalidInput(
            f"Not a git URL: {printable(url)}", param="url", reason="https, ssh, git, file or an absolute path"
        )
    return url


class Repositories:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, url: str, globs: Iterable[str] = ()) -> int:
        """Add a repository, or give a known one another URL and other globs; a quarantined one is taken up again."""
        check_repository_name(name)
        check_url(url)
        ((number,),) = self._database.rows(
            "INSERT INTO repository (name, url, globs) VALUES (%s, %s, %s) ON CONFLICT (name) DO UPDATE "
            "SET url = excluded.url, globs = excluded.globs, "
            "state = CASE repository.state WHEN 'quarantined' THEN 'new' ELSE repository.state END, reason = '' "
            "RETURNING id",
            name, url, list(globs),
        )  # fmt: skip
        return int(number)

    def remove(self, name: str) -> bool:
        removed = self._database.execute("DELETE FROM repository WHERE name = %s", name) > 0
        self._database.notify(CHANGED)
        return removed

    def all(self) -> list[TeamRepository]:
        return [TeamRepository(*row) for row in self._database.rows(f"SELECT {_COLUMNS} FROM repository ORDER BY name")]  # noqa: S608 - our own names

    def get(self, number: int) -> TeamRepository | None:
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM repository WHERE id = %s", number)  # noqa: S608
        return TeamRepository(*rows[0]) if rows else None

    def refs(self, number: int) -> list[PublishedRef]:
        ask = "SELECT name, commit, readers FROM ref WHERE repository = %s ORDER BY name"
        return [PublishedRef(*row) for row in self._database.rows(ask, number)]

    def since_push_s(self, number: int) -> float | None:
        """Seconds since somebody asked for the publication that is the newest; None where nobody noted it."""
        ask = "SELECT extract(epoch FROM now() - pushed)::float8 FROM repository WHERE id = %s"
        rows = self._database.rows(ask, number)
        return rows[0][0] if rows else None

    def mark(self, number: int, state: str, reason: str) -> None:
        self._database.execute("UPDATE repository SET state = %s, reason = %s WHERE id = %s", state, reason, number)


def publish_refs(connection: Connected, number: int, default: str, refs: Iterable[PublishedRef]) -> None:
    """The last write of a publication: from here on nodes know of it."""
    listed: list[Any] = list(refs)
    connection.execute("DELETE FROM ref WHERE repository = %s", (number,))
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO ref (repository, name, commit, readers) VALUES (%s, %s, %s, %s)",
            [(number, *each) for each in listed],
        )
    connection.execute(
        "UPDATE repository SET state = 'ready', reason = '', default_branch = %s, published = now(), "
        "generation = generation + 1, pushed = (SELECT asked FROM job WHERE job.repository = id) WHERE id = %s",
        (default, number),
    )
    connection.execute("SELECT pg_notify(%s, '')", (CHANGED,))
