"""Search: how soon it answers, at growing sizes, alone and with eight clients at once, and whether memory stays flat.

    python benchmarks/search.py [--corpus DIR …] [--sizes 10000,100000,1000000] [--queries 200] [--soak 10000]
        [--mode hybrid] [--warm 20] [--json FILE]

Repositories of whole files are made from the corpus folders (default: this repository), indexed, and asked through
stdio: names and phrases taken from their own symbols, no two alike, so that nothing is answered from the cache. The
floor beside each figure is the same call to `health_check`, which does nothing: what is left is the search. Processor
time is the server's, all its threads and processes, a query; it varies less with what else the machine does. A server
learns the files that it meets: `--warm` says how many searches go before those that count. Eight clients ask one
server over HTTP. The soak asks the middle size again and again and compares memory after a tenth of
the queries with memory at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import Server, Spread, cairn, cpu_so_far_s, markdown
from sources import Source, repository, sample, sources_in

CLIENTS = 8
_WORD = re.compile(r"[A-Za-z]{4,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, action="append")
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--soak", type=int, default=0)
    parser.add_argument("--mode", choices=["hybrid", "keyword", "vector"], default="hybrid")
    parser.add_argument("--warm", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    corpora = options.corpus or [Path(__file__).parents[1]]
    pool = [(f"{root.name}/{source.path}", source) for root in corpora for source in sources_in(root.resolve())]
    rows = []
    for size in map(int, options.sizes.split(",")):
        available = sum(source.lines for _, source in pool)
        if available < size * 0.9:
            print(f"{size} lines: not measured, the corpus has {available}", file=sys.stderr)
            continue
        rows.append(_measured(pool, size, options))
        print(f"{size} lines done", file=sys.stderr)
    head = [
        "lines",
        "p50 ms",
        "p95 ms",
        "floor p50 ms",
        "CPU ms",
        "floor CPU ms",
        f"{CLIENTS} clients p50 ms",
        "p95 ms",
        "MB",
        "MB after soak",
    ]
    print(markdown(head, [[str(cell) for cell in row.values()] for row in rows]))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


def _measured(pool: list[tuple[str, Source]], size: int, options: argparse.Namespace) -> dict[str, Any]:
    files = sample(pool, size)
    queries = _queries(files, options.warm + options.queries + CLIENTS * options.queries // 4 + options.soak)
    with tempfile.TemporaryDirectory(prefix="cairn-search-") as folder:
        root, home = repository(Path(folder) / "repository", files), Path(folder) / "home"
        with cairn(root, home) as server:  # with its watcher, as in use: without one every look at the files is timed
            server.initialize()
            server.value("index_codebase", {"path": str(root)})
            while server.value("get_status", {"path": str(root)})["metadata"]["freshness_status"] != "fresh":
                time.sleep(0.1)
            for _ in range(options.warm):
                _ask(server, root, next(queries), options.mode)
            alone, cpu = _spent(server, lambda: _ask(server, root, next(queries), options.mode), options.queries)
            floor, floor_cpu = _spent(server, lambda: _timed(lambda: server.value("health_check", {})), options.queries)
            early = server.resident_mb()
            for at in range(options.soak):
                _ask(server, root, next(queries), options.mode)
                if at == options.soak // 10:
                    early = server.resident_mb()
            late = server.resident_mb()
        together = _together(root, home, queries, options.queries // 4, options.mode)
    lines = sum(text.count(b"\n") for text in files.values())
    return {
        "lines": lines, "p50": round(alone.median, 1), "p95": round(alone.p95, 1), "floor": round(floor.median, 2),
        "cpu": cpu, "floor_cpu": floor_cpu, "together_p50": round(together.median, 1),
        "together_p95": round(together.p95, 1), "mb": round(early),
        "mb_after_soak": round(late) if options.soak else "–",
    }  # fmt: skip


def _queries(files: dict[str, bytes], count: int) -> Iterator[str]:
    """Names and phrases of one to five words that stand next to each other in the files; the same for every run."""
    chooser, texts = random.Random(7), [files[name].decode("utf-8", "replace") for name in sorted(files)]
    seen: set[str] = set()
    while len(seen) < count + 20:
        words = _WORD.findall(chooser.choice(texts))
        if len(words) < 10:
            continue
        at, length = chooser.randrange(len(words) - 5), chooser.randint(1, 5)
        query = " ".join(words[at : at + length])
        if query not in seen:
            seen.add(query)
            yield query


def _ask(server: Server, root: Path, query: str, mode: str) -> float:
    return _timed(lambda: server.value("search_code", {"path": str(root), "query": query, "search_mode": mode}))


def _spent(server: Server, act: Callable[[], float], times: int) -> tuple[Spread, float | None]:
    """How long each time took, and the server's processor time for one, in ms."""
    before = cpu_so_far_s(server.process.pid)
    spread = Spread([act() for _ in range(times)])
    after = cpu_so_far_s(server.process.pid)
    return spread, None if before is None or after is None else round((after - before) * 1000 / times, 1)


def _timed(act: Any) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


def _together(root: Path, home: Path, queries: Iterator[str], each: int, mode: str) -> Spread:
    """So many clients at once on one HTTP server, each with queries of its own."""
    shares = [[next(queries) for _ in range(each)] for _ in range(CLIENTS)]
    spread = Spread()
    with _http(root, home) as port:
        threads = [threading.Thread(target=_client, args=(port, root, share, mode, spread.values)) for share in shares]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return spread


def _client(port: int, root: Path, queries: list[str], mode: str, into: list[float]) -> None:
    for query in queries:
        arguments = {"path": str(root), "query": query, "search_mode": mode}
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "search_code", "arguments": arguments},
        }
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/rpc", json.dumps(call).encode(), {"Content-Type": "application/json"}
        )
        began = time.perf_counter()
        with urllib.request.urlopen(request) as response:
            assert "result" in json.loads(response.read())
        into.append((time.perf_counter() - began) * 1000)


@contextmanager
def _http(root: Path, home: Path) -> Iterator[int]:
    command = [sys.executable, "-P", "-m", "codecairn", "serve", "--http", "127.0.0.1:0", "--root", str(root)]
    environment = {**os.environ, "CAIRN_HOME": str(home)}
    server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        said = next(line for line in server.stderr if "serving" in line)
        threading.Thread(target=server.stderr.read, daemon=True).start()
        yield int(re.findall(r":(\d+)", said)[-1])
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
