"""The door matrix: one body of test, run through every door that reaches a tool.

memory   Registry.call in this process        stdio   the stdio door on pipes, after an MCP handshake
modern   the same, as a 2026-07-28 client      first   the same, as a client of the first protocol version
http     a real HTTP server on loopback, MCP   bare    the stdio door on pipes, no handshake at all
                                               rpc     the HTTP server's POST /rpc

The text of an answer is JSON, or Markdown as drawn, at JSON_DOORS, and made for reading at READING_DOORS.
"""

from __future__ import annotations

import http.client
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import anyio
import uvicorn

from codecairn import tools
from codecairn.config import Settings
from codecairn.connection import Connection
from codecairn.greeting.line_stream import LineStream
from codecairn.project import Projects
from codecairn.serve import Service
from codecairn.serve import http as http_door
from codecairn.serve.stdio import StdioDoor
from codecairn.tools import Call, Registry
from tests.support.wire import ENVELOPE, LineClient

READING_DOORS = ("stdio", "modern", "http")
JSON_DOORS = ("memory", "first", "bare", "rpc")
DOORS = (*READING_DOORS, *JSON_DOORS)


@dataclass(frozen=True)
class Answer:
    """What came back for one tool call, however it was framed."""

    text: str
    value: dict[str, Any]
    is_error: bool
    rpc_error: dict[str, Any] | None = None


class Door(Protocol):
    name: str

    def call(self, tool: str, arguments: Any = None) -> Answer: ...


def service(root: Path | None, registry: Registry | None = None, **settings: Any) -> Service:
    given = Settings(roots=(root,) if root else (), **settings)
    return Service(registry or tools.standard(), Projects(given))


@contextmanager
def open_door(name: str, served: Service) -> Iterator[Door]:
    if name == "memory":
        yield MemoryDoor(served)
    elif name in ("http", "rpc"):
        with http_server(served) as port:
            yield HttpDoor(port) if name == "http" else RpcDoor(port)
    else:
        with line_client(served) as client:
            yield LineDoor(name, client)


class MemoryDoor:
    name = "memory"

    def __init__(self, served: Service, *, fitted: bool = False) -> None:
        """`fitted` answers with values cut as a connection gets them, and not whole, as programs in this process do."""
        self._service = served
        self._fitted = fitted
        self._connection = Connection("memory")

    def call(self, tool: str, arguments: Any = None) -> Answer:
        found = self._service.registry.find(tool)
        assert found is not None, tool
        call = Call(self._service.projects, self._connection, self._service.registry, "memory")
        reply = self._service.registry.call(found, call, arguments)
        fault = None
        if reply.as_rpc_error:
            fault = {"code": reply.rpc_error.code, "message": reply.rpc_error.message, "data": reply.rpc_error.data}
        return Answer(reply.text, reply.structured if self._fitted else reply.value, reply.error is not None, fault)


@contextmanager
def line_client(served: Service) -> Iterator[LineClient]:
    """A client of the real stdio door, run in a thread on two pipes."""
    door_reads, client_writes = os.pipe()
    client_reads, door_writes = os.pipe()
    wire = LineStream(os.fdopen(door_reads, "rb"), os.fdopen(door_writes, "wb"))

    def run() -> None:
        anyio.run(StdioDoor(served, wire).run)
        wire.flush(2)
        wire.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    reads, writes = os.fdopen(client_reads, "rb"), os.fdopen(client_writes, "wb")
    client = LineClient(reads, writes)
    try:
        yield client
    finally:
        if not writes.closed:
            writes.close()
        thread.join(10)
        reads.close()
        assert not thread.is_alive(), "the stdio door did not end with its input"
        assert client.noise == [], client.noise


class LineDoor:
    def __init__(self, name: str, client: LineClient) -> None:
        self.name = name
        self.client = client
        if name in ("stdio", "first"):
            client.initialize("2025-11-25" if name == "stdio" else "2024-11-05")

    def call(self, tool: str, arguments: Any = None) -> Answer:
        params: dict[str, Any] = {"name": tool}
        if arguments is not None:
            params["arguments"] = arguments
        return answer_of(self.request("tools/call", params))

    def request(self, method: str, params: Any) -> dict[str, Any]:
        envelope = {"_meta": ENVELOPE} if self.name == "modern" else {}
        return self.client.request(method, {**params, **envelope})


def answer_of(message: dict[str, Any]) -> Answer:
    if "error" in message:
        return Answer(json.dumps(message["error"]), {}, True, message["error"])
    result = message["result"]
    (content,) = result["content"]
    return Answer(content["text"], result["structuredContent"], result.get("isError", False))


@contextmanager
def http_server(served: Service, access: http_door.HttpAccess | None = None, app: Any = None) -> Iterator[int]:
    """A uvicorn server in a thread, on a port of its own."""
    access = access or http_door.HttpAccess(http_door.Address("127.0.0.1", 0))
    config = uvicorn.Config(
        app or http_door.app(served, access), host="127.0.0.1", port=0, log_config=None, access_log=False,
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the HTTP server did not start"
        thread.join(0.005)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()


@dataclass(frozen=True)
class HttpAnswer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def http_request(port: int, method: str, path: str, body: Any = None, **headers: str) -> HttpAnswer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if raw is not None:
        given.setdefault("Content-Type", "application/json")
    try:
        connection.request(method, path, raw, given)
        response = connection.getresponse()
        return HttpAnswer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


class HttpDoor:
    """An MCP client of the handshake era over streamable HTTP."""

    name = "http"

    def __init__(
        self, port: int, capabilities: Any = None, version: str = "2025-11-25", client: Any = None, **headers: str
    ) -> None:
        self.port = port
        self._id = 0
        self._always = headers
        info = client or {"name": "test", "version": "0"}
        params = {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": info}
        opened = self._post("initialize", params)
        self.shaken = self._message_in(opened)["result"]
        self.session = opened.headers["mcp-session-id"]
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert http_request(self.port, "POST", "/mcp", done, **self.headers()).status == 202

    def headers(self) -> dict[str, str]:
        session = getattr(self, "session", None)
        known = {"Mcp_Session_Id": session, "MCP_Protocol_Version": self.shaken["protocolVersion"]} if session else {}
        return {"Accept": "application/json, text/event-stream", **self._always, **known}

    def _post(self, method: str, params: Any) -> HttpAnswer:
        self._id += 1
        message = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        return http_request(self.port, "POST", "/mcp", message, **self.headers())

    def request(self, method: str, params: Any) -> dict[str, Any]:
        return self._message_in(self._post(method, params))

    def _message_in(self, answer: HttpAnswer) -> dict[str, Any]:
        """The answer to the last request."""
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            events = [
                line[5:] for line in answer.body.decode().splitlines() if line.startswith("data:") and line[5:].strip()
            ]
            messages = [json.loads(event) for event in events]
            return next(m for m in messages if m.get("id") == self._id)
        answered: dict[str, Any] = answer.json
        return answered

    def call(self, tool: str, arguments: Any = None) -> Answer:
        return answer_of(self.request("tools/call", {"name": tool, "arguments": arguments or {}}))


class RpcDoor:
    """curl at POST /rpc."""

    name = "rpc"

    def __init__(self, port: int) -> None:
        self.port = port

    def request(self, method: str, params: Any = None) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method}
        return http_request(
            self.port, "POST", "/rpc", message if params is None else {**message, "params": params}
        ).json

    def call(self, tool: str, arguments: Any = None) -> Answer:
        return answer_of(self.request("tools/call", {"name": tool, "arguments": arguments or {}}))
