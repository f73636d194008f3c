"""What the benchmarks share: a server spoken to over raw pipes, the spread of repeated timings, and what a command
costs with every process it starts."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

_SAMPLE_S = 0.05
_CLIENT = {"name": "benchmark", "version": "0"}


@dataclass
class Spread:
    """Repeated measurements of one thing, in the order they were taken."""

    values: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def p95(self) -> float:
        return self.share(0.95)

    def share(self, part: float) -> float:
        """What so large a part of the measurements is below."""
        return sorted(self.values)[min(len(self.values) - 1, int(len(self.values) * part))]

    def as_json(self) -> dict[str, float]:
        return {"median": round(self.median, 2), "p95": round(self.p95, 2), "runs": len(self.values)}


class Server:
    """An MCP server as a child process: one JSON line out, one JSON line back, nothing in between."""

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None,
        stderr: IO[str] | int = subprocess.DEVNULL,
    ) -> None:  # fmt: skip
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        )
        self._id = 0

    def initialize(self, client: Mapping[str, str] = _CLIENT) -> float:
        """Shake hands; the milliseconds from the start of the process to the answer."""
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {**client}})
        elapsed = (time.perf_counter() - self.began) * 1000
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return elapsed

    def request(self, method: str, params: dict[str, Any]) -> bytes:
        self.send(method, params)
        return self._line()

    def send(self, method: str, params: dict[str, Any]) -> int:
        """Ask without waiting; the number that the answer will have."""
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        return self._id

    def receive(self) -> dict[str, Any]:
        """The next message, whatever it answers."""
        message: dict[str, Any] = json.loads(self._line())
        return message

    def _line(self) -> bytes:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server ended: {self.process.args!r}")
        return line

    def call(self, tool: str, arguments: dict[str, Any]) -> bytes:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def value(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The structured answer of a tool; an error ends the benchmark."""
        message = json.loads(self.call(tool, arguments))
        if "error" in message:
            raise RuntimeError(f"{tool}: {message['error']}")
        value: dict[str, Any] = message["result"]["structuredContent"]
        return value

    def resident_mb(self) -> float:
        listed = subprocess.run(["ps", "-o", "rss=", "-p", str(self.process.pid)], capture_output=True, check=True)
        return int(listed.stdout) / 1024

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """Let the server end as it does when its client goes: what it wrote is then in its place."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def cairn(root: Path, home: Path, *options: str) -> Server:
    """Our own server on a project, with a data directory of its own."""
    command = [sys.executable, "-P", "-m", "codecairn", "serve", "--root", str(root), "--log-level", "error", *options]
    return Server(command, root, {**os.environ, "CAIRN_HOME": str(home)})


@dataclass(frozen=True)
class Cost:
    """What one run of a command took, with every process it started. None is what this system does not tell."""

    output: bytes
    wall_s: float
    cpu_s: float | None
    rss_mb: float | None
    """The largest sum of resident memory; what processes share counts once for each."""
    pss_mb: float | None
    """The same with what is shared counted once in all."""


class Sampler(threading.Thread):
    """Looks at a process and its descendants, as Linux lists them in /proc, until told to stop."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._stop_asked = threading.Event()
        self._ticks: dict[int, int] = {}
        self.rss_kb = self.pss_kb = 0

    @property
    def cpu_s(self) -> float:
        """A little less than was used: what a process did after the last look at it is missing."""
        return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")

    def run(self) -> None:
        while not self._stop_asked.wait(_SAMPLE_S):
            shares = [memory_kb(pid) for pid in self._family()]
            self.rss_kb = max(self.rss_kb, sum(rss for rss, _ in shares))
            self.pss_kb = max(self.pss_kb, sum(pss for _, pss in shares))

    def stop(self) -> None:
        self._stop_asked.set()
        self.join()

    def _family(self) -> list[int]:
        family = _descendants(self._pid)
        for pid in family:
            user, system, *_ = _ticks(pid)
            self._ticks[pid] = max(self._ticks.get(pid, 0), user + system)
        return family


def _descendants(pid: int) -> list[int]:
    """A process and all below it."""
    family = [pid]
    for each in family:
        with contextlib.suppress(OSError):  # it has ended
            for thread in Path(f"/proc/{each}/task").iterdir():
                family += map(int, (thread / "children").read_text().split())
    return family


def _ticks(pid: int) -> tuple[int, ...]:
    """User and system time of a process, then of its children that have ended."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return tuple(map(int, fields[11:15]))
    return (0, 0, 0, 0)


def cpu_so_far_s(pid: int) -> float | None:
    """Of a process that still runs, with all it has started; known on Linux."""
    if not Path("/proc/self/stat").exists():
        return None
    return sum(sum(_ticks(each)) for each in _descendants(pid)) / os.sysconf("SC_CLK_TCK")


def memory_kb(pid: int) -> tuple[int, int]:
    """Resident and proportional kB of a process; nothing of one that has ended."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        sizes = {name: int(size.split()[0]) for name, _, size in (line.partition(":") for line in lines)}
        return sizes.get("Rss", 0), sizes.get("Pss", 0)
    return 0, 0


def spent(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=complaints
        )
        with _sampled(process.pid) as sampler:
            cpu_s = _waited(process)
        wall_s = time.perf_counter() - began
        if process.returncode:
            complaints.seek(0)
            raise subprocess.CalledProcessError(process.returncode, command, stderr=complaints.read())
        output.seek(0)
        if sampler is None:
            return Cost(output.read(), wall_s, cpu_s, None, None)
        cpu_s = max(cpu_s or 0.0, sampler.cpu_s)
        return Cost(output.read(), wall_s, cpu_s, sampler.rss_kb / 1024, sampler.pss_kb / 1024)


@contextlib.contextmanager
def _sampled(pid: int) -> Iterator[Sampler | None]:
    if not Path("/proc/self/smaps_rollup").exists():
        yield None
        return
    sampler = Sampler(pid)
    sampler.start()
    yield sampler
    sampler.stop()


def _waited(process: subprocess.Popen[bytes]) -> float | None:
    """The processor time of the process and of all below it that were waited for."""
    if sys.platform == "win32":
        process.wait()
        return None
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def size_mb(folder: Path) -> float:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file()) / 1e6


def shown(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.2f}" if figure < 100 else f"{figure:,.0f}"


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


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The same as a Markdown table."""
    cells = [head, *rows]
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(head))]
    rule = [("-" * width if not n else "-" * (width - 1) + ":") for n, width in enumerate(widths)]
    return "\n".join(
        "| "
        + " | ".join(t.rjust(w) if n else t.ljust(w) for n, (t, w) in enumerate(zip(row, widths, strict=True)))
        + " |"
        for row in (head, rule, *cells[1:])
    )
