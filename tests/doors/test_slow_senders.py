"""Connections whose request never comes whole are closed; those that wait for an answer are not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from codecairn.serve.slow_senders import TimedProtocol
from tests.support.wait import eventually

REQUEST = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"


class Hasty(TimedProtocol):
    seconds = 0.3


@contextmanager
def serving(release: threading.Event) -> Iterator[int]:
    async def echo(request: Request) -> PlainTextResponse:
        return PlainTextResponse(await request.body())

    def wait(_request: Request) -> PlainTextResponse:
        release.wait(30)
        return PlainTextResponse("at last")

    app = Starlette(routes=[Route("/echo", echo, methods=["POST"]), Route("/wait", wait)])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, http=Hasty))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        eventually(lambda: server.started)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        release.set()
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("sent", [b"", b"POST /ec", REQUEST, REQUEST + b"ab"])
def test_a_request_that_is_never_whole_ends_its_connection(sent: bytes) -> None:
    with serving(threading.Event()) as port, socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(sent)
        with suppress(ConnectionResetError):
            assert client.recv(1) == b""


def test_a_client_that_waits_for_its_answer_is_left_alone() -> None:
    release = threading.Event()
    with serving(release) as port, socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        client.settimeout(3 * Hasty.seconds)
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.settimeout(20)
        release.set()
        answer = bytearray()
        while b"at last" not in answer:
            part = client.recv(1000)
            assert part, bytes(answer)
            answer += part


def test_one_connection_serves_many_requests() -> None:
    with serving(threading.Event()) as port, socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        for _ in range(3):
            client.sendall(REQUEST + b"abcd")
            received = b""
            while not received.endswith(b"abcd"):
                received += client.recv(1000)
                assert received
