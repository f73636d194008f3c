"""python -m tests.support.greeting: renders greeting.json anew, from what the SDK answers over HTTP."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from mcp_types.methods import SPEC_CLIENT_METHODS
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

import codecairn.greeting
from codecairn import tools
from codecairn.greeting.rendered import FILE
from tests.support.doors import HttpDoor, http_server, service

PLACE = Path(codecairn.greeting.__path__[0], FILE)


def answers(version: str, client: dict[str, Any], capabilities: dict[str, Any], **settings: Any) -> tuple[Any, Any]:
    """The results of `initialize` and of `tools/list`, as the SDK gives them."""
    with tempfile.TemporaryDirectory() as folder, http_server(service(Path(folder), **settings)) as port:
        door = HttpDoor(port, capabilities, version=version, client=client)
        return door.shaken, door.request("tools/list", {})["result"]


def render() -> dict[str, Any]:
    shaken, listed = answers(HANDSHAKE_PROTOCOL_VERSIONS[-1], {"name": "render", "version": "0"}, {})
    families = {tool.name: tool.family for tool in tools.standard().tools.values()}
    del shaken["protocolVersion"], shaken["serverInfo"]["version"]
    return {
        "versions": list(HANDSHAKE_PROTOCOL_VERSIONS),
        "initialize": shaken,
        "tools": [[families[each["name"]], each] for each in listed["tools"]],
        "methods": sorted(SPEC_CLIENT_METHODS),
    }


if __name__ == "__main__":
    PLACE.write_text(json.dumps(render(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
