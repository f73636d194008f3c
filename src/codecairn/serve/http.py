"""The HTTP door: `/mcp` (streamable HTTP by the SDK), `POST /rpc`, `GET /health`, `GET /metrics`, and the pages at `/`.

A browser on the same machine is the attacker to think of: any page may send requests to loopback. So the Host must be
a name of this server, an Origin (which pages cannot forge) must be one too, and `/rpc` takes application/json alone,
which a page cannot send across origins without asking. Beyond loopback every request carries the bearer token, and
callers see only the roots the server was given. Our own pages are asked for by people, whose browsers carry no token:
they need a session instead, on loopback too.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from codecairn import tools
from codecairn.client_disconnect import while_connected
from codecairn.connection import Connection, Connections
from codecairn.page import responses, site
from codecairn.page.site import PageSite
from codecairn.serve import Service, jsonrpc, mcp
from codecairn.serve.jsonrpc import BareDoor, NotJson
from codecairn.serve.resources import Context

LARGEST_BODY = 4 << 20
DEFAULT_ADDRESS = "127.0.0.1:8417"
_OPEN_PATHS = {"/health"} | site.PATHS


@dataclass(frozen=True)
class Address:
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        return _is_loopback(self.host)

    @property
    def is_any(self) -> bool:
        """Whether it stands for every address of the machine."""
        return _is_ip(self.host) and ipaddress.ip_address(self.host).is_unspecified

    @classmethod
    def parse(cls, text: str) -> Address:
        host, separator, port = text.rpartition(":")
        if not separator and text.isdigit():
            host, port = "127.0.0.1", text
        elif not separator or _is_ip(text.strip("[]")):
            host, port = text, DEFAULT_ADDRESS.rpartition(":")[2]
        if not port.isdigit() or int(port) > 65535:
            raise ValueError(f"not HOST:PORT: {text}")
        return cls(host.strip("[]") or "127.0.0.1", int(port))

    def origin(self, port: int) -> str:
        return f"http://[{self.host}]:{port}" if ":" in self.host else f"http://{self.host}:{port}"


@dataclass(frozen=True)
class HttpAccess:
    """The rule for callers: by Host, by Origin, by token."""

    address: Address
    token: str | None = None
    hosts: frozenset[str] = frozenset()
    front: str = ""
    """The header in which whoever has the token names the caller; nothing where callers come themselves."""

    def refusal(self, request: Request) -> Response | None:
        if not self._is_ours(_host_name(request.headers.get("host", ""))):
            return PlainTextResponse("Forbidden: this Host is not served here", 403)
        origin = request.headers.get("origin")
        if origin is not None and not self._is_our_origin(origin):
            return PlainTextResponse("Forbidden: this Origin may not call this server", 403)
        is_open = request.url.path in (_OPEN_PATHS if not self.front else {"/health"})
        if self.token is not None and not is_open and not self._has_token(request):
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
        # Header values are bytes that arrive read as Latin-1.
        presented = given.strip().encode("latin-1", "replace")
        return scheme.lower() == "bearer" and hmac.compare_digest(presented, (self.token or "").encode())


def app(
    service: Service, access: HttpAccess, server: Server[Any] | None = None, pages: PageSite | None = None
) -> Starlette:
    """The ASGI application; `server` replaces the MCP server behind `/mcp` (conformance fixtures use that)."""
    connections = Connections()
    bare = BareDoor(service, "http")
    health_check = service.registry.methods.get("health/check") or tools.standard().methods["health/check"]

    def caller(request: Request | None) -> Connection:
        return connections.get(caller_of(access, request), lasts=False)

    def connection_of(ctx: Context) -> Connection:
        session = None if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else session_of(ctx.request)
        return connections.get(_connection_id(session), lasts=True) if session else caller(ctx.request)

    page_routes = (pages or PageSite(service, access.token)).routes()
    served = server or mcp.build(service, connection_of, "http")
    manager = StreamableHTTPSessionManager(app=served, max_request_body_size=LARGEST_BODY)

    async def rpc(request: Request) -> Response:
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            return PlainTextResponse("Unsupported Media Type: send application/json", 415)
        body = await body_of(request)
        if body is None:
            return too_large()
        try:
            message = jsonrpc.parse(body)
        except NotJson as error:
            return _json(jsonrpc.parse_error(str(error)), 400)
        answer = await while_connected(request, bare.answer(message, caller(request)))
        return Response(status_code=202) if answer is None else _json(answer)

    async def health(request: Request) -> Response:
        reply = await service.perform(health_check, {}, caller(request), "http")
        return JSONResponse(reply.value, 200 if reply.value.get("status") == "ok" else 503)

    async def metrics(request: Request) -> Response:
        del request
        return PlainTextResponse(service.registry.metrics.prometheus(), media_type="text/plain; version=0.0.4")

    routes = [
        Route("/mcp", _Closing(StreamableHTTPASGIApp(manager), service)),
        Route("/rpc", rpc, methods=["POST"]),
        Route("/health", health, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
        *page_routes,
    ]

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield
        service.close()

    handlers = {404: responses.show_not_found, 500: responses.show_failure}
    application = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    application.add_middleware(Guarded, access=access)
    return application


class _Closing:
    """Ends the session of a client that says it is done."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = session_of(Request(scope)) if scope["method"] == "DELETE" else None
        if session is not None:
            await anyio.to_thread.run_sync(self._service.end_connection, _connection_id(session))
        await self._app(scope, receive, send)


class Guarded:
    def __init__(self, app: ASGIApp, access: HttpAccess) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._access.refusal(Request(scope))
            if refusal is not None:
                return await refusal(scope, receive, send)
        return await self._app(scope, receive, send)


def _connection_id(session: str) -> str:
    return f"session:{session}"


def session_of(request: Request | None) -> str | None:
    return request.headers.get("mcp-session-id") if request else None


def caller_of(access: HttpAccess, request: Request | None) -> str:
    """The caller where there is no session: the holder of the token, else the peer, else this process.

    Only what the caller cannot choose counts, or each call could come from somebody new and no limit would hold.
    """
    if access.front and request is not None:
        return request.headers.get(access.front, "process")
    if access.token is not None:
        return f"token:{hashlib.sha256(access.token.encode()).hexdigest()[:16]}"
    return f"peer:{request.client.host}" if request and request.client else "process"


async def body_of(request: Request) -> bytes | None:
    """The body of a request; None where it is too large, nothing where the client went away."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_BODY:
                return None
    except ClientDisconnect:
        return b""
    return bytes(body)


def too_large() -> Response:
    return PlainTextResponse(f"Payload Too Large: at most {LARGEST_BODY} bytes", 413)


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


def serve(service: Service, access: HttpAccess, announce: Callable[[int], None], pages: PageSite | None = None) -> None:
    """Serve until a signal; `announce` is told the port once it is open, for port 0 means any."""
    listen(app(service, access, pages=pages), access.address, announce)


def listen(application: ASGIApp, address: Address, announce: Callable[[int], None]) -> None:
    import uvicorn

    from codecairn.serve.slow_senders import TimedProtocol

    class Announced(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                announce(self.servers[0].sockets[0].getsockname()[1])

    # Without proxy_headers the peer is who connected, not who a header says it was.
    config = uvicorn.Config(
        application, host=address.host, port=address.port, log_config=None, access_log=False,
        server_header=False, timeout_graceful_shutdown=2, proxy_headers=False, http=TimedProtocol,
    )  # fmt: skip
    Announced(config).run()
