"""The team server on real processes: a PostgreSQL, a worker and nodes, beside `cairn serve` on clones.

    python benchmarks/team.py REPOSITORY … [--keep FOLDER] [--stages index,search,push,sizes,all,processes,load]
        [--local N] [--nodes 1] [--queries 200] [--pushes 5] [--files 20] [--processes 1,2,4] [--clients 200]
        [--seconds 60] [--json FILE]
    python benchmarks/team.py laptop REPOSITORY --symbol NAME [--rounds 3] [--json FILE]   (benchmarks/laptop.py)

Each repository (a folder or a bare one) is cloned twice: to a forge from which the team takes it, and to a working tree
that is indexed locally. With --keep everything stays in FOLDER, so that the stages of one large run may be called one
after another; the figures of stages that have run are kept there too. All through POST /rpc on loopback:

- index: processor seconds of `cairn index` on the clones, of the worker and of each node, until every repository is
  ready on a node. The worker's figure has the fetches in it, the local one has no clone in it;
- search: one-repository searches, the same queries to both, in turns, none twice, so that nothing is answered from a
  cache;
- push: from push to answer: FILES files are changed and pushed, the job is asked for as a webhook does, and the node is
  asked until a name that was pushed is found by an answer that says `fresh`;
- sizes: memory of the nodes, size of the database, and the sum of the local indexes;
- all: searches over all repositories, by one and by two processes of one data directory, after half as many that open
  what they need; and how many were not whole;
- processes: answers a second with so many serving processes of one data directory, asked by twice as many clients, and
  answers a processor second of these, which other work on the machine does not change;
- load: so many clients, mixed calls, for so many seconds: errors, memory by quarters, connections of the database.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import laptop
from measure import Spread, markdown, size_mb, spent
from team_load import load, throughput
from team_processes import CAIRN, Asked, Subject, TeamProcesses, local_server, team_processes, wait

from codecairn.team.embedded import embedded_url, stop_embedded

STAGES = ("index", "search", "push", "sizes")
_WORD = re.compile(r"[A-Za-z]{4,}")
_MOST_QUERIES = 200
_CODE = {
    ".py", ".js", ".ts", ".tsx", ".jsx", ".go", ".rs", ".c", ".h", ".cc", ".cpp", ".hpp", ".java", ".rb", ".lua",
    ".zig", ".ex", ".exs", ".php", ".kt", ".scala", ".cs", ".swift",
}  # fmt: skip


def main() -> None:
    if sys.argv[1:2] == ["laptop"]:
        laptop.main(sys.argv[2:])
        return
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that servers are ended and the folder goes
    folder = options.keep or Path(tempfile.mkdtemp(prefix="cairn-team-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        figures = _Run(folder, options).measure()
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(markdown(["", "figure"], [[name, str(value)] for name, value in figures.items()]))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--stages", default="index,search,push,sizes,all")
    parser.add_argument("--local", type=int, metavar="N", help="index so many locally, evenly chosen (default: all)")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--pushes", type=int, default=5)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--processes", default="1,2,4")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


class _Run:
    """One set of repositories in one folder; figures are written down after each stage."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder, self.options = folder, options
        self._path = folder / "figures.json"
        self.figures: dict[str, Any] = json.loads(self._path.read_text()) if self._path.exists() else {}
        self.subjects = _subjects(folder, options.repositories)
        self.lines = sum(each.lines for each in self.subjects)
        every = len(self.subjects) // options.local if options.local else 1
        self.at_home = sorted(self.subjects, key=lambda each: each.name)[:: max(1, every)][: options.local]
        self._add({"repositories": len(self.subjects), "lines": self.lines})

    def measure(self) -> dict[str, Any]:
        wanted = self.options.stages.split(",")
        if "index" in wanted and "local index CPU s" not in self.figures:
            self._add(_index_locally(self.folder, self.at_home))
        with ExitStack() as stack:
            url = embedded_url(self.folder / "database")
            stack.callback(stop_embedded, self.folder / "database")
            self._measure_stages(url, [stage for stage in STAGES if stage in wanted])
            for count in (1, 2) if "all" in wanted else ():
                self._add(self._all(url, count))
            if "processes" in wanted:
                for count in map(int, self.options.processes.split(",")):
                    self._add(self._throughput(url, count))
            if "load" in wanted:
                homes = [self.folder / "node0"] * 2
                with team_processes(url, homes, None) as team:
                    team.await_ready(len(self.subjects))
                    self._add(load(team, self.subjects, self.options.clients, self.options.seconds))
        return self.figures

    def _measure_stages(self, url: str, stages: list[str]) -> None:
        """Those that need the worker beside the nodes."""
        homes = [self.folder / f"node{at}" for at in range(self.options.nodes)]
        if stages:
            with team_processes(url, homes, self.folder / "worker") as team:
                wait(lambda: team.record.jobs.depth() == 0)  # a worker that starts looks at every repository
                for stage in stages:
                    self._add(getattr(self, f"_{stage}")(team))

    def _add(self, figures: dict[str, Any]) -> None:
        self.figures |= figures
        self._path.write_text(json.dumps(self.figures, indent=1), encoding="utf-8")
        print(f"{time.strftime('%H:%M:%S')} {figures}", file=sys.stderr)

    def _index(self, team: TeamProcesses) -> dict[str, Any]:
        """Add every repository and wait until a node has it."""
        began, before, empty = time.perf_counter(), team.cpu_s(), team.database_mb()
        known = {each.name for each in team.record.repositories.all()}
        for each in self.subjects:
            if each.name not in known:
                team.record.jobs.ask(team.record.repositories.add(each.name, f"file://{each.forge}"))
        team.await_ready(len(self.subjects))
        if known:
            return {}
        worker, *nodes = (late - early for late, early in zip(team.cpu_s(), before, strict=True))
        return {
            "until all are ready s": round(time.perf_counter() - began, 1), "worker CPU s": round(worker, 1),
            "worker CPU s a 100k lines": round(worker / self.lines * 1e5, 2),
            "nodes CPU s": ", ".join(f"{each:.1f}" for each in nodes), "empty database MB": round(empty, 1),
        }  # fmt: skip

    def _search(self, team: TeamProcesses) -> dict[str, Any]:
        team.await_ready(len(self.subjects))
        asked, count = Asked(team.rpc, team.nodes), self.options.queries
        with local_server(self.folder, self.at_home) as local:
            return _search_one(self.at_home, local, asked, count)

    def _all(self, url: str, count: int) -> dict[str, Any]:
        with team_processes(url, [self.folder / "node0"] * count, None) as team:
            team.await_ready(len(self.subjects))
            return _search_all(self.subjects, Asked(team.rpc, team.nodes), self.options.queries)

    def _push(self, team: TeamProcesses) -> dict[str, Any]:
        team.await_ready(len(self.subjects))
        return _push(self.folder, self.subjects, team, self.options)

    def _sizes(self, team: TeamProcesses) -> dict[str, Any]:
        team.await_ready(len(self.subjects))
        size, empty = team.database_mb(), self.figures.get("empty database MB", 8.0)
        indexes = size_mb(self.folder / "node0/indexes")
        return {
            "database MB": round(size, 1), "indexes of a node MB": round(indexes, 1),
            "growth / indexes": round((size - empty) / indexes, 2),
            "nodes resident MB": ", ".join(f"{each:.0f}" for each in team.resident_mb()),
        }  # fmt: skip

    def _throughput(self, url: str, count: int) -> dict[str, Any]:
        with team_processes(url, [self.folder / "node0"] * count, None) as team:
            team.await_ready(len(self.subjects))
            return throughput(team, self.subjects, min(self.options.seconds, 20.0))


