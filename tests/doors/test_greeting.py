"""A handshake is answered before the SDK is imported, and just as the SDK would answer it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from codecairn import __version__
from codecairn.greeting.greeter import Greeter
from codecairn.greeting.line_stream import LineStream
from codecairn.greeting.rendered import Greeting, Rendered
from codecairn.serve import Service
from codecairn.serve.stdio import StdioDoor
from tests.support.doors import service
from tests.support.greeting import PLACE, answers, render
from tests.support.repo import Repo
from tests.support.wire import LineClient, ServerProcess

CLIENT = {"name": "somebody", "version": "1"}
TEXT_CLIENT = {"name": "claude-code", "version": "2.1.0"}
ORDINARY: tuple[dict[str, Any], ...] = (
    {},
    {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}, "url": {}}},
    {"experimental": {"x": {}}, "tasks": {"list": {}, "requests": {"sampling": {"createMessage": {}}}}},
)
UNUSUAL: tuple[dict[str, Any], ...] = (
    {"params": {"protocolVersion": 7, "capabilities": {}, "clientInfo": CLIENT}},
    {"params": {"protocolVersion": "2025-11-25", "capabilities": [], "clientInfo": CLIENT}},
    {"params": {"protocolVersion": "2025-11-25", "capabilities": {"roots": {"listChanged": 3}}, "clientInfo": CLIENT}},
    {"params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "nameless"}}},
    {"params": {"protocolVersion": "2025-11-25", "capabilities": {}}},
    {"params": {"protocolVersion": "2025-11-25", "capabilities": {"experimental": {"x": {"y": 1}}}, "clientInfo": {}}},
    {"params": []},
    {"id": 1.5},
    {"id": "\ud800"},
    {"jsonrpc": "1.0"},
)  # fmt: skip


class Greeted:
    """The stdio door behind a greeter, on pipes; the door opens when it is told to."""

    def __init__(self, served: Service, names: tuple[str, ...] = (), form: str = "auto") -> None:
        door_reads, client_writes = os.pipe()
        client_reads, door_writes = os.pipe()
        self._service = served
        self._wire = LineStream(os.fdopen(door_reads, "rb"), os.fdopen(door_writes, "wb"))
        rendered = Rendered.load()
        self._greeter = Greeter(self._wire, Greeting(rendered, rendered.select(names), form))
        self._greeter.start()
        self.reads, self.writes = os.fdopen(client_reads, "rb"), os.fdopen(client_writes, "wb")
        self.client = LineClient(self.reads, self.writes)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def open(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        anyio.run(StdioDoor(self._service, self._wire, self._greeter).run)
        self._wire.flush(2)
        self._wire.close()

    def close(self) -> None:
        self.writes.close()
        if not self._thread.ident:
            self.open()
        self._thread.join(10)
        self.reads.close()
        assert not self._thread.is_alive()
        assert self.client.noise == []


@contextmanager
def greeted(served: Service, names: tuple[str, ...] = (), form: str = "auto") -> Iterator[Greeted]:
    opened = Greeted(served, names, form)
    try:
        yield opened
    finally:
        opened.close()


def params(version: str = "2025-11-25", client: Any = None, capabilities: Any = None) -> dict[str, Any]:
    return {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": client or CLIENT}


def test_the_rendered_answers_are_those_of_the_door() -> None:
    current = json.loads(PLACE.read_text(encoding="utf-8"))
    assert current == render(), "run python -m tests.support.greeting"


@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "2026-07-28", "1999-01-01"])
@pytest.mark.parametrize("client", [CLIENT, TEXT_CLIENT], ids=lambda each: each["name"])
def test_a_greeting_is_what_the_sdk_says_to_every_version(repo: Repo, version: str, client: dict[str, Any]) -> None:
    for capabilities in ORDINARY:
        shaken, listed = answers(version, client, capabilities)
        with greeted(service(repo.path)) as door:
            assert door.client.request("initialize", params(version, client, capabilities))["result"] == shaken
            assert door.client.request("tools/list", {})["result"] == listed
            assert shaken["serverInfo"]["version"] == __version__


@pytest.mark.parametrize("form", ["text", "both"])
def test_the_form_that_was_ordered_holds_for_the_greeting(repo: Repo, form: Any) -> None:
    _, listed = answers("2025-11-25", TEXT_CLIENT, {}, answers=form)
    with greeted(service(repo.path, answers=form), form=form) as door:
        door.client.request("initialize", params(client=TEXT_CLIENT))
        assert door.client.request("tools/list", {"_meta": {"progressToken": 4}})["result"] == listed


def test_a_selection_is_listed_alone(repo: Repo) -> None:
    with greeted(service(repo.path), ("history", "read_file")) as door:
        door.client.request("initialize", params())
        listed = [each["name"] for each in door.client.request("tools/list")["result"]["tools"]]
    assert {"git_log", "read_file"} <= set(listed)
    assert "search_code" not in listed


def test_the_connection_goes_on_behind_a_greeting_as_if_the_sdk_had_shaken_hands(repo: Repo) -> None:
    with greeted(service(repo.path)) as door:
        door.client.request("initialize", params("2025-03-26"))
        door.client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        early = door.client.start("tools/call", {"name": "health_check"})
        door.open()
        assert door.client.take(early)["result"]["structuredContent"]["status"]
        door.client.send([{"jsonrpc": "2.0", "id": 9, "method": "ping"}])  # 2025-03-26 alone has batches
        assert door.client.take(lambda each: isinstance(each, list)) == [{"jsonrpc": "2.0", "id": 9, "result": {}}]
        assert door.client.request("tools/list")["result"]["tools"]
        assert [each for each in door.client.received if "result" in each] == []


@pytest.mark.parametrize("change", UNUSUAL, ids=repr)
def test_an_unusual_handshake_is_left_to_the_sdk(repo: Repo, change: dict[str, Any]) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params(), **change}
    with greeted(service(repo.path)) as door:
        door.client.send(message)
        door.client.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        door.open()
        asked = door.client.request("health/check")
        assert asked["result"]
        first = door.client.received[0] if door.client.received else None
    with greeted(service(repo.path)) as plain:
        plain.open()
        plain.client.send(message)
        plain.client.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        plain.client.request("health/check")
        assert first == (plain.client.received[0] if plain.client.received else None)


def test_bare_calls_and_garbage_before_a_handshake_are_answered_by_the_door(repo: Repo) -> None:
    with greeted(service(repo.path)) as door:
        bare = door.client.start("health/check")
        door.client.send_bytes(b"{nonsense")
        shaken = door.client.start("initialize", params())
        door.open()
        assert door.client.take(bare)["result"]["status"]
        assert door.client.take(lambda each: each.get("id") is None)["error"]["code"] == -32700
        assert door.client.take(shaken)["result"]["protocolVersion"] == "2025-11-25"


def test_a_client_of_the_era_without_handshakes_is_not_greeted(repo: Repo) -> None:
    envelope = {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": CLIENT,
        "io.modelcontextprotocol/clientCapabilities": {},
    }}  # fmt: skip
    with greeted(service(repo.path)) as door:
        discovered = door.client.start("server/discover", envelope)
        door.open()
        assert "2026-07-28" in door.client.take(discovered)["result"]["supportedVersions"]
        assert door.client.request("tools/list", envelope)["result"]["resultType"] == "complete"


SPY = """
import sys
from codecairn.greeting import greeter
from codecairn.cli import main

class Spy(greeter.Greeter):
    def _answer(self, request, result):
        super()._answer(request, {**result, "loaded": sorted({each.partition(".")[0] for each in sys.modules})})

greeter.Greeter = Spy
main()
"""


def test_nothing_heavy_is_imported_before_the_greeting(tmp_path: Path) -> None:
    """The real command, which tells what it has imported as it answers."""
    script = tmp_path / "spy.py"
    script.write_text(SPY)
    with ServerProcess(folder=tmp_path, script=script) as server:
        loaded = server.request("initialize", params())["result"]["loaded"]
        assert server.request("tools/call", {"name": "health_check"})["result"]
    heavy = {"mcp", "mcp_types", "pydantic", "anyio", "asyncio", "starlette", "numpy", "msgspec", "sqlite3"}
    assert "codecairn" in loaded
    assert heavy & set(loaded) == set()
