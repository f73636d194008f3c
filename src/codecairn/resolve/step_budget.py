"""How much work one question may be, so that any question ends.

A step is one lookup that nothing remembered; opening a file counts as the steps that take as long. Names can lead round
in circles through types and imports in more ways than can be walked, so one site has a budget of its own within that of
the whole question. What neither reaches is told as not reached, never as not there. The numbers are of steps and not of
seconds, so that the same question gets the same answer on a slow machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from codecairn.cancel import Cancel

MOST_STEPS = 60_000
"""Of one question: three to five seconds of CPU. The commonest names of Django take half of it."""
MOST_FOR_A_SITE = 4_000
"""Of one name in one place; the most that was seen in ten repositories of eight languages is 226, and the files that it
opens."""
_BETWEEN_CHECKS = 16
_Answer = TypeVar("_Answer")


class _SpentError(Exception):
    """The budget ends amid a site."""


class Budget:
    def __init__(self, cancel: Cancel, most: int = MOST_STEPS) -> None:
        self._cancel = cancel
        self._left = most
        self._floor: int | None = None
        self.unreached = 0
        """How often something was given up."""

    @property
    def is_spent(self) -> bool:
        return self._left <= 0

    def step(self, cost: int = 1) -> None:
        """Count a step; raises where the site, or the question, has had its share."""
        self._left -= cost
        if cost > 1 or self._left % _BETWEEN_CHECKS == 0:
            self._cancel.check()
        if self._floor is not None and self._left < self._floor:
            raise _SpentError

    def within(self, work: Callable[[], _Answer], otherwise: _Answer) -> _Answer:
        """Do the work for one site; `otherwise` stands for what is not reached."""
        if self._floor is not None:  # part of a site's work
            return work()
        if self.is_spent:
            self.unreached += 1
            return otherwise
        self._floor = max(0, self._left - MOST_FOR_A_SITE)
        try:
            return work()
        except (_SpentError, RecursionError):  # a circle may be deeper than Python's stack before it is long
            self.unreached += 1
            return otherwise
        finally:
            self._floor = None
