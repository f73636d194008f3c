"""The symbols that a name means: those it spells, those of another case, and where there are none, near ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any, Literal

from msgspec import Struct

from codecairn.file_roles import is_product, is_test
from codecairn.names.filters import Filters
from codecairn.names.qualified import NameReading, longest_reading, parts, qualified_name, readings
from codecairn.parse.kinds import CALLABLE, TYPES
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow, View
from codecairn.suggestions import SIGILS, nearest_names

Match = Literal["exact", "other_case", "inherited", "near"]
Located = tuple[FileRow, SymbolRow]

_NEAR_NAMES = 40
_MOST_LOOKED_UP = 400
"""Names: the index has those of every branch, and of what is not visible here none counts among the near ones."""


class Named(Struct, frozen=True):
    file: FileRow
    symbol: SymbolRow
    match: Match


def find(view: View, given: str, filters: Filters) -> list[Named]:
    """The symbols that a name means, best first."""
    found: dict[tuple[int, int], tuple[tuple[object, ...], Named]] = {}
    for rank, reading in enumerate(readings(given)):
        for file, symbol in view.symbols_named(reading.name):
            if filters.keep(file, symbol):
                match, agreeing = _match(file, symbol, reading)
                order = (_ORDER[match], -agreeing, *worth(file, symbol), rank)
                rated = (order, Named(file, symbol, match))
                best = found.setdefault((file.id, symbol.number), rated)
                if order < best[0]:
                    found[file.id, symbol.number] = rated
    kept = sorted(found.values(), key=lambda each: each[0])
    spelled = [each for _, each in kept if each.match != "near"]
    if spelled or not kept:
        return spelled or _near(view, given, filters)
    nearest = kept[0][0][:_AGREEMENT]
    return [each for order, each in kept if order[:_AGREEMENT] == nearest]


def find_exact(lookup: Callable[[str], Iterable[Located]], given: str) -> list[Located]:
    """The symbols that a name spells to the letter, each once; `lookup` gives the symbols of a bare name."""
    found: dict[tuple[int, int], Located] = {}
    for reading in readings(given):
        for file, symbol in lookup(reading.name):
            is_bare = symbol.name == reading.name and not reading.around  # most are, and no place has to be taken apart
            if is_bare or _match(file, symbol, reading)[0] == "exact":
                found.setdefault((file.id, symbol.number), (file, symbol))
    return list(found.values())


def _near_names(view: View, given: str) -> list[str]:
    """Names close to one that is none, the closest first: it with a part more or less, or a letter wrong; those that
    match it, where it has a `*`. Some may be names of other branches alone."""
    name = longest_reading(given).name.strip(SIGILS)
    wanted = name.casefold()
    if "*" in wanted:
        matching = (each for each in view.names() if fnmatchcase(each.casefold(), wanted))
        return sorted(matching, key=_by_length)[:_MOST_LOOKED_UP]
    return nearest_names(name, view.names(), _MOST_LOOKED_UP)


def _symbols_of_near_names(view: View, given: str) -> Iterator[tuple[int, Located]]:
    """The symbols of the closest names that are visible, each with the place of its name among them."""
    order = 0
    for name in _near_names(view, given):
        spelled = [each for each in view.symbols_named(name) if each[1].name == name]
        yield from ((order, each) for each in spelled)
        order += bool(spelled)
        if order == _NEAR_NAMES:
            return


def _by_length(name: str) -> tuple[int, str]:
    return len(name), name


_ORDER: dict[Match, int] = {"exact": 0, "other_case": 1, "inherited": 2, "near": 3}
_AGREEMENT = 2
"""How many places of an order say how well a name agrees; the rest is about what it names."""


def _match(file: FileRow, symbol: SymbolRow, reading: NameReading) -> tuple[Match, int]:
    """How well a symbol's surroundings are those that were named, and how many of their parts agree."""
    wanted = reading.around
    places = [*_places(file, symbol)]
    if symbol.name == reading.name and any(_ends(place, wanted) for place in places):
        return "exact", len(wanted)
    folded, lowered = _casefold(wanted), [_casefold(place) for place in places]
    if any(_ends(place, folded) for place in lowered):
        return "other_case", len(wanted)
    return "near", max(_agreeing(place, folded) for place in lowered)


def _places(file: FileRow, symbol: SymbolRow) -> Iterator[tuple[str, ...]]:
    """The names around a symbol, as its language and as the file system write them."""
    own = parts(symbol.path.removesuffix(symbol.name))
    path = parts(file.path)
    yield parts(qualified_name(file, symbol).removesuffix(symbol.name))
    yield path + own
    yield path[:-1] + own


def _ends(place: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return not wanted or place[-len(wanted) :] == wanted


def _casefold(names: Iterable[str]) -> tuple[str, ...]:
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
    """The order among equals: the product's own first, symbols with a body, types and functions before data."""
    is_data = symbol.kind not in TYPES | CALLABLE | {"module"}
    return (
        is_test(file.path), not is_product(file.path, file.language), is_data, symbol.kind == "field",
        symbol.end_line == symbol.start_line, file.path.count("/"), file.path, symbol.start_line, symbol.number,
    )  # fmt: skip


def _near(view: View, given: str, filters: Filters) -> list[Named]:
    """Symbols of the near names; first those that stand where they were looked for."""
    around = longest_reading(given).around
    found: list[tuple[tuple[object, ...], Named]] = []
    for order, (file, symbol) in _symbols_of_near_names(view, given):
        if filters.keep(file, symbol):
            agreeing = _match(file, symbol, NameReading(around, ""))[1]
            found.append(((-agreeing, order, *worth(file, symbol)), Named(file, symbol, "near")))
    return [named for _, named in sorted(found, key=lambda each: each[0])]
