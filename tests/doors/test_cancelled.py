"""A call that is cancelled, or whose connection is gone, stops: no thread goes on computing, and no child is left."""

from __future__ import annotations

import http.client
import json
import random
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import codecairn
from codecairn.serve import Service
from codecairn.source import process
from tests.search.conftest import lasting
from tests.support.doors import http_server, line_client, service
from tests.support.indexes import LastingWorkers
from tests.support.repo import Repo
from tests.support.search import index
from tests.support.soak import SOAK
from tests.support.wait import eventually

__all__ = ["lasting"]

TIMES = 600 if SOAK else 60
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("find_references", {"symbol_name": "Cancel.check", "limit": 1000}),
    ("find_references", {"symbol_name": "View", "limit": 1000}),
    ("get_call_graph", {"symbol_name": "Git.run", "depth": 5, "limit": 300}),
    ("search_code", {"query": "where are budgets of steps counted and checked"}),
    ("find_symbol", {"symbol_name": "Engine"}),
    ("get_file_outline", {"path": "."}),
    ("read_file", {"path": "codecairn/project.py", "ref": "HEAD"}),
    ("grep_codebase", {"pattern": "(a|b|c)+d.*e"}),
    ("grep_codebase", {"pattern": "def .*self", "ref": "HEAD~1"}),
    ("git_log", {"maxCount": 50}),
    ("git_diff", {"ref1": "HEAD~1", "ref2": "HEAD"}),
    ("git_blame", {"filePath": "codecairn/project.py"}),
    ("diff_context", {"base_ref": "HEAD~1", "head_ref": "HEAD", "limit": 200}),
    ("build_context_pack", {"task": "cancel every call of Engine and Git.run at once"}),
    ("context_search", {"query": "why budgets"}),
    ("list_refs", {}),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Iterator[Service]:
    """This package itself, in two commits, indexed."""
    folder = tmp_path_factory.mktemp("cancelled")
    repo = Repo.create(folder / "repo")
    here = Path(codecairn.__file__).parent
    shutil.copytree(here / "resolve", repo.path / "codecairn/resolve", ignore=shutil.ignore_patterns("__pycache__"))
    repo.commit("part")
    shutil.copytree(here, repo.path / "codecairn", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    repo.commit("all")
    built = index(repo.path, folder / "home", lasting)
    one = service(built.root, data=built.home)
    opened = one.projects.open(built.root).index
    opened._workers = lasting
    yield one
    opened.close()


def stopped(served: Service) -> float:
    """The seconds until nothing of any call goes on."""
    began = time.perf_counter()
    eventually(lambda: not served.registry.metrics.under_way and not _children())
    return time.perf_counter() - began


def _children() -> list[str]:
    """Programs that calls have started; the workers of the index stay from one call to the next."""
    names = [Path(child.args[0]).stem for child in process.running() if isinstance(child.args, list)]
    return [name for name in names if name in ("git", "rg")]


def told(kind: str, waits: list[float]) -> None:
    ordered = sorted(waits)
    figures = {"n": len(ordered), "p99_ms": ordered[int(len(ordered) * 0.99)] * 1000, "worst_ms": ordered[-1] * 1000}
    print(kind, {name: round(value, 1) for name, value in figures.items()})


@pytest.mark.requirement("ruling/reliability/cancelled")
def test_over_stdio_by_notification(served: Service) -> None:
    rng, waits = random.Random(7), list[float]()
    with line_client(served) as client:
        client.initialize()
        for _ in range(TIMES):
            tool, arguments = rng.choice(CALLS)
            id_ = client.start("tools/call", {"name": tool, "arguments": arguments})
            threading.Event().wait(rng.random() * 0.2)
            client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}})
            waits.append(stopped(served))
        assert client.request("tools/call", {"name": "health_check", "arguments": {}})["result"]
    told("stdio", waits)


@pytest.mark.requirement("ruling/reliability/cancelled")
def test_over_http_by_hanging_up(served: Service) -> None:
    rng, waits = random.Random(8), list[float]()
    with http_server(served) as port:
        for number in range(TIMES):
            tool, arguments = rng.choice(CALLS)
            params = {"name": tool, "arguments": arguments}
            body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("POST", "/rpc", body, {"Content-Type": "application/json"})
            threading.Event().wait(rng.random() * 0.2)
            connection.close()
            waits.append(stopped(served))
    told("http", waits)
