"""What the benchmarks share: a server spoken to over raw pipes, and the spread of repeated timings."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Spread:
    """Repeated measurements of one thing, in the order they were taken."""

    values: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def p95(self) -> float:
        return sorted(self.values)[min(len(self.values) - 1, int(len(self.values) * 0.95))]

    def as_json(self) -> dict[str, float]:
        return {"median": round(self.median, 2), "p95": round(self.p95, 2), "runs": len(self.values)}


class Server:
    """An MCP server as a child process: one JSON line out, one JSON line back, nothing in between."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._id = 0

    def initialize(self) -> float:
        """Shake hands; the milliseconds from the start of the process to the answer."""
        client = {"name": "benchmark", "version": "0"}
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        elapsed = (time.perf_counter() - self.began) * 1000
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return elapsed

    def request(self, method: str, params: dict[str, Any]) -> bytes:
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server ended: {self.process.args!r}")
        return line

    def call(self, tool: str, arguments: dict[str, Any]) -> bytes:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def resident_mb(self) -> float:
        listed = subprocess.run(["ps", "-o", "rss=", "-p", str(self.process.pid)], capture_output=True, check=True)
        return int(listed.stdout) / 1024

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def milliseconds(command: Sequence[str], folder: Path) -> float:
    """One whole run of a command, its output read and thrown away."""
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return (time.perf_counter() - began) * 1000


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns as wide as they need, the first to the left, the others to the right."""
    cells = [head, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = []
    for row in cells:
        first, *others = (
            text.ljust(w) if not n else text.rjust(w) for n, (text, w) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *others]))
    return "\n".join(lines)
