"""One call's cancellation: set from any thread, and what the call has under way is stopped at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from codecairn.errors import Cancelled


class Cancel:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = False
        self._stops: list[Callable[[], None]] = []

    def __bool__(self) -> bool:
        return self._set

    def set(self) -> None:
        with self._lock:
            self._set = True
            stops, self._stops = self._stops, []
        for stop in stops:
            stop()

    def check(self) -> None:
        if self._set:
            raise Cancelled("The request was cancelled")

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        """Run a block during which a cancellation calls `stop`."""
        with self._lock:
            self._stops.append(stop)
            late = self._set
        if late:
            stop()
        try:
            yield
        finally:
            with self._lock:
                if stop in self._stops:
                    self._stops.remove(stop)
