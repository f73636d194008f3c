"""Several processes behind one port: `cairn serve --http --workers N`.

    client  ->  front: Host, Origin, token; which worker  ->  worker: a whole `cairn serve --http`, on loopback

A worker is an ordinary server with an index of its own opened, so calls of different workers do not share an
interpreter; the lock of the index lets one of them write at a time. Whatever belongs together goes to one worker: the
requests of a session, since its state lives there, and those of a caller without a session, since limits are counted
there. All pages are the first worker's. Workers take nobody's word but the front's, which they know by a secret made at
each start. A worker that ends is started anew; its sessions are gone, and the protocol has their clients begin again.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import sys
import threading
import time
import zlib
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import anyio
import httpx2
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from codecairn import config
from codecairn.errors import CairnError
from codecairn.page.forms import is_same_origin
from codecairn.page.site import PATHS as PAGE_PATHS
from codecairn.serve.http import LARGEST_BODY, Guarded, HttpAccess, body_of, caller_of, listen, session_of
from codecairn.source import process

log = logging.getLogger("codecairn.front")

CALLER = "x-cairn-caller"
"""Tells a worker for whom the front asks."""
_MOST_SESSIONS = 10_000
_PAUSE_S = 1.0
_NOT_FORWARDED = frozenset({
    "host", "origin", "authorization", "content-length", "connection", "keep-alive", "transfer-encoding", "te",
    "upgrade", "trailer", "proxy-authorization", "proxy-authenticate", CALLER,
})  # fmt: skip
"""Headers of one connection, and those that the front has judged."""


class Worker:
    """A server process, started again whenever it ends."""

    def __init__(self, command: Sequence[str], secret: str, page_token: str) -> None:
        self._command = command
        self._environment = {**config.child_environment(), config.TOKEN: secret, config.PAGE_TOKEN: page_token}
        self.is_up = False
        self.port = self._start()
        threading.Thread(target=self._keep, name="cairn-worker", daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _start(self) -> int:
        self._child = process.start(self._command, folder=Path.cwd(), environment=self._environment)
        line = _pipe(self._child.stdout).readline().strip()
        if not line.isdigit():
            process.end(self._child)
            raise CairnError("A worker did not start", remedy="Run the same command without --workers to see why.")
        self.is_up = True
        return int(line)

    def _keep(self) -> None:
        while True:
            self._child.wait()
            self.is_up = False
            if process.is_leaving():
                return
            log.warning("a worker ended with status %s; another takes its place", self._child.returncode)
            process.end(self._child)
            time.sleep(_PAUSE_S)
            try:
                self.port = self._start()
            except CairnError as error:
                log.error("%s", error.message)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


class Front:
    def __init__(self, workers: Sequence[Worker], access: HttpAccess, secret: str) -> None:
        self._workers = workers
        self._access = access
        self._secret = secret
        self._sessions: OrderedDict[str, int] = OrderedDict()
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64)
        self._client = httpx2.AsyncClient(timeout=None, limits=limits, trust_env=False)

    def app(self) -> Starlette:
        @asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            async with self._client:
                yield

        routes = [Route("/metrics", self._metrics, methods=["GET"]), Mount("/", self._forward)]
        application = Starlette(routes=routes, lifespan=lifespan)
        application.add_middleware(Guarded, access=self._access)
        return application

    async def _metrics(self, request: Request) -> Response:
        del request
        asked = [await self._client.get(f"{each.url}/metrics", headers=self._headers(())) for each in self._workers]
        return PlainTextResponse(add_up(each.text for each in asked), media_type="text/plain; version=0.0.4")

    def _headers(self, given: Iterable[tuple[str, str]], caller: str = "") -> dict[str, str]:
        kept = {name: value for name, value in given if name.lower() not in _NOT_FORWARDED}
        return {**kept, "authorization": f"Bearer {self._secret}", CALLER: caller}

    def _choose(self, request: Request) -> int:
        if request.url.path in PAGE_PATHS:
            return 0
        session = session_of(request)
        if session is not None:
            return self._sessions.get(session, 0)  # one that nobody knows is refused by any worker
        is_modern = request.headers.get("mcp-protocol-version") in MODERN_PROTOCOL_VERSIONS
        if request.url.path == "/mcp" and not is_modern:  # a handshake: the worker with the fewest sessions has it
            held = Counter(self._sessions.values())
            return min(self._numbers(), key=lambda number: held[number])
        numbers = self._numbers()
        return numbers[zlib.crc32(caller_of(self._access, request).encode()) % len(numbers)]

    def _numbers(self) -> list[int]:
        """Of the workers that run; of all where none does, so that the caller is told."""
        return [number for number, each in enumerate(self._workers) if each.is_up] or list(range(len(self._workers)))

    def _note_session(self, response: httpx2.Response, number: int, request: Request) -> None:
        session = response.headers.get("mcp-session-id")
        if session is not None:
            self._sessions[session] = number
            self._sessions.move_to_end(session)
            if len(self._sessions) > _MOST_SESSIONS:
                self._sessions.popitem(last=False)
        if request.method == "DELETE" and response.is_success:
            self._sessions.pop(session_of(request) or "", None)

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.method == "POST" and request.url.path in PAGE_PATHS and not is_same_origin(request):
            refusal = PlainTextResponse("Forbidden: this form was not sent from a page of this server", 403)
            return await refusal(scope, receive, send)
        body = await body_of(request)
        if body is None:
            refusal = PlainTextResponse(f"Payload Too Large: at most {LARGEST_BODY} bytes", 413)
            return await refusal(scope, receive, send)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_when_gone, receive, tasks.cancel_scope)
            await self._exchange(request, body, send)
            tasks.cancel_scope.cancel()
        return None

    async def _exchange(self, request: Request, body: bytes, send: Send) -> None:
        number, caller = self._choose(request), caller_of(self._access, request)
        query = request.scope["query_string"].decode("latin-1")
        url = f"{self._workers[number].url}{quote(request.scope['path'])}{f'?{query}' if query else ''}"
        headers, has_begun = self._headers(request.headers.items(), caller), False
        try:
            async with self._client.stream(request.method, url, headers=headers, content=body) as response:
                self._note_session(response, number, request)
                kept = [pair for pair in response.headers.raw if pair[0].lower() not in _HOP]
                await send({"type": "http.response.start", "status": response.status_code, "headers": kept})
                has_begun = True
                async for chunk in response.aiter_raw():
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
        except httpx2.TransportError as error:
            log.warning("worker %d does not answer: %s", number, error)
            if has_begun:  # an answer cut in half must not look whole
                raise
            await PlainTextResponse("Bad Gateway: the worker of this request ended; send it again", 502)(
                request.scope, request.receive, send
            )


_HOP = frozenset({b"connection", b"keep-alive", b"transfer-encoding", b"date"})


async def _cancel_when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    """A client that hangs up has withdrawn its request, and the worker learns of it."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def add_up(texts: Iterable[str]) -> str:
    """Metrics of several processes as those of one: each series is the sum of theirs."""
    sums: dict[str, float] = {}
    for line in (line for text in texts for line in text.splitlines()):
        series, _, value = (line, "", "0") if line.startswith("#") else line.rpartition(" ")
        sums[series] = sums.get(series, 0.0) + float(value)
    return "".join(f"{key}\n" if key.startswith("#") else f"{key} {_number(sums[key])}\n" for key in _by_metric(sums))


