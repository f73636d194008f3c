"""Ordinary requests on stdio are answered without the SDK, and just as the SDK answers them over HTTP."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from codecairn.serve import Service
from tests.support.doors import HttpDoor, http_server, line_client, service
from tests.support.repo import Repo
from tests.support.wire import LineClient

READER = {"name": "claude-code", "version": "2.1.0"}
PROGRAM = {"name": "somebody", "version": "1"}
ORDINARY: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ping", {}),
    ("tools/list", {}),
    ("tools/list", {"_meta": {"progressToken": "p", "vendor/other": [1]}}),
    ("prompts/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("tools/call", {"name": "read_file", "arguments": {"path": "a.py"}}),
    ("tools/call", {"name": "read_file", "arguments": {"path": "none.py"}}),
    ("tools/call", {"name": "read_file", "arguments": {"path": "../out"}, "_meta": {"vendor/id": "x"}}),
    ("tools/call", {"name": "read_file"}),
    ("tools/call", {"name": "instructions_get", "arguments": {"id": "none"}}),
    ("tools/call", {"name": "no_such_tool", "arguments": {}}),
    ("tools/call", {"name": "git_log", "arguments": None}),
    ("tools/call", {"name": "git_log", "arguments": {"limit": "many"}}),
)
ODD: tuple[tuple[str, Any], ...] = (
    ("tools/call", {"name": 7}),
    ("tools/call", {"arguments": {}}),
    ("tools/call", {"name": "git_log", "arguments": []}),
    ("tools/call", {"name": "git_log", "_meta": 1}),
    ("tools/list", {"cursor": "x"}),
    ("tools/list", {"cursor": 5}),
    ("prompts/get", {"name": "onboard"}),
    ("prompts/get", {"name": "none"}),
    ("resources/read", {"uri": "context://none"}),
    ("resources/read", {}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "onboard"}, "argument": {"name": "x", "value": ""}}),
    ("logging/setLevel", {"level": "info"}),
    ("server/discover", {}),
)
"""What the SDK answers on stdio, too."""


@pytest.fixture
def served(repo: Repo) -> Service:
    repo.commit("start", {"a.py": "def one():\n    return 1\n", "lib/b.py": "import a\n"})
    return service(repo.path)


def told(message: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key != "id"}


def both(served: Service, version: str, client: dict[str, Any], asked: Any) -> Iterator[tuple[Any, Any, Any]]:
    """For each request what stdio says to it and what the SDK does."""
    with http_server(served) as port, line_client(served) as wire:
        sdk = HttpDoor(port, version=version, client=client)
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        assert wire.request("initialize", params)["result"] == sdk.shaken
        wire.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        for method, given in asked:
            yield (method, given), told(wire.request(method, given)), told(sdk.request(method, given))


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
@pytest.mark.parametrize("client", [PROGRAM, READER], ids=lambda each: each["name"])
def test_ordinary_requests_are_answered_as_the_sdk_does(served: Service, version: str, client: dict[str, Any]) -> None:
    for asked, plain, sdk in both(served, version, client, ORDINARY):
        assert plain == sdk, asked


def test_odd_requests_are_the_sdks_and_ordinary_ones_go_on(served: Service) -> None:
    for asked, plain, sdk in both(served, "2025-11-25", PROGRAM, [*ODD, *ORDINARY]):
        assert plain == sdk, asked


def test_the_sdk_hears_of_a_handshake_that_it_missed(served: Service) -> None:
    with line_client(served) as wire:
        wire.initialize("2025-06-18")
        assert wire.request("prompts/get", {"name": "onboard"})["result"]["messages"]
        again = wire.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": PROGRAM})
        assert "result" in again
        assert wire.received == []


@pytest.mark.parametrize(
    "response",
    [
        {"jsonrpc": "2.0", "id": 4},
        {"jsonrpc": "2.0", "id": 4, "result": []},
        {"jsonrpc": "1.0", "id": 4, "result": {}},
        {"jsonrpc": "2.0", "id": True, "result": {}},
        {"jsonrpc": "2.0", "id": 4, "error": {"code": "no", "message": "x"}},
    ],
    ids=repr,
)
def test_what_is_no_response_is_refused(served: Service, response: dict[str, Any]) -> None:
    with line_client(served) as wire:
        wire.initialize()
        wire.send(response)
        assert wire.take(lambda each: "error" in each)["error"]["code"] == -32600


def test_a_response_that_nobody_waits_for_is_passed_over(served: Service) -> None:
    with line_client(served) as wire:
        wire.initialize()
        wire.send({"jsonrpc": "2.0", "id": "cairn-1", "result": {"roots": []}})
        wire.send({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "what?"}})
        assert wire.request("ping", {})["result"] == {}
        assert wire.received == []


def test_an_ordinary_client_needs_no_sdk(repo: Repo, tmp_path: Path) -> None:
    """A real process is asked what clients ask; it has neither the SDK nor pydantic at its end."""
    repo.commit("start", {"a.py": "def one():\n    return 1\n"})
    script = (
        "import os, sys\n"
        "from codecairn.cli import serve\n"
        "def leave(status):\n"
        "    heavy = sorted({'mcp', 'mcp_types', 'pydantic', 'starlette'} & sys.modules.keys())\n"
        f"    open({str(tmp_path / 'heavy')!r}, 'w').write(repr(heavy))\n"
        "    os._exit(status)\n"
        "serve.leave = leave\n"
        f"serve.command(['--root', {str(repo.path)!r}, '--no-index'], standalone_mode=False)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        client = LineClient(server.stdout, server.stdin)
        client.initialize()
        answers = [client.request(method, given) for method, given in ORDINARY]
        server.stdin.close()
        assert server.wait(30) == 0
    assert all("result" in answer or answer["error"]["code"] == -32602 for answer in answers)
    assert (tmp_path / "heavy").read_text() == "[]"
