"""Numbers and moments in words, as templates print them."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

_STEPS = ((31_536_000, "year"), (2_592_000, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute"))
_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")


def count(number: float) -> str:
    return f"{number:,.0f}"


def plural(number: int, noun: str, several: str = "") -> str:
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def duration(ms: float) -> str:
    if ms < 10:
        return f"{ms:.1f} ms"
    return f"{ms:,.0f} ms" if ms < 10_000 else f"{ms / 1000:.1f} s"


def size(characters: float) -> str:
    if characters < 1_000:
        return f"{characters:.0f}"
    return f"{characters / 1_000:.1f} k" if characters < 1_000_000 else f"{characters / 1_000_000:.1f} M"


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%H:%M:%S")


def ago(when: str | float | None) -> str:
    """How long ago a moment was, given in seconds or by ISO 8601."""
    if when is None:
        return "never"
    try:
        then = float(when) if not isinstance(when, str) else datetime.fromisoformat(when).timestamp()
    except ValueError:
        return str(when)
    seconds = max(0.0, time.time() - then)
    for step, name in _STEPS:
        if seconds >= step:
            return f"{plural(int(seconds // step), name)} ago"
    return "just now"


def short_ref(ref: str) -> str:
    """A commit by its first digits; a name as it is."""
    return ref[:10] if _COMMIT.fullmatch(ref) else ref
