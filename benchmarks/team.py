"""The team server on real processes: a PostgreSQL, a worker and nodes, beside `cairn serve` on clones.

    python benchmarks/team.py REPOSITORY … [--nodes 1] [--queries 200] [--pushes 5] [--files 20] [--json FILE]

Each repository (a folder or a bare one) is cloned twice: to a forge from which the team takes it, and to a working tree
that is indexed locally. Then, all through POST /rpc on loopback:

- indexing: processor seconds of `cairn index` on the clones, of the worker and of each node, until every repository is
  ready on a node. The worker's figure has the fetches in it, the local one has no clone in it;
- one-repository searches, the same queries to both, in turns, none twice, so that nothing is answered from a cache;
- searches over all repositories, and how many of them were not whole;
- from push to answer: FILES files are changed and pushed, the job is asked for as a webhook does, and the node is
  asked until a name that was pushed is found by an answer that says `fresh`;
- memory of the nodes, size of the database, and the sum of the local indexes.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import Spread, cpu_so_far_s, markdown, memory_kb, size_mb, spent

from codecairn.team.embedded import embedded_url, stop_embedded
from codecairn.team.record import Record

_CAIRN = [sys.executable, "-P", "-m", "codecairn"]
_WORD = re.compile(r"[A-Za-z]{4,}")
_PATIENCE_S = 1800.0
_CODE = {".py", ".js", ".ts", ".go", ".rs", ".c", ".h", ".cc", ".cpp", ".java", ".rb", ".lua", ".zig", ".ex", ".php"}


@dataclass
class Subject:
    """One repository: on the forge, and as a clone on this machine."""

    name: str
    forge: Path
    clone: Path
    lines: int = 0
    queries: list[str] = field(default_factory=list)


class Rpc:
    """A connection that is kept, as clients keep theirs."""

    def __init__(self, port: int, token: str = "") -> None:
        self._wire = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        try:
            answer = self._send(json.dumps(asked))
        except (ConnectionError, http.client.HTTPException):  # the server closes a connection that is idle for 5 s
            self._wire.close()
            answer = self._send(json.dumps(asked))
        if "error" in answer or answer["result"]["isError"]:
            raise RuntimeError(f"{tool} {arguments}: {str(answer)[:500]}")
        value: dict[str, Any] = answer["result"]["structuredContent"]
        return value

    def _send(self, body: str) -> dict[str, Any]:
        self._wire.request("POST", "/rpc", body, self._headers)
        answer: dict[str, Any] = json.loads(self._wire.getresponse().read())
        return answer


def main() -> None:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that servers are ended and the folder goes
    folder = Path(tempfile.mkdtemp(prefix="cairn-team-"))
    try:
        figures = _measure(folder, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(markdown(["", "figure"], [[name, str(value)] for name, value in figures.items()]))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--pushes", type=int, default=5)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    subjects = [_subject(folder, path.resolve()) for path in options.repositories]
    lines = sum(each.lines for each in subjects)
    figures: dict[str, Any] = {"repositories": len(subjects), "lines": lines}
    _note(f"{len(subjects)} repositories cloned, {lines} lines")
    figures |= _index_locally(folder, subjects, lines)
    _note("indexed locally")
    with ExitStack() as stack:
        url = embedded_url(folder / "database")
        stack.callback(stop_embedded, folder / "database")
        team = stack.enter_context(_team(folder, url, subjects, options.nodes))
        figures |= team.index(lines)
        _note("indexed by the team")
        local = Rpc(stack.enter_context(_local_server(folder, subjects)))
        figures |= _search(subjects, local, team, options.queries)
        _note("searched")
        figures |= _push(folder, subjects, team, options)
        figures |= team.sizes(figures["local indexes MB"])
    return figures


def _note(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr)


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
    for _ in range(2000):
        words = _WORD.findall(chooser.choice(texts)) if texts else []
        if len(words) > 10:
            at = chooser.randrange(len(words) - 5)
            found[" ".join(words[at : at + chooser.randint(1, 5)])] = None
    return list(found)


def _index_locally(folder: Path, subjects: list[Subject], lines: int) -> dict[str, Any]:
    environment = {**os.environ, "CAIRN_HOME": str(folder / "local")}
    costs = [spent([*_CAIRN, "index", "--root", str(each.clone)], each.clone, environment) for each in subjects]
    cpu = sum(each.cpu_s or 0.0 for each in costs)
    return {
        "local index CPU s": round(cpu, 1), "local CPU s a 100k lines": round(cpu / lines * 1e5, 2),
        "local indexes MB": round(size_mb(folder / "local"), 1),
    }  # fmt: skip


@contextmanager
def _process(arguments: list[str], home: Path, sign: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A cairn of its own data directory, and the line in which it said that it has begun."""
    process = subprocess.Popen(
        [*_CAIRN, *arguments], env={**os.environ, "CAIRN_HOME": str(home)}, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        said = next(line for line in process.stderr if sign in line)
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield process, said
    finally:
        process.terminate()
        process.wait(30)


def _port_in(said: str) -> int:
    return int(re.findall(r":(\d+)", said)[-1])


@contextmanager
def _local_server(folder: Path, subjects: list[Subject]) -> Iterator[int]:
    roots = [word for each in subjects for word in ("--root", str(each.clone))]
    with _process(["serve", "--http", "127.0.0.1:0", *roots], folder / "local", "serving") as (_, said):
        yield _port_in(said)


@dataclass
class TeamProcesses:
    record: Record
    worker: subprocess.Popen[str]
    nodes: list[subprocess.Popen[str]]
    rpc: Rpc
    subjects: list[Subject]
    empty_mb: float
    """The database before anything was added: some 8 MB of PostgreSQL's own tables."""

    def index(self, lines: int) -> dict[str, Any]:
        """Add every repository and wait until a node has it."""
        began = time.perf_counter()
        before = [cpu_so_far_s(each.pid) or 0.0 for each in (self.worker, *self.nodes)]
        for each in self.subjects:
            self.record.jobs.ask(self.record.repositories.add(each.name, f"file://{each.forge}"))
        _wait(self._is_ready)
        after = [cpu_so_far_s(each.pid) or 0.0 for each in (self.worker, *self.nodes)]
        worker, *nodes = (late - early for late, early in zip(after, before, strict=True))
        return {
            "until all are ready s": round(time.perf_counter() - began, 1), "worker CPU s": round(worker, 1),
            "worker CPU s a 100k lines": round(worker / lines * 1e5, 2),
            "nodes CPU s": ", ".join(f"{each:.1f}" for each in nodes),
        }  # fmt: skip

    def _is_ready(self) -> bool:
        listed = self.rpc.call("list_repositories", {})["repositories"]
        wrong = [each.reason for each in self.record.repositories.all() if each.state in ("failing", "quarantined")]
        if wrong:
            raise RuntimeError(f"not indexed: {wrong}")
        copies = min(2, len(self.nodes))
        return len(listed) == len(self.subjects) and all(each["nodes_ready"] >= copies for each in listed)

    def sizes(self, local_mb: float) -> dict[str, Any]:
        size, resident = _database_mb(self.record), [memory_kb(each.pid)[0] / 1024 for each in self.nodes]
        return {
            "database MB": round(size, 1), "of these before anything was added": round(self.empty_mb, 1),
            "growth / local indexes": round((size - self.empty_mb) / local_mb, 2),
            "nodes resident MB": ", ".join(f"{each:.0f}" for each in resident),
            "worker resident MB": round(memory_kb(self.worker.pid)[0] / 1024),
        }  # fmt: skip


@contextmanager
def _team(folder: Path, url: str, subjects: list[Subject], count: int) -> Iterator[TeamProcesses]:
    record = Record(url)
    record.migrate()
    token, serving = record.tokens.create("benchmark", ["**"], "writer"), ["--database", url, "--log-level", "warning"]
    with ExitStack() as stack:
        stack.callback(record.close)
        command = ["team", "node", "--http", "127.0.0.1:0", *serving]
        nodes = [stack.enter_context(_process(command, folder / f"node{at}", "node at")) for at in range(count)]
        worker, _ = stack.enter_context(_process(["team", "work", *serving], folder / "worker", "team worker"))
        rpc = Rpc(_port_in(nodes[0][1]), token)
        yield TeamProcesses(record, worker, [each for each, _ in nodes], rpc, subjects, _database_mb(record))


def _database_mb(record: Record) -> float:
    ((size,),) = record.database.rows("SELECT pg_database_size(current_database())")
    return float(size) / 1e6


def _wait(is_so: Callable[[], bool], every_s: float = 0.2) -> float:
    began = time.perf_counter()
    while not is_so():
        if time.perf_counter() - began > _PATIENCE_S:
            raise TimeoutError
        time.sleep(every_s)
    return time.perf_counter() - began


def _search(subjects: list[Subject], local: Rpc, team: TeamProcesses, count: int) -> dict[str, Any]:
    chooser = random.Random(11)
    asked = [each for each in subjects if each.queries]
    pairs = [(each, query) for each in asked for query in each.queries]
    chosen = chooser.sample(pairs, min(len(pairs), 2 * count))
    at_home, at_node, over_all, partial = Spread(), Spread(), Spread(), 0
    for each in asked:  # the first answer of each opens its index
        local.call("search_code", {"path": str(each.clone), "query": "opening of the index"})
        team.rpc.call("search_code", {"project": each.name, "query": "opening of the index"})
    for each, query in chosen[:count]:
        at_home.values.append(_milliseconds(local, {"path": str(each.clone), "query": query})[0])
        at_node.values.append(_milliseconds(team.rpc, {"project": each.name, "query": query})[0])
    for _, query in chosen[count:]:
        took, value = _milliseconds(team.rpc, {"query": query})
        over_all.values.append(took)
        partial += value["metadata"]["result_completeness"] == "partial"
    return {
        "local search p50 / p95 ms": _spread(at_home), "node search p50 / p95 ms": _spread(at_node),
        "search over all p50 / p95 ms": _spread(over_all), "of these partial": partial,
    }  # fmt: skip


def _milliseconds(rpc: Rpc, arguments: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    began = time.perf_counter()
    value = rpc.call("search_code", arguments)
    return (time.perf_counter() - began) * 1000, value


def _spread(spread: Spread) -> str:
    return f"{spread.median:.1f} / {spread.p95:.1f}" if spread.values else "–"


def _push(folder: Path, subjects: list[Subject], team: TeamProcesses, options: argparse.Namespace) -> dict[str, Any]:
    largest = max(subjects, key=lambda each: each.lines)
    desk = folder / "desk"
    _git(folder, "clone", "--quiet", str(largest.forge), str(desk))
    number = next(each.id for each in team.record.repositories.all() if each.name == largest.name)
    seconds = Spread([_push_once(desk, largest, number, team, at, options.files) for at in range(options.pushes)])
    return {"pushed to": f"{largest.name}, {largest.lines} lines", "push to fresh s p50 / max": (
        f"{seconds.median:.2f} / {max(seconds.values):.2f}")}  # fmt: skip


def _push_once(desk: Path, subject: Subject, number: int, team: TeamProcesses, at: int, files: int) -> float:
    """Seconds from the end of the push to an answer that has a name of it and says that it is fresh."""
    for nth, path in enumerate(random.Random(at).sample(_code_files(desk), files - 1)):
        path.write_bytes(path.read_bytes() + f"\n// pushed {at} {nth}\n".encode())
    (desk / f"pushed_{at}.py").write_text(f"def pushed_name_{at}():\n    return {at}\n", encoding="utf-8")
    _git(desk, "add", "--all")
    _git(desk, "commit", "--quiet", "--message", f"push {at}")
    _git(desk, "push", "--quiet", "origin", "HEAD")
    began = time.perf_counter()
    team.record.jobs.ask(number)

    def is_seen() -> bool:
        value = team.rpc.call("search_code", {"project": subject.name, "query": f"pushed_name_{at}"})
        fresh = value["metadata"]["freshness_status"] == "fresh"
        return fresh and f"pushed_{at}.py" in json.dumps(value["results"])

    _wait(is_seen, 0.05)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
