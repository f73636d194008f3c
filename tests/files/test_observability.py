"""What the log and the metrics say of calls: each with its outcome, its time and its size, the slow ones marked."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import Struct

from codecairn import tools
from codecairn.tools import Call, Registry, Tool, tool
from tests.support.doors import Door, http_request, http_server, open_door, service
from tests.support.files import value_of
from tests.support.repo import Repo
from tests.support.wire import ServerProcess

SLOW: list[Tool] = []


class Said(Struct, frozen=True):
    text: str


@tool(family="files", slow_ms=0.0, into=SLOW)
def sample_slow(call: Call) -> Said:
    """Take longer than no time. Use it rather than grep to be late."""
    del call
    return Said(text="late")


@tool(family="files", slow_ms=lambda arguments: 1e9 if arguments.get("patient") else 0.0, into=SLOW)
def sample_patient(call: Call, *, patient: bool = False) -> Said:
    """Take longer than was allowed, unless it was. Use it rather than grep to wait."""
    del call, patient
    return Said(text="late")


def registry() -> Registry:
    built = tools.standard()
    for each in SLOW:
        built.add(each)
    return built


@pytest.fixture
def door(repo: Repo, door_name: str) -> Iterator[Door]:
    repo.commit("one", {"a.py": "hit\n"})
    with open_door(door_name, service(repo.path, registry())) as opened:
        yield opened


def metrics_of(door: Door, method: str) -> dict[str, Any]:
    rows = value_of(door.call("metrics_snapshot"))["methods"]
    return next(row for row in rows if row["method"] == method)


def logged(repo: Repo, *calls: dict[str, Any]) -> list[dict[str, Any]]:
    """What a server in a process of its own logs of calls."""
    with ServerProcess("--log-format", "json", folder=repo.path) as server:
        server.initialize()
        for call in calls:
            server.request("tools/call", call)
        assert server.close() == 0
        entries = [json.loads(line) for line in server.stderr]
    return [entry for entry in entries if "tool" in entry]


@pytest.mark.requirement("001/observability/call-logged", "001/observability/completion-logged")
def test_every_call_is_logged_with_its_session_its_time_and_how_it_ended(repo: Repo) -> None:
    repo.commit("one", {"a.py": "hit\n"})
    read, grep, failed = logged(
        repo,
        {"name": "read_file", "arguments": {"path": "a.py"}},
        {"name": "grep_codebase", "arguments": {"pattern": "hit"}},
        {"name": "read_file", "arguments": {"path": "gone.py"}},
    )
    assert [entry["tool"] for entry in (read, grep, failed)] == ["read_file", "grep_codebase", "read_file"]
    assert [entry["success"] for entry in (read, grep, failed)] == [True, True, False]
    assert len({entry["connection"] for entry in (read, grep, failed)}) == 1
    assert failed["error"] == "NotFoundError"
    for entry in (read, grep, failed):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry["time"])
        assert entry["duration"] > 0
        assert entry["size"] > 20
    assert (read["arguments"], grep["arguments"]) == ({"path": "a.py"}, {"pattern": "hit"})
    assert grep["found"] == 1


def test_a_call_that_has_only_begun_is_logged_for_who_looks_closely(
    repo: Repo, caplog: pytest.LogCaptureFixture
) -> None:
    repo.write("a.py", "x")
    with caplog.at_level(logging.DEBUG, "codecairn.call"), open_door("memory", service(repo.path)) as opened:
        opened.call("read_file", {"path": "a.py"})
    assert [record.getMessage() for record in caplog.records] == ["read_file called on memory", "read_file"]


@pytest.mark.requirement("001/observability/over-max-warned")
def test_a_call_over_its_maximum_time_is_a_warning(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "codecairn.call"):
        door.call("sample_slow")
        door.call("sample_patient", {"patient": False})
        door.call("sample_patient", {"patient": True})
    records = [(record.getMessage(), record.levelname) for record in caplog.records if record.name == "codecairn.call"]
    assert records == [("sample_slow", "WARNING"), ("sample_patient", "WARNING"), ("sample_patient", "INFO")]


@pytest.mark.requirement("001/observability/over-max-counted")
def test_calls_over_their_maximum_time_are_counted(door: Door) -> None:
    for _ in range(3):
        door.call("sample_slow")
    door.call("read_file", {"path": "a.py"})
    assert metrics_of(door, "sample_slow")["slowCalls"] == 3
    assert metrics_of(door, "read_file")["slowCalls"] == 0


@pytest.mark.requirement("001/observability/max-time-values")
def test_the_maximum_times_are_those_of_the_contract() -> None:
    """For the tools that there are, so that one which comes later has its own from the first day."""
    built = tools.standard().tools
    contract: dict[str, list[tuple[Any, float]]] = {
        "context_search": [({}, 5000)],
        "read_file": [({}, 500), ({"includeDeps": False}, 500), ({"includeDeps": True}, 2000), (None, 500)],
        "grep_codebase": [({}, 3000)],
    }
    assert {"read_file", "grep_codebase"} <= built.keys()
    for name in contract.keys() & built.keys():
        declared = built[name].slow_ms
        for arguments, most in contract[name]:
            assert (declared(arguments) if callable(declared) else declared) == most, name


@pytest.mark.requirement("001/observability/outcome-counts", "001/observability/error-type-counts")
def test_calls_are_counted_by_how_they_ended_and_failures_by_their_type(door: Door) -> None:
    for path in ("a.py", "a.py", "gone.py", ".env", "../x", "gone.py"):
        door.call("read_file", {"path": path})
    row = metrics_of(door, "read_file")
    assert (row["count"], row["successes"], row["failures"]) == (6, 2, 4)
    assert row["errors"] == {"NotFoundError": 2, "PermissionError": 1, "InvalidInputError": 1}


@pytest.mark.requirement("001/observability/duration-quantiles")
def test_durations_come_as_quantiles(door: Door) -> None:
    for _ in range(5):
        door.call("read_file", {"path": "a.py"})
    row = metrics_of(door, "read_file")
    assert 0 < row["p50Ms"] <= row["p95Ms"] <= row["p99Ms"] <= row["maxMs"]


@pytest.mark.requirement("001/observability/rate-limit-hits-counted")
def test_refusals_by_rate_are_counted(door: Door) -> None:
    for _ in range(63):
        door.call("grep_codebase", {"pattern": "hit"})
    row = metrics_of(door, "grep_codebase")
    assert (row["rateLimitHits"], row["errors"]) == (3, {"RateLimitError": 3})


def test_prometheus_has_the_same_counts(repo: Repo) -> None:
    with http_server(service(repo.path, registry())) as port:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sample_slow"}}
        http_request(port, "POST", "/rpc", message)
        assert 'cairn_slow_calls_total{method="sample_slow"} 1' in http_request(port, "GET", "/metrics").body.decode()
