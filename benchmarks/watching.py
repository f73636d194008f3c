"""From the moment a file is saved to the answer that shows it, through a running `cairn serve`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import Server, Spread, cpu_so_far_s, shown
from sources import Edits

QUIET_MS, DEBOUNCE_MS = 25.0, 100.0
"""The watcher waits until nothing has changed for the first, at most for the second."""
PATIENCE_S = 120.0


@dataclass
class Waits:
    """Repeated waits for the right answer: how long, how often it was asked for, and the CPU all of it took."""

    times: Spread = field(default_factory=Spread)
    asked: int = 0
    cpu_s: float | None = None

    def cpu_ms(self, asking: Waits) -> float | None:
        """Of the server for each wait, without what it took to ask."""
        if self.cpu_s is None or asking.cpu_s is None:
            return None
        return (self.cpu_s - asking.cpu_s * self.asked / asking.asked) * 1000 / len(self.times.values)


@dataclass
class Watched:
    """From a write to the answer that shows it, after one file and after ten, and what it costs just to ask."""

    one: Waits
    ten: Waits
    asking: Waits

    @property
    def beyond_ms(self) -> float:
        return self.one.times.median - QUIET_MS

    def row(self, name: str, waits: Waits) -> list[str]:
        beyond, cpu = shown(waits.times.median - QUIET_MS), shown(waits.cpu_ms(self.asking))
        return [name, shown(waits.times.median), shown(waits.times.p95), beyond, cpu]

    def as_json(self) -> dict[str, Any]:
        kinds = {"1": self.one, "10": self.ten}
        seen = {
            name: {**each.times.as_json(), "cpu": round(each.cpu_ms(self.asking) or 0.0, 2)}
            for name, each in kinds.items()
        }
        asking = self.asking.times.as_json()
        return {"seen_ms": seen, "asking_ms": asking, "quiet_ms": QUIET_MS, "debounce_ms": DEBOUNCE_MS}


class Asker:
    """Asks a server how its index stands until it stands right."""

    def __init__(self, server: Server, root: Path) -> None:
        self._server = server
        self._root = str(root)
        self._symbols: int | None = None
        self._asked = 0

    def after(self, edit: Callable[[], None], symbols: int, runs: int) -> Waits:
        """Time `edit`, which adds so many symbols."""
        waits, before, asked = Waits(), cpu_so_far_s(self._server.process.pid), self._asked
        for _ in range(runs):
            edit()
            began = time.perf_counter()
            self.waited(symbols)
            waits.times.values.append((time.perf_counter() - began) * 1000)
        waits.asked = self._asked - asked
        after = cpu_so_far_s(self._server.process.pid)
        waits.cpu_s = None if before is None or after is None else after - before
        return waits

    def waited(self, symbols: int = 0) -> None:
        until = time.monotonic() + PATIENCE_S
        expected = None if self._symbols is None else self._symbols + symbols
        while (found := self._fresh_symbols()) is None or expected not in (None, found):
            if time.monotonic() > until:
                sys.exit(f"not fresh with {expected} symbols after {PATIENCE_S:g} s, but {found}")
            time.sleep(0.002)
        self._symbols = found

    def _fresh_symbols(self) -> int | None:
        self._asked += 1
        value = json.loads(self._server.call("get_status", {"path": self._root}))["result"]["structuredContent"]
        metadata = value["metadata"]
        if metadata["freshness_status"] != "fresh" or metadata["indexing_status"] != "ready":
            return None
        symbols: int = value["statistics"]["total_symbols"]
        return symbols


def watched(root: Path, environment: Mapping[str, str], edits: Edits, runs: int) -> Watched:
    command = [sys.executable, "-P", "-m", "codecairn", "serve", "--log-level", "error", "--root", str(root)]
    with Server(command, root, environment) as server:
        server.initialize()
        asker = Asker(server, root)
        asker.waited()
        one = asker.after(lambda: edits.make(root, 1), 1, runs)
        ten = asker.after(lambda: edits.make(root, 10), 10, runs)
        return Watched(one, ten, asker.after(lambda: None, 0, 10 * runs))
