"""Which form of an answer a client gets: text made for reading, the value beside it, or the JSON of the seeds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.doors import JSON_DOORS, READING_DOORS, line_client, open_door, service
from tests.support.indexes import LastingWorkers
from tests.support.search import Built, built_from
from tests.support.wire import LineClient, ServerProcess

FILES: dict[str, str | bytes] = {
    "shop/till.py": (
        'RATE = 0.2\n\n\ndef add_tax(price: float) -> float:\n    """The price with its tax. Rounded to cents."""\n'
        '    taxed = price * (1 + RATE)\n    return round(taxed, 2) if taxed else float("0")\n\n\n'
        "def bill(prices: list[float]) -> float:\n    return sum(add_tax(each) for each in prices)\n"
    ),
    "shop/desk.py": "from shop.till import add_tax, bill\n\n\ndef serve() -> float:\n    return bill([add_tax(1.0)])\n",
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search_code", {"query": "price with tax"}),
    ("find_references", {"symbol_name": "add_tax"}),
    ("get_call_graph", {"symbol_name": "add_tax"}),
    ("get_file_outline", {"path": "shop/till.py"}),
    ("find_symbol", {"symbol_name": "add_tax"}),
    ("grep_codebase", {"pattern": "add_tax"}),
    ("read_file", {"path": "shop/till.py"}),
    ("get_status", {}),
    ("list_refs", {}),
    ("build_context_pack", {"task": "change the tax rate"}),
    ("explain_ranking", {"query": "add_tax", "result_path": "shop/till.py", "result_line_start": 4}),
    ("diff_context", {}),
    ("health_check", {}),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Built:
    return built_from(FILES, tmp_path_factory.mktemp("shop"), lasting)


def client_of(client: LineClient, name: str, version: str, protocol: str = "2025-11-25") -> None:
    about = {"protocolVersion": protocol, "capabilities": {}, "clientInfo": {"name": name, "version": version}}
    client.request("initialize", about)
    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


def call(client: LineClient, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = client.request("tools/call", {"name": tool, "arguments": arguments})["result"]
    return result


@pytest.fixture
def client(built: Built) -> Iterator[LineClient]:
    with line_client(service(built.root, data=built.home)) as opened:
        yield opened


@pytest.mark.requirement("ruling/shown/reading-text")
@pytest.mark.parametrize("door", READING_DOORS)
def test_later_connections_get_text_made_for_reading(built: Built, door: str) -> None:
    with open_door(door, service(built.root, data=built.home)) as opened:
        for tool, arguments in CALLS:
            answer = opened.call(tool, arguments)
            assert not answer.is_error, answer.text
            assert not answer.text.startswith("{"), tool
            assert answer.value, tool


@pytest.mark.requirement("ruling/shown/seeds-json-before")
@pytest.mark.parametrize("door", JSON_DOORS)
def test_earlier_connections_get_the_json_of_the_seeds(built: Built, door: str) -> None:
    with open_door(door, service(built.root, data=built.home)) as opened:
        for tool, arguments in CALLS:
            answer = opened.call(tool, arguments)
            assert not answer.is_error, answer.text
            assert json.loads(answer.text) == answer.value, tool


@pytest.mark.requirement("ruling/shown/text-alone-where-measured")
@pytest.mark.parametrize(
    ("name", "version"), [("claude-code", "2.1.197"), ("codex-mcp-client", "0.166.0"), ("claude-code", "3")]
)
def test_a_client_that_shows_only_values_gets_the_text_alone(client: LineClient, name: str, version: str) -> None:
    client_of(client, name, version)
    answer = call(client, "find_references", {"symbol_name": "add_tax"})
    assert "structuredContent" not in answer
    assert "shop/desk.py" in answer["content"][0]["text"]
    refused = call(client, "find_references", {"symbol_name": "no_such_name"})
    assert refused["isError"] is True
    assert "structuredContent" not in refused
    assert all("outputSchema" not in tool for tool in client.request("tools/list")["result"]["tools"])


@pytest.mark.parametrize(
    ("name", "version"), [("claude-code", "1.0.3"), ("claude-code-fork", "2.1"), ("inspector", "9"), ("", "")]
)
def test_every_other_client_gets_both(client: LineClient, name: str, version: str) -> None:
    client_of(client, name, version)
    answer = call(client, "find_references", {"symbol_name": "add_tax"})
    assert answer["structuredContent"]["total_references"] == 3
    assert all("outputSchema" in tool for tool in client.request("tools/list")["result"]["tools"])


def test_on_the_first_protocol_versions_such_a_client_gets_the_value_too(client: LineClient) -> None:
    client_of(client, "claude-code", "2.1.197", "2025-03-26")
    answer = call(client, "find_references", {"symbol_name": "add_tax"})
    assert json.loads(answer["content"][0]["text"]) == answer["structuredContent"]


@pytest.mark.requirement("ruling/shown/answers-option")
@pytest.mark.parametrize(("option", "name", "has_value"), [("text", "inspector", False), ("both", "claude-code", True)])
def test_a_user_can_decide_by_hand(tmp_path: Path, option: str, name: str, has_value: bool) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    home = str(tmp_path / "home")
    with ServerProcess("--root", str(tmp_path), "--answers", option, folder=tmp_path, CAIRN_HOME=home) as process:
        client_of(process, name, "2.1.197")
        assert ("structuredContent" in call(process, "read_file", {"path": "a.txt"})) is has_value
