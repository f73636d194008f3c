"""A node as one object: its record, its replicas and its door; `serve` runs it until a signal."""

from __future__ import annotations

import logging
import secrets
import socket
from collections.abc import Callable
from dataclasses import replace

import uvicorn

from codecairn.config import Settings, data_folder
from codecairn.serve.http import Address, HttpAccess
from codecairn.serve.slow_senders import TimedProtocol
from codecairn.store import folders
from codecairn.team.archives import Archives
from codecairn.team.audit import Audit
from codecairn.team.clones import Clones
from codecairn.team.directory import Directory
from codecairn.team.door import NodeHealth, TeamService, app
from codecairn.team.offered import inner_registry, offer
from codecairn.team.peers import Peers
from codecairn.team.record import Record
from codecairn.team.replication import Replicas, Replication
from codecairn.team.service import TeamAnswers

log = logging.getLogger("codecairn.team")


class ServingNode:
    def __init__(self, record: Record, settings: Settings, access: HttpAccess, url: str | None = None) -> None:
        self.id = f"{socket.gethostname()}-{secrets.token_hex(4)}"
        self._settings = replace(settings, local=False, roots=(), env_root=None, client_dir=None)
        self._record, self._access, self._url = record, access, url
        self.directory = Directory(record)
        home = folders.make_private_folder(data_folder(settings) / "team")
        self._audit = Audit(record.database, home / "audit.spool")
        self.replicas = Replicas(Clones(self._settings), self.directory, self._settings)
        inner = inner_registry()
        self.answers = TeamAnswers(
            self.id, inner, self.directory, self.replicas, record.notebook, self._audit,
            Peers(record.node_secret), Archives(home),
        )  # fmt: skip
        self.service = TeamService(offer(inner), self.replicas)
        self.service.team = self.answers
        self.replication: Replication | None = None
        self._server: uvicorn.Server | None = None

    def begin(self, port: int) -> None:
        """The port is open: from now on others may be told."""
        url = self._url or f"http://{_reachable(self._access.address)}:{port}"
        self.replication = Replication(self.id, url, self._record, self.replicas, self.directory, self._audit)
        self.replication.start()

    def serve(self, announce: Callable[[int], None]) -> None:
        """Serve until a signal, or `stop`; `announce` is told the port."""

        def begin(port: int) -> None:
            self.begin(port)
            announce(port)

        self._server = _announcing(self._config(), begin)
        self._server.run()
        self.close()

    def stop(self) -> None:
        if self._server is not None:
            self._server.should_exit = True

    def _config(self) -> uvicorn.Config:
        health = NodeHealth(self.directory, self.id, lambda: len(self.replicas.ready), self._record.jobs.depth)
        door = app(self.service, self._access, self.directory, self._record, health)
        # Without proxy_headers the peer is who connected, not who a header says it was.
        return uvicorn.Config(
            door, host=self._access.address.host, port=self._access.address.port, log_config=None, access_log=False,
            server_header=False, timeout_graceful_shutdown=2, proxy_headers=False, http=TimedProtocol,
        )  # fmt: skip

    def close(self) -> None:
        if self.replication is not None:
            self.replication.close()
        self.answers.close()


def _announcing(config: uvicorn.Config, announce: Callable[[int], None]) -> uvicorn.Server:
    """A server that tells its port once it is open, for port 0 means any."""

    class Announced(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                announce(self.servers[0].sockets[0].getsockname()[1])

    return Announced(config)


def _reachable(address: Address) -> str:
    """The name under which other nodes reach this one."""
    if address.host in ("0.0.0.0", "::", ""):  # noqa: S104 - compared, not bound
        return socket.gethostname()
    return f"[{address.host}]" if ":" in address.host else address.host
