"""The SDK behind the stdio door. It is imported with this module, which the door imports when something is asked that
only the SDK answers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc
import mcp_types as types
from mcp.shared._context_streams import create_context_streams
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError

from codecairn.connection import Connection
from codecairn.serve import Service, jsonrpc, mcp
from codecairn.serve.jsonrpc import OwedArray
from codecairn.serve.mcp_requests import McpRequests
from codecairn.serve.plain_session import is_enveloped
from codecairn.serve.resources import Context

log = logging.getLogger("codecairn.mcp")

MODERN = "2026-07-28"


@dataclass(eq=False)
class _Owed:
    """A request the SDK has and has not settled."""

    method: str
    array: OwedArray | None
    is_answered: bool = False
    """Whether its answer went out before the SDK had it."""
    settled: anyio.Event = field(default_factory=anyio.Event)


class SdkStream:
    def __init__(
        self, service: Service, requests: McpRequests, connection: Connection,
        send: Callable[[Any, OwedArray | None], None], send_nothing: Callable[[OwedArray | None], None],
    ) -> None:  # fmt: skip
        """`send` takes an answer, and the array that it is owed to; `send_nothing` an array that is owed one fewer."""
        self.era: str | None = None
        """The protocol version of the connection, once one is agreed."""
        self._connection = connection
        self._unconnected = Connection("process", lasts=False)
        self._send, self._send_nothing = send, send_nothing
        self._has_begun = False
        self._owed: dict[str, list[_Owed]] = {}
        self._to_sdk, self._sdk_reads = create_context_streams[SessionMessage | Exception](0)
        self._sdk_writes, self._from_sdk = create_context_streams[SessionMessage](0)
        self._server = mcp.build(service, self._connection_of, "stdio", requests=requests)

    def start(self, tasks: anyio.abc.TaskGroup) -> None:
        options = self._server.create_initialization_options()
        tasks.start_soon(self._server.run, self._sdk_reads, self._sdk_writes, options)
        tasks.start_soon(self._forward)

    def _connection_of(self, ctx: Context) -> Connection:
        """Of the era without handshakes, a call has no connection: it shares with the others of the process."""
        return self._unconnected if ctx.protocol_version == MODERN else self._connection

    @property
    def is_owing(self) -> bool:
        return bool(self._owed)

    async def take(self, message: dict[str, Any], array: OwedArray | None, *, is_answered: bool = False) -> None:
        """A request, a notification or a response of the client."""
        try:
            parsed = types.jsonrpc_message_adapter.validate_python(message, by_name=False)
        except ValidationError:
            return self._send(jsonrpc.invalid_request(message), array) if "id" in message else None
        if not isinstance(parsed, types.JSONRPCRequest):
            if "method" in message and "id" in message:  # a fraction: JSON-RPC allows it, MCP does not
                why = "an id is a string or a whole number"
                return self._send(jsonrpc.invalid_request(message, why), array)
            await self._to_sdk.send(SessionMessage(parsed))
            return None
        if not self._has_begun and parsed.method != "initialize" and is_enveloped(parsed.params):
            self.era = MODERN
        self._has_begun = True
        owed = _Owed(parsed.method, array, is_answered)
        self._owed.setdefault(repr(parsed.id), []).append(owed)

        async def settle_silently() -> None:
            self._send_nothing(self._settle(parsed.id, owed).array)

        await self._to_sdk.send(SessionMessage(parsed, ServerMessageMetadata(on_request_unanswered=settle_silently)))
        if parsed.method == "initialize":  # what the next line means depends on the version agreed
            await owed.settled.wait()
        return None

    async def _forward(self) -> None:
        async for item in self._from_sdk:
            message = _wire_form(item.message)
            if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                owed = self._settle(message["id"])
                if owed.method == "initialize" and "result" in message:
                    self.era = message["result"].get("protocolVersion")
                if not owed.is_answered:
                    self._send(message, owed.array)
                elif "error" in message:
                    log.error("the handshake was answered, and the SDK refuses it: %s", message["error"])
            else:
                self._send(message, None)

    def _settle(self, id_: Any, known: _Owed | None = None) -> _Owed:
        """Strike out a request: the one known, or the oldest under this id, for a client may use an id twice."""
        owing = self._owed[repr(id_)]
        owed = known if known in owing else owing[0]
        owing.remove(owed)
        if not owing:
            del self._owed[repr(id_)]
        owed.settled.set()
        return owed

    def end_input(self) -> None:
        """What the SDK still holds it now answers with an error; cancelled first, it would wait for a reader."""
        self._to_sdk.close()

    def close(self) -> None:
        for stream in (self._to_sdk, self._sdk_reads, self._sdk_writes, self._from_sdk):
            stream.close()


def _wire_form(message: types.JSONRPCMessage) -> dict[str, Any]:
    """A result is plain JSON already; walking a large one again costs milliseconds."""
    if isinstance(message, types.JSONRPCResponse):
        return jsonrpc.result(message.id, message.result)
    return message.model_dump(by_alias=True, exclude_unset=True, mode="json")
