"""The latest calls of one server, for people who look at it: each of them, and the last hour by the minute.

Only a server that shows them keeps a journal. What it holds is bounded: 2,000 calls with their masked arguments, and
for each of sixty minutes the times and sizes of at most 400 calls.
"""

from __future__ import annotations

import json
import threading
import time
from array import array
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_MOST_CALLS = 2_000
_MINUTES = 60
_MOST_SAMPLES = 400
_LONGEST_ARGUMENTS = 300


class CallRecord(NamedTuple):
    number: int
    at: float
    """Seconds since 1970."""
    tool: str
    door: str
    client: str
    ms: float
    size: int
    error: str | None
    arguments: str
    """As JSON, masked as in the logs and cut."""


class CallMinute(NamedTuple):
    at: int
    """Minutes since 1970."""
    calls: int
    errors: int
    p50_ms: float
    p95_ms: float
    p50_size: int
    p95_size: int


@dataclass
class _Minute:
    count: int = 0
    errors: int = 0
    times: array[float] = field(default_factory=lambda: array("d"))
    sizes: array[float] = field(default_factory=lambda: array("d"))

    def add(self, ms: float, size: int, *, failed: bool) -> None:
        if self.count < _MOST_SAMPLES:
            self.times.append(ms)
            self.sizes.append(size)
        else:
            self.times[self.count % _MOST_SAMPLES] = ms
            self.sizes[self.count % _MOST_SAMPLES] = size
        self.count += 1
        self.errors += failed


class CallJournal:
    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: deque[CallRecord] = deque(maxlen=_MOST_CALLS)
        self._minutes: dict[int, _Minute] = {}
        self._number = 0
        self.is_one_of_several = False
        """Whether other processes of the same server have calls of their own."""

    @property
    def last(self) -> int:
        """The number of the latest call."""
        return self._number

    def note(self, facts: Mapping[str, Any], client: str) -> None:
        """Note a call by the facts that its log line has."""
        said = json.dumps(facts["arguments"], ensure_ascii=False, default=str)
        cut = said if len(said) <= _LONGEST_ARGUMENTS else f"{said[:_LONGEST_ARGUMENTS]}…"
        with self._lock:
            self._number += 1
            now = self._clock()
            self._calls.append(
                CallRecord(
                    self._number, now, facts["tool"], facts["door"], client, facts["duration"], facts["size"],
                    facts["error"], cut,
                )
            )  # fmt: skip
            if facts["door"] != "page":
                self._minute(int(now // 60)).add(facts["duration"], facts["size"], failed=facts["error"] is not None)

    def _minute(self, at: int) -> _Minute:
        if at not in self._minutes:
            self._minutes = {then: kept for then, kept in self._minutes.items() if then > at - _MINUTES}
            self._minutes[at] = _Minute()
        return self._minutes[at]

    def since(self, number: int) -> list[CallRecord]:
        """The calls after one, oldest first."""
        with self._lock:
            return [each for each in self._calls if each.number > number]

    def errors(self) -> Counter[str]:
        """The errors of the calls that are held, by their type."""
        return Counter(each.error for each in self.since(0) if each.error)

    def minutes(self) -> list[CallMinute]:
        """The last sixty minutes, oldest first; those without a call are left out."""
        least = int(self._clock() // 60) - _MINUTES
        with self._lock:
            return [_summary(at, each) for at, each in sorted(self._minutes.items()) if at > least]


def _summary(at: int, minute: _Minute) -> CallMinute:
    times, sizes = sorted(minute.times), sorted(minute.sizes)
    middle, high = len(times) // 2, int(len(times) * 0.95)
    return CallMinute(at, minute.count, minute.errors, times[middle], times[high], int(sizes[middle]), int(sizes[high]))
