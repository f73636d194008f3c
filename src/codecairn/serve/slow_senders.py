"""A client that begins a request sends the whole of it in a minute, or its connection is closed.

uvicorn closes idle connections between requests only: one that stays silent from the start, or sends a byte now and
then, would keep its descriptor for ever.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 60.0
_BEING_SENT = (h11.IDLE, h11.SEND_BODY)


class TimedProtocol(H11Protocol):
    seconds = REQUEST_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        self._start()
        super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        if self.conn.their_state not in _BEING_SENT:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self.transport.abort)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
