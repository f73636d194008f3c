"""Vectors from an endpoint over HTTP: a service, or a server of one's own.

An index run waits, tries again and sends less at a time. A search gets an answer or a failure within seconds, and after
a failure at once, as words find something meanwhile.
"""

from __future__ import annotations

import hashlib
import logging
import queue
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from codecairn.embed.encoder import MOST_CHARACTERS, Passage, Row, Rows, passage_text, quantise, readable
from codecairn.embed.endpoint import Endpoint, PassingFailure, RequestTooLarge
from codecairn.errors import EncoderFailed

log = logging.getLogger("codecairn.embed")

MOST_TEXTS = 64
MOST_OF_A_REQUEST = 200_000
"""Characters."""
PAUSE_S = 30.0
"""After a query that failed, until one is tried again."""
_LONGEST_REQUEST_S = 30.0
_FIRST_WAIT_S = 0.5
_LEAST_CHARACTERS = 200
"""A text that is refused even when it is cut to this is not refused for its length."""


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


class RemoteEncoder:
    """Nothing is sent, and no setting found wrong, before something is to be encoded or the name asked for."""

    is_quick = False
    reads_text = True
    near = 0.0

    def __init__(
        self, url: str, model: str, key: str = "", *, indexing: Patience = INDEXING, searching: Patience = SEARCHING,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:  # fmt: skip
        self._endpoint, self._model = Endpoint(url, model, key, clock.date), model
        self._indexing, self._searching = indexing, searching
        self._clock = clock
        self._most = MOST_TEXTS
        self._width: int | None = None
        self._failure: EncoderFailed | None = None
        self._paused_until = 0.0

    @property
    def name(self) -> str:
        """Known without asking: of one name are one address and model, read in one way."""
        host = self._endpoint.host
        read = f"{host}{self._endpoint.url.path} path name text {MOST_CHARACTERS}"
        return f"{host}/{self._model or 'default'}#{hashlib.sha256(read.encode()).hexdigest()[:8]}"

    @property
    def dimensions(self) -> int:
        """As its answers have; with none yet, one is asked for, with the patience of indexing."""
        if self._width is None:
            return len(self._encode(["dimensions"])[0])
        return self._width

    def passages(self, passages: Sequence[Passage]) -> Rows:
        texts = [passage_text(each) for each in passages]
        some = [at for at, text in enumerate(texts) if not _is_blank(text)]
        found = self._encode([texts[at] for at in some]) if some else None
        rows = np.zeros((len(texts), self.dimensions), np.int8)
        if found is not None:
            rows[some] = found
        return rows

    def query(self, text: str) -> Row:
        if self._failure is not None and self._clock.now() < self._paused_until:
            raise EncoderFailed(f"{self._failure.message}; it is not asked again at once", remedy=self._failure.remedy)
        try:
            row = self._encode_promptly("?" if _is_blank(text) else readable(text))
        except EncoderFailed as failure:
            self._failure, self._paused_until = failure, self._clock.now() + PAUSE_S
            raise
        self._failure = None
        return np.zeros_like(row) if _is_blank(text) else row

    def close(self) -> None:
        self._endpoint.close()

    def _encode_promptly(self, text: str) -> Row:
        """In a thread, as a name that no server resolves holds up its caller for as long as the system likes."""
        answers: queue.SimpleQueue[Rows | EncoderFailed] = queue.SimpleQueue()
        tries, seconds = self._searching
        deadline = self._clock.now() + seconds

        def ask() -> None:
            try:
                answers.put(self._try([text], tries, deadline))
            except EncoderFailed as failure:
                answers.put(failure)

        threading.Thread(target=ask, name="cairn-query", daemon=True).start()
        try:
            answer = answers.get(timeout=seconds)
        except queue.Empty:
            raise EncoderFailed(f"{self._endpoint.host} did not answer in {seconds:g} s") from None
        if isinstance(answer, EncoderFailed):
            raise answer
        row: Row = answer[0]
        return row

    def _encode(self, texts: list[str]) -> Rows:
        """Batch after batch, each as large as the endpoint takes them."""
        found: list[Rows] = []
        at, deadline = 0, self._clock.now() + self._indexing.seconds
        while at < len(texts):
            batch = _batch(texts, at, self._most)
            try:
                found.append(self._try(batch, self._indexing.tries, deadline))
            except RequestTooLarge as failure:
                if self._clock.now() >= deadline:
                    raise
                self._send_less(texts, at, len(batch), failure)
                continue
            at, deadline = at + len(batch), self._clock.now() + self._indexing.seconds
            self._most = min(MOST_TEXTS, self._most + 1)
        rows: Rows = np.concatenate(found)
        return rows

    def _send_less(self, texts: list[str], at: int, sent: int, failure: RequestTooLarge) -> None:
        if sent > 1:
            self._most = max(1, sent // failure.share)
            return
        if len(texts[at]) <= _LEAST_CHARACTERS:
            raise failure
        texts[at] = texts[at][: len(texts[at]) // 2]
        self._most = MOST_TEXTS  # it was this one text, not their number

    def _try(self, texts: list[str], tries: int, deadline: float) -> Rows:
        tried = 0
        while True:
            try:
                return self._ask(texts, min(_LONGEST_REQUEST_S, deadline - self._clock.now()))
            except PassingFailure as failure:
                tried += 1
                wait = max(failure.wait, _FIRST_WAIT_S * 2 ** (tried - 1) * random.uniform(0.5, 1.0))  # noqa: S311
                if tried >= tries or self._clock.now() + wait >= deadline:
                    raise
                log.info("%s; trying again in %.1f s", failure.message, wait)
            self._clock.sleep(wait)

    def _ask(self, texts: list[str], seconds: float) -> Rows:
        vectors = self._endpoint.vectors(texts, seconds)
        host, width = self._endpoint.host, vectors.shape[1]
        if self._width not in (None, width):
            raise EncoderFailed(f"{host} answers with {width} dimensions and did with {self._width} before")
        self._width = width
        return quantise(vectors)


def _is_blank(text: str) -> bool:
    """Endpoints refuse a whole request for one text without content."""
    return not text.strip()


def _batch(texts: list[str], at: int, most: int) -> list[str]:
    """The texts of one request: one at least, and no more than it may hold."""
    end, size = at, 0
    while end < min(len(texts), at + most) and (end == at or size + len(texts[end]) <= MOST_OF_A_REQUEST):
        size += len(texts[end])
        end += 1
    return texts[at:end]
