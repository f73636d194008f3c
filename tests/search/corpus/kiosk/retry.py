"""Trying again, and knowing when to stop."""

import random
import time
from collections.abc import Callable


class CircuitOpen(Exception):
    """The other side failed too often; nothing is sent for a while."""


def exponential_backoff(attempt: int, base: float = 0.1, longest: float = 30.0) -> float:
    """Seconds to wait before an attempt: doubled each time, with jitter so that clients do not come back at once."""
    return random.uniform(0, min(longest, base * 2**attempt))


def retry(call: Callable, attempts: int = 5, on: tuple = (ConnectionError, TimeoutError)):
    """The value of a call that may fail for a moment."""
    for attempt in range(attempts):
        try:
            return call()
        except on:
            if attempt == attempts - 1:
                raise
            time.sleep(exponential_backoff(attempt))


class CircuitBreaker:
    """Stops calling a service that keeps failing, and tries it again after a pause."""

    def __init__(self, threshold: int = 5, cooldown: float = 60.0) -> None:
        self.threshold = threshold
        self.cooldown = cooldown
        self.failures = 0
        self.opened_at = None

    def call(self, function: Callable):
        if self.opened_at is not None and time.monotonic() - self.opened_at < self.cooldown:
            raise CircuitOpen("too many failures")
        try:
            value = function()
        except Exception:
            self.record_failure()
            raise
        self.failures, self.opened_at = 0, None
        return value

    def record_failure(self) -> None:
        self.failures += 1
        if self.failures >= self.threshold:
            self.opened_at = time.monotonic()
