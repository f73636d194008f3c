"""The valid values nearest to one that is none: names, paths, refs, languages, tools and commands.

A value is near where it has a part more or less, or a letter or two wrong, missing, added or swapped. Comparing a name
with 60,000 others takes a few hundredths of a second, because most pairs are told apart by one search for a piece.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable

from codecairn.words import words_of

MOST = 5
"""Values that an error suggests."""
SHORTEST = 3
"""Letters: what is shorter is near to everything."""
SIGILS = "_$@#!?=~'"
_FEW = 2_000
"""Values that are compared once more by the letters they share, which takes a hundred times as long."""
_ALIKE = 0.6
_MOST_EDITS = 2
_LONG = 12
"""Letters of a name in which as many may be wrong; in a shorter one, one."""
_SAID = 3


def nearest(given: str, known: Collection[str], most: int = MOST) -> list[str]:
    """The values that a caller may have meant, the nearest first."""
    name = given.strip().strip(SIGILS)
    ends = sorted((each for each in known if each.casefold().endswith(f"/{name.casefold()}")), key=len) if name else []
    found = list(dict.fromkeys([*ends, *(_near(name, known, most) if name else ())]))[:most]
    if found or len(known) > _FEW:
        return found
    from difflib import get_close_matches  # noqa: PLC0415 - for who is mistaken

    lowered = {each.casefold(): each for each in known}
    return [lowered[each] for each in get_close_matches(name.casefold(), lowered, most, _ALIKE)]


def nearest_names(name: str, known: Iterable[str], most: int) -> list[str]:
    """The names near to one, out of many thousands."""
    return _near(name, known, most) if len(name) >= SHORTEST else []


def nearest_paths(given: str, paths: Iterable[str], most: int = MOST) -> list[str]:
    """Paths whose last name is that of a path, else nearly so; first those with most of its folders."""
    wanted = given.casefold().strip("/").split("/")
    known: dict[str, list[str]] = {}
    for each in paths:
        known.setdefault(posixpath.basename(each).casefold(), []).append(each)
    names = [wanted[-1]] if wanted[-1] in known else nearest(wanted[-1], known)
    found = [
        (_strangers(each, wanted), place, len(each), each) for place, name in enumerate(names) for each in known[name]
    ]
    return [each for *_, each in sorted(found)[:most]]


def suggestion(near: Iterable[str], otherwise: str = "") -> str:
    """Asks whether one of the near values is meant."""
    said = list(near)[:_SAID]
    if not said:
        return otherwise
    return f"Did you mean {' or '.join(filter(None, (', '.join(said[:-1]), said[-1])))}?"


def _strangers(path: str, wanted: list[str]) -> int:
    """How many of the wanted folders a path does not have."""
    own = set(path.casefold().split("/"))
    return sum(each not in own for each in wanted[:-1])


def _near(name: str, known: Iterable[str], most: int) -> list[str]:
    target = _Target(name)
    scored = ((far, len(each), each) for each in known if (far := target.distance(each)) is not None)
    return [each for _, _, each in sorted(scored)[:most]]


class _Target:
    """A name that others are compared with."""

    def __init__(self, name: str) -> None:
        self._wanted = name.casefold()
        self._length = len(self._wanted)
        self._most = 1 if self._length < _LONG else _MOST_EDITS
        self._stems = [word for word in words_of(name)[:-1] if len(word) >= SHORTEST]
        self._letters = frozenset(self._wanted)
        self._pieces = _pieces(self._wanted, self._most)

    def distance(self, name: str) -> tuple[int, int] | None:
        """How far a name is from the one that was asked for; None where it is too far."""
        plain = name.strip(SIGILS).casefold()
        extra = len(plain) - self._length
        if self._wanted in plain:
            return (min(extra, 1) if plain.startswith(self._wanted) else 2), extra
        if -self._most <= extra <= self._most and self._may_be_meant(plain):
            edits = _edits(self._wanted, plain, self._most)
            if edits is not None:
                return edits, edits
        if len(self._stems) > 1 and self._stems[0] in plain and all(stem in plain for stem in self._stems):
            return 3, extra
        return (3, -extra) if self._length // 2 < len(plain) < self._length and self._wanted.startswith(plain) else None

    def _may_be_meant(self, plain: str) -> bool:
        """A cheap no for most pairs: of more pieces than edits touch one is left, and an edit makes a difference of
        two letters at most."""
        if self._pieces.search(plain) is None:
            return False
        return len(self._letters.symmetric_difference(plain)) <= self._most * 2


def _pieces(wanted: str, most: int) -> re.Pattern[str]:
    """One piece more than edits can touch: an edit touches one piece, a swap two."""
    size = max(1, len(wanted) // (most * 2 + 1))
    starts = range(0, size * (most * 2 + 1), size)
    return re.compile("|".join(re.escape(wanted[at : at + size]) for at in starts))


def _edits(one: str, other: str, most: int) -> int | None:
    """How many letters are wrong, missing, added or swapped, if no more than so many."""
    at, shorter = 0, min(len(one), len(other))
    while at < shorter and one[at] == other[at]:
        at += 1
    one, other = one[at:], other[at:]
    if not one or not other:
        left = len(one) + len(other)
        return left if left <= most else None
    if not most:
        return None
    further = [(one[1:], other[1:]), (one[1:], other), (one, other[1:])]
    if one[0] == other[1:2] and other[0] == one[1:2]:
        further.append((one[2:], other[2:]))
    found = [edits for each in further if (edits := _edits(*each, most - 1)) is not None]
    return min(found) + 1 if found else None
