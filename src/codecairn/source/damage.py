"""Reading around what a repository lacks: of many paths those that can be read, and the names of those that cannot.

A partial clone lacks objects, and a damaged one has some that cannot be unpacked. git ends at the first; so it is asked
again about halves of what it was asked about, until what is missing stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from codecairn.source.failures import failure, lacks_objects
from codecairn.source.process import Finished

_AT_ONCE = 400
"""Paths; of 250 bytes each they fit on any system's command line."""
_MOST_RUNS = 200
"""What is not told apart by then is lacking as a whole."""
_OBJECT = re.compile(r"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")


class Pieces(NamedTuple):
    finished: list[Finished]
    lacking: list[str]


def in_pieces(paths: Sequence[str], attempt: Callable[[Sequence[str]], Finished], fine: frozenset[int]) -> Pieces:
    """What comes of an attempt at all paths; a status that is not `fine` is a fault of the attempt."""
    found = Pieces([], [])
    waiting = [paths[at : at + _AT_ONCE] for at in range(0, len(paths), _AT_ONCE)][::-1]
    for run in range(_MOST_RUNS + len(waiting)):
        if not waiting:
            break
        part = waiting.pop()
        finished = attempt(part)
        if finished.status in fine or finished.stopped_early:
            found.finished.append(finished)
        elif not lacks_objects(finished):
            raise failure(finished)
        elif len(part) == 1 or run >= _MOST_RUNS:
            found.lacking.extend(part)
        else:
            waiting += [part[len(part) // 2 :], part[: len(part) // 2]]
    found.lacking.extend(path for part in waiting for path in part)
    return found


def object_named(finished: Finished) -> str:
    """The object that git complains of; nothing where it names none."""
    named = _OBJECT.search(finished.complaint)
    return named[0] if named else ""


def listed(paths: Sequence[str], most: int = 5) -> str:
    """Names for a sentence."""
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more
