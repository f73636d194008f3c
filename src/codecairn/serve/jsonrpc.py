"""The bare door: JSON-RPC 2.0 with no handshake, for the methods that have a slashed name.

It answers a line that is not JSON with -32700, JSON that is no request with -32600, an unknown method with -32601, bad
params with -32602, and an array member by member. `tools/list` and `tools/call` are served too, so that a shell with
`curl` or `echo` reaches every tool; a client that shakes hands gets them from the MCP door instead.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

import msgspec

from codecairn.connection import Connection
from codecairn.paths import printable
from codecairn.serve import Service
from codecairn.suggestions import nearest, suggestion
from codecairn.tools import Answers, Registry, Tool
from codecairn.tools.families import RpcError, ToolReply

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL_ERROR = -32603
_DEEPEST = 200


class NotJson(ValueError):
    """The bytes are no JSON text; `str()` says why."""


class Fault(Exception):
    """A request is answered with an error of JSON-RPC."""

    def __init__(self, error: RpcError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(frozen=True)
class Request:
    id: Any
    method: str
    params: Any
    wants_answer: bool


@dataclass
class OwedArray:
    """The answers still owed to one JSON array."""

    missing: int
    answers: list[Any] = field(default_factory=list)


def parse(raw: bytes) -> Any:
    """Strict JSON: no NaN, no invalid UTF-8, no nesting that would exhaust the stack of whoever walks it."""
    try:
        message = json.loads(raw.decode("utf-8-sig"), parse_constant=_refuse_constant, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error) or type(error).__name__) from None
    if raw.count(b"[") + raw.count(b"{") > _DEEPEST and _depth(message) > _DEEPEST:
        raise NotJson("nested too deeply")
    return message


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _integer(digits: str) -> int | float:
    """Whole numbers longer than Python reads are JSON all the same; like 1e999 they are infinite to us."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _depth(message: Any) -> int:
    deepest, level = 0, [message]
    while level and deepest <= _DEEPEST:
        deepest += 1
        level = [
            child
            for each in level
            if isinstance(each, dict | list)
            for child in (each.values() if isinstance(each, dict) else each)
        ]
    return deepest


def request_of(message: Any) -> Request | None:
    """The request or notification that a JSON value is, or None."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or not isinstance(message.get("method"), str):
        return None
    if "id" in message and not _is_id(message["id"]):
        return None
    if "params" in message and not isinstance(message["params"], dict | list | None):
        return None
    return Request(message.get("id"), message["method"], message.get("params"), "id" in message)


def _is_id(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def id_of(message: Any) -> Any:
    """The id to answer a malformed request with, so that its sender can still match the answer."""
    found = message.get("id") if isinstance(message, dict) else None
    return found if _is_id(found) else None


def result(id_: Any, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": value}


def error(id_: Any, code: int, message: str, data: Any = None) -> dict[str, Any]:
    fault = {"code": code, "message": message} if data is None else {"code": code, "message": message, "data": data}
    return {"jsonrpc": "2.0", "id": id_, "error": fault}


def parse_error(why: str) -> dict[str, Any]:
    return error(None, PARSE_ERROR, "Parse error", {"message": printable(why)})


def invalid_request(message: Any, why: str = "not a JSON-RPC 2.0 request") -> dict[str, Any]:
    return error(id_of(message), INVALID_REQUEST, "Invalid Request", {"message": why})


def unknown_method(request: Request) -> dict[str, Any]:
    return error(request.id, METHOD_NOT_FOUND, "Method not found", {"method": printable(request.method)})


def dumps(message: Any) -> bytes:
    """One line. Text that no encoder takes (an id with a lone surrogate) is escaped rather than lost."""
    try:
        return msgspec.json.encode(message) + b"\n"
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"


class BareDoor:
    def __init__(self, service: Service, door: str) -> None:
        self._service = service
        self._door = door

    def serves(self, method: str) -> bool:
        return method in self._service.registry.methods or method in ("tools/list", "tools/call")

    async def answer(self, message: Any, connection: Connection) -> Any:
        """The answer to one parsed message: an object, an array, or None for notifications."""
        if isinstance(message, list):
            return await self.answer_array(message, connection)
        request = request_of(message)
        if request is None:
            return invalid_request(message)
        reply = await self.answer_request(request, connection)
        return reply if request.wants_answer else None

    async def answer_array(self, messages: list[Any], connection: Connection) -> Any:
        if not messages:
            return invalid_request(None, "an empty array")
        answers = [
            await self.answer(each, connection) if not isinstance(each, list) else invalid_request(each)
            for each in messages
        ]
        return [each for each in answers if each is not None] or None

    async def answer_request(self, request: Request, connection: Connection) -> dict[str, Any]:
        registry = self._service.registry
        if request.method == "tools/list":
            return result(request.id, {"tools": list_tools(registry)})
        if request.method == "tools/call":
            return await self._call_tool(request, connection)
        tool = registry.methods.get(request.method)
        if tool is None:
            return unknown_method(request)
        reply = await self._service.perform(tool, _arguments(request.params), connection, self._door)
        if reply.error is not None:
            return failure(request.id, reply.rpc_error)
        return result(request.id, reply.value)

    async def _call_tool(self, request: Request, connection: Connection) -> dict[str, Any]:
        params = request.params if isinstance(request.params, dict) else {}
        name = params.get("name")
        tool = self._service.registry.find(name) if isinstance(name, str) else None
        if tool is None:
            return error(request.id, INVALID_PARAMS, "Invalid params", unknown_tool(self._service.registry, name))
        reply = await self._service.perform(tool, params.get("arguments"), connection, self._door)
        if reply.as_rpc_error:
            return failure(request.id, reply.rpc_error)
        return result(request.id, tool_result(reply))


def unknown_tool(registry: Registry, name: Any) -> dict[str, Any]:
    near = nearest(name, registry.tools) if isinstance(name, str) else []
    remedy = suggestion(near, "tools/list names the tools of this server.")
    return {"param": "name", "reason": f"Unknown tool: {printable(str(name))}", "near": near, "remedy": remedy}


def tool_result(reply: ToolReply, answers: Answers = "json") -> dict[str, Any]:
    """Beside JSON text the value is whole, as the seeds draw it; beside text for reading it has the same budget."""
    answer: dict[str, Any] = {"content": [{"type": "text", "text": reply.text}]}
    if answers != "text":
        answer["structuredContent"] = reply.value if answers == "json" else reply.structured
    return {**answer, "isError": reply.error is not None}


def list_tools(registry: Registry) -> list[dict[str, Any]]:
    return [advertisement(tool) for tool in registry.tools.values()]


def advertisement(tool: Tool, *, with_output: bool = True) -> dict[str, Any]:
    """A tool as `tools/list` shows it. The dialect of its schemas is the protocol's own, so it is not repeated."""
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.short_input_schema,
        **({"outputSchema": tool.short_output_schema} if with_output else {}),
        "annotations": tool.short_annotations,
    }


def _arguments(params: Any) -> Any:
    """`_meta` is the protocol's, not the method's."""
    return {name: value for name, value in params.items() if name != "_meta"} if isinstance(params, dict) else params


def failure(id_: Any, fault: RpcError) -> dict[str, Any]:
    return error(id_, fault.code, fault.message, fault.data)
