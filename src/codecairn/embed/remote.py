"""Vectors from an endpoint that speaks as OpenAI's does: a service, or a server of one's own.

An index run waits, tries again and sends less at a time. A search gets an answer or a failure within seconds, and after
a failure at once, as words find something meanwhile. No failure repeats the key. A redirect is a refusal, so that the
key never reaches another host. Proxies are those of the environment.
"""

from __future__ import annotations

import binascii
import hashlib
import logging
import math
import queue
import random
import re
import ssl
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Sequence
from contextlib import closing
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any, NamedTuple

import httpx2
import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from codecairn import __version__
from codecairn.embed.encoder import Passage, Row, Rows, quantised
from codecairn.embed.written import MOST_CHARACTERS, readable, written
from codecairn.errors import EncoderFailed
from codecairn.redact import masked

log = logging.getLogger("codecairn.embed")

MOST_TEXTS = 64
MOST_OF_A_REQUEST = 200_000
"""Characters."""
LARGEST_REPLY = 64 << 20
"""Bytes."""
PAUSE_S = 30.0
"""After a query that failed, until one is tried again."""
_LONGEST_REQUEST_S = 30.0
_LONGEST_CONNECTING_S = 10.0
_FIRST_WAIT_S = 0.5
_LEAST_CHARACTERS = 200
"""A text that is refused even when it is cut to this is not refused for its length."""
_LONGEST_SAID = 200
_SHORTEST_SECRET = 6
"""Local servers are given keys such as `x`, and striking those out of a message would only spoil it."""

_PASSING = {408, 425, 429, *range(500, 600)} - {501, 505}
_TOO_MUCH = re.compile(
    r"too (large|long|many|big)|exceed|context.length|maximum|max_|(less|fewer) than \d+ tokens|batch.size",
    re.IGNORECASE,
)
"""How endpoints say of a request that it is too large when they do not say 413; llama.cpp says it with 500."""


class Patience(NamedTuple):
    tries: int
    seconds: float
    """Without an answer that is of use."""


INDEXING = Patience(tries=5, seconds=60.0)
SEARCHING = Patience(tries=1, seconds=3.0)


class Clock(NamedTuple):
    now: Callable[[], float] = time.monotonic
    date: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


SYSTEM_CLOCK = Clock()