def _subjects(folder: Path, paths: list[Path]) -> list[Subject]:
    """The repositories, cloned; a folder that is kept has them from the first run."""
    known = folder / "subjects.json"
    if known.exists():
        rows = json.loads(known.read_text(encoding="utf-8"))
        return [Subject(**{**row, "forge": Path(row["forge"]), "clone": Path(row["clone"])}) for row in rows]
    found = [_subject(folder, path.resolve()) for path in paths]
    known.write_text(json.dumps([asdict(each) for each in found], default=str), encoding="utf-8")
    return found


def _subject(folder: Path, path: Path) -> Subject:
    name = path.parent.name if path.name in ("repo", "repo.git") else path.name.removesuffix(".git")
    name = re.sub(r"[^\w.-]", "-", name)
    forge, clone = folder / "forge" / f"{name}.git", folder / "clones" / name
    _git(folder, "clone", "--quiet", "--bare", "--single-branch", "--no-tags", f"file://{path}", str(forge))
    _git(folder, "clone", "--quiet", str(forge), str(clone))
    texts = [text for each in _code_files(clone) if (text := each.read_text(encoding="utf-8", errors="replace"))]
    return Subject(f"org/{name}", forge, clone, sum(text.count("\n") for text in texts), _queries(texts))


def _git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Benchmark", "-c", "user.email=benchmark@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def _code_files(clone: Path) -> list[Path]:
    return [each for each in sorted(clone.rglob("*")) if each.suffix in _CODE and each.is_file()]


def _queries(texts: list[str]) -> list[str]:
    """Phrases of one to five words that stand next to each other, the same for every run."""
    chooser, found = random.Random(7), dict[str, None]()
    for _ in range(_MOST_QUERIES):
        words = _WORD.findall(chooser.choice(texts)) if texts else []
        if len(words) > 10:
            at = chooser.randrange(len(words) - 5)
            found[" ".join(words[at : at + chooser.randint(1, 5)])] = None
    return list(found)


