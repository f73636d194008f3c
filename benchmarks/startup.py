"""Starting up: from the start of the process to the answers to `initialize` and `tools/list`, and the memory held.

    python benchmarks/startup.py [--runs 15] [--peer COMMAND] [--json FILE]

`cairn serve` is measured beside code-index-mcp, a server for the same clients, and a bare server of the same SDK that
has no tools: what the SDK itself costs. The peer is installed from PyPI into a temporary virtual environment unless
--peer names its command. All take turns, so that a noisy machine disturbs all alike. Memory is told at the answer to
`tools/list`, and once the process rests: what it imports meanwhile is in the second. Cairn indexes nothing here, as the
peer does not. Exits 1 if Cairn's medians lie above their share of the peer's. The shell commands are measured as whole
processes; `cairn search` looks in an index of this repository that is made beforehand.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import Server, Spread, cpu_so_far_s, milliseconds, table

PEER = "code-index-mcp"
ROOT = Path(__file__).resolve().parents[1]
CAIRN = str(Path(sys.executable).with_name("cairn"))
REST_S = 0.5
SHARES = (("time", "initialize", 0.5), ("listed", "tools/list", 1.0), ("memory", "memory at tools/list", 0.9))
"""Of the peer's medians."""
SEARCH_MS = 250.0
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
    listed: Spread = field(default_factory=Spread)
    memory: Spread = field(default_factory=Spread)
    resting: Spread = field(default_factory=Spread)

    def measure(self) -> None:
        with Server(self.command, ROOT) as server:
            self.time.values.append(server.initialize())
            server.request("tools/list", {})
            self.listed.values.append((time.perf_counter() - server.began) * 1000)
            self.memory.values.append(server.resident_mb())
            wait_for_rest(server)
            self.resting.values.append(server.resident_mb())

    def row(self) -> list[str]:
        times = [f"{value:.0f}" for value in (self.time.median, self.time.p95, self.listed.median)]
        return [self.name, *times, f"{self.memory.median:.1f}", f"{self.resting.median:.1f}"]

    def as_json(self) -> dict[str, Any]:
        return {
            "ms": self.time.as_json(), "tools_list_ms": self.listed.as_json(),
            "resident_mb": self.memory.as_json(), "resting_mb": self.resting.as_json(),
        }  # fmt: skip


def wait_for_rest(server: Server) -> None:
    """Until no processor time is used for a while."""
    before = None
    while (spent := cpu_so_far_s(server.process.pid)) is not None and spent != before:
        before = spent
        time.sleep(REST_S)


@dataclass
class Ran:
    name: str
    command: list[str]
    time: Spread = field(default_factory=Spread)

    def measure(self) -> None:
        self.time.values.append(milliseconds(self.command, ROOT))

    def row(self) -> list[str]:
        return [self.name, f"{self.time.median:.0f}", f"{self.time.p95:.0f}", "", "", ""]

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
        Started("cairn serve", [CAIRN, "serve", "--no-index", "--root", str(ROOT)]),
        Started(PEER, [peer_command]),
        Started("bare server", [sys.executable, "-c", BARE_SERVER]),
        Ran("cairn search", [CAIRN, "search", "--root", str(ROOT), "where is the handshake answered"]),
        Ran("cairn call health_check", [CAIRN, "call", "health_check"]),
        Ran("cairn --help", [CAIRN, "--help"]),
        Ran("python -c pass", [sys.executable, "-c", "pass"]),
    ]


def measured(peer_command: str, runs: int) -> list[Started | Ran]:
    subprocess.run([CAIRN, "index", str(ROOT)], check=True, capture_output=True)
    for each in subjects(peer_command):
        each.measure()  # once for nothing: it reads every file from the disk
    taken = subjects(peer_command)
    for _ in range(runs):
        for each in taken:
            each.measure()
    return taken


def compared(cairn: Started, peer: Started) -> bool:
    """Whether each figure of Cairn's is within its share of the peer's."""
    passes = True
    for figure, name, most in SHARES:
        share = getattr(cairn, figure).median / getattr(peer, figure).median
        passes &= share <= most
        print(f"{name}: {share:.2f} x {peer.name} (at most {most}): {'ok' if share <= most else 'OVER'}")
    return passes


def searches(taken: list[Started | Ran]) -> bool:
    """Whether a search as a process of its own takes little more than a process that does nothing."""
    times = {each.name: each.time.median for each in taken}
    more = times["cairn search"] - times["python -c pass"]
    print(f"cairn search: {more:.0f} ms more than python -c pass (at most {SEARCH_MS:.0f}): "
          f"{'ok' if more <= SEARCH_MS else 'OVER'}")  # fmt: skip
    return more <= SEARCH_MS


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
    print(table(("", "ms", "p95", "tools/list ms", "MB then", "MB at rest"), [each.row() for each in taken]))
    cairn, peer, _ = (each for each in taken if isinstance(each, Started))
    passes = all([compared(cairn, peer), searches(taken)])
    if given.json:
        report = {each.name: each.as_json() for each in taken}
        given.json.write_text(json.dumps({**report, "passes": passes}, indent=2) + "\n")
    sys.exit(0 if passes else 1)


if __name__ == "__main__":
    main()