class _Passing(EncoderFailed):
    """May be gone at the next try."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait
        """Seconds that the endpoint asked for."""


class _TooMuch(EncoderFailed):
    """May be taken when less is sent."""

    def __init__(self, message: str, share: int = 2) -> None:
        super().__init__(message, remedy="Use a model that takes longer texts, or let the server cut them.")
        self.share = share
        """What the number of texts is divided by."""


class _Item(Struct):
    embedding: list[float] | str
    """Numbers, or float32 in base64 from servers that know nothing else."""
    index: int | None = None


class _Answer(Struct):
    data: list[_Item]


class _Pause(NamedTuple):
    until: float
    reason: EncoderFailed


class RemoteEncoder:
    """Nothing is sent, and no setting found wrong, before something is to be encoded or the name asked for."""

    is_quick = False
    reads_text = True
    near = 0.0

    def __init__(
        self,
        url: str,
        model: str,
        key: str = "",
        *,
        indexing: Patience = INDEXING,
        searching: Patience = SEARCHING,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._url, self._model, self._key = url, model, key.strip()
        self._indexing, self._searching = indexing, searching
        self._clock = clock
        self._most = MOST_TEXTS
        self._width: int | None = None
        self._pause: _Pause | None = None

    @property
    def name(self) -> str:
        """Known without asking: of one name are one address and model, read in one way."""
        read = f"{self._host}{self._endpoint.path} path name text {MOST_CHARACTERS}"
        return f"{self._host}/{self._model or 'default'}#{hashlib.sha256(read.encode()).hexdigest()[:8]}"

    @property
    def dimensions(self) -> int:
        """As its answers have; with none yet, one is asked for, with the patience of indexing."""
        if self._width is None:
            return len(self._encoded(["dimensions"])[0])
        return self._width

    def passages(self, passages: Sequence[Passage]) -> Rows:
        texts = [written(each) for each in passages]
        some = [at for at, text in enumerate(texts) if not _is_blank(text)]
        found = self._encoded([texts[at] for at in some]) if some else None
        rows = np.zeros((len(texts), self.dimensions), np.int8)
        if found is not None:
            rows[some] = found
        return rows

    def query(self, text: str) -> Row:
        self._refuse_while_paused()
        try:
            row = self._promptly("?" if _is_blank(text) else readable(text))
        except EncoderFailed as failure:
            self._pause = _Pause(self._clock.now() + PAUSE_S, failure)
            raise
        self._pause = None
        return np.zeros_like(row) if _is_blank(text) else row

    def close(self) -> None:
        self._client.close()

    def _refuse_while_paused(self) -> None:
        pause = self._pause
        if pause is None or self._clock.now() >= pause.until:
            return
        raise EncoderFailed(f"{pause.reason.message}; it is not asked again at once", remedy=pause.reason.remedy)

    def _promptly(self, text: str) -> Row:
        """In a thread, as a name that no server resolves holds up its caller for as long as the system likes."""
        answers: queue.SimpleQueue[Rows | EncoderFailed] = queue.SimpleQueue()
        deadline = self._clock.now() + self._searching.seconds

        def ask() -> None:
            try:
                answers.put(self._tried([text], self._searching.tries, deadline))
            except EncoderFailed as failure:
                answers.put(failure)

        threading.Thread(target=ask, name="cairn-query", daemon=True).start()
        try:
            answer = answers.get(timeout=self._searching.seconds)
        except queue.Empty:
            raise EncoderFailed(f"{self._host} did not answer in {self._searching.seconds:g} s") from None
        if isinstance(answer, EncoderFailed):
            raise answer
        row: Row = answer[0]
        return row

    def _encoded(self, texts: list[str]) -> Rows:
        """Batch after batch, each as large as the endpoint takes them."""
        found: list[Rows] = []
        at, deadline = 0, self._clock.now() + self._indexing.seconds
        while at < len(texts):
            batch = _first(texts, at, self._most)
            try:
                found.append(self._tried(batch, self._indexing.tries, deadline))
            except _TooMuch as failure:
                if self._clock.now() >= deadline:
                    raise
                self._send_less(texts, at, len(batch), failure)
                continue
            at, deadline = at + len(batch), self._clock.now() + self._indexing.seconds
            self._most = min(MOST_TEXTS, self._most + 1)
        rows: Rows = np.concatenate(found)
        return rows

    def _send_less(self, texts: list[str], at: int, sent: int, failure: _TooMuch) -> None:
        if sent > 1:
            self._most = max(1, sent // failure.share)
            return
        if len(texts[at]) <= _LEAST_CHARACTERS:
            raise failure
        texts[at] = texts[at][: len(texts[at]) // 2]
        self._most = MOST_TEXTS  # it was this one text, not their number

    def _tried(self, texts: list[str], tries: int, deadline: float) -> Rows:
        tried = 0
        while True:
            try:
                return self._once(texts, min(_LONGEST_REQUEST_S, deadline - self._clock.now()))
            except _Passing as failure:
                tried += 1
                wait = max(failure.wait, _FIRST_WAIT_S * 2 ** (tried - 1) * random.uniform(0.5, 1.0))  # noqa: S311
                if tried >= tries or self._clock.now() + wait >= deadline:
                    raise
                log.info("%s; trying again in %.1f s", failure.message, wait)
            self._clock.sleep(wait)

    def _once(self, texts: list[str], seconds: float) -> Rows:
        host = self._host
        try:
            response, body = self._post(self._request(texts), seconds)
        except (httpx2.ReadTimeout, httpx2.WriteTimeout, TimeoutError) as error:
            late = f"{host} did not answer in time"
            raise (_TooMuch(late, share=4) if len(texts) > 1 else _Passing(late)) from error
        except httpx2.RequestError as error:
            if (fault := _certificate_fault(error)) is not None:
                raise EncoderFailed(f"The certificate of {host} is not valid: {fault.verify_message}") from error
            raise _Passing(f"{host} cannot be reached: {self._harmless(str(error)) or type(error).__name__}") from error
        if response.status_code != 200:
            raise self._refusal(response, body)
        return quantised(self._vectors(body, len(texts)))

    def _post(self, content: bytes, seconds: float) -> tuple[httpx2.Response, bytes]:
        """The answer, whatever its status, and its body."""
        deadline = time.monotonic() + seconds
        if seconds <= 0:
            raise TimeoutError
        timeout = httpx2.Timeout(seconds, connect=min(seconds, _LONGEST_CONNECTING_S))
        client, headers = self._client, self._headers
        request = client.build_request("POST", self._endpoint, content=content, headers=headers, timeout=timeout)
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
                raise EncoderFailed(f"{self._host} answered with more than anyone would keep")
            if time.monotonic() > deadline:
                raise TimeoutError
        return bytes(body)

    def _request(self, texts: list[str]) -> bytes:
        model = {"model": self._model} if self._model else {}
        return msgspec.json.encode({**model, "input": texts, "encoding_format": "float"})

    def _vectors(self, body: bytes, count: int) -> npt.NDArray[np.float64]:
        try:
            items = msgspec.json.decode(body, type=_Answer).data
            vectors = [_numbers(item.embedding) for item in _ordered(items, count)]
            width = _width(vectors)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise EncoderFailed(f"{self._host} answered with no vectors{self._said(body)}") from error
        except ValueError as error:
            raise EncoderFailed(f"{self._host} answered with vectors that are of no use: {error}") from error
        if self._width not in (None, width):
            raise EncoderFailed(f"{self._host} answers with {width} dimensions and did with {self._width} before")
        self._width = width
        return np.stack(vectors)

    def _refusal(self, response: httpx2.Response, body: bytes) -> EncoderFailed:
        host, status, said = self._host, response.status_code, self._said(body)
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
            return _TooMuch(f"{host} finds the request too large ({status}){said}")
        if status in _PASSING:
            return _Passing(f"{host} fails ({status}){said}", self._asked_wait(response.headers.get("Retry-After")))
        return EncoderFailed(
            f"{host} refuses the request ({status}){said}", remedy="Check what the model and the endpoint take."
        )

    def _asked_wait(self, value: str | None) -> float:
        """Seconds, or a date."""
        if value is None:
            return 0.0
        try:
            wait = float(value)
        except ValueError:
            try:
                wait = parsedate_to_datetime(value).timestamp() - self._clock.date()
            except (ValueError, OverflowError):
                return 0.0
        return max(0.0, wait) if not math.isnan(wait) else 0.0

    def _said(self, body: bytes) -> str:
        words = " ".join(_message(body[: 1 << 12]).split())
        return f": {self._harmless(words)}" if words else ""

    def _harmless(self, text: str) -> str:
        is_secret = len(self._key) >= _SHORTEST_SECRET
        shown = masked(text.replace(self._key, "…") if is_secret else text)
        return shown if len(shown) <= _LONGEST_SAID else f"{shown[:_LONGEST_SAID]}…"

    @cached_property
    def _headers(self) -> dict[str, str]:
        if not (self._key.isascii() and (self._key.isprintable() or not self._key)):
            raise EncoderFailed("The key has characters that no key has", remedy="Check CAIRN_EMBEDDINGS_KEY.")
        allowed = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        agent = f"codecairn/{__version__}"
        return {
            "Content-Type": "application/json", "Accept": "application/json", "User-Agent": agent,
            "Accept-Encoding": "identity", **allowed,
        }  # fmt: skip

    @cached_property
    def _endpoint(self) -> httpx2.URL:
        try:
            return _endpoint_at(self._url)
        except ValueError as error:
            raise EncoderFailed(
                f"The address of the embeddings endpoint is not one: {error}", remedy="Check CAIRN_EMBEDDINGS_URL."
            ) from None

    @cached_property
    def _host(self) -> str:
        """With its port, where it has one."""
        return self._endpoint.netloc.decode("ascii")

    @cached_property
    def _client(self) -> httpx2.Client:
        try:
            return httpx2.Client(verify=ssl.create_default_context())
        except (ImportError, ValueError) as error:  # a proxy of a kind that httpx does not speak to
            raise EncoderFailed(f"The proxy cannot be used: {error}", remedy="Check the proxy settings.") from error


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
    if not 0 <= (url.port or 0) < 1 << 16:
        raise ValueError("its host or its port cannot be one")
    path = url.path.rstrip("/")
    if not path.endswith("/embeddings"):
        path += "/embeddings" if path else "/v1/embeddings"
    return url.copy_with(path=path)


def _certificate_fault(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """The refusal of a certificate among the causes of an error."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error


def _is_blank(text: str) -> bool:
    """Endpoints refuse a whole request for one text without content."""
    return not text.strip()


def _first(texts: list[str], at: int, most: int) -> list[str]:
    """The texts of one request: one at least, and no more than it may hold."""
    end, size = at, 0
    while end < min(len(texts), at + most) and (end == at or size + len(texts[end]) <= MOST_OF_A_REQUEST):
        size += len(texts[end])
        end += 1
    return texts[at:end]


def _ordered(items: list[_Item], count: int) -> list[_Item]:
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


def _width(vectors: list[npt.NDArray[np.float64]]) -> int:
    widths = {len(each) for each in vectors}
    if len(widths) != 1 or 0 in widths:
        raise ValueError("their lengths differ" if len(widths) > 1 else "they are empty")
    if not all(np.isfinite(each).all() for each in vectors):
        raise ValueError("one has what is no number")
    return widths.pop()


def _message(body: bytes) -> str:
    """What an answer says in words: the message of an error in one of its usual places, else the text itself."""
    try:
        value: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return body.decode("utf-8", "replace")
    for key in ("error", "message", "detail"):
        value = value.get(key, value) if isinstance(value, dict) else value
    return value if isinstance(value, str) else body.decode("utf-8", "replace")
