"""Which symbols a name means: those it spells, those it spells in other letters, and where there are none, near ones.

A name may be qualified in the notation of any language, by types, modules, folders or the file: `pkg.Type.method`,
`mod::fn`, `Class#method`, `a/b.ts:fn`. Because operators and quoted names hold the same characters that join names
(`Message.==`, `Cart.[Symbol.iterator]`, `Job#<=>`), no one way to take a name apart is right: every joint is tried as
the last one, and the symbol table tells which reading is a name. Arguments and type arguments are no part of a name,
unless it is found with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from codecairn.nearness import SIGILS, nearest_names
from codecairn.parse.kinds import CALLABLE, TYPES
from codecairn.rank.filters import Filters, qualified_name
from codecairn.roles import is_product, is_test
from codecairn.store.version import SymbolRow
from codecairn.store.view import FileRow, View

Match = Literal["exact", "other_case", "inherited", "near"]

_JOINT = re.compile(r"->|[.:#/\\]+")
_TYPE_ARGUMENTS = re.compile(r"<[^<>]*>|(?<=\w)\[[^\[\]]*\]")
_ARGUMENTS = re.compile(r"(?<=[\w?!>\]])\s*\(.*$|(?<=[\w?!])/\d+$", re.DOTALL)
_RECEIVER = re.compile(r"^func\s*\(\s*(?:\w+\s+)?\*?(\w+)[^)]*\)\s*")
_LOOSE = ".:#/\\ "
_AROUND = "()*& "
"""What Go writes around the type of a method, `(*Shelf).Put`."""
_DEEPEST = 24
"""Joints, and brackets in each other; what has more is no name."""
_NEAR_NAMES = 40


@dataclass(frozen=True)
class Named:
    file: FileRow
    symbol: SymbolRow
    match: Match


@dataclass(frozen=True)
class Reading:
    """A name taken apart: what stands before the last joint, outermost first, and what after it."""

    around: tuple[str, ...]
    name: str


def find(view: View, given: str, filters: Filters) -> list[Named]:
    """The symbols that a name means, best first."""
    found: dict[tuple[int, int], tuple[tuple[object, ...], Named]] = {}
    for rank, reading in enumerate(readings(given)):
        for file, symbol in view.named(reading.name):
            if filters.keep(file, symbol):
                _note(found, file, symbol, reading, rank)
    kept = sorted(found.values(), key=lambda each: each[0])
    spelled = [each for _, each in kept if each.match != "near"]
    if spelled or not kept:
        return spelled or _near(view, given, filters)
    best = kept[0][0][:_AGREEMENT]
    return [each for order, each in kept if order[:_AGREEMENT] == best]


def near_names(view: View, given: str, most: int = _NEAR_NAMES) -> list[str]:
    """Names close to one that is none, the closest first: it with a part more or less, or a letter wrong; those that
    match it, where it has a `*`."""
    name = _last(given).name.strip(SIGILS)
    wanted = name.casefold()
    if "*" in wanted:
        return sorted((each for each in view.names() if fnmatchcase(each.casefold(), wanted)), key=_by_length)[:most]
    return nearest_names(name, view.names(), most)


def readings(given: str) -> Iterator[Reading]:
    """Every way to take a name apart, the shortest qualifier first; as it is given, then without arguments."""
    seen = set[Reading]()
    for text in _spellings(given.strip()):
        for end, start in ((0, 0), *list(_joints(text))[-_DEEPEST:]):
            reading = Reading(parts(text[:end]), text[start:])
            if reading.name and reading not in seen:
                seen.add(reading)
                yield reading


def _joints(text: str) -> Iterator[tuple[int, int]]:
    """Where a qualifier may end and a name begin: `Cart.#lines` is `#lines` of `Cart`, and `lines` too."""
    for joint in _JOINT.finditer(text):
        for start in range(joint.start() + 1, joint.end() + 1):
            yield joint.start(), start


def _spellings(given: str) -> dict[str, None]:
    """What was given, and what it may be more than: a call, a type with its arguments, the head of a declaration."""
    plain = _without(_TYPE_ARGUMENTS, _ARGUMENTS.sub("", _RECEIVER.sub(r"\1.", given))).strip()
    return dict.fromkeys((given, given.replace(" ", ""), plain, *plain.split()[-1:], plain.strip(_LOOSE)))


def _by_length(name: str) -> tuple[int, str]:
    return len(name), name


def _last(given: str) -> Reading:
    """The reading with the longest qualifier, which most names are meant in."""
    return max(readings(given), key=lambda each: len(each.around), default=Reading((), ""))


def parts(text: str) -> tuple[str, ...]:
    split = (part.strip(_AROUND) for part in _JOINT.split(_without(_TYPE_ARGUMENTS, text)))
    return tuple(part for part in split if part)


def _without(pattern: re.Pattern[str], text: str) -> str:
    for _ in range(_DEEPEST):
        shorter = pattern.sub("", text)
        if shorter == text:
            break
        text = shorter
    return text


def _note(
    found: dict[tuple[int, int], tuple[tuple[object, ...], Named]], file: FileRow, symbol: SymbolRow, reading: Reading,
    rank: int,
) -> None:  # fmt: skip
    match, agreeing = _match(file, symbol, reading)
    named = Named(file, symbol, match)
    order = (_ORDER[match], -agreeing, *worth(named.file, named.symbol), rank)
    key = (file.id, symbol.number)
    if key not in found or order < found[key][0]:
        found[key] = (order, named)


_ORDER: dict[Match, int] = {"exact": 0, "other_case": 1, "inherited": 2, "near": 3}
_AGREEMENT = 2
"""How many places of an order say how well a name agrees; the rest is about what it names."""


def _match(file: FileRow, symbol: SymbolRow, reading: Reading) -> tuple[Match, int]:
    """How well a symbol's surroundings are those that were named, and how many of their parts agree."""
    wanted = reading.around
    places = [*_places(file, symbol)]
    if symbol.name == reading.name and any(_ends(place, wanted) for place in places):
        return "exact", len(wanted)
    folded, lowered = _folded(wanted), [_folded(place) for place in places]
    if any(_ends(place, folded) for place in lowered):
        return "other_case", len(wanted)
    return "near", max(_agreeing(place, folded) for place in lowered)


