"""Server processes under load: many calls at a time, and every death noted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswerInTime
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.doors import Answer, answer_of

LIMITS = {"context_search": 90, "read_file": 90, "grep_codebase": 55}
"""Calls a minute, a little under what a server allows one connection."""


class Died(Exception):
    """The process ended with a call in hand."""


class NoAnswer(Exception):
    """The process lives and says nothing."""


@dataclass(frozen=True)
class Memory:
    """Megabytes of one process."""

    calls: int
    rss: float
    pss: float
    anonymous: float
    caches: dict[str, float]
    """What the server says that each of its caches holds."""


@dataclass
class Server:
    """`cairn serve` over stdio; `name` tells its files apart."""

    name: str
    root: Path
    home: Path
    logs: Path
    patience_s: float
    lobby: str
    reads_only_lobby: bool
    memory: list[Memory] = field(default_factory=list)
    deaths: list[str] = field(default_factory=list)
    switches: list[tuple[float, float, str]] = field(default_factory=list)
    """When a switch_ref was sent, when it was answered, and what it switched to."""
    switching: threading.Lock = field(default_factory=threading.Lock)
    _waiting: dict[int, Future[dict[str, Any]]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _pace: dict[str, deque[float]] = field(default_factory=dict)
    _number: int = 0

    def start(self) -> None:
        log = self.logs / f"{self.name}-{len(self.deaths)}.stderr"
        command = [sys.executable, "-X", "faulthandler", "-m", "codecairn", "serve", "--log-level", "warning"]
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(
                command, cwd=self.root, env=environment(self.home), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=stderr,
            )  # fmt: skip
        self.stderr = log
        self.switches.clear()
        self._pace.clear()
        self._waiting = {}
        threading.Thread(target=self._listen, args=(self.process, self._waiting), daemon=True).start()
        client = {"name": "soak", "version": "0"}
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.call("read_file", {"path": self.lobby})

    def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        return answer_of(self.request("tools/call", {"name": tool, "arguments": arguments}))

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            self._number += 1
            number, future = self._number, Future[dict[str, Any]]()
            waiting = self._waiting
            waiting[number] = future
        try:
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return future.result(self.patience_s)
        except NoAnswerInTime as error:  # an OSError, too
            raise NoAnswer(f"{self.name}: {method}") from error
        except OSError as error:
            raise Died(self.name) from error
        finally:
            waiting.pop(number, None)

    def may(self, tool: str) -> bool:
        """Whether a call would stay under the rate limit; counted if so."""
        if tool not in LIMITS:
            return True
        now = time.monotonic()
        with self._lock:
            window = self._pace.setdefault(tool, deque())
            while window and now - window[0] > 61:
                window.popleft()
            if len(window) >= LIMITS[tool]:
                return False
            window.append(now)
            return True

    def ref_during(self, start: float, end: float) -> str | None:
        """The ref that calls without one were about; None where it is not certain."""
        current = "live"
        for sent, answered, ref in self.switches:
            if answered < start:
                current = ref
            elif sent < end:
                return None
        return current

    def revive(self, process: subprocess.Popen[bytes]) -> None:
        """Note a death and start again; only the first that learns of it does."""
        with self._lock:
            if process is not self.process:
                return
            status = process.wait(30)
            tail = self.stderr.read_text(errors="replace")[-3000:]
            self.deaths.append(f"{self.name} ended with {status}:\n{tail}")
            self.start()

    def measure(self, calls: int) -> None:
        found = memory_of(self.process.pid)
        if found:
            self.memory.append(Memory(calls, found["Rss"], found["Pss"], found["Anonymous"], self._caches()))

    def _caches(self) -> dict[str, float]:
        try:
            listed = self.call("metrics_snapshot", {}).value["caches"]
        except (Died, NoAnswer):
            return {}  # whoever calls next notes it
        return {each["name"]: each["bytes"] / 2**20 for each in listed}

    def close(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        status = self.process.wait(60)
        self.process.stdout.close()
        return status

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with self._lock:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def _listen(self, process: subprocess.Popen[bytes], waiting: dict[int, Future[dict[str, Any]]]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            message = json.loads(line)
            asked = waiting.get(message.get("id", -1)) if "method" not in message else None
            if asked is not None:
                asked.set_result(message)
        for asked in list(waiting.values()):
            if not asked.done():
                asked.set_exception(Died(self.name))


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("CAIRN_ROOT", "CLAUDE_PROJECT_DIR")}
    return {**kept, "CAIRN_HOME": str(home), "PYTHONWARNINGS": "error", "GIT_CONFIG_GLOBAL": os.devnull}


def memory_of(pid: int) -> dict[str, float]:
    """Rss, Pss and Anonymous of a process in megabytes; empty where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return {}
    fields = dict(line.split(":", 1) for line in lines)
    return {name: int(fields[name].split()[0]) / 1024 for name in ("Rss", "Pss", "Anonymous")}


def processes_of(home: Path) -> list[str]:
    """The command lines of processes that were started for a data directory; empty where the system does not tell."""
    mark = f"CAIRN_HOME={home}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (place / "environ").read_bytes().split(b"\0"):
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return found
