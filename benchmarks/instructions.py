"""How fast instructions/search answers over catalogues of 100, 1,000 and 5,000 entries, through `cairn serve` on stdio.

    python benchmarks/instructions.py [--runs 200] [--json FILE]

Every kind of query is asked as a bare method and timed from the first byte sent to the last received:

few        a handful of entries match; the bar (p95 of 10 ms at 5,000 entries) is for these
projected  the same, with only id and title wanted
none       nothing matches, so that every title and body is searched to its end
many       every entry matches and comes back whole
edited     as few, with a file of the catalogue rewritten in place before each call
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import Server, Spread, table

SIZES = (100, 1_000, 5_000)
BAR_MS, BAR_SIZE = 10.0, 5_000
WARM_UP_RUNS = 5
HITS = 5
WORDS = (
    "always", "never", "review", "deploy", "branch", "commit", "release", "token", "secret", "schema", "migrate",
    "index", "cache", "retry", "timeout", "error", "handler", "test", "fixture", "module", "package", "import",
    "public", "private", "value", "frozen", "thread", "process", "lock", "signal", "socket", "request", "response",
    "header", "cookie", "session", "login", "audit", "metric", "trace", "span", "budget", "latency",
)  # fmt: skip


@dataclass
class Case:
    size: int
    name: str
    hits: int
    times: Spread = field(default_factory=Spread)

    @property
    def passes(self) -> bool:
        return self.name != "few" or self.size != BAR_SIZE or self.times.p95 <= BAR_MS

    def row(self) -> list[str]:
        figures = (self.times.median, self.times.p95, max(self.times.values))
        return [f"{self.size:,} entries, {self.name}", f"{self.hits:,}", *(f"{each:.2f}" for each in figures)]

    def as_json(self) -> dict[str, Any]:
        return {
            "entries": self.size, "case": self.name, "hits": self.hits, "median": round(self.times.median, 2),
            "p95": round(self.times.p95, 2), "max": round(max(self.times.values), 2), "runs": len(self.times.values),
        }  # fmt: skip


def entry(number: int, chance: random.Random) -> dict[str, Any]:
    """About 900 characters of body, as long as a real rule; every HITS-th share a rare word."""
    body = " ".join(chance.choices(WORDS, k=130))
    return {
        "id": f"rule-{number:05}", "title": f"Rule {number} about {chance.choice(WORDS)}",
        "body": f"{body}\n\nSee also group{number // HITS:05}.", "priority": 1 + number % 100, "audience": "all",
        "requirement": "recommended", "categories": [chance.choice(WORDS)], "schemaVersion": "1",
        "createdAt": "2025-01-01T00:00:00Z", "updatedAt": "2025-01-01T00:00:00Z",
    }  # fmt: skip


def write(folder: Path, size: int) -> list[Path]:
    chance = random.Random(size)
    paths = [folder / f"rule-{number:05}.json" for number in range(size)]
    folder.mkdir(parents=True)
    for number, path in enumerate(paths):
        path.write_text(json.dumps(entry(number, chance)))
    return paths


def queries(size: int) -> Iterator[tuple[Case, Callable[[int], dict[str, Any]]]]:
    def few(run: int) -> dict[str, Any]:
        return {"q": f"group{run % (size // HITS):05}"}

    yield Case(size, "few", HITS), few
    yield Case(size, "projected", HITS), lambda run: {**few(run), "fields": ["id", "title"]}
    yield Case(size, "none", 0), lambda run: {"q": f"no such words {run}"}
    yield Case(size, "many", size), lambda _: {"q": "rule"}
    yield Case(size, "edited", HITS), few


def measure(server: Server, paths: list[Path], runs: int) -> Iterator[Case]:
    for case, query in queries(len(paths)):
        for run in range(-WARM_UP_RUNS, runs):
            if case.name == "edited":
                path = paths[run % len(paths)]
                path.write_text(path.read_text() + " ")
            began = time.perf_counter()
            answer = server.request("instructions/search", query(run))
            elapsed = (time.perf_counter() - began) * 1000
            found = json.loads(answer)["result"]["count"]
            if found != case.hits:
                sys.exit(f"{case.name}: {found} found instead of {case.hits}")
            if run >= 0:
                case.times.values.append(elapsed)
        yield case


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    cases: list[Case] = []
    for size in SIZES:
        with tempfile.TemporaryDirectory() as scratch:
            os.environ["CAIRN_HOME"] = str(Path(scratch, "home"))
            paths = write(Path(scratch, "project", "instructions"), size)
            root = Path(scratch, "project")
            command = [sys.executable, "-P", "-m", "codecairn", "serve", "--log-level", "error", "--root", str(root)]
            with Server(command, root) as server:
                cases += measure(server, paths, given.runs)
    print(f"instructions/search, {given.runs} runs each, milliseconds; bar: p95 of few at 5,000 within {BAR_MS:g}")
    print(table(("case", "hits", "median", "p95", "max"), [case.row() for case in cases]))
    if given.json:
        given.json.write_text(
            json.dumps({"bar_ms": BAR_MS, "cases": [case.as_json() for case in cases]}, indent=2) + "\n"
        )
    sys.exit(0 if all(case.passes for case in cases) else 1)


if __name__ == "__main__":
    main()
