"""A team server for tests: a real PostgreSQL, real repositories, workers and nodes in this process or as processes."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codecairn.config import Settings
from codecairn.serve.http import Address, HttpAccess
from codecairn.team.clones import Clones
from codecairn.team.node import ServingNode
from codecairn.team.record import Record
from codecairn.team.worker import TeamWorker
from tests.support.doors import Answer
from tests.support.repo import Repo
from tests.support.soak import PATIENCE
from tests.support.wait import eventually

LEASE_S = 2.0
STALL_S = 60.0
"""How long a silent node counts as living where all share one process: a machine that stalls stalls all of them."""


@dataclass
class TeamDoor:
    """POST /rpc of a node, with a token."""

    port: int
    token: str
    name: str = "team"

    def call(self, tool: str, arguments: Any = None) -> Answer:
        message = self.send("tools/call", {"name": tool, "arguments": arguments or {}})
        if "error" in message:
            fault = message["error"]
            return Answer(fault["message"], {"error": fault}, True, fault)
        result = message["result"]
        return Answer(result["content"][0]["text"], result["structuredContent"], result["isError"])

    def send(self, method: str, params: Any) -> dict[str, Any]:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        status, said = self.post("/rpc", body)
        if status == 503:  # a token that the node does not know, while nobody can be asked
            return {"error": {"code": "unavailable", "message": said, "data": {}}}
        assert status == 200, (status, said)
        answer: dict[str, Any] = json.loads(said)
        return answer

    def post(self, path: str, body: str, **headers: str) -> tuple[int, str]:
        return self.ask("POST", path, body, {"content-type": "application/json", **headers})

    def ask(self, verb: str, path: str, body: str | None, headers: dict[str, str]) -> tuple[int, str]:
        wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            authorised = {"authorization": f"Bearer {self.token}"} if self.token else {}
            wire.request(verb, path, body, {**authorised, **headers})
            answer = wire.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            wire.close()


@dataclass
class Team:
    """One database, and whoever works on it in this process."""

    url: str
    folder: Path
    record: Record
    stack: ExitStack
    repos: dict[str, Repo] = field(default_factory=dict)
    nodes: list[ServingNode] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=dict)
    """The port of each node of this process."""

    def settings(self, home: str) -> Settings:
        return Settings(data=self.folder / home, local=False)

    def repository(self, name: str, files: dict[str, str | bytes], refs: tuple[str, ...] = ()) -> Repo:
        """A repository of one commit, added to the team."""
        repo = Repo.create(self.folder / "forge" / name)
        repo.commit("first", files)
        self.repos[name] = repo
        self.add(name, refs)
        return repo

    def add(self, name: str, refs: tuple[str, ...] = ()) -> int:
        number = self.record.repositories.add(name, str(self.repos[name].path), refs)
        self.record.jobs.ask(number)
        return number

    def worker(self, home: str = "one", **given: float) -> TeamWorker:
        worker = TeamWorker(self.record, Clones(self.settings(home)), **given)
        self.stack.callback(worker.close)
        return worker

    def work(self, home: str = "one") -> None:
        """Do every job that is due."""
        worker = self.worker(home)
        while worker.work_once():
            pass
        for each in self.record.repositories.all():
            assert each.state == "ready", each

    def start_node(self, home: str = "one") -> ServingNode:
        node = ServingNode(self.record, self.settings(home), HttpAccess(Address("127.0.0.1", 0)))
        opened = threading.Event()

        def announce(port: int) -> None:
            self.ports[node.id] = port
            opened.set()

        thread = threading.Thread(target=node.serve, args=(announce,), daemon=True)
        thread.start()
        assert opened.wait(20)
        self.stack.callback(thread.join, 10)
        self.stack.callback(node.stop)
        self.nodes.append(node)
        return node

    def await_ready(self) -> None:
        """Every repository is ready, as published, on every node of its owners."""
        eventually(self._is_ready, 60 * PATIENCE)
        for node in self.nodes:
            node.directory.refresh()

    def _is_ready(self) -> bool:
        living, replicas = self.record.nodes.living(), self.record.nodes.replicas()
        for each in self.record.repositories.all():
            wanted = min(2, len(living))
            fresh = [node for node, generation in replicas.get(each.id, {}).items() if generation == each.generation]
            if len(set(fresh) & {node.id for node in living}) < wanted:
                return False
        return bool(living)

    def token(self, name: str = "ada", *globs: str, role: str = "writer") -> str:
        return self.record.tokens.create(name, globs or ["**"], role)

    def door(self, token: str, node: ServingNode | None = None) -> TeamDoor:
        chosen = node or self.nodes[0]
        return TeamDoor(self.ports[chosen.id], token)


@contextmanager
def open_team(url: str, folder: Path, alive_s: float = STALL_S) -> Iterator[Team]:
    with ExitStack() as stack:
        record = Record(url, LEASE_S, alive_s)
        stack.callback(record.close)
        record.migrate()
        yield Team(url, folder, record, stack)


class TeamProcess:
    """A node or a worker as a process, to be killed."""

    def __init__(self, kind: str, url: str, home: Path) -> None:
        self.kind = kind
        where = ["--http", "127.0.0.1:0"] if kind == "node" else ["--lease", str(LEASE_S)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "codecairn", "team", kind, "--database", url, "--log-level", "warning", *where],
            env={**os.environ, "CAIRN_HOME": str(home), "PYTHONFAULTHANDLER": "1"}, stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stderr is not None
        line = next((line for line in self.process.stderr if line.startswith("cairn: team")), "")
        assert line, "it did not start"
        self.port = int(line.rpartition(":")[2].partition("/")[0]) if kind == "node" else 0
        self._said: deque[str] = deque(maxlen=400)
        self._hearing = threading.Thread(target=self._said.extend, args=(self.process.stderr,), daemon=True)
        self._hearing.start()

    def last_words(self) -> str:
        """What it logged last, and what each of its threads is doing; it ends with that."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGABRT)
            self.process.wait()
        self._hearing.join(5)
        return "".join(self._said)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill()
        if self.process.stderr is not None:
            self.process.stderr.close()
