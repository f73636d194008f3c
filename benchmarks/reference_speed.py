"""How soon the references to random symbols of a project are found, through `cairn serve`.

Functions, methods and types are asked about by their path and line, one after the other on one connection. What counts
is the processor time that the server takes for each call, which other programs bear on little; the time on the clock
stands beside it. A call to `health_check`, which does nothing, is the floor.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from measure import Server, Spread, cpu_so_far_s
from sources import sources_in

from codecairn.parse.extract import extract
from codecairn.parse.kinds import CALLABLE, TYPES

HEAD = [
    "repository", "symbols", "references", "CPU p50 ms", "p95", "p99", "worst", "clock p50 ms", "p99", "worst",
    "floor ms", "MB",
]  # fmt: skip
_SCHEDULED = 2
"""Linux numbers the clock of another process by its id and what it counts: here the time it ran."""


def measure(server: Server, root: Path, symbols: int) -> dict[str, Any]:
    while server.value("get_status", {"path": str(root)})["metadata"]["freshness_status"] != "fresh":
        time.sleep(0.1)
    everything = list(_symbols(root))
    chosen = random.Random(1).sample(everything, min(symbols, len(everything)))
    floor = Spread([_timed(lambda: server.value("health_check", {})) for _ in range(50)])
    cpu, clock, found = Spread(), Spread(), 0
    for path, line, name in chosen:
        before, began = _cpu_s(server), time.perf_counter()
        answer = server.value("find_references", {"symbol_name": name, "path": path, "line": line})
        clock.values.append((time.perf_counter() - began) * 1000)
        cpu.values.append((_cpu_s(server) - before) * 1000)
        found += answer.get("total_references", 0)
    return {
        "repository": root.name, "symbols": len(chosen), "references": found,
        "cpu_p50_ms": round(cpu.median, 1), "cpu_p95_ms": round(cpu.p95), "cpu_p99_ms": round(cpu.share(0.99)),
        "cpu_most_ms": round(max(cpu.values)), "p50_ms": round(clock.median, 1), "p99_ms": round(clock.share(0.99)),
        "most_ms": round(max(clock.values)), "floor_ms": round(floor.median, 1), "mb": round(server.resident_mb()),
    }  # fmt: skip


def _symbols(root: Path) -> Iterator[tuple[str, int, str]]:
    """Where every function, method and type of a project is defined."""
    for source in sources_in(root):
        for symbol in extract(source.language, source.text).symbols:
            if symbol.kind in CALLABLE | TYPES:
                yield source.path, symbol.name_line, symbol.name


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


def _cpu_s(server: Server) -> float:
    """Of the server alone, as Linux counts it; elsewhere with what it started, in steps of a hundredth of a second."""
    try:
        return time.clock_gettime(~server.process.pid << 3 | _SCHEDULED)
    except (AttributeError, OSError):
        return cpu_so_far_s(server.process.pid) or 0.0
