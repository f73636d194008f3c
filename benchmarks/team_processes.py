"""The processes of a team server for `team.py`: nodes and a worker, each with a data directory of its own, and `cairn
serve` beside them, all asked over POST /rpc on loopback."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import cpu_so_far_s, memory_kb

from codecairn.team.record import Record

CAIRN = [sys.executable, "-P", "-m", "codecairn"]
_PATIENCE_S = 3600.0


@dataclass
class Subject:
    """One repository: on the forge, and as a clone on this machine."""

    name: str
    forge: Path
    clone: Path
    lines: int = 0
    queries: list[str] = field(default_factory=list)


class Rpc:
    """A connection that is kept, as clients keep theirs."""

    def __init__(self, port: int, token: str = "") -> None:
        self._wire = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The value; an error of any kind is raised."""
        answer = self.ask(tool, arguments)
        if "error" in answer or answer["result"]["isError"]:
            raise RuntimeError(f"{tool} {arguments}: {str(answer)[:500]}")
        value: dict[str, Any] = answer["result"]["structuredContent"]
        return value

    def ask(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        try:
            return self._send(json.dumps(asked))
        except (ConnectionError, http.client.HTTPException):  # the server closes a connection that is idle for 5 s
            self._wire.close()
            return self._send(json.dumps(asked))

    def _send(self, body: str) -> dict[str, Any]:
        self._wire.request("POST", "/rpc", body, self._headers)
        answer: dict[str, Any] = json.loads(self._wire.getresponse().read())
        return answer


@dataclass
class Asked:
    """A server that is asked, and the processes that work for it."""

    rpc: Rpc
    processes: list[subprocess.Popen[str]]

    def search(self, arguments: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        """Milliseconds, and the value."""
        began = time.perf_counter()
        value = self.rpc.call("search_code", arguments)
        return (time.perf_counter() - began) * 1000, value

    def cpu_ms(self) -> float:
        return sum(cpu_so_far_s(each.pid) or 0.0 for each in self.processes) * 1000


@contextmanager
def process(arguments: list[str], home: Path, sign: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A cairn with this data directory, and the line in which it said that it has begun."""
    started = subprocess.Popen(
        [*CAIRN, *arguments], env={**os.environ, "CAIRN_HOME": str(home)}, stderr=subprocess.PIPE, text=True
    )
    try:
        assert started.stderr is not None
        said = next(line for line in started.stderr if sign in line)
        threading.Thread(target=started.stderr.read, daemon=True).start()
        yield started, said
    finally:
        started.terminate()
        started.wait(30)


def port_in(said: str) -> int:
    return int(re.findall(r":(\d+)", said)[-1])


@contextmanager
def local_server(folder: Path, subjects: Sequence[Subject]) -> Iterator[Asked]:
    roots = [word for each in subjects for word in ("--root", str(each.clone))]
    with process(["serve", "--http", "127.0.0.1:0", *roots], folder / "local", "serving") as (served, said):
        yield Asked(Rpc(port_in(said)), [served])


@dataclass
class TeamProcesses:
    record: Record
    token: str
    nodes: list[subprocess.Popen[str]]
    ports: list[int]
    worker: subprocess.Popen[str] | None = None

    @property
    def rpc(self) -> Rpc:
        return Rpc(self.ports[0], self.token)

    def cpu_s(self) -> list[float]:
        """Of the worker, if there is one, and of each node."""
        return [cpu_so_far_s(each.pid) or 0.0 for each in ([self.worker] if self.worker else []) + self.nodes]

    def resident_mb(self) -> list[float]:
        return [memory_kb(each.pid)[0] / 1024 for each in self.nodes]

    def await_ready(self, count: int) -> float:
        """Wait until each of so many repositories is ready, as published, on every node that it belongs to."""
        return wait(lambda: self._is_ready(count))

    def _is_ready(self, count: int) -> bool:
        known, living = self.record.repositories.all(), {each.id for each in self.record.nodes.living()}
        wrong = [f"{each.name}: {each.reason}" for each in known if each.state in ("failing", "quarantined")]
        if wrong:
            raise RuntimeError(f"not indexed: {wrong}")
        replicas, copies = self.record.nodes.replicas(), min(2, len(self.nodes))
        held = [(each.generation, replicas.get(each.id, {})) for each in known if each.generation]
        ready = [sum(nodes[node] == published for node in living & nodes.keys()) for published, nodes in held]
        return len(ready) == count and min(ready) >= copies

    def database_mb(self) -> float:
        ((size,),) = self.record.database.rows("SELECT pg_database_size(current_database())")
        return float(size) / 1e6


@contextmanager
def team_processes(url: str, homes: Sequence[Path], worker: Path | None) -> Iterator[TeamProcesses]:
    """A node for each home, which several may share, and a worker, where it has one."""
    record = Record(url)
    record.migrate()
    serving = ["--database", url, "--log-level", "warning"]
    with ExitStack() as stack:
        stack.callback(record.close)
        record.tokens.revoke("benchmark")
        token = record.tokens.create("benchmark", ["**"], "writer")
        command = ["team", "node", "--http", "127.0.0.1:0", *serving]
        started = [stack.enter_context(process(command, home, "node at")) for home in homes]
        work = stack.enter_context(process(["team", "work", *serving], worker, "team worker"))[0] if worker else None
        nodes, ports = [each for each, _ in started], [port_in(said) for _, said in started]
        yield TeamProcesses(record, token, nodes, ports, work)


def wait(is_so: Callable[[], bool], every_s: float = 0.2) -> float:
    began = time.perf_counter()
    while not is_so():
        if time.perf_counter() - began > _PATIENCE_S:
            raise TimeoutError
        time.sleep(every_s)
    return time.perf_counter() - began
