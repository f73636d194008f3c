"""Counts and times of every call since the process started."""

from __future__ import annotations

import os
import threading
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field

from codecairn.cache import caches
from codecairn.clock import timestamp
from codecairn.types import CamelStruct

_SAMPLES = 1024
"""Percentiles are of the latest calls of a method; counts, averages and maxima of all of them."""

_BUCKETS_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class MethodMetrics(CamelStruct, frozen=True, kw_only=True):
    method: str
    count: int
    avg_ms: float
    max_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    successes: int
    failures: int
    errors: dict[str, int]
    """The failures by their type."""
    rate_limit_hits: int
    slow_calls: int
    """Calls that took longer than their tool's maximum."""


class CacheMetrics(CamelStruct, frozen=True, kw_only=True):
    name: str
    entries: int
    bytes: int
    """An estimate of what its entries take."""
    most_bytes: int


class MetricsSnapshot(CamelStruct, frozen=True, kw_only=True):
    generated_at: str
    methods: list[MethodMetrics]
    caches: list[CacheMetrics]
    """Each with its bound."""
    rss_bytes: int | None
    """The memory the process has now; null where the system does not tell."""


class _Method(Struct):
    count: int = 0
    total_ms: float = 0.0
    max_ms: float = 0.0
    slow: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    rate_limit_hits: int = 0
    latest: array[float] = field(default_factory=lambda: array("d"))
    """In one piece: a float of its own would keep the megabyte it lies in from being given back."""
    buckets: list[int] = field(default_factory=lambda: [0] * len(_BUCKETS_S))

    def add(self, elapsed_ms: float) -> None:
        if self.count < _SAMPLES:
            self.latest.append(elapsed_ms)
        else:
            self.latest[self.count % _SAMPLES] = elapsed_ms
        self.count += 1
        self.total_ms += elapsed_ms
        self.max_ms = max(self.max_ms, elapsed_ms)
        for number, bound in enumerate(_BUCKETS_S):
            self.buckets[number] += elapsed_ms <= bound * 1000


class Metrics:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._methods: dict[str, _Method] = {}
        self.under_way = 0
        """Calls whose thread is at work, those included that nobody waits for any more."""

    @contextmanager
    def working(self) -> Iterator[None]:
        with self._lock:
            self.under_way += 1
        try:
            yield
        finally:
            with self._lock:
                self.under_way -= 1

    def record(self, method: str, elapsed_ms: float, *, error: str | None, refused: bool, slow: bool) -> None:
        with self._lock:
            entry = self._methods.setdefault(method, _Method())
            entry.add(elapsed_ms)
            entry.slow += slow
            if error is not None:
                entry.errors[error] += 1
            entry.rate_limit_hits += refused

    def snapshot(self) -> MetricsSnapshot:
        with self._lock:
            methods = [_row(name, entry) for name, entry in sorted(self._methods.items())]
        return MetricsSnapshot(
            generated_at=timestamp(), methods=methods, rss_bytes=resident_bytes(),
            caches=[CacheMetrics(**each._asdict()) for each in caches()],
        )  # fmt: skip

    def prometheus(self) -> str:
        with self._lock:
            gauge = _metric("calls_under_way", "Calls at work.", [("", self.under_way)], "gauge")
            lines = [*gauge, *_exposition(self._methods)]
        return "\n".join([*lines, *_memory()]) + "\n"


def resident_bytes() -> int | None:
    """The memory of this process that is in RAM; told by Linux alone without a further package."""
    try:
        _, resident, *_ = Path("/proc/self/statm").read_text("ascii").split()
        return int(resident) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _row(name: str, entry: _Method) -> MethodMetrics:
    ordered = sorted(entry.latest)
    return MethodMetrics(
        method=name, count=entry.count, avg_ms=round(entry.total_ms / entry.count, 3), max_ms=round(entry.max_ms, 3),
        p50_ms=_quantile(ordered, 0.50), p95_ms=_quantile(ordered, 0.95), p99_ms=_quantile(ordered, 0.99),
        successes=entry.count - entry.errors.total(), failures=entry.errors.total(), errors=dict(entry.errors),
        rate_limit_hits=entry.rate_limit_hits, slow_calls=entry.slow,
    )  # fmt: skip


def _quantile(ordered: list[float], share: float) -> float:
    """Nearest rank, so every figure is a duration that was really measured."""
    rank = -int(-share * len(ordered) // 1)
    return round(ordered[max(0, rank - 1)], 3)


def _exposition(methods: dict[str, _Method]) -> list[str]:
    rows = [(f'method="{name}"', entry) for name, entry in sorted(methods.items())]
    errors = [
        (f'{label},type="{kind}"', count) for label, entry in rows for kind, count in sorted(entry.errors.items())
    ]
    refused = [(label, entry.rate_limit_hits) for label, entry in rows]
    lines = [
        *_metric("calls_total", "Calls answered, errors included.", [(label, entry.count) for label, entry in rows]),
        *_metric("errors_total", "Calls that ended in an error, by its type.", errors),
        *_metric("rate_limited_total", "Calls refused by a rate limit.", refused),
        *_metric("slow_calls_total", "Calls over their maximum time.", [(label, entry.slow) for label, entry in rows]),
        *_metric("call_duration_seconds", "Time to answer.", [], "histogram"),
    ]
    for label, entry in rows:
        bounds = [*(f"{bound:g}" for bound in _BUCKETS_S), "+Inf"]
        lines += [
            f'cairn_call_duration_seconds_bucket{{{label},le="{bound}"}} {count}'
            for bound, count in zip(bounds, [*entry.buckets, entry.count], strict=True)
        ]
        lines.append(f"cairn_call_duration_seconds_sum{{{label}}} {entry.total_ms / 1000:.6f}")
        lines.append(f"cairn_call_duration_seconds_count{{{label}}} {entry.count}")
    return lines


def _memory() -> list[str]:
    rows, resident = [(f'cache="{each.name}"', each) for each in caches()], resident_bytes()
    lines = [
        *_metric(
            "cache_bytes", "What a cache is reckoned to take.", [(key, each.bytes) for key, each in rows], "gauge"
        ),
        *_metric("cache_most_bytes", "What a cache may take.", [(key, each.most_bytes) for key, each in rows], "gauge"),
        *_metric("cache_entries", "Entries of a cache.", [(key, each.entries) for key, each in rows], "gauge"),
    ]
    if resident is not None:
        lines += _metric("resident_memory_bytes", "Memory of the process in RAM.", [("", resident)], "gauge")
    return lines


def _metric(name: str, said: str, rows: list[tuple[str, int]], kind: str = "counter") -> list[str]:
    """A metric as Prometheus reads it: what it is, and a line for each of its labels."""
    named = (f"cairn_{name}{{{labels}}} {value}" if labels else f"cairn_{name} {value}" for labels, value in rows)
    return [f"# HELP cairn_{name} {said}", f"# TYPE cairn_{name} {kind}", *named]
