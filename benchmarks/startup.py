"""Starting up: from the start of the process to the answer to `initialize`, and the memory it then holds.

    python benchmarks/startup.py [--runs 15] [--peer COMMAND] [--json FILE]

`cairn serve` is measured beside code-index-mcp, a server for the same clients, and a bare server of the same SDK that
has no tools: what the SDK itself costs. The peer is installed from PyPI into a temporary virtual environment unless
--peer names its command. All take turns, so that a noisy machine disturbs all alike. Exits 1 if Cairn's medians, of
time or of memory, lie above the peer's. The shell commands are measured as whole processes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import Server, Spread, milliseconds, table

PEER = "code-index-mcp"
ROOT = Path(__file__).resolve().parents[1]
CAIRN = str(Path(sys.executable).with_name("cairn"))
BARE_SERVER = """
import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def main():
    server = Server("bare")
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())

anyio.run(main)
"""


@dataclass
class Started:
    name: str
    command: list[str]
    time: Spread = field(default_factory=Spread)
    memory: Spread = field(default_factory=Spread)

    def measure(self) -> None:
        with Server(self.command, ROOT) as server:
            self.time.values.append(server.initialize())
            self.memory.values.append(server.resident_mb())

    def row(self) -> list[str]:
        return [self.name, f"{self.time.median:.0f}", f"{self.time.p95:.0f}", f"{self.memory.median:.1f}"]

    def as_json(self) -> dict[str, Any]:
        return {"ms": self.time.as_json(), "resident_mb": self.memory.as_json()}


@dataclass
class Ran:
    name: str
    command: list[str]
    time: Spread = field(default_factory=Spread)

    def measure(self) -> None:
        self.time.values.append(milliseconds(self.command, ROOT))

    def row(self) -> list[str]:
        return [self.name, f"{self.time.median:.0f}", f"{self.time.p95:.0f}", ""]

    def as_json(self) -> dict[str, Any]:
        return {"ms": self.time.as_json()}


@contextmanager
def installed_peer() -> Iterator[str]:
    """The peer's command, in an environment of its own with its bytecode compiled, as ours is."""
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(scratch, with_pip=True)
        python = Path(scratch, "Scripts" if os.name == "nt" else "bin", "python")
        quietly = ("--quiet", "--disable-pip-version-check", "--compile")
        subprocess.run([str(python), "-m", "pip", "install", *quietly, PEER], check=True)
        yield str(python.with_name(PEER))


def subjects(peer_command: str) -> list[Started | Ran]:
    return [
        Started("cairn serve", [CAIRN, "serve", "--root", str(ROOT)]),
        Started(PEER, [peer_command]),
        Started("bare server", [sys.executable, "-c", BARE_SERVER]),
        Ran("cairn call health_check", [CAIRN, "call", "health_check"]),
        Ran("cairn --help", [CAIRN, "--help"]),
        Ran("python -c pass", [sys.executable, "-c", "pass"]),
    ]


def measured(peer_command: str, runs: int) -> list[Started | Ran]:
    for each in subjects(peer_command):
        each.measure()  # once for nothing: it reads every file from the disk
    taken = subjects(peer_command)
    for _ in range(runs):
        for each in taken:
            each.measure()
    return taken


def compared(cairn: Started, peer: Started) -> bool:
    time, memory = cairn.time.median / peer.time.median, cairn.memory.median / peer.memory.median
    passes = time <= 1 and memory <= 1
    print(f"{cairn.name} / {peer.name}: time {time:.2f}, memory {memory:.2f}: {'ok' if passes else 'OVER'}")
    return passes


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--peer", metavar="COMMAND")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    # With this set neither side would keep compiled bytecode, and both would compile themselves at every start.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with nullcontext(given.peer) if given.peer else installed_peer() as command:
        taken = measured(command, given.runs)
    print(f"{given.runs} runs")
    print(table(("", "ms", "p95", "resident MB"), [each.row() for each in taken]))
    cairn, peer, _ = (each for each in taken if isinstance(each, Started))
    passes = compared(cairn, peer)
    if given.json:
        report = {each.name: each.as_json() for each in taken}
        given.json.write_text(json.dumps({**report, "passes": passes}, indent=2) + "\n")
    sys.exit(0 if passes else 1)


if __name__ == "__main__":
    main()