def _places(file: FileRow, symbol: SymbolRow) -> Iterator[tuple[str, ...]]:
    """What stands around a symbol, in the words of its language and in those of the file system."""
    own = parts(symbol.path.removesuffix(symbol.name))
    path = parts(file.path)
    yield parts(qualified_name(file, symbol).removesuffix(symbol.name))
    yield path + own
    yield path[:-1] + own


def _ends(place: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return not wanted or place[-len(wanted) :] == wanted


def _folded(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.casefold() for name in names)


def _agreeing(place: tuple[str, ...], wanted: tuple[str, ...]) -> int:
    """How many of the wanted names stand in a place, in their order: a module may be left out, or re-exported."""
    count, at = 0, len(place)
    for name in reversed(wanted):
        if name in place[:at]:
            at = len(place[:at]) - 1 - place[:at][::-1].index(name)
            count += 1
    return count


def worth(file: FileRow, symbol: SymbolRow) -> tuple[Any, ...]:
    """What a reader wants first among equals: the product's own, what has a body, types and functions before data."""
    is_data = symbol.kind not in TYPES | CALLABLE | {"module"}
    return (
        is_test(file.path), not is_product(file.path, file.language), is_data, symbol.kind == "field",
        symbol.end_line == symbol.start_line, file.path.count("/"), file.path, symbol.start_line, symbol.number,
    )  # fmt: skip


def _near(view: View, given: str, filters: Filters) -> list[Named]:
    """Symbols of the near names; first those that stand where they were looked for."""
    around = _last(given).around
    found: list[tuple[tuple[object, ...], Named]] = []
    for order, name in enumerate(near_names(view, given)):
        for file, symbol in view.named(name):
            if symbol.name == name and filters.keep(file, symbol):
                agreeing = _match(file, symbol, Reading(around, ""))[1]
                named = Named(file, symbol, "near")
                found.append(((-agreeing, order, *worth(named.file, named.symbol)), named))
    return [named for _, named in sorted(found, key=lambda each: each[0])]
