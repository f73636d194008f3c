"""POST to one address: connections are kept for the next request, and every request ends in time.

Proxies are those that urllib finds (the environment, or the system's settings). Certificates are verified. A redirect
is handed to the caller like any answer, so that what a request carries is never carried on to another host.
"""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
import time
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

LARGEST_REPLY = 64 << 20
"""Bytes."""
_LONGEST_CONNECTING_S = 10.0
_PIECE = 1 << 16


class Reply(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes


class ReplyTooLarge(Exception):
    """The other side sends more than anyone would keep."""


class _Line(NamedTuple):
    connection: http.client.HTTPConnection
    target: str
    headers: Mapping[str, str]
    """What the proxy on the way wants to see, if anything."""


class Wire:
    def __init__(self, url: str) -> None:
        """Raises ValueError, in words that repeat nothing of the address, where it is none."""
        self._url = _checked(url)
        self.host = self._url.netloc.lower()
        """With its port, where it has one."""
        self.path = self._url.path
        self._idle: list[_Line] = []

    def post(self, body: bytes, headers: Mapping[str, str], seconds: float) -> Reply:
        """The answer, whatever its status. TimeoutError: it was asked and did not answer in time; another OSError
        or HTTPException: it was not reached, or broke off."""
        deadline = time.monotonic() + seconds
        line = self._kept()
        if line is not None:
            try:
                return self._exchange(line, body, headers, deadline)
            except (ConnectionError, http.client.HTTPException):
                pass  # closed by the other side while nobody used it
        return self._exchange(self._opened(deadline), body, headers, deadline)

    def close(self) -> None:
        while (line := self._kept()) is not None:
            line.connection.close()

    def _kept(self) -> _Line | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _exchange(self, line: _Line, body: bytes, headers: Mapping[str, str], deadline: float) -> Reply:
        is_reusable = False
        try:
            wire = _socket(line.connection)
            wire.settimeout(_left(deadline))
            line.connection.request("POST", line.target, body, {**headers, **line.headers})
            with line.connection.getresponse() as response:
                reply = Reply(response.status, response.headers, _body(response, wire, deadline))
                is_reusable = not response.will_close
            return reply
        finally:
            if is_reusable:
                self._idle.append(line)
            else:
                line.connection.close()

    def _opened(self, deadline: float) -> _Line:
        line = self._line(min(_left(deadline), _LONGEST_CONNECTING_S))
        try:
            line.connection.connect()
        except TimeoutError as error:
            line.connection.close()
            raise ConnectionError("no connection in time") from error
        except OSError:
            line.connection.close()
            raise
        return line

    def _line(self, seconds: float) -> _Line:
        target = self._url.path + (f"?{self._url.query}" if self._url.query else "")
        proxy = self._proxy()
        if proxy is None:
            return _Line(self._connection(self._url, seconds), target, {})
        ticket = _ticket(proxy)
        if self._url.scheme == "http":
            return _Line(http.client.HTTPConnection(*_address(proxy), timeout=seconds), self._url.geturl(), ticket)
        through = http.client.HTTPSConnection(*_address(proxy), timeout=seconds, context=self._trust)
        through.set_tunnel(*_address(self._url), headers=ticket)
        return _Line(through, target, {})

    def _connection(self, to: SplitResult, seconds: float) -> http.client.HTTPConnection:
        if to.scheme == "http":
            return http.client.HTTPConnection(*_address(to), timeout=seconds)
        return http.client.HTTPSConnection(*_address(to), timeout=seconds, context=self._trust)

    def _proxy(self) -> SplitResult | None:
        named = getproxies().get(self._url.scheme)
        if not named or proxy_bypass(self.host):
            return None
        proxy = urlsplit(named if "://" in named else f"http://{named}")
        if proxy.scheme != "http" or not proxy.hostname:
            raise ConnectionError(f"a proxy of the kind {proxy.scheme} is not spoken to")
        return proxy

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context()


def _checked(url: str) -> SplitResult:
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("it has to begin with http:// or https:// and name a host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("it may not hold a user or a password")
    try:
        parts.hostname.encode("idna")
        _ = parts.port
    except ValueError as error:
        raise ValueError("its host or its port cannot be one") from error
    path, query = quote(parts.path, safe="/%:@!$&'()*+,;=~"), quote(parts.query, safe="=&%:@/?+,")
    return parts._replace(path=path, query=query, fragment="")


def _address(url: SplitResult) -> tuple[str, int]:
    return url.hostname or "", url.port or (443 if url.scheme == "https" else 80)


def _ticket(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(pair.encode()).decode("ascii")}


def _socket(connection: http.client.HTTPConnection) -> socket.socket:
    """Kept by who reads the answer: the connection itself lets go of it when the answer is to be its last."""
    wire: socket.socket | None = connection.sock
    if wire is None:
        raise ConnectionError("the connection is closed")
    return wire


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in time")
    return left


def _body(response: http.client.HTTPResponse, wire: socket.socket, deadline: float) -> bytes:
    if (response.length or 0) > LARGEST_REPLY:
        raise ReplyTooLarge
    body = bytearray()
    while piece := response.read1(_PIECE):
        body += piece
        if len(body) > LARGEST_REPLY:
            raise ReplyTooLarge
        wire.settimeout(_left(deadline))
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return bytes(body)
