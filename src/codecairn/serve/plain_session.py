"""MCP with a handshake, as far as nothing about a request needs a second look.

The SDK takes 40 MB and most of a second of imports, and it is there for the whole of the protocol. What clients ask all
day is a handful of methods in plain shapes: a connection whose handshake was ordinary (`greeting/greeter`) has them
answered here. Everything else (other methods, odd shapes, the era without handshakes) is the SDK's to answer, which is
imported then. Both answer from `mcp_requests` and `shelf`, and a test holds them equal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import anyio

from codecairn.connection import Connection
from codecairn.errors import CairnError
from codecairn.greeting.answer_form import Client
from codecairn.greeting.greeter import is_plain_id
from codecairn.serve import jsonrpc, shelf
from codecairn.serve.jsonrpc import Fault, Request
from codecairn.serve.mcp_requests import Asker, McpRequests

log = logging.getLogger("codecairn.mcp")

_ENVELOPE = "io.modelcontextprotocol/protocolVersion"
"""What a request of the era without handshakes has in its `_meta`."""
_LISTS = frozenset({"ping", "tools/list", "prompts/list", "resources/list", "resources/templates/list"})


@dataclass
class _Waiting:
    """A request of ours to the client."""

    answered: anyio.Event = field(default_factory=anyio.Event)
    answer: dict[str, Any] = field(default_factory=dict)


class PlainSession:
    """One connection. `send` takes messages from any thread."""

    def __init__(
        self, requests: McpRequests, connection: Connection, handshake: dict[str, Any], protocol: str,
        send: Callable[[dict[str, Any]], None],
    ) -> None:  # fmt: skip
        """`handshake` are the params of `initialize`, `protocol` the version agreed."""
        client = handshake["clientInfo"]
        self.protocol = protocol
        self._requests = requests
        self._asker = Asker(connection, protocol, Client(client["name"], client["version"]), self._ask_roots)
        self._has_roots = "roots" in handshake["capabilities"]
        self._send = send
        self._waiting: dict[str, _Waiting] = {}
        self._numbers = count(1)

    def takes(self, request: Request) -> bool:
        """Whether a request is one of the plain ones."""
        params = {} if request.params is None else request.params
        if not request.wants_answer or not is_plain_id(request.id) or not isinstance(params, dict):
            return False
        meta = params.get("_meta", {})
        if not isinstance(meta, dict) or is_enveloped(params) or not is_plain_id(meta.get("progressToken", 0)):
            return False
        if request.method == "tools/call":
            is_named = params.keys() <= {"name", "arguments", "_meta"} and isinstance(params.get("name"), str)
            return is_named and isinstance(params.get("arguments"), dict | None)
        return request.method in _LISTS and params.keys() <= {"_meta"}

    async def answer(self, request: Request) -> dict[str, Any]:
        """The answer to a request that `takes` takes."""
        try:
            return jsonrpc.result(request.id, await self._result(request))
        except Fault as fault:
            return jsonrpc.failure(request.id, fault.error)
        except CairnError as error:
            return jsonrpc.failure(request.id, shelf.fault(error, {}, is_modern=False))
        except Exception as error:  # a bug of ours is said, and ends no connection
            log.exception("%s failed", request.method)
            data = {"message": f"{type(error).__name__}: {error}"}
            return jsonrpc.error(request.id, jsonrpc.INTERNAL_ERROR, "Internal error", data)

    def take_response(self, message: dict[str, Any]) -> bool:
        """Whether a message of the client answers a request of ours."""
        waiting = self._waiting.pop(message["id"], None) if isinstance(message["id"], str) else None
        if waiting is None:
            return False
        waiting.answer = message
        waiting.answered.set()
        return True

    def forget_roots(self) -> None:
        self._requests.roots.forget(self._asker.connection)

    async def _result(self, request: Request) -> dict[str, Any]:
        params = request.params or {}
        if request.method == "tools/call":
            return await self._call_tool(params)
        if request.method == "tools/list":
            return self._requests.list_tools(self._asker)
        if request.method == "resources/list":
            listed: dict[str, Any] = await self._requests.ask(self._asker, request.method, shelf.resource_list)
            return listed
        if request.method == "resources/templates/list":
            return shelf.template_list()
        return shelf.prompt_list() if request.method == "prompts/list" else {}

    async def _call_tool(self, params: dict[str, Any]) -> dict[str, Any]:
        token = params.get("_meta", {}).get("progressToken")
        is_over = False

        def report(done: float, total: float | None, message: str | None) -> None:
            if token is not None and not is_over:
                said = {"progressToken": token, "progress": done, "total": total, "message": message}
                shown = {name: value for name, value in said.items() if value is not None}
                self._send({"jsonrpc": "2.0", "method": "notifications/progress", "params": shown})

        try:
            return await self._requests.call_tool(self._asker, params["name"], params.get("arguments"), report)
        finally:
            is_over = True

    async def _ask_roots(self) -> list[str]:
        if not self._has_roots:
            return []
        id_, waiting = f"cairn-{next(self._numbers)}", _Waiting()
        self._waiting[id_] = waiting
        self._send({"jsonrpc": "2.0", "id": id_, "method": "roots/list"})
        try:
            await waiting.answered.wait()
        finally:
            self._waiting.pop(id_, None)
        named = _root_addresses(waiting.answer.get("result"))
        if named is None:
            log.warning("the client did not name its roots: %s", waiting.answer.get("error", "no list of addresses"))
        return named or []


def _root_addresses(result: Any) -> list[str] | None:
    roots = result.get("roots") if isinstance(result, dict) else None
    if not isinstance(roots, list) or not all(isinstance(each, dict) for each in roots):
        return None
    named = [each.get("uri") for each in roots]
    return named if all(isinstance(each, str) and each.startswith("file://") for each in named) else None


def is_enveloped(params: Any) -> bool:
    """Whether a request says of itself that it is of the era without handshakes."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and _ENVELOPE in meta
