"""Adding a tool takes one function: declared, it is listed, checked, limited, counted and reachable at every door."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from msgspec import Meta

from codecairn.serve import jsonrpc
from codecairn.tools import Call, Registry, Tool, tool
from codecairn.tools.families import FAMILIES
from codecairn.types import CamelStruct
from tests.registry.samples import assert_conforms, name_of, registry
from tests.support.doors import DOORS, JSON_DOORS, READING_DOORS, Door, HttpDoor, LineDoor, MemoryDoor, RpcDoor
from tests.support.wire import ENVELOPE

Connect = Callable[..., Door]


class Doubled(CamelStruct, frozen=True, kw_only=True):
    number: int


def declared(**options: Any) -> Tool:
    """The one function, declared anew for each test."""
    into: list[Tool] = []

    @tool(family="catalog", method="number/double", per_minute=3, into=into, **options)
    def number_double(
        call: Call, *, number: Annotated[int, Meta(ge=0, le=100, description="What to double")]
    ) -> Doubled:
        """Twice a number. Use it rather than grep."""
        if number == 13:
            raise OSError("no such file: 'caf\udce9'")
        return Doubled(number=2 * number)

    (made,) = into
    return made


def holding(*made: Tool) -> Registry:
    built = Registry()
    for each in made:
        built.add(each)
    return built


def listed(door: Door, built: Registry) -> list[dict[str, Any]]:
    if isinstance(door, MemoryDoor):
        return jsonrpc.list_tools(built)
    assert isinstance(door, LineDoor | HttpDoor | RpcDoor)
    asks = door.client if isinstance(door, LineDoor) else door
    params = {"_meta": ENVELOPE} if door.name == "modern" else {}
    tools: list[dict[str, Any]] = asks.request("tools/list", params)["result"]["tools"]
    return tools


def test_one_function_is_a_tool_at_every_door(door_name: str, tmp_path: Path, connect: Connect) -> None:
    built = holding(declared())
    door = connect(door_name, tmp_path, registry=built)
    (entry,) = listed(door, built)
    assert entry["name"] == "number_double"
    assert entry["description"] == "Twice a number. Use it rather than grep."
    assert entry["inputSchema"]["properties"]["number"] == {
        "type": "integer", "minimum": 0, "maximum": 100, "description": "What to double",
    }  # fmt: skip
    assert entry["inputSchema"]["required"] == ["number"]
    assert entry["annotations"]["readOnlyHint"] is True

    answer = door.call("number_double", {"number": 4})
    assert answer.value == {"number": 8}
    assert answer.text == ('{"number":8}' if door_name in JSON_DOORS else "number: 8")
    assert_conforms(built.tools["number_double"], answer)

    refused = door.call("number_double", {"number": 101})
    assert refused.value["error"]["data"]["param"] == "number"

    assert [door.call("number_double", {"number": 1}).is_error for _ in range(3)] == [False, False, True]

    (row,) = built.metrics.snapshot().methods
    assert (row.method, row.count, row.rate_limit_hits) == ("number/double", 5, 1)
    assert row.errors == {"InvalidInputError": 1, "RateLimitError": 1}


@pytest.mark.requirement("ruling/registry/same-value-every-door")
def test_a_tool_gives_one_value_at_every_door(tmp_path: Path, connect: Connect) -> None:
    doors = [connect(name, tmp_path, registry=registry()) for name in DOORS]
    for family in FAMILIES:
        answers = [door.call(name_of(family), {"limit": 7}) for door in doors]
        assert all(answer.value == answers[0].value for answer in answers)
        for form in (JSON_DOORS, READING_DOORS):
            assert len({answer.text for name, answer in zip(DOORS, answers, strict=True) if name in form}) == 1


@pytest.mark.parametrize("door_name", ["stdio", "bare"])
def test_a_slashed_name_is_a_bare_method_on_the_stream(door_name: str, tmp_path: Path, connect: Connect) -> None:
    door = connect(door_name, tmp_path, registry=holding(declared()))
    assert isinstance(door, LineDoor)
    assert door.client.request("number/double", {"number": 21})["result"] == {"number": 42}
    assert door.call("number/double", {"number": 21}).value == {"number": 42}


def test_a_slashed_name_is_a_bare_method_over_http(tmp_path: Path, connect: Connect) -> None:
    door = connect("rpc", tmp_path, registry=holding(declared()))
    assert isinstance(door, RpcDoor)
    assert door.request("number/double", {"number": 21})["result"] == {"number": 42}


@pytest.mark.requirement("ruling/registry/unknown-tool-error")
@pytest.mark.parametrize("door_name", [name for name in DOORS if name != "memory"])
def test_an_unknown_tool_is_an_error_that_names_it(door_name: str, tmp_path: Path, connect: Connect) -> None:
    answer = connect(door_name, tmp_path, registry=holding(declared())).call("number_dubble")
    assert answer.rpc_error is not None
    assert answer.rpc_error["code"] == -32602
    assert "number_dubble" in answer.rpc_error["data"]["reason"]
    assert "number_double" in answer.rpc_error["data"]["remedy"]


def test_a_bug_whose_words_no_encoding_takes_is_still_answered(
    door_name: str, tmp_path: Path, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    answer = connect(door_name, tmp_path, registry=holding(declared())).call("number_double", {"number": 13})
    assert answer.value["error"]["code"] == -32603
    assert "OSError: no such file" in answer.value["error"]["data"]["message"]


def test_two_tools_of_one_name_or_one_method_are_refused() -> None:
    built = holding(declared())
    with pytest.raises(ValueError, match="number_double"):
        built.add(replace(declared(), method="other/method"))
    with pytest.raises(ValueError, match="number/double"):
        built.add(replace(declared(), name="other"))
    assert list(built.tools) == ["number_double"]
