"""The record: one handle for every table, and the steps of the schema."""

from __future__ import annotations

import secrets
from functools import cached_property

from codecairn.team import audit, jobs, nodes, notebook, page_sessions, repositories, tokens, versions
from codecairn.team.database import Database
from codecairn.team.jobs import Jobs
from codecairn.team.nodes import Nodes
from codecairn.team.notebook import Notebook
from codecairn.team.repositories import Repositories
from codecairn.team.tokens import Tokens
from codecairn.team.versions import Versions

STEPS: tuple[str, ...] = (
    repositories.TABLES + versions.TABLES + jobs.TABLES + nodes.TABLES + tokens.TABLES,
    notebook.TABLES + audit.TABLES,
    "CREATE TABLE secret (name text PRIMARY KEY, value text NOT NULL);",
    notebook.DELIVERY,
    page_sessions.TABLES + audit.SINCE,
    repositories.PUSHED,
)
"""Numbered by position; appended to, never edited. `secret` holds keys that machines share."""


class Record:
    def __init__(self, url: str, lease_s: float = jobs.LEASE_S, alive_s: float = nodes.ALIVE_S) -> None:
        self.database = Database(url)
        self.repositories = Repositories(self.database)
        self.versions = Versions(self.database)
        self.jobs = Jobs(self.database, lease_s)
        self.nodes = Nodes(self.database, alive_s)
        self.tokens = Tokens(self.database)
        self.notebook = Notebook(self.database)

    def migrate(self) -> int:
        return self.database.migrate(STEPS)

    @cached_property
    def node_secret(self) -> str:
        """The key by which nodes know each other's requests."""
        return self._secret("node")

    @cached_property
    def webhook_secret(self) -> str:
        """The key by which nodes know the messages of forges."""
        return self._secret("webhook")

    def _secret(self, name: str) -> str:
        """A key that all machines share, made by the first that asks."""
        self.database.execute("INSERT INTO secret VALUES (%s, %s) ON CONFLICT DO NOTHING", name, secrets.token_hex(32))
        ((value,),) = self.database.rows("SELECT value FROM secret WHERE name = %s", name)
        return str(value)

    def close(self) -> None:
        self.database.close()
