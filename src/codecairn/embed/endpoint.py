"""One request to an endpoint that speaks as OpenAI's does: texts out, vectors or a failure in.

No failure repeats the key. A redirect is a refusal, so that the key never reaches another host. Proxies are those of
the environment.
"""

from __future__ import annotations

import binascii
import math
import re
import ssl
import time
from base64 import b64decode
from collections.abc import Callable
from contextlib import closing
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any

import httpx2
import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from codecairn import __version__
from codecairn.errors import EncoderFailed
from codecairn.redact import mask

LARGEST_REPLY = 64 << 20
"""Bytes."""
_LONGEST_CONNECTING_S = 10.0
_LONGEST_SAID = 200
_SHORTEST_SECRET = 6
"""Local servers are given keys such as `x`, and striking those out of a message would only spoil it."""
_PASSING = {408, 425, 429, *range(500, 600)} - {501, 505}
_TOO_MUCH = re.compile(
    r"too (large|long|many|big)|exceed|context.length|maximum|max_|(less|fewer) than \d+ tokens|batch.size",
    re.IGNORECASE,
)
"""How endpoints say of a request that it is too large when they do not say 413; llama.cpp says it with 500."""


class PassingFailure(EncoderFailed):
    """May be gone at the next try."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait
        """Seconds that the endpoint asked for."""


class RequestTooLarge(EncoderFailed):
    """May be taken when less is sent."""

    def __init__(self, message: str, share: int = 2) -> None:
        super().__init__(message, remedy="Use a model that takes longer texts, or let the server cut them.")
        self.share = share
        """The number of texts is to be divided by this."""


class _Item(Struct):
    embedding: list[float] | str
    """Numbers, or float32 in base64 from servers that know nothing else."""
    index: int | None = None


class _Answer(Struct):
    data: list[_Item]


class Endpoint:
    """Nothing is sent, and no setting found wrong, before it is used."""

    def __init__(self, address: str, model: str, key: str, date: Callable[[], float]) -> None:
        self._address, self._model, self._key, self._date = address, model, key.strip(), date

    @cached_property
    def url(self) -> httpx2.URL:
        try:
            return _endpoint_at(self._address)
        except ValueError as error:
            raise EncoderFailed(
                f"The address of the embeddings endpoint is not one: {error}", remedy="Check CAIRN_EMBEDDINGS_URL."
            ) from None

    @cached_property
    def host(self) -> str:
        """With its port, where it has one."""
        return self.url.netloc.decode("ascii")

    def vectors(self, texts: list[str], seconds: float) -> npt.NDArray[np.float64]:
        """One vector a text."""
        try:
            response, body = self._post(texts, seconds)
        except (httpx2.ReadTimeout, httpx2.WriteTimeout, TimeoutError) as error:
            late = f"{self.host} did not answer in time"
            raise (RequestTooLarge(late, share=4) if len(texts) > 1 else PassingFailure(late)) from error
        except httpx2.RequestError as error:
            raise self._connection_failure(error) from error
        if response.status_code != 200:
            raise self._refusal(response, body)
        try:
            return _decode(body, len(texts))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise EncoderFailed(f"{self.host} answered with no vectors{self._excerpt(body)}") from error
        except ValueError as error:
            raise EncoderFailed(f"{self.host} answered with vectors that are of no use: {error}") from error

    def close(self) -> None:
        self._client.close()

    @cached_property
    def _client(self) -> httpx2.Client:
        try:
            return httpx2.Client(verify=ssl.create_default_context())
        except (ImportError, ValueError) as error:  # a proxy of a kind that httpx does not speak to
            raise EncoderFailed(f"The proxy cannot be used: {error}", remedy="Check the proxy settings.") from error

    @cached_property
    def _headers(self) -> dict[str, str]:
        if not (self._key.isascii() and (self._key.isprintable() or not self._key)):
            raise EncoderFailed("The key has characters that no key has", remedy="Check CAIRN_EMBEDDINGS_KEY.")
        allowed = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        agent = f"codecairn/{__version__}"
        json = "application/json"
        return {"Content-Type": json, "Accept": json, "User-Agent": agent, "Accept-Encoding": "identity", **allowed}

    def _post(self, texts: list[str], seconds: float) -> tuple[httpx2.Response, bytes]:
        """The answer, whatever its status, and its body."""
        deadline = time.monotonic() + seconds
        if seconds <= 0:
            raise TimeoutError
        model = {"model": self._model} if self._model else {}
        content = msgspec.json.encode({**model, "input": texts, "encoding_format": "float"})
        timeout = httpx2.Timeout(seconds, connect=min(seconds, _LONGEST_CONNECTING_S))
        client = self._client
        request = client.build_request("POST", self.url, content=content, headers=self._headers, timeout=timeout)
        try:
            response = client.send(request, stream=True)
        except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError):
            if client.is_closed:
                raise
            response = client.send(request, stream=True)  # the endpoint had closed a connection that was kept
        with closing(response):
            return response, self._read(response, deadline)

    def _read(self, response: httpx2.Response, deadline: float) -> bytes:
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            if len(body) > LARGEST_REPLY:
                raise EncoderFailed(f"{self.host} answered with more than anyone would keep")
            if time.monotonic() > deadline:
                raise TimeoutError
        return bytes(body)

    def _connection_failure(self, error: httpx2.RequestError) -> EncoderFailed:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ssl.SSLCertVerificationError):
                return EncoderFailed(f"The certificate of {self.host} is not valid: {cause.verify_message}")
            cause = cause.__cause__ or cause.__context__
        return PassingFailure(f"{self.host} cannot be reached: {self._harmless(str(error)) or type(error).__name__}")

    def _refusal(self, response: httpx2.Response, body: bytes) -> EncoderFailed:
        host, status, said = self.host, response.status_code, self._excerpt(body)
        if status in (401, 403):
            return EncoderFailed(
                f"{host} refuses the key ({status})" if self._key else f"{host} wants a key ({status})",
                remedy="Check CAIRN_EMBEDDINGS_KEY, and that it may use the model.",
            )
        if status == 404:
            return EncoderFailed(
                f"{host} has no such address or model (404){said}",
                remedy="Check CAIRN_EMBEDDINGS_URL and CAIRN_EMBEDDINGS_MODEL.",
            )
        if 300 <= status < 400:
            return EncoderFailed(
                f"{host} sends on to another address ({status}), and a key is not sent on",
                remedy="Set CAIRN_EMBEDDINGS_URL to the address that answers.",
            )
        if status == 413 or (status in (400, 422, 500) and _TOO_MUCH.search(said)):
            return RequestTooLarge(f"{host} finds the request too large ({status}){said}")
        if status in _PASSING:
            return PassingFailure(f"{host} fails ({status}){said}", self._wait(response.headers.get("Retry-After", "")))
        return EncoderFailed(
            f"{host} refuses the request ({status}){said}", remedy="Check what the model and the endpoint take."
        )

    def _wait(self, retry_after: str) -> float:
        """Seconds, from a number of them or a date."""
        try:
            wait = float(retry_after)
        except ValueError:
            try:
                wait = parsedate_to_datetime(retry_after).timestamp() - self._date()
            except (ValueError, OverflowError):
                return 0.0
        return max(0.0, wait) if not math.isnan(wait) else 0.0

    def _excerpt(self, body: bytes) -> str:
        words = " ".join(_message(body[: 1 << 12]).split())
        return f": {self._harmless(words)}" if words else ""

    def _harmless(self, text: str) -> str:
        is_secret = len(self._key) >= _SHORTEST_SECRET
        shown = mask(text.replace(self._key, "…") if is_secret else text)
        return shown if len(shown) <= _LONGEST_SAID else f"{shown[:_LONGEST_SAID]}…"


def _endpoint_at(address: str) -> httpx2.URL:
    """The URL asked, from it or from the base address that clients of such services take. Raises ValueError, in words
    that repeat nothing of the address."""
    try:
        url = httpx2.URL(address.strip()).copy_with(fragment=None)
    except httpx2.InvalidURL as error:
        raise ValueError("its host or its port cannot be one") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("it has to begin with http:// or https:// and name a host")
    if url.userinfo:
        raise ValueError("it may not hold a user or a password")
    if (url.port or 0) >= 1 << 16:
        raise ValueError("its host or its port cannot be one")
    path = url.path.rstrip("/")
    if not path.endswith("/embeddings"):
        path += "/embeddings" if path else "/v1/embeddings"
    return url.copy_with(path=path)


def _decode(body: bytes, count: int) -> npt.NDArray[np.float64]:
    vectors = [_numbers(item.embedding) for item in _in_order(msgspec.json.decode(body, type=_Answer).data, count)]
    widths = {len(each) for each in vectors}
    if len(widths) != 1 or 0 in widths:
        raise ValueError("their lengths differ" if len(widths) > 1 else "they are empty")
    found = np.stack(vectors)
    if not np.isfinite(found).all():
        raise ValueError("one has what is no number")
    return found


def _in_order(items: list[_Item], count: int) -> list[_Item]:
    if len(items) != count:
        raise ValueError(f"{len(items)} for {count} texts")
    if all(item.index is None for item in items):
        return items
    by_index = {item.index: item for item in items}
    if by_index.keys() != set(range(count)):
        raise ValueError("they are not numbered one for each text")
    return [by_index[at] for at in range(count)]


def _numbers(embedding: list[float] | str) -> npt.NDArray[np.float64]:
    if not isinstance(embedding, str):
        return np.array(embedding, np.float64)
    try:
        return np.frombuffer(b64decode(embedding, validate=True), "<f4").astype(np.float64)
    except binascii.Error as error:
        raise ValueError("a vector is neither numbers nor base64") from error


def _message(body: bytes) -> str:
    """The message of an error in one of its usual places, else the text itself."""
    try:
        value: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return body.decode("utf-8", "replace")
    for key in ("error", "message", "detail"):
        value = value.get(key, value) if isinstance(value, dict) else value
    return value if isinstance(value, str) else body.decode("utf-8", "replace")
