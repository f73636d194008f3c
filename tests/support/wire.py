"""A JSON-RPC client that shares nothing with the product: bytes out, lines in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class LineClient:
    """Speaks to whatever reads `writes` and writes `reads`; keeps every line, parsed or not."""

    def __init__(self, reads: IO[bytes], writes: IO[bytes]) -> None:
        self.writes = writes
        self.received: list[Any] = []
        self.noise: list[bytes] = []
        self.closed = False
        self._reads = reads
        self._news = threading.Condition()
        self._next_id = 1000
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self._reads:
            with self._news:
                try:
                    self.received.append(json.loads(line))
                except ValueError:
                    self.noise.append(line)
                self._news.notify_all()
        with self._news:
            self.closed = True
            self._news.notify_all()

    def send_bytes(self, line: bytes) -> None:
        self.writes.write(line + b"\n")
        self.writes.flush()

    def send(self, message: Any) -> None:
        self.send_bytes(json.dumps(message).encode())

    def start(self, method: str, params: Any = None) -> int:
        self._next_id += 1
        message = {"jsonrpc": "2.0", "id": self._next_id, "method": method}
        self.send(message if params is None else {**message, "params": params})
        return self._next_id

    def take(self, wanted: Any, seconds: float = 30) -> Any:
        """Wait for a message that `wanted` (a predicate, or an id) accepts; it is removed from `received`."""
        accepts = (
            wanted
            if callable(wanted)
            else lambda m: isinstance(m, dict) and m.get("id") == wanted and "method" not in m
        )
        deadline = time.monotonic() + seconds
        with self._news:
            while True:
                for number, message in enumerate(self.received):
                    if accepts(message):
                        return self.received.pop(number)
                if self.closed or time.monotonic() > deadline:
                    raise AssertionError(f"no such message; have {self.received!r}, noise {self.noise!r}")
                self._news.wait(0.2)

    def request(self, method: str, params: Any = None, seconds: float = 30) -> dict[str, Any]:
        answer: dict[str, Any] = self.take(self.start(method, params), seconds)
        return answer

    def initialize(self, version: str = "2025-11-25", capabilities: Any = None) -> dict[str, Any]:
        client = {"name": "test", "version": "0"}
        answer = self.request(
            "initialize", {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": client}
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer


class ServerProcess(LineClient):
    """`cairn serve` (or another command) as a child process, spoken to over its real stdin and stdout."""

    def __init__(self, *arguments: str, folder: Path, script: Path | None = None, **environment: str) -> None:
        command = [sys.executable, str(script)] if script else [sys.executable, "-m", "codecairn"]
        env = {**os.environ, "PYTHONWARNINGS": "error", **environment}
        for steering in ("CAIRN_ROOT", "CLAUDE_PROJECT_DIR"):
            if steering not in environment:
                env.pop(steering, None)
        self.process = subprocess.Popen(
            [*command, "serve", *arguments],
            cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        super().__init__(self.process.stdout, self.process.stdin)
        self.stderr: list[str] = []
        self._drain = threading.Thread(target=self._keep_stderr, daemon=True)
        self._drain.start()

    def _keep_stderr(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.stderr.append(line.decode("utf-8", "replace"))

    def close(self, seconds: float = 10) -> int:
        """Close stdin, wait for the exit, and return its status."""
        if not self.writes.closed:
            self.writes.close()
        status = self.process.wait(seconds)
        self._drain.join(5)
        return status

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._drain.join(5)  # its workers have stderr too, and go when their stdin ends
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None and not pipe.closed:
                pipe.close()
