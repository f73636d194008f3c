"""The HTTP door: `/mcp` (streamable HTTP by the SDK), `POST /rpc`, `GET /health`, `GET /metrics`.

A browser on the same machine is the attacker to think of: any page may send requests to loopback. So the Host must be
a name of this server, an Origin (which pages cannot forge) must be one too, and `/rpc` takes application/json alone,
which a page cannot send across origins without asking. Beyond loopback every request carries the bearer token, and
callers see only the roots the server was given.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from codecairn.connection import Connection, Connections
from codecairn.serve import Service, jsonrpc, mcp
from codecairn.serve.jsonrpc import BareDoor, NotJson

LARGEST_BODY = 4 << 20
DEFAULT_ADDRESS = "127.0.0.1:8417"
_OPEN_PATHS = {"/health"}


@dataclass(frozen=True)
class Address:
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        return _is_loopback(self.host)

    @classmethod
    def parse(cls, text: str) -> Address:
        host, separator, port = text.rpartition(":")
        if not separator and text.isdigit():
            host, port = "127.0.0.1", text
        elif not separator:
            host, port = text, DEFAULT_ADDRESS.rpartition(":")[2]
        if not port.isdigit() or int(port) > 65535:
            raise ValueError(f"not HOST:PORT: {text}")
        return cls(host.strip("[]") or "127.0.0.1", int(port))


@dataclass(frozen=True)
class Access:
    """Who may speak to the server: by Host, by Origin, by token."""

    address: Address
    token: str | None = None
    hosts: frozenset[str] = frozenset()

    def refusal(self, request: Request) -> Response | None:
        if not self._is_ours(_host_name(request.headers.get("host", ""))):
            return PlainTextResponse("Forbidden: this Host is not served here", 403)
        origin = request.headers.get("origin")
        if origin is not None and not self._is_our_origin(origin):
            return PlainTextResponse("Forbidden: this Origin may not call this server", 403)
        if self.token is not None and request.url.path not in _OPEN_PATHS and not self._has_token(request):
            return PlainTextResponse("Unauthorized", 401, {"WWW-Authenticate": 'Bearer realm="cairn"'})
        return None

    def _is_ours(self, host: str) -> bool:
        if not host:
            return False
        if host in self.hosts or host == self.address.host.lower() or _is_loopback(host):
            return True
        # Rebinding needs a name to rebind; an address typed as such is no danger where a token guards.
        return not self.address.is_loopback and (_is_ip(host) or host in _own_names())

    def _is_our_origin(self, origin: str) -> bool:
        try:
            parts = urlsplit(origin)
            return parts.scheme in ("http", "https") and self._is_ours((parts.hostname or "").lower())
        except ValueError:
            return False

    def _has_token(self, request: Request) -> bool:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), (self.token or "").encode())


def app(service: Service, access: Access, server: Server[Any] | None = None) -> Starlette:
    """The ASGI application; `server` replaces the MCP server behind `/mcp` (conformance fixtures use that)."""
    connections = Connections()
    bare = BareDoor(service, "http")
    served = server or mcp.build(service, lambda ctx: _connection(connections, ctx.request), "http")
    manager = StreamableHTTPSessionManager(app=served, max_request_body_size=LARGEST_BODY)

    async def rpc(request: Request) -> Response:
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            return PlainTextResponse("Unsupported Media Type: send application/json", 415)
        body = await _body(request)
        if body is None:
            return PlainTextResponse(f"Payload Too Large: at most {LARGEST_BODY} bytes", 413)
        try:
            message = jsonrpc.parse(body)
        except NotJson as error:
            return _json(jsonrpc.parse_error(str(error)), 400)
        answer = await bare.answer(message, _connection(connections, request))
        return Response(status_code=202) if answer is None else _json(answer)

    async def health(request: Request) -> Response:
        reply = await service.perform(
            service.registry.methods["health/check"], {}, _connection(connections, request), "http"
        )
        return JSONResponse(reply.value, 200 if reply.value.get("status") == "ok" else 503)

    async def metrics(request: Request) -> Response:
        del request
        return PlainTextResponse(service.registry.metrics.prometheus(), media_type="text/plain; version=0.0.4")

    routes = [
        Route("/mcp", StreamableHTTPASGIApp(manager)),
        Route("/rpc", rpc, methods=["POST"]),
        Route("/health", health, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
    ]

    def lifespan(_app: Starlette) -> AbstractAsyncContextManager[None]:
        return manager.run()

    application = Starlette(routes=routes, lifespan=lifespan)
    application.add_middleware(_Guarded, access=access)
    return application


class _Guarded:
    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._access.refusal(Request(scope))
            if refusal is not None:
                return await refusal(scope, receive, send)
        return await self._app(scope, receive, send)


def _connection(connections: Connections, request: Request | None) -> Connection:
    """A session where there is one; else the token, else the peer, else this process."""
    if request is None:
        return connections.get("process")
    if session := request.headers.get("mcp-session-id"):
        return connections.get(f"session:{session}")
    if token := request.headers.get("authorization"):
        return connections.get(f"token:{hashlib.sha256(token.encode()).hexdigest()[:16]}")
    return connections.get(f"peer:{request.client.host}" if request.client else "process")


async def _body(request: Request) -> bytes | None:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_BODY:
                return None
    except ClientDisconnect:
        return b""
    return bytes(body)


def _json(message: Any, status: int = 200) -> Response:
    return Response(jsonrpc.dumps(message), status, media_type="application/json")


def _host_name(header: str) -> str:
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return host.lower() == "localhost" or (_is_ip(host) and ipaddress.ip_address(host).is_loopback)


def _own_names() -> set[str]:
    name = socket.gethostname().lower()
    return {name, name.split(".")[0]}


def serve(service: Service, access: Access) -> None:
    import uvicorn

    uvicorn.run(
        app(service, access), host=access.address.host, port=access.address.port, log_config=None, access_log=False,
        server_header=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
