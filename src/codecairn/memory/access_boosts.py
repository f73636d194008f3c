"""Files that were opened lately, or are worked on now, count for more.

A product b of factors of at least 1 maps a score s to 1 − (1 − s)^b: never above 1, in the same order for the same b,
and unchanged where nothing boosts. Scores have four digits, so that what is shown computes to what is shown.
"""

from __future__ import annotations

from typing import NamedTuple

from codecairn.store.sessions import DAY_S, WEEK_S, FileAccess

TODAY, THIS_WEEK = 1.5, 1.2
SAME_MODULE = 1.3
_MOST_FREQUENT = 1.5
DIGITS = 4


class Boosts(NamedTuple):
    recency: float = 1.0
    module: float = 1.0
    frequency: float = 1.0

    @property
    def product(self) -> float:
        return self.recency * self.module * self.frequency

    def final(self, score: float) -> float:
        return score if self.product == 1.0 else round(1 - (1 - score) ** self.product, DIGITS)


def boosts(accessed: FileAccess | None, *, is_worked_on: bool, now: float) -> Boosts:
    return Boosts(_recency(accessed, now), SAME_MODULE if is_worked_on else 1.0, _frequency(accessed))


def _recency(accessed: FileAccess | None, now: float) -> float:
    age = now - accessed.last if accessed else WEEK_S
    if age < DAY_S:
        return TODAY
    return THIS_WEEK if age < WEEK_S else 1.0


def _frequency(accessed: FileAccess | None) -> float:
    return min(1 + (accessed.this_week if accessed else 0) / 100, _MOST_FREQUENT)


_UNITS = ((60, "minute"), (3600, "hour"), (DAY_S, "day"))


def ago(seconds: float) -> str:
    """An age as people say it: `2 hours ago`."""
    said = "just now"
    for length, unit in _UNITS:
        count = int(seconds // length)
        if count:
            said = f"{count} {unit}{'s' if count > 1 else ''} ago"
    return said