def _index_locally(folder: Path, subjects: list[Subject]) -> dict[str, Any]:
    environment = {**os.environ, "CAIRN_HOME": str(folder / "local")}
    costs = [spent([*CAIRN, "index", "--root", str(each.clone)], each.clone, environment) for each in subjects]
    cpu, lines = sum(each.cpu_s or 0.0 for each in costs), sum(each.lines for each in subjects)
    return {
        "locally indexed": f"{len(subjects)} repositories, {lines} lines", "local index CPU s": round(cpu, 1),
        "local CPU s a 100k lines": round(cpu / lines * 1e5, 2),
        "local indexes MB": round(size_mb(folder / "local"), 1),
    }  # fmt: skip


def _search_one(subjects: list[Subject], local: Asked, team: Asked, count: int) -> dict[str, Any]:
    """The same searches of one repository at both, in turns."""
    chooser, at_home, at_node = random.Random(11), Spread(), Spread()
    for each in subjects:  # the first answer of each opens its index
        local.search({"path": str(each.clone), "query": "opening of the index"})
        team.search({"project": each.name, "query": "opening of the index"})
    chosen, before = _choose(chooser, subjects, count), (local.cpu_ms(), team.cpu_ms())
    for each, query in chosen:
        at_home.values.append(local.search({"path": str(each.clone), "query": query})[0])
        at_node.values.append(team.search({"project": each.name, "query": query})[0])
    cpu = [(late - early) / len(chosen) for late, early in zip((local.cpu_ms(), team.cpu_ms()), before, strict=True)]
    return {
        "local search p50 / p95 ms": _spread(at_home), "node search p50 / p95 ms": _spread(at_node),
        "CPU ms a search, local / node": f"{cpu[0]:.1f} / {cpu[1]:.1f}",
    }  # fmt: skip


def _search_all(subjects: list[Subject], team: Asked, count: int) -> dict[str, Any]:
    """Searches over all repositories, after some that open what they need."""
    chooser, over_all, partial = random.Random(13), Spread(), 0
    for _, query in _choose(chooser, subjects, count // 2):
        team.search({"query": query})
    cpu = Spread()
    for _, query in _choose(chooser, subjects, count):
        before = team.cpu_ms()
        took, value = team.search({"query": query})
        over_all.values.append(took)
        cpu.values.append(team.cpu_ms() - before)
        partial += value["metadata"]["result_completeness"] == "partial"
    processes = f"{len(team.processes)} processes" if len(team.processes) > 1 else "1 process"
    return {
        f"search over all, {processes}: p50 / p95 ms": _spread(over_all), f"of these partial, {processes}": partial,
        f"search over all, {processes}: CPU ms p50 / p95": _spread(cpu),
        f"load average then, {processes}": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def _choose(chooser: random.Random, subjects: list[Subject], count: int) -> list[tuple[Subject, str]]:
    pairs = [(each, query) for each in subjects for query in each.queries]
    return chooser.sample(pairs, min(len(pairs), count))


def _spread(spread: Spread) -> str:
    return f"{spread.median:.1f} / {spread.p95:.1f}" if spread.values else "–"


def _push(folder: Path, subjects: list[Subject], team: TeamProcesses, options: argparse.Namespace) -> dict[str, Any]:
    largest = max(subjects, key=lambda each: each.lines)
    desk = folder / "desk"
    shutil.rmtree(desk, ignore_errors=True)
    _git(folder, "clone", "--quiet", str(largest.forge), str(desk))
    number = next(each.id for each in team.record.repositories.all() if each.name == largest.name)
    began = int(time.time())  # no name that an earlier run has pushed
    seconds = Spread(
        [_push_once(desk, largest, number, team, began + at, options.files) for at in range(options.pushes)]
    )
    return {"pushed to": f"{largest.name}, {largest.lines} lines", "push to fresh s p50 / max": (
        f"{seconds.median:.2f} / {max(seconds.values):.2f}")}  # fmt: skip


def _push_once(desk: Path, subject: Subject, number: int, team: TeamProcesses, at: int, files: int) -> float:
    """Seconds from the end of the push to an answer that has a name of it and says that it is fresh."""
    for nth, path in enumerate(random.Random(at).sample(_code_files(desk), files - 1)):
        path.write_bytes(path.read_bytes() + f"\n// pushed {at} {nth} {time.time()}\n".encode())
    (desk / f"pushed_{at}.py").write_text(f"def pushed_name_{at}():\n    return {time.time()}\n", encoding="utf-8")
    _git(desk, "add", "--all")
    _git(desk, "commit", "--quiet", "--message", f"push {at}")
    _git(desk, "push", "--quiet", "origin", "HEAD")
    began, rpc = time.perf_counter(), team.rpc
    team.record.jobs.ask(number)

    def is_seen() -> bool:
        value = rpc.call("search_code", {"project": subject.name, "query": f"pushed_name_{at}"})
        fresh = value["metadata"]["freshness_status"] == "fresh"
        return fresh and f"pushed_{at}.py" in json.dumps(value["results"])

    wait(is_seen, 0.05)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
