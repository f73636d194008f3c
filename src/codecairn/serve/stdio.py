"""The stdio door: one JSON message a line, MCP and bare JSON-RPC on the same stream.

The transport is our own because the SDK's drops in silence what it cannot parse, and because a bare method must be
answered before, after or without a handshake and must not decide the protocol era of the connection. A line goes

    not JSON                      -> -32700        an array             -> member by member, or one -32600
    JSON, no request              -> -32600        a bare method        -> BareDoor
    a method nobody has           -> -32601        everything else      -> the SDK

Reading and writing block, so each has a thread (`greeting/line_stream`); what lies between is one event loop. A greeter
may have answered the handshake before this module was imported: the SDK is then told of it, and its answer is not sent.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc
import mcp_types as types
from mcp.shared._context_streams import create_context_streams
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import methods as spec
from pydantic import ValidationError

from codecairn.connection import Connection
from codecairn.greeting.greeter import Answered, Greeter
from codecairn.greeting.line_stream import LONGEST_LINE, TOO_LONG, LineStream
from codecairn.serve import Service, jsonrpc, mcp
from codecairn.serve.jsonrpc import BareDoor, NotJson
from codecairn.serve.resources import Context
from codecairn.source import process

log = logging.getLogger("codecairn.mcp")

_GRACE_S = 0.6
"""How long calls under way may still answer after stdin has closed; the process is gone within a second of it."""

_LAST_WORDS_S = 0.1
"""How long calls whose child was then killed may take to say so."""

_MODERN = "2026-07-28"
_ENVELOPE = "io.modelcontextprotocol/protocolVersion"


@dataclass
class _Array:
    """The answers still owed to one JSON array."""

    missing: int
    answers: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class _Owed:
    """A request the SDK has and has not settled."""

    method: str
    array: _Array | None
    is_answered: bool = False
    """Whether its answer went out before the SDK had it."""
    settled: anyio.Event = field(default_factory=anyio.Event)


class StdioDoor:
    def __init__(self, service: Service, wire: LineStream, greeter: Greeter | None = None) -> None:
        self._service = service
        self._wire = wire
        self._start_delivery = greeter.hand_over if greeter is not None else wire.start
        self._connection = Connection("stdio")
        self._unconnected = Connection("process", lasts=False)
        self._bare = BareDoor(service, "stdio")
        self._era: str | None = None
        self._sdk_has_begun = False
        self._has_answered = False
        self._owed: dict[str, list[_Owed]] = {}
        self._bare_calls: dict[str, list[anyio.CancelScope]] = {}

    def _connection_of(self, ctx: Context) -> Connection:
        """Of the era without handshakes, a call has no connection: it shares with the others of the process."""
        return self._unconnected if ctx.protocol_version == _MODERN else self._connection

    async def run(self) -> None:
        inbox_send, inbox = anyio.create_memory_object_stream[Any](float("inf"))
        loop = asyncio.get_running_loop()
        self._start_delivery(lambda line: loop.call_soon_threadsafe(inbox_send.send_nowait, line))
        to_sdk, sdk_reads = create_context_streams[SessionMessage | Exception](0)
        sdk_writes, from_sdk = create_context_streams[SessionMessage](0)
        server = mcp.build(self._service, self._connection_of, "stdio")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.run, sdk_reads, sdk_writes, server.create_initialization_options())
            tasks.start_soon(self._forward, from_sdk)
            async for line in inbox:
                if line is None:
                    break
                await self._take(line, to_sdk, tasks)
                self._wire.release_line()
            await self._finish_calls(_GRACE_S)
            process.kill_all()
            await self._finish_calls(_LAST_WORDS_S)
            # What the SDK still holds it now answers with an error; cancelled first, it would wait for a reader.
            to_sdk.close()
            await self._finish_calls(_LAST_WORDS_S)
            tasks.cancel_scope.cancel()
        for stream in (inbox_send, inbox, to_sdk, sdk_reads, sdk_writes, from_sdk):
            stream.close()
        self._service.end_connection(self._connection.id)

    async def _finish_calls(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            while (self._owed or self._bare_calls) and not self._wire.broken.is_set():
                await anyio.sleep(0.01)

    async def _take(self, line: Any, to_sdk: Any, tasks: anyio.abc.TaskGroup) -> None:
        if line is TOO_LONG:
            return self._send(jsonrpc.parse_error(f"a line may hold at most {LONGEST_LINE} bytes"))
        if isinstance(line, Answered):
            self._note_answer()
            return await self._to_sdk(jsonrpc.parse(line.line), None, to_sdk, is_answered=True)
        try:
            message = jsonrpc.parse(line)
        except NotJson as error:
            return self._send(jsonrpc.parse_error(str(error)))
        if isinstance(message, list):
            return await self._take_array(message, to_sdk, tasks)
        return await self._route(message, None, to_sdk, tasks)

    async def _take_array(self, messages: list[Any], to_sdk: Any, tasks: anyio.abc.TaskGroup) -> None:
        if not messages:
            return self._send(jsonrpc.invalid_request(None, "an empty array"))
        if self._era not in (None, "2025-03-26"):
            return self._send(jsonrpc.invalid_request(None, f"protocol {self._era} has no batches"))
        array = _Array(sum(1 for each in messages if not _is_unanswered(each)))
        for each in messages:
            if isinstance(each, list):
                self._send(jsonrpc.invalid_request(each), array)
            else:
                await self._route(each, array, to_sdk, tasks)
        return None

    async def _route(self, message: Any, array: _Array | None, to_sdk: Any, tasks: anyio.abc.TaskGroup) -> None:
        if _looks_like_response(message):
            response = _response_of(message)
            if response is None:  # its id is one of ours, so the complaint has none
                return self._send(jsonrpc.invalid_request(None, "not a JSON-RPC 2.0 response"), array)
            await to_sdk.send(SessionMessage(response))
            return None
        request = jsonrpc.request_of(message)
        if request is None:
            return self._send(jsonrpc.invalid_request(message), array)
        if self._is_bare(request):
            scope = anyio.CancelScope()
            self._bare_calls.setdefault(_key(request.id), []).append(scope)
            tasks.start_soon(self._answer_bare, request, array, scope)
            return None
        if request.method == "notifications/cancelled":
            self._cancel_bare(request)
        elif request.method not in spec.SPEC_CLIENT_METHODS and request.wants_answer:
            return self._send(jsonrpc.unknown_method(request), array)
        return await self._to_sdk(message, array, to_sdk)

    def _is_bare(self, request: jsonrpc.Request) -> bool:
        if request.method in self._service.registry.methods:
            return True
        return self._era is None and not _is_enveloped(request.params) and self._bare.serves(request.method)

    async def _answer_bare(self, request: jsonrpc.Request, array: _Array | None, scope: anyio.CancelScope) -> None:
        under_way = self._bare_calls[_key(request.id)]
        try:
            with scope:
                answer = await self._bare.answer_request(request, self._connection)
                if request.wants_answer:
                    self._send(answer, array)
            if scope.cancelled_caught and request.wants_answer:
                self._send_nothing(array)
        finally:
            under_way.remove(scope)
            if not under_way:
                self._bare_calls.pop(_key(request.id), None)

    def _cancel_bare(self, request: jsonrpc.Request) -> None:
        named = request.params.get("requestId") if isinstance(request.params, dict) else None
        if named is not None:
            for scope in self._bare_calls.get(_key(named), []):
                scope.cancel()

    async def _to_sdk(
        self, message: dict[str, Any], array: _Array | None, to_sdk: Any, *, is_answered: bool = False
    ) -> None:
        try:
            parsed = types.jsonrpc_message_adapter.validate_python(message, by_name=False)
        except ValidationError:
            return self._send(jsonrpc.invalid_request(message), array) if "id" in message else None
        if not isinstance(parsed, types.JSONRPCRequest):
            if "id" in message:  # a fraction: JSON-RPC allows it, MCP does not
                return self._send(jsonrpc.invalid_request(message, "an id is a string or a whole number"), array)
            await to_sdk.send(SessionMessage(parsed))
            return None
        if not self._sdk_has_begun and parsed.method != "initialize" and _is_enveloped(parsed.params):
            self._era = _MODERN
        self._sdk_has_begun = True
        owed = _Owed(parsed.method, array, is_answered)
        self._owed.setdefault(_key(parsed.id), []).append(owed)

        async def settle_silently() -> None:
            self._send_nothing(self._settle(parsed.id, owed).array)

        await to_sdk.send(SessionMessage(parsed, ServerMessageMetadata(on_request_unanswered=settle_silently)))
        if parsed.method == "initialize":  # what the next line means depends on the version agreed
            await owed.settled.wait()
        return None

    async def _forward(self, from_sdk: Any) -> None:
        async for item in from_sdk:
            message = _wire_form(item.message)
            if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                owed = self._settle(message["id"])
                if owed.method == "initialize" and "result" in message:
                    self._era = message["result"].get("protocolVersion")
                if not owed.is_answered:
                    self._send(message, owed.array)
                elif "error" in message:
                    log.error("the handshake was answered, and the SDK refuses it: %s", message["error"])
            else:
                self._send(message)

    def _settle(self, id_: Any, known: _Owed | None = None) -> _Owed:
        """Strike out a request: the one known, or the oldest under this id, for a client may use an id twice."""
        owing = self._owed[_key(id_)]
        owed = known if known in owing else owing[0]
        owing.remove(owed)
        if not owing:
            del self._owed[_key(id_)]
        owed.settled.set()
        return owed

    def _send(self, message: Any, array: _Array | None = None) -> None:
        if array is None:
            self._wire.send(jsonrpc.dumps(message))
            return self._note_answer()
        array.answers.append(message)
        return self._send_nothing(array)

    def _send_nothing(self, array: _Array | None) -> None:
        """One answer fewer is owed to the array; when it was the last, what there is goes out."""
        if array is None:
            return
        array.missing -= 1
        if array.missing == 0 and array.answers:
            self._wire.send(jsonrpc.dumps(array.answers))
            self._note_answer()

    def _note_answer(self) -> None:
        if not self._has_answered and self._service.upkeep is not None:
            self._service.upkeep.begin_after_answer()
        self._has_answered = True


def _wire_form(message: types.JSONRPCMessage) -> dict[str, Any]:
    """A result is plain JSON already; walking a large one again costs milliseconds."""
    if isinstance(message, types.JSONRPCResponse):
        return jsonrpc.result(message.id, message.result)
    return message.model_dump(by_alias=True, exclude_unset=True, mode="json")


def _key(id_: Any) -> str:
    return repr(id_)


def _is_enveloped(params: Any) -> bool:
    """Whether a request says of itself that it is of the era without handshakes."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and _ENVELOPE in meta


def _looks_like_response(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and "method" not in message
        and "id" in message
        and ("result" in message or "error" in message)
    )


def _response_of(message: Any) -> types.JSONRPCResponse | types.JSONRPCError | None:
    try:
        parsed = types.jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        return None
    return parsed if isinstance(parsed, types.JSONRPCResponse | types.JSONRPCError) else None


def _is_unanswered(message: Any) -> bool:
    if _looks_like_response(message):
        return _response_of(message) is not None
    request = jsonrpc.request_of(message)
    return request is not None and not request.wants_answer


def serve(service: Service, wire: LineStream, greeter: Greeter | None = None) -> None:
    """Serve until stdin closes; then leave at once, with no child behind."""
    anyio.run(StdioDoor(service, wire, greeter).run)
    wire.flush(0.3)
