"""`cairn serve --http --workers`: several processes that are one server to their clients."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codecairn.serve.front import add_up
from tests.doors.test_http_process import announced
from tests.support.doors import HttpDoor, http_request
from tests.support.repo import Repo
from tests.support.wait import eventually
from tests.support.wire import ENVELOPE, ServerProcess

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are found in /proc")


def workers_of(server: ServerProcess) -> list[int]:
    """The processes of the workers."""
    pid = server.process.pid
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (thread / "children").read_text().split())
    return [each for each in found if b"--behind-front" in Path(f"/proc/{each}/cmdline").read_bytes()]


def port_of(worker: int) -> int:
    """The port that a worker listens on."""
    sockets = {str(each.readlink()) for each in Path(f"/proc/{worker}/fd").iterdir() if each.is_symlink()}
    for line in Path(f"/proc/{worker}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
            return int(fields[1].split(":")[1], 16)
    raise AssertionError("it listens nowhere")


@pytest.fixture
def served(repo: Repo) -> Iterator[tuple[ServerProcess, int]]:
    repo.commit("one", {"shop.py": "def pay(sum):\n    return sum\n"})
    with ServerProcess("--http", "127.0.0.1:0", "--workers", "2", folder=repo.path) as server:
        yield server, announced(server)


def calls(port: int) -> int:
    text = http_request(port, "GET", "/metrics").body.decode()
    return sum(int(each) for each in re.findall(r"cairn_calls_total\{[^}]*read_file[^}]*\} (\d+)", text))


def grep(port: int) -> Any:
    params = {"name": "grep_codebase", "arguments": {"pattern": "pay"}}
    return http_request(
        port, "POST", "/rpc", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    ).json


@pytest.mark.requirement("ruling/doors-http/workers")
def test_sessions_are_spread_over_workers_and_each_stays_with_its_own(served: tuple[ServerProcess, int]) -> None:
    server, port = served
    assert len(workers_of(server)) == 2
    clients = [HttpDoor(port) for _ in range(4)]
    for each in (*clients, *reversed(clients)):
        assert "def pay" in each.call("read_file", {"path": "shop.py"}).text
    assert calls(port) == 8
    secret_less = [http_request(port_of(each), "GET", "/metrics").status for each in workers_of(server)]
    assert secret_less == [401, 401]
    assert http_request(port, "GET", "/health").json["status"] == "ok"
    assert http_request(port, "POST", "/mcp", {}, Host="evil.example").status == 403


@pytest.mark.requirement("ruling/doors-http/workers")
def test_a_caller_without_a_session_has_one_limit_and_not_one_for_each_worker(
    served: tuple[ServerProcess, int],
) -> None:
    _, port = served
    answers = [grep(port) for _ in range(61)]
    assert [each["result"]["isError"] for each in answers[:60]] == [False] * 60
    assert "Rate limit" in str(answers[60])
    modern = http_request(
        port, "POST", "/mcp",
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ENVELOPE}},
        Accept="application/json, text/event-stream", Mcp_Protocol_Version="2026-07-28", Mcp_Method="tools/list",
    )  # fmt: skip
    assert modern.status == 200, modern.body


@pytest.mark.requirement("ruling/doors-http/workers")
def test_a_worker_that_is_killed_is_replaced_and_its_sessions_begin_again(served: tuple[ServerProcess, int]) -> None:
    server, port = served
    first, second = HttpDoor(port), HttpDoor(port)
    before = workers_of(server)
    os.kill(before[0], signal.SIGKILL)
    eventually(lambda: len(workers_of(server)) == 2 and before[0] not in workers_of(server), 60)
    assert eventually(lambda: _reads(HttpDoor(port)), 60)
    assert sorted([_is_known(first), _is_known(second)]) == [False, True]


def test_no_worker_outlives_the_front(served: tuple[ServerProcess, int]) -> None:
    server, _ = served
    children = workers_of(server)
    server.process.kill()
    server.process.wait(10)
    eventually(lambda: not any(Path(f"/proc/{each}/fd").exists() and _is_alive(each) for each in children), 30)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _reads(door: HttpDoor) -> bool:
    return "def pay" in door.call("read_file", {"path": "shop.py"}).text


def _is_known(door: HttpDoor) -> bool:
    try:
        return _reads(door)
    except (AssertionError, KeyError, ValueError):
        return False


def test_workers_are_for_http(repo: Repo) -> None:
    with ServerProcess("--workers", "2", folder=repo.path) as server:
        assert server.close() == 2
        assert "--workers is for --http" in "".join(server.stderr)


def test_metrics_of_several_processes_are_added_up() -> None:
    one = '# HELP cairn_calls_total Calls.\n# TYPE cairn_calls_total counter\ncairn_calls_total{method="a"} 2\n'
    other = one.replace("} 2", "} 3") + 'cairn_calls_total{method="b"} 1\n# TYPE cairn_x gauge\ncairn_x 0.5\n'
    assert add_up([one, other]).splitlines() == [
        "# HELP cairn_calls_total Calls.",
        "# TYPE cairn_calls_total counter",
        'cairn_calls_total{method="a"} 5',
        'cairn_calls_total{method="b"} 1',
        "# TYPE cairn_x gauge",
        "cairn_x 0.500000",
    ]
