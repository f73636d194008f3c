"""Whether a server's memory stays where it is: a seeded mix of every tool, resource and prompt, on a real repository.

    python benchmarks/memory_growth.py REPOSITORY [--calls 20000] [--every 1000] [--at-once 4] [--seed 1] [--json FILE]

A clone of the repository is served over stdio and asked about its own words, names, files and commits, some calls at a
time; every two hundred calls a file is edited, so that generations of the index come and go. Resident and proportional
memory are read from /proc (Linux) or ps, and the caches from metrics_snapshot. Memory is flat where the last figure is
within five per cent of the one after 5,000 calls. A call that a rate limit refuses is not counted.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import Server, cairn, markdown, memory_kb, shown
from sources import Edits, sources_in

_SETTLED = 5_000
_FLAT = 0.05
_EDIT_EVERY = 200
_MOST_COMMITS = 400
_COMPARED_COMMITS = 24
"""Each is indexed when it is first compared, which takes seconds; the pairs among them are hundreds."""
_REFS = ("HEAD~30", "HEAD~90", "HEAD~200")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{3,30}")
Asked = tuple[str, dict[str, Any]]


@dataclass
class Material:
    """What a repository is asked about."""

    root: Path
    words: list[str]
    names: list[str]
    paths: list[str]
    folders: list[str]
    commits: list[str]
    discoveries: list[str] = field(default_factory=list)


def material(root: Path) -> Material:
    sources = list(sources_in(root))
    words = sorted({word.decode() for each in sources for word in _WORD.findall(each.text)})
    names = sorted({name for each in sources for name in _names(each.text)})
    paths = [each.path for each in sources]
    folders = sorted({str(Path(path).parent) for path in paths})
    listed = subprocess.run(
        ["git", "rev-list", "--first-parent", f"--max-count={_MOST_COMMITS}", "HEAD"],
        cwd=root, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return Material(root, words, names, paths, folders, listed.stdout.split())


def _names(text: bytes) -> list[str]:
    defined = re.findall(rb"\b(?:def|class|func|function|fn|type|struct)\s+(?:\([^)]*\)\s*)?([A-Za-z_]\w+)", text)
    return [each.decode() for each in defined]


class Mix:
    """Calls drawn by weight: the tools an agent uses most come most often, and none is left out."""

    def __init__(self, about: Material, seed: int) -> None:
        self._about = about
        self._random = random.Random(seed)
        self._kinds: list[tuple[int, Callable[[], Asked]]] = [
            (14, self._search), (12, self._references), (6, self._call_graph), (12, self._symbol), (14, self._outline),
            (10, self._read), (3, self._grep), (3, self._log), (3, self._blame), (4, self._diff), (2, self._compare),
            (4, self._context), (6, self._remember), (5, self._forget), (1, self._pack), (2, self._explain),
            (2, self._refs), (6, self._instructions), (2, self._resource), (1, self._prompt), (4, self._status),
        ]  # fmt: skip

    def next(self) -> Asked:
        (draw,) = self._random.choices([each for _, each in self._kinds], [weight for weight, _ in self._kinds])
        return draw()

    def _of(self, values: list[str]) -> str:
        return self._random.choice(values)

    def _question(self) -> str:
        return " ".join(self._of(self._about.words) for _ in range(self._random.randint(1, 6)))

    def _at_ref(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {**arguments, "ref": self._of(list(_REFS))} if self._random.random() < 0.2 else arguments

    def _search(self) -> Asked:
        mode = self._of(["hybrid", "hybrid", "keyword"])
        asked = {"path": str(self._about.root), "query": self._question(), "search_mode": mode}
        return "search_code", self._at_ref(asked)

    def _references(self) -> Asked:
        return "find_references", self._at_ref({"symbol_name": self._of(self._about.names)})

    def _call_graph(self) -> Asked:
        asked = {"symbol_name": self._of(self._about.names), "depth": self._random.randint(1, 3)}
        return "get_call_graph", self._at_ref(asked)

    def _symbol(self) -> Asked:
        return "find_symbol", self._at_ref({"symbol_name": self._of(self._about.names)})

    def _outline(self) -> Asked:
        pool = self._about.paths if self._random.random() < 0.8 else self._about.folders
        return "get_file_outline", self._at_ref({"path": self._of(pool)})

    def _read(self) -> Asked:
        return "read_file", self._at_ref({"path": self._of(self._about.paths), "includeDeps": True})

    def _grep(self) -> Asked:
        return "grep_codebase", self._at_ref({"pattern": rf"\b{self._of(self._about.words)}\b"})

    def _log(self) -> Asked:
        return "git_log", {"filePath": self._of(self._about.paths), "maxCount": 20}

    def _blame(self) -> Asked:
        return "git_blame", {"filePath": self._of(self._about.paths), "startLine": 1, "endLine": 40}

    def _diff(self) -> Asked:
        at = self._random.randrange(len(self._about.commits) - 1)
        return "git_diff", {"ref1": self._about.commits[at + 1], "ref2": self._about.commits[at]}

    def _compare(self) -> Asked:
        after, before = sorted(self._random.sample(range(_COMPARED_COMMITS), 2))
        return "diff_context", {"base_ref": self._about.commits[before], "head_ref": self._about.commits[after]}

    def _context(self) -> Asked:
        return "context_search", {"query": self._question()}

    def _remember(self) -> Asked:
        kind = self._of(["decision", "rule", "pattern", "issue"])
        return "remember", {"type": kind, "content": f"Mind {self._question()}", "path": self._of(self._about.paths)}

    def _forget(self) -> Asked:
        known = self._about.discoveries
        return ("forget", {"id": known.pop(self._random.randrange(len(known)))}) if known else self._remember()

    def _pack(self) -> Asked:
        return "build_context_pack", {"task": self._question(), "max_tokens": 4000}

    def _explain(self) -> Asked:
        place = {"result_path": self._of(self._about.paths), "result_line_start": self._random.randint(1, 100)}
        return "explain_ranking", {"query": self._question(), **place}

    def _refs(self) -> Asked:
        return "list_refs", {}

    def _status(self) -> Asked:
        return self._random.choice([("get_status", {"path": str(self._about.root)}), ("health_check", {})])

    def _instructions(self) -> Asked:
        search = ("instructions_search", {"q": self._question()})
        return self._random.choice([("instructions_list", {}), search, ("usage_hotset", {}), ("integrity_verify", {})])

    def _resource(self) -> Asked:
        folder = Path(self._of(self._about.folders)).name or "."
        uri = self._of(["context://project/overview", "context://sessions/recent", f"context://module/{folder}"])
        return "resources/read", {"uri": uri}

    def _prompt(self) -> Asked:
        return "prompts/get", {"name": "onboard", "arguments": {}}


@dataclass
class Row:
    calls: int
    rss_mb: float
    pss_mb: float | None
    caches_mb: float | None
    seconds: float


class Trial:
    def __init__(self, server: Server, about: Material, seed: int, at_once: int) -> None:
        self._server, self._about, self._mix, self._at_once = server, about, Mix(about, seed), at_once
        self._edits = Edits(list(sources_in(about.root)))
        self._began = time.perf_counter()
        self.done = 0
        self.outcomes: Counter[str] = Counter()
        self.times: dict[str, list[float]] = {}

    def go_on(self, until: int) -> None:
        while self.done < until:
            before = self.done
            asked = [self._mix.next() for _ in range(self._at_once)]
            for (name, _), answer, took in zip(asked, *self._answers(asked), strict=True):
                self._count(name, answer, took)
            if before // _EDIT_EVERY != self.done // _EDIT_EVERY:
                self._edits.make(self._about.root, 1)

    def _answers(self, asked: list[Asked]) -> tuple[list[dict[str, Any]], list[float]]:
        began = time.perf_counter()
        ids = [self._server.send(*_method(each)) for each in asked]
        found: dict[int, dict[str, Any]] = {}
        times: dict[int, float] = {}
        while len(found) < len(ids):
            message = self._server.receive()
            if message.get("id") in ids and "method" not in message:
                found[message["id"]], times[message["id"]] = message, time.perf_counter() - began
        return [found[each] for each in ids], [times[each] for each in ids]

    def _count(self, name: str, answer: dict[str, Any], took: float) -> None:
        result = answer.get("result") or {}
        if "RATE_LIMIT" in json.dumps(answer)[:400].upper().replace(" ", "_"):
            self.outcomes["refused by a rate limit"] += 1
            return
        self.done += 1
        self.times.setdefault(name, []).append(took * 1000)
        self.outcomes["an error" if "error" in answer or result.get("isError") else "an answer"] += 1
        if name == "remember" and (kept := (result.get("structuredContent") or {}).get("discovery")):
            self._about.discoveries.append(kept["id"])

    def row(self) -> Row:
        rss, pss = memory_kb(self._server.process.pid)
        rss_mb = rss / 1024 if rss else self._server.resident_mb()
        caches = caches_of(self._server)
        held = sum(each["bytes"] for each in caches) / 2**20 if caches else None
        return Row(self.done, rss_mb, pss / 1024 if pss else None, held, time.perf_counter() - self._began)


def _method(asked: Asked) -> Asked:
    name, arguments = asked
    return asked if "/" in name else ("tools/call", {"name": name, "arguments": arguments})


def caches_of(server: Server) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.value("metrics_snapshot", {}).get("caches", [])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=1_000)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cairn-bench-", ignore_cleanup_errors=True) as folder:
        root = Path(folder).resolve() / "clone"
        subprocess.run(["git", "clone", "--quiet", str(options.repository.resolve()), str(root)], check=True)
        with cairn(root, Path(folder) / "home") as server:
            server.initialize()
            server.value("index_codebase", {"path": str(root)})
            for ref in _REFS:
                server.value("index_codebase", {"path": str(root), "ref": ref})
            return _tried(Trial(server, material(root), options.seed, options.at_once), server, options)


def _tried(trial: Trial, server: Server, options: argparse.Namespace) -> int:
    rows = [trial.row()]
    _say(rows[0])
    while trial.done < options.calls:
        trial.go_on(min(options.calls, trial.done + options.every))
        rows.append(trial.row())
        _say(rows[-1])
    caches = caches_of(server)
    print(f"\n{dict(trial.outcomes)}\n")
    cells = [[each["name"], *(shown(each[key] / 2**20) for key in ("bytes", "mostBytes"))] for each in caches]
    print(markdown(["cache", "MB", "at most"], cells) if caches else "no caches are named")
    if options.json:
        found = {"rows": [vars(each) for each in rows], "caches": caches, "times": trial.times}
        options.json.write_text(json.dumps(found))
    settled = next((each for each in rows if each.calls >= _SETTLED), rows[-1])
    growth = rows[-1].rss_mb / settled.rss_mb - 1
    print(f"\nfrom call {settled.calls:,} to call {rows[-1].calls:,}: {growth:+.1%}")
    return int(growth > _FLAT)


def _say(row: Row) -> None:
    figures = f"RSS {shown(row.rss_mb)} MB  PSS {shown(row.pss_mb)} MB  caches {shown(row.caches_mb)} MB"
    print(f"{row.calls:>8,} calls  {figures}  {row.seconds:,.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
