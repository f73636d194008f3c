"""The stdio door: one JSON message a line, MCP and bare JSON-RPC on the same stream.

The transport is our own because the SDK's drops in silence what it cannot parse, and because a bare method must be
answered before, after or without a handshake and must not decide the protocol era of the connection. A line goes

    not JSON                      -> -32700        an array             -> member by member, or one -32600
    JSON, no request              -> -32600        a bare method        -> BareDoor
    a method nobody has           -> -32601        an ordinary request  -> PlainSession
    everything else               -> the SDK, which is imported by then

Reading and writing block, so each has a thread (`greeting/line_stream`); what lies between is one event loop. A greeter
may have answered the handshake before this module was imported. If the SDK is needed after a handshake that it has not
seen, it is told of it, and its answer is not sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import anyio.to_thread

from codecairn.connection import Connection
from codecairn.greeting.greeter import Answered, Greeter, is_handshake, is_plain_id
from codecairn.greeting.line_stream import LONGEST_LINE, TOO_LONG, LineStream
from codecairn.greeting.rendered import Rendered
from codecairn.serve import Service, jsonrpc
from codecairn.serve.jsonrpc import BareDoor, NotJson, OwedArray, Request
from codecairn.serve.mcp_requests import McpRequests
from codecairn.serve.plain_session import PlainSession, is_enveloped
from codecairn.source import process

if TYPE_CHECKING:
    from codecairn.serve.sdk_stream import SdkStream

_GRACE_S = 0.6
"""How long calls under way may still answer after stdin has closed; the process is gone within a second of it."""

_LAST_WORDS_S = 0.1
"""How long calls whose child was then killed may take to say so."""

_CLOSED = -32000
"""As the SDK has it."""

_WITH_ARRAYS = "2025-03-26"
"""The one protocol version that has batches."""


class StdioDoor:
    def __init__(self, service: Service, wire: LineStream, greeter: Greeter | None = None) -> None:
        self._service = service
        self._wire = wire
        self._start_delivery = greeter.hand_over if greeter is not None else wire.start
        self._connection = Connection("stdio")
        self._bare = BareDoor(service, "stdio")
        self._requests = McpRequests(service, "stdio")
        self._rendered: Rendered | None = None
        self._session: PlainSession | None = None
        self._sdk: SdkStream | None = None
        self._missed: list[dict[str, Any]] = []
        """What the SDK must hear first if it is needed: the handshake that was answered without it."""
        self._has_answered = False
        self._is_ending = False
        self._calls: dict[str, list[anyio.CancelScope]] = {}

    async def run(self) -> None:
        inbox_send, inbox = anyio.create_memory_object_stream[Any](float("inf"))
        loop = asyncio.get_running_loop()
        self._start_delivery(lambda line: loop.call_soon_threadsafe(inbox_send.send_nowait, line))
        async with anyio.create_task_group() as tasks:
            async for line in inbox:
                if line is None:
                    break
                await self._take(line, tasks)
                self._wire.release_line()
            await self._finish_calls(_GRACE_S)
            process.kill_all()
            await self._finish_calls(_LAST_WORDS_S)
            self._end_calls()
            await self._finish_calls(_LAST_WORDS_S)
            tasks.cancel_scope.cancel()
        inbox_send.close()
        inbox.close()
        if self._sdk is not None:
            self._sdk.close()
        self._service.end_connection(self._connection.id)

    @property
    def _era(self) -> str | None:
        """The protocol version of the connection; None before one is agreed."""
        return self._session.protocol if self._session is not None else self._sdk.era if self._sdk is not None else None

    async def _finish_calls(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            while (self._calls or (self._sdk is not None and self._sdk.is_owing)) and not self._wire.broken.is_set():
                await anyio.sleep(0.01)

    async def _take(self, line: Any, tasks: anyio.abc.TaskGroup) -> None:
        if line is TOO_LONG:
            return self._send(jsonrpc.parse_error(f"a line may hold at most {LONGEST_LINE} bytes"))
        if isinstance(line, Answered):
            self._note_answer()
            return self._begin_session(jsonrpc.parse(line.line), line.protocol)
        try:
            message = jsonrpc.parse(line)
        except NotJson as error:
            return self._send(jsonrpc.parse_error(str(error)))
        if isinstance(message, list):
            return await self._take_array(message, tasks)
        return await self._route(message, None, tasks)

    async def _take_array(self, messages: list[Any], tasks: anyio.abc.TaskGroup) -> None:
        if not messages:
            return self._send(jsonrpc.invalid_request(None, "an empty array"))
        if self._era not in (None, _WITH_ARRAYS):
            return self._send(jsonrpc.invalid_request(None, f"protocol {self._era} has no batches"))
        array = OwedArray(sum(1 for each in messages if not _is_unanswered(each)))
        for each in messages:
            if isinstance(each, list):
                self._send(jsonrpc.invalid_request(each), array)
            else:
                await self._route(each, array, tasks)
        return None

    async def _route(self, message: Any, array: OwedArray | None, tasks: anyio.abc.TaskGroup) -> None:
        if _looks_like_response(message):
            return await self._take_response(message, array)
        request = jsonrpc.request_of(message)
        if request is None:
            return self._send(jsonrpc.invalid_request(message), array)
        if self._is_bare(request):
            return self._begin_call(request, array, tasks, lambda: self._bare.answer_request(request, self._connection))
        if array is None and self._shake_hands(message, request):
            return None
        session = self._session
        if session is not None and message.keys() <= {"jsonrpc", "id", "method", "params"} and session.takes(request):
            return self._begin_call(request, array, tasks, lambda: session.answer(request))
        if not request.wants_answer:
            return await self._heed(message, request, tasks)
        if request.method not in self._known.methods:
            return self._send(jsonrpc.unknown_method(request), array)
        return await (await self._need_sdk(tasks)).take(message, array)

    @property
    def _known(self) -> Rendered:
        self._rendered = self._rendered or Rendered.load()
        return self._rendered

    def _shake_hands(self, message: dict[str, Any], request: Request) -> bool:
        """Answer an ordinary handshake, where it is the first; whether it was one."""
        is_first = request.method == "initialize" and self._session is None and self._sdk is None
        is_ordinary = message.keys() == {"jsonrpc", "id", "method", "params"} and is_plain_id(request.id)
        if not is_first or not is_ordinary or not is_handshake(request.params):
            return False
        result = self._known.handshake(request.params["protocolVersion"])
        self._begin_session(message, result["protocolVersion"])
        self._send(jsonrpc.result(request.id, result))
        return True

    def _begin_session(self, message: dict[str, Any], protocol: str) -> None:
        self._missed.append(message)
        self._session = PlainSession(self._requests, self._connection, message["params"], protocol, self._send)

    async def _need_sdk(self, tasks: anyio.abc.TaskGroup) -> SdkStream:
        if self._sdk is None:
            made = await anyio.to_thread.run_sync(_import_sdk)
            self._sdk = made(self._service, self._requests, self._connection, self._send, self._send_nothing)
            self._sdk.start(tasks)
            for message in self._missed:
                await self._sdk.take(message, None, is_answered=True)
        return self._sdk

    async def _take_response(self, message: dict[str, Any], array: OwedArray | None) -> None:
        if not _is_response(message):  # its id is one of ours, so the complaint has none
            return self._send(jsonrpc.invalid_request(None, "not a JSON-RPC 2.0 response"), array)
        is_awaited = self._session is not None and self._session.take_response(message)
        if not is_awaited and self._sdk is not None:
            await self._sdk.take(message, array)
        return None

    async def _heed(self, message: dict[str, Any], request: Request, tasks: anyio.abc.TaskGroup) -> None:
        """A notification."""
        if request.method == "notifications/cancelled":
            self._cancel_call(request)
        if self._session is None:
            return await (await self._need_sdk(tasks)).take(message, None)
        if request.method == "notifications/roots/list_changed":
            self._session.forget_roots()
        if self._sdk is not None:
            await self._sdk.take(message, None)
        elif request.method == "notifications/initialized" and len(self._missed) == 1:
            self._missed.append(message)
        return None

    def _is_bare(self, request: Request) -> bool:
        if request.method in self._service.registry.methods:
            return True
        return self._era is None and not is_enveloped(request.params) and self._bare.serves(request.method)

    def _begin_call(
        self, request: Request, array: OwedArray | None, tasks: anyio.abc.TaskGroup,
        work: Callable[[], Awaitable[dict[str, Any]]],
    ) -> None:  # fmt: skip
        scope = anyio.CancelScope()
        self._calls.setdefault(_key(request.id), []).append(scope)
        tasks.start_soon(self._answer, request, array, scope, work)

    async def _answer(
        self, request: Request, array: OwedArray | None, scope: anyio.CancelScope,
        work: Callable[[], Awaitable[dict[str, Any]]],
    ) -> None:  # fmt: skip
        under_way = self._calls[_key(request.id)]
        try:
            with scope:
                answer = await work()
                if request.wants_answer:
                    self._send(answer, array)
            if scope.cancelled_caught and request.wants_answer:
                if self._is_ending:
                    self._send(jsonrpc.error(request.id, _CLOSED, "Connection closed"), array)
                else:
                    self._send_nothing(array)
        finally:
            under_way.remove(scope)
            if not under_way:
                self._calls.pop(_key(request.id), None)

    def _end_calls(self) -> None:
        """The client has closed its end, and what is under way is answered with an error."""
        self._is_ending = True
        for scope in [each for scopes in self._calls.values() for each in scopes]:
            scope.cancel()
        if self._sdk is not None:
            self._sdk.end_input()

    def _cancel_call(self, request: Request) -> None:
        named = request.params.get("requestId") if isinstance(request.params, dict) else None
        if named is not None:
            for scope in self._calls.get(_key(named), []):
                scope.cancel()

    def _send(self, message: Any, array: OwedArray | None = None) -> None:
        if array is None:
            self._wire.send(jsonrpc.dumps(message))
            return self._note_answer()
        array.answers.append(message)
        return self._send_nothing(array)

    def _send_nothing(self, array: OwedArray | None) -> None:
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


def _import_sdk() -> type[SdkStream]:
    from codecairn.serve.sdk_stream import SdkStream

    return SdkStream


def _key(id_: Any) -> str:
    return repr(id_)


def _looks_like_response(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and "method" not in message
        and "id" in message
        and ("result" in message or "error" in message)
    )


def _is_response(message: dict[str, Any]) -> bool:
    """Whether what looks like a response is one."""
    id_, error = message["id"], message.get("error")
    if message.get("jsonrpc") != "2.0" or isinstance(id_, bool) or not isinstance(id_, str | int | None):
        return False
    if "error" not in message:
        return id_ is not None and isinstance(message["result"], dict)
    if not isinstance(error, dict) or isinstance(error.get("code"), bool):
        return False
    return isinstance(error.get("code"), int) and isinstance(error.get("message"), str)


def _is_unanswered(message: Any) -> bool:
    if _looks_like_response(message):
        return _is_response(message)
    request = jsonrpc.request_of(message)
    return request is not None and not request.wants_answer


def serve(service: Service, wire: LineStream, greeter: Greeter | None = None) -> None:
    """Serve until stdin closes; then leave at once, with no child behind."""
    anyio.run(StdioDoor(service, wire, greeter).run)
    wire.flush(0.3)
