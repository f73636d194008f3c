"""At most so many calls in any sixty seconds, for each tool of each connection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecairn.connection import Connection, Connections
from codecairn.errors import RateLimited
from codecairn.tools import Call, Registry, Tool, tool
from codecairn.types import CamelStruct
from tests.support.doors import Answer, Door, HttpDoor, http_server, line_client, service
from tests.support.doors import LineDoor as Line

LIMIT = 3


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Done(CamelStruct, frozen=True, kw_only=True):
    done: bool = True


LIMITED: list[Tool] = []


@tool(family="files", per_minute=LIMIT, into=LIMITED)
def limited(call: Call, *, ok: bool = True) -> Done:
    """Use it three times a minute."""
    return Done()


@tool(family="refs", per_minute=LIMIT, into=LIMITED)
def also_limited(call: Call) -> Done:
    """Use it three times a minute."""
    return Done()


@tool(family="files", into=LIMITED)
def unlimited(call: Call) -> Done:
    """Use it as often as you like."""
    return Done()


def limited_registry() -> Registry:
    built = Registry()
    for each in LIMITED:
        built.add(each)
    return built


class Caller:
    """One connection whose clock the test holds."""

    def __init__(self, root: Path, clock: Clock, built: Registry) -> None:
        self._service = service(root, registry=built)
        self._connection = Connection("test", clock)

    def __call__(self, name: str, arguments: Any = None) -> Answer:
        built = self._service.registry
        reply = built.call(built.tools[name], Call(self._service.projects, self._connection, built, "test"), arguments)
        return Answer(reply.text, reply.structured, reply.error is not None)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def call(tmp_path: Path, clock: Clock) -> Caller:
    return Caller(tmp_path, clock, limited_registry())


@pytest.mark.requirement("ruling/rate-limits/sliding-minute")
def test_a_call_is_allowed_again_when_the_oldest_is_a_minute_old(call: Caller, clock: Clock) -> None:
    for _ in range(LIMIT):
        assert not call("limited").is_error
        clock.now += 10
    assert call("limited").is_error
    clock.now = 1059.999
    assert call("limited").is_error
    clock.now = 1060.0
    assert not call("limited").is_error
    assert call("limited").is_error
    clock.now = 1070.0
    assert not call("limited").is_error


@pytest.mark.requirement("ruling/rate-limits/sliding-minute")
@given(pauses=st.lists(st.floats(0, 45), max_size=60), per_minute=st.integers(1, 5))
def test_no_sixty_seconds_hold_more_than_the_limit(pauses: list[float], per_minute: int) -> None:
    clock, allowed = Clock(), list[float]()
    connection = Connection("test", clock)
    for pause in pauses:
        clock.now += pause
        recent = [moment for moment in allowed if clock.now - moment < 60]
        wait = seconds_to_wait(connection, per_minute)
        if wait is None:
            assert len(recent) < per_minute
            allowed.append(clock.now)
        else:
            assert len(recent) == per_minute
            assert 1 <= wait <= 60
            assert clock.now + wait - recent[0] >= 60 - 1e-6


def seconds_to_wait(connection: Connection, per_minute: int) -> int | None:
    try:
        connection.count("tool", per_minute)
    except RateLimited as refusal:
        return int(refusal.data["retryAfter"])
    return None


@pytest.mark.requirement("ruling/rate-limits/per-tool")
def test_one_tool_does_not_use_up_anothers_limit(call: Caller) -> None:
    assert [call("limited").is_error for _ in range(LIMIT + 1)] == [False] * LIMIT + [True]
    assert [call("also_limited").is_error for _ in range(LIMIT + 1)] == [False] * LIMIT + [True]
    assert not any(call("unlimited").is_error for _ in range(500))


@pytest.mark.requirement("ruling/rate-limits/refusal-names-limit", "ruling/rate-limits/refusal-names-wait")
@pytest.mark.parametrize("name", ["limited", "also_limited"])
def test_a_refusal_names_the_limit_and_the_seconds_to_wait(call: Caller, clock: Clock, name: str) -> None:
    for _ in range(LIMIT):
        call(name)
    clock.now += 17.5
    refused = call(name)
    facts = refused.value["error"]["data"] if name == "also_limited" else refused.value
    assert (facts["limit"], facts["retryAfter"]) == (LIMIT, 43)
    assert f"{LIMIT} calls a minute" in refused.text
    assert "43 s" in refused.text
    clock.now += 43
    assert not call(name).is_error


def test_refused_calls_and_bad_arguments_do_not_count(call: Caller, clock: Clock) -> None:
    for _ in range(10):
        assert call("limited", {"ok": "perhaps"}).value["error"] == "Invalid parameters"
    assert [call("limited").is_error for _ in range(20)] == [False] * LIMIT + [True] * (20 - LIMIT)
    clock.now += 60
    assert not call("limited").is_error


def spend(door: Door) -> list[bool]:
    return [door.call("limited").is_error for _ in range(LIMIT + 1)]


SPENT = [False] * LIMIT + [True]


def test_the_limit_holds_at_every_door(door_name: str, tmp_path: Path, connect: Callable[..., Door]) -> None:
    door = connect(door_name, tmp_path, registry=limited_registry())
    for _ in range(LIMIT):
        assert not door.call("limited").is_error
    refused = door.call("limited")
    assert refused.is_error
    assert f"{LIMIT} calls a minute" in refused.text
    assert 1 <= refused.value["retryAfter"] <= 60


@pytest.mark.requirement("ruling/rate-limits/per-connection")
def test_one_connection_does_not_use_up_anothers_limit(tmp_path: Path) -> None:
    served = service(tmp_path, registry=limited_registry())
    with line_client(served) as first, line_client(served) as second, http_server(served) as port:
        doors: list[Door] = [Line("stdio", first), Line("modern", second), HttpDoor(port), HttpDoor(port)]
        assert [spend(door) for door in doors] == [SPENT] * 4


def test_a_caller_without_a_connection_is_found_again_by_its_key() -> None:
    known = Connections()
    assert known.get("peer:a") is known.get("peer:a")
    assert known.get("peer:a") is not known.get("peer:b")


def test_the_callers_remembered_are_bounded_and_the_latest_stay() -> None:
    known = Connections()
    kept = known.get("kept")
    for number in range(20_000):
        known.get(f"passing:{number}")
        if number % 5_000 == 0:
            assert known.get("kept") is kept
    assert known.get("passing:19999") is known.get("passing:19999")
    assert len(known) == 10_000
