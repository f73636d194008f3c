"""Moments as text, in UTC and by ISO 8601."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def timestamp(moment: datetime | None = None) -> str:
    """A moment, now where none is given, to the millisecond."""
    said = (moment or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="milliseconds")
    return said.replace("+00:00", "Z")


def iso_seconds(seconds: float | None = None) -> str:
    """A moment in seconds since 1970, now where none is given, to the second."""
    return datetime.fromtimestamp(time.time() if seconds is None else seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def to_the_minute(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
