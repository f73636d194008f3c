"""Several clients at once over HTTP: questions answered a second, beside one client.

    python benchmarks/clients.py --repo DIR [--workers 2] [--clients 8] [--seconds 10] [--json FILE]

DIR is indexed into a data directory of its own and served with --workers; then one client asks `search_code` question
after question, and then so many do side by side, each in a session of its own. Every question is new, so that no answer
comes from a cache. Exits 1 if all together get less than 1.6 times what one gets, for two workers.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

LEAST = 1.6
WORDS = ("read", "write", "parse", "open", "close", "query", "model", "field", "form", "view", "cache", "token", "file")


class Client:
    """An MCP client of the handshake era with one connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._session = ""
        client = {"name": "benchmark", "version": "0"}
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})

    def request(self, method: str, params: dict[str, Any]) -> str:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers |= {"Mcp-Session-Id": self._session} if self._session else {}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self._connection.request("POST", "/mcp", body, headers)
        response = self._connection.getresponse()
        said = response.read().decode()
        if response.status != 200 or '"isError":true' in said:
            raise RuntimeError(f"{response.status}: {said[:500]}")
        self._session = response.headers.get("mcp-session-id", self._session)
        return said

    def search(self, query: str) -> None:
        self.request("tools/call", {"name": "search_code", "arguments": {"query": query, "limit": 5}})


def connect(port: int, clients: int) -> list[Client]:
    """New ones for each measurement: the server closes a connection that rests for five seconds."""
    return [Client(port) for _ in range(clients)]


def questions() -> itertools.chain[str]:
    return itertools.chain(" ".join(each) for each in itertools.permutations(WORDS, 3))


def rate(clients: list[Client], waiting: Any, seconds: float) -> float:
    """Questions a second that these clients together get answers to."""
    lock, counts, ends = threading.Lock(), [0] * len(clients), time.perf_counter() + seconds

    def ask(number: int) -> None:
        while time.perf_counter() < ends:
            with lock:
                query = next(waiting)
            clients[number].search(query)
            counts[number] += 1

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(clients))]
    began = time.perf_counter()
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return sum(counts) / (time.perf_counter() - began)


def port_of(server: subprocess.Popen[str]) -> int:
    assert server.stderr is not None
    for line in server.stderr:
        if found := re.search(r"serving http://\S+:(\d+)/mcp", line):
            threading.Thread(target=server.stderr.read, daemon=True).start()
            return int(found[1])
    raise RuntimeError("the server did not start")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "CAIRN_HOME": home}
        cairn = [sys.executable, "-P", "-m", "codecairn"]
        subprocess.run([*cairn, "index", str(given.repo)], env=environment, check=True, capture_output=True)
        command = [*cairn, "serve", "--http", "127.0.0.1:0", "--root", str(given.repo), "--workers", str(given.workers)]
        server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        try:
            port, waiting = port_of(server), questions()
            rate(connect(port, given.clients), waiting, 3.0)  # every worker opens its index
            one = rate(connect(port, 1), waiting, given.seconds)
            all_ = rate(connect(port, given.clients), waiting, given.seconds)
        finally:
            server.terminate()
            server.wait(30)
    side_by_side = f"{given.clients} clients on {given.workers} workers {all_:.1f}"
    print(f"one client {one:.1f} a second, {side_by_side}: {all_ / one:.2f} x")
    if given.json:
        given.json.write_text(json.dumps({"one": one, "all": all_, "ratio": all_ / one}, indent=2) + "\n")
    sys.exit(0 if all_ / one >= LEAST else 1)


if __name__ == "__main__":
    main()
