"""A node as one object: its record, its replicas and its door; `serve` runs it until a signal."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import secrets
import socket
from collections.abc import Callable
from dataclasses import replace

import uvicorn

from codecairn import __version__
from codecairn.cache import widen
from codecairn.config import Settings, data_folder
from codecairn.errors import CairnError
from codecairn.serve.http import Address, HttpAccess
from codecairn.serve.slow_senders import TimedProtocol
from codecairn.store import folders
from codecairn.team.administration import Administration
from codecairn.team.archives import Archives
from codecairn.team.audit import Audit
from codecairn.team.clones import Clones
from codecairn.team.directory import Directory
from codecairn.team.door import NodeHealth, TeamService, app
from codecairn.team.laptops import Laptops
from codecairn.team.nodes import TeamNode
from codecairn.team.offered_tools import inner_registry, offer
from codecairn.team.page_answers import PageAnswers
from codecairn.team.page_sessions import TeamSessions
from codecairn.team.pages import TeamSite
from codecairn.team.peers import Peers
from codecairn.team.record import Record
from codecairn.team.replication import Replicas, Replication
from codecairn.team.service import TeamAnswers

log = logging.getLogger("codecairn.team")

_WIDER = {
    "search.columns": 8, "search.files": 8, "search.vectors": 128, "search.frequencies": 16, "search.extents": 4,
    "search.rankings": 4,
}  # fmt: skip
"""Caches that are measured for one project, and how much wider they are where hundreds are searched: some 10 million
lines are then kept as searches read them, in at most 600 MB. (Vectors are mapped: their weight is no memory.)"""
_FILES_OPEN = 16_384


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
        self.service.administration = Administration(record, self.answers, self._audit)
        self.service.laptops = Laptops(self.answers, self.directory, record, self.replicas.clones)
        self.replication: Replication | None = None
        self._server: uvicorn.Server | None = None

    def begin(self, port: int) -> None:
        """The port is open: from now on others may be told."""
        url = self._url or f"http://{_reachable(self._access.address)}:{port}"
        self.directory.own = TeamNode(self.id, url, __version__)
        self.replication = Replication(self.id, url, self._record, self.replicas, self.directory, self._audit)
        self.replication.on_ready = self.answers.prepare
        with contextlib.suppress(CairnError):  # without the record it starts all the same, and says so
            self.directory.refresh()
        self.replication.start()

    def serve(self, announce: Callable[[int], None]) -> None:
        """Serve until a signal, or `stop`; `announce` is told the port."""
        _allow_files(_FILES_OPEN)

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
        health = NodeHealth(
            self.directory, self.id, lambda: len(self.replicas.ready), self._record.jobs.depth, self._lag
        )
        door = app(self.service, self._access, self.directory, self._record, health, self._site())
        # Without proxy_headers the peer is who connected, not who a header says it was.
        return uvicorn.Config(
            door, host=self._access.address.host, port=self._access.address.port, log_config=None, access_log=False,
            server_header=False, timeout_graceful_shutdown=2, proxy_headers=False, http=TimedProtocol,
        )  # fmt: skip

    def _lag(self) -> tuple[int, float]:
        followed = self.replication
        return (followed.followed, followed.lag_s) if followed is not None else (0, 0.0)

    def _site(self) -> TeamSite:
        """The pages. Their cookie has the same name on every node, and another beside another team's."""
        name = hashlib.sha256(f"page {self._record.node_secret}".encode()).hexdigest()[:10]
        asked = PageAnswers(self.answers, self.directory, self.replicas, self._record, self._audit)
        return TeamSite(self.service, asked, TeamSessions(self._record.database), f"cairn-{name}")

    def close(self) -> None:
        if self.replication is not None:
            self.replication.close()
        self.answers.close()


def widen_caches() -> None:
    """Make room for many repositories; once a process."""
    from codecairn.rank import columns  # noqa: PLC0415 - numpy, for who serves
    from codecairn.store import vectors  # noqa: PLC0415

    del columns, vectors  # their caches are known now
    widen(_WIDER)


def _allow_files(count: int) -> None:
    """Let this process have so many files open, as far as its limits allow; Windows has none to be raised."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 - not on Windows

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = count if hard == resource.RLIM_INFINITY else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


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
