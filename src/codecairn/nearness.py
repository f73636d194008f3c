"""The valid values nearest to one that is none: names, paths, refs, languages, tools and commands.

A value is near where it has a part more or less, or a letter or two wrong, missing, added or swapped. Comparing a name
with 60,000 others takes a few hundredths of a second, because most pairs are told apart by one search for a piece.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable
from difflib import get_close_matches

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
    wanted = name.casefold()
    stems = [word for word in words_of(name)[:-1] if len(word) >= SHORTEST]
    scored = ((_distance(wanted, stems, each), len(each), each) for each in known)
    return [each for _, _, each in sorted(each for each in scored if each[0] is not None)[:most]]


def _distance(wanted: str, stems: list[str], name: str) -> tuple[int, int] | None:
    """How far a name is from the one that was asked for; None where it is too far."""
    plain = name.strip(SIGILS).casefold()
    extra = len(plain) - len(wanted)
    if plain.startswith(wanted):
        return 0 if extra == 0 else 1, extra
    if extra >= 0 and wanted in plain:
        return 2, extra
    most = 1 if len(wanted) < _LONG else _MOST_EDITS
    if -most <= extra <= most and _shares_a_piece(wanted, plain, most):
        edits = _edits(wanted, plain, most)
        if edits is not None:
            return edits, edits
    if len(stems) > 1 and all(stem in plain for stem in stems):
        return 3, extra
    return (3, -extra) if len(plain) > len(wanted) // 2 and wanted.startswith(plain) else None


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


def _shares_a_piece(one: str, other: str, most: int) -> bool:
    """Of more pieces than edits touch one stands where it stood, or nearly: a cheap no for most pairs. An edit touches
    one piece, a swap two."""
    size = max(1, len(one) // (most * 2 + 1))
    starts = range(0, size * (most * 2 + 1), size)
    return any(other.find(one[at : at + size], max(0, at - most), at + size + most) >= 0 for at in starts)
