"""Nodes: who answers, and for what.

    node      one row a serving process: where the others reach it, its version, and a heartbeat. A node whose
              heartbeat is older than ALIVE_S is dead to the others; to itself it lives (directory.py)
    replica   which publication of a repository a node has ready (`generation` of repositories.py), and how far it has
              read that repository's memory

A repository belongs to COPIES nodes: those that rendezvous hashing names among the living. When a node dies only its
own repositories move, each to the next in its order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from blake3 import blake3

from codecairn import __version__
from codecairn.team.database import Database

CHANGED = "cairn_nodes"
HEARTBEAT_S = 1.0
ALIVE_S = 4.0
COPIES = 2
TABLES = """
CREATE TABLE node (
    id text PRIMARY KEY, url text NOT NULL, version text NOT NULL, started timestamptz NOT NULL DEFAULT now(),
    heartbeat timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE replica (
    node text NOT NULL REFERENCES node ON DELETE CASCADE,
    repository bigint NOT NULL REFERENCES repository ON DELETE CASCADE, generation bigint NOT NULL,
    PRIMARY KEY (node, repository)
);
"""


class TeamNode(NamedTuple):
    id: str
    url: str
    version: str


def owners(repository: str, nodes: Iterable[str], copies: int = COPIES) -> list[str]:
    """The nodes that a repository belongs to, the first before the second, whoever asks."""
    return sorted(nodes, key=lambda node: blake3(f"{node}\n{repository}".encode()).digest())[:copies]


class Nodes:
    def __init__(self, database: Database, alive_s: float = ALIVE_S) -> None:
        self._database = database
        self._alive_s = alive_s

    def beat(self, node: str, url: str) -> None:
        """This node is alive. One that was forgotten meanwhile is known again, with nothing ready."""
        rows = self._database.rows(
            "INSERT INTO node (id, url, version) VALUES (%s, %s, %s) ON CONFLICT (id) DO UPDATE "
            "SET heartbeat = now(), url = excluded.url RETURNING (xmax = 0)",
            node, url, __version__,
        )  # fmt: skip
        if rows and rows[0][0]:
            self._database.notify(CHANGED)

    def leave(self, node: str) -> None:
        self._database.execute("DELETE FROM node WHERE id = %s", node)
        self._database.notify(CHANGED)

    def living(self) -> list[TeamNode]:
        rows = self._database.rows(
            "SELECT id, url, version FROM node WHERE heartbeat > now() - make_interval(secs => %s) ORDER BY id",
            self._alive_s,
        )
        return [TeamNode(*row) for row in rows]

    def forget_dead(self) -> None:
        """A node that was silent for an hour is gone for good."""
        self._database.execute("DELETE FROM node WHERE heartbeat < now() - interval '1 hour'")

    def note_replica(self, node: str, repository: int, generation: int) -> None:
        self._database.execute(
            "INSERT INTO replica VALUES (%s, %s, %s) ON CONFLICT (node, repository) "
            "DO UPDATE SET generation = excluded.generation",
            node, repository, generation,
        )  # fmt: skip

    def drop_replica(self, node: str, repository: int) -> None:
        self._database.execute("DELETE FROM replica WHERE node = %s AND repository = %s", node, repository)

    def replicas(self) -> dict[int, dict[str, int]]:
        """For each repository, the nodes that have it ready and the generation each has."""
        found: dict[int, dict[str, int]] = {}
        for node, repository, generation in self._database.rows("SELECT node, repository, generation FROM replica"):
            found.setdefault(repository, {})[node] = generation
        return found