def _by_metric(keys: Iterable[str]) -> list[str]:
    """Series behind the lines that say what they are, also those that only a later process has."""
    heads: dict[str, list[str]] = {}
    latest = ""
    for key in keys:
        if key.startswith("#"):
            latest = key.split()[2]
        else:
            name = key.partition("{")[0]
            latest = next((head for head in heads if name.startswith(head)), latest)
        heads.setdefault(latest, []).append(key)
    return [key for group in heads.values() for key in group]


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else f"{value:.6f}"


def page_key(secret: str) -> bytes:
    """The key of the links that log in to the pages: the front makes them, and its first worker takes them."""
    return hashlib.sha256(f"pages {secret}".encode()).digest()


def make_secret() -> str:
    return secrets.token_urlsafe(32)


def serve(access: HttpAccess, options: Sequence[str], count: int, announce: Callable[[int], None], secret: str) -> None:
    """Serve until a signal, with so many workers that are given these options and know the front by a secret."""
    # -P: a module of the project must not stand in for one of ours.
    command = [sys.executable, "-P", "-m", "codecairn", "serve", "--http", "127.0.0.1:0", "--behind-front", *options]
    workers: list[Worker | None] = [None] * count
    failures: list[CairnError] = []

    def start(number: int) -> None:
        try:
            workers[number] = Worker(command, secret, access.token or "")
        except CairnError as error:
            failures.append(error)

    threads = [threading.Thread(target=start, args=(number,)) for number in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if failures:
        raise failures[0]
    started: list[Any] = list(workers)
    listen(Front(started, access, secret).app(), access.address, announce)
