"""How long a call goes on after it is cancelled: every tool on a real repository, at random moments.

    python benchmarks/cancelled.py REPOSITORY [--times 20] [--seed 1] [--only TOOL…]

Each call first runs to its end, to learn how long it takes; then it is cancelled that many times, at moments spread
over its course. What counts is the processor time that its thread still takes afterwards, which other programs do not
bear on, and the time until it has ended. The floor is 100 ms.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import markdown
from sources import sources_in
from tests.support.doors import service

from codecairn.connection import Connection
from codecairn.errors import CairnError
from codecairn.serve import Service
from codecairn.tools import Call

_FLOOR_MS = 100
_DEFINED = re.compile(rb"(?:def|class|func|void|fun)\s+([A-Za-z_]\w{3,40})")
_SUBJECTS = ("query", "symbol_name", "task", "pattern", "ref1")
Asked = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Outcome:
    cpu_ms: float
    wall_ms: float


class Running:
    """One call in a thread of its own."""

    def __init__(self, one: Service, tool: str, arguments: dict[str, Any]) -> None:
        self.call = Call(one.projects, Connection("benchmark"), one.registry, "memory")
        self._work: Callable[[], object] = lambda: one.registry.call(one.registry.tools[tool], self.call, arguments)
        self.spent = 0.0
        self.ended = 0.0
        self._thread = threading.Thread(target=self._run)
        self.began = time.perf_counter()
        self._thread.start()

    def _run(self) -> None:
        with contextlib.suppress(CairnError):
            self._work()
        self.spent, self.ended = time.thread_time(), time.perf_counter()

    def wait(self, seconds: float | None = None) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def cancel(self) -> Outcome | None:
        """None where the call had ended before."""
        identity = self._thread.ident
        assert identity is not None
        try:
            clock = time.pthread_getcpuclockid(identity)
            spent = time.clock_gettime(clock)
        except OSError:
            return None
        asked = time.perf_counter()
        self.call.cancel.set()
        self.wait()
        if self.ended < asked:
            return None
        return Outcome((self.spent - spent) * 1000, (self.ended - asked) * 1000)


def calls_on(root: Path) -> list[Asked]:
    """Broad questions: many words, common names, whole folders."""
    common = _common_names(root)
    words = " ".join(common)
    return [
        ("search_code", {"path": str(root), "query": words, "limit": 50}),
        ("search_code", {"path": str(root), "query": common[0], "search_mode": "hybrid"}),
        ("context_search", {"query": words}),
        ("build_context_pack", {"task": f"change {common[0]} and {common[1]}", "budget_tokens": 50_000}),
        *[("find_references", {"symbol_name": name, "limit": 1000}) for name in common[:4]],
        *[("get_call_graph", {"symbol_name": name, "depth": 5, "limit": 300}) for name in common[:4]],
        *[("find_symbol", {"symbol_name": name}) for name in common[:2]],
        ("get_file_outline", {"path": "."}),
        ("grep_codebase", {"pattern": "(a|b|c)+d.*e"}),
        ("grep_codebase", {"pattern": "e", "ref": "HEAD~3"}),
        ("git_log", {"maxCount": 100}),
        ("git_diff", {"ref1": "HEAD~40", "ref2": "HEAD"}),
        ("diff_context", {"base_ref": "HEAD~40", "head_ref": "HEAD", "limit": 200}),
        ("index_codebase", {"path": str(root), "force_reindex": True}),
        ("get_status", {"path": str(root)}),
        ("list_refs", {}),
        ("explain_ranking", {"query": words, "result_path": "README.md", "result_line_start": 1}),
    ]


def _call(one: Service) -> Call:
    return Call(one.projects, Connection("benchmark"), one.registry, "memory")


def _common_names(root: Path) -> list[str]:
    counts: Counter[str] = Counter()
    for each in sources_in(root):
        counts.update(
            name.decode() for name in re.findall(rb"(?:def|class|func|void|fun)\s+([A-Za-z_]\w{3,40})", each.text)
        )
    return [name for name, _ in counts.most_common(12)]


def measure(
    one: Service, calls: list[tuple[str, dict[str, Any]]], times: int, choice: random.Random
) -> list[list[str]]:
    rows = []
    for tool, arguments in calls:
        whole = Running(one, tool, arguments)
        whole.wait()
        took = whole.ended - whole.began
        outcomes = []
        for _ in range(times):
            running = Running(one, tool, arguments)
            if not running.wait(choice.uniform(0, took)) and (outcome := running.cancel()):
                outcomes.append(outcome)
            running.wait()
        cpu = max((each.cpu_ms for each in outcomes), default=0.0)
        wall = max((each.wall_ms for each in outcomes), default=0.0)
        about = str(
            next((v for k, v in arguments.items() if k in ("query", "symbol_name", "task", "pattern", "ref1")), "")
        )
        rows.append([tool, about[:30], f"{took * 1000:,.0f}", str(len(outcomes)), f"{cpu:,.0f}", f"{wall:,.0f}"])
        print(*rows[-1], file=sys.stderr, flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--data", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        one = service(given.repository.resolve(), data=given.data or Path(home))
        one.registry.call(one.registry.tools["index_codebase"], _call(one), {"path": str(given.repository.resolve())})
        calls = [each for each in calls_on(given.repository.resolve()) if not given.only or each[0] in given.only]
        rows = measure(one, calls, given.times, random.Random(given.seed))
        print(markdown(["tool", "about", "whole ms", "cancelled", "worst CPU ms after", "worst ms after"], rows))
        one.projects.open(given.repository.resolve()).index.close()
    return int(any(float(row[4].replace(",", "")) > _FLOOR_MS for row in rows))


if __name__ == "__main__":
    sys.exit(main())
