"""Tokens: who calls, and which repositories that caller may read or write.

    token   the name people know it by, the SHA-256 of the secret (256 random bits; the secret itself is shown once and
            kept nowhere), the globs of repository names it opens, its role, when it ends, when it was last used

A reader asks; a writer also records discoveries and indexes; an admin also adds and removes repositories, makes and
revokes tokens and reads the audit, within its globs (administration.py). A glob is matched against the whole name, `*`
within one part and `**` over all: `org/*`, `org/web-*`, `**`.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from codecairn.errors import InvalidInput
from codecairn.paths import printable
from codecairn.team.database import Database
from codecairn.team.permissions import ROLES, covers, is_repository_glob, matches_glob

PREFIX = "cairn_"
TABLES = """
CREATE TABLE token (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, hash bytea NOT NULL UNIQUE,
    globs text[] NOT NULL, role text NOT NULL, created timestamptz NOT NULL DEFAULT now(), expires timestamptz,
    last_used timestamptz
);
"""


class Caller(NamedTuple):
    """The holder of a token, as one call needs to know it."""

    id: int
    name: str
    globs: tuple[str, ...]
    role: str
    writable: tuple[str, ...] | None = None
    """The globs on which a caller of several groups may write; None where the role says it for all."""
    administered: tuple[str, ...] = ()
    """The globs whose repositories, tokens and audit are the caller's to look after."""

    def may_read(self, repository: str) -> bool:
        return any(matches_glob(repository, each) for each in self.globs)

    def may_administer(self, glob: str) -> bool:
        """Whether each repository that a glob or a name stands for is the caller's to look after."""
        return any(covers(each, glob) or ("*" not in glob and matches_glob(glob, each)) for each in self.administered)

    def may_write(self, repository: str) -> bool:
        if self.writable is not None:
            return any(matches_glob(repository, each) for each in self.writable)
        return self.role in ("writer", "admin")


class TokenRow(NamedTuple):
    name: str
    globs: list[str]
    role: str
    created: datetime
    expires: datetime | None
    last_used: datetime | None


class Tokens:
    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, name: str, globs: Iterable[str], role: str, days: float | None = None) -> str:
        """Make a token; returns the secret, which is nowhere else."""
        listed = list(globs)
        for glob in listed:
            if not is_repository_glob(glob):
                raise InvalidInput(f"Not a glob of repositories: {printable(glob)}", param="repositories")
        if not listed or role not in ROLES:
            raise InvalidInput("A token has globs of repositories and a role", param="repositories")
        secret = PREFIX + secrets.token_hex(32)
        added = self._database.execute(
            "INSERT INTO token (name, hash, globs, role, expires) VALUES (%s, %s, %s, %s, "
            "now() + make_interval(secs => %s)) ON CONFLICT (name) DO NOTHING",
            name, _digest(secret), listed, role, days * 86_400 if days is not None else None,
        )  # fmt: skip
        if not added:
            raise InvalidInput(f"There is a token named {printable(name)}", param="name", remedy="Revoke it first.")
        return secret

    def revoke(self, name: str) -> bool:
        return self._database.execute("DELETE FROM token WHERE name = %s", name) > 0

    def all(self) -> list[TokenRow]:
        rows = self._database.rows("SELECT name, globs, role, created, expires, last_used FROM token ORDER BY name")
        return [TokenRow(*row) for row in rows]

    def find(self, secret: str) -> Caller | None:
        """The caller who holds a secret; None where it is no token's, or has expired."""
        rows = self._database.rows(
            "SELECT id, name, globs, role FROM token WHERE hash = %s AND (expires IS NULL OR expires > now())",
            _digest(secret),
        )
        if not rows:
            return None
        number, name, globs, role = rows[0]
        return Caller(number, name, tuple(globs), role, administered=tuple(globs) if role == "admin" else ())

    def note_use(self, numbers: Iterable[int]) -> None:
        self._database.execute("UPDATE token SET last_used = now() WHERE id = ANY(%s)", list(numbers))


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
