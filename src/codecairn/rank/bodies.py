"""The text of a symbol for a reader with little room: whole where it fits, else its members by their heads."""

from __future__ import annotations

from dataclasses import dataclass

from codecairn.parse.kinds import CALLABLE
from codecairn.rank.show import ELISION, extent_of_symbol
from codecairn.store.version import SymbolRow
from codecairn.store.view import FileRow, View

_SHORTEST_ELIDED = 3
"""Lines that a member's body must have for leaving it out to save any."""


@dataclass(frozen=True)
class Body:
    start_line: int
    text: str
    is_cut: bool


def body_of(view: View, file: FileRow, symbol: SymbolRow, room: int) -> Body | None:
    """The symbol with the comment above it, if it has room (characters)."""
    start, end = extent_of_symbol(view, file.id, symbol)
    text = "\n".join(_lines(view, file)[start - 1 : end])
    return Body(start, text, is_cut=False) if len(text) <= room else None


def head_of(view: View, file: FileRow, symbol: SymbolRow, room: int, whole: frozenset[int] = frozenset()) -> Body:
    """As much as there is room for: without the bodies of its members, but for those that are to be shown whole, and
    then without its end."""
    start, end = extent_of_symbol(view, file.id, symbol)
    lines = _lines(view, file)
    elided = _elisions(view.symbols(file.id), symbol, whole)
    kept, used, number = list[str](), 0, start
    while number <= end:
        line = lines[number - 1]
        if number in elided:
            line = line[: len(line) - len(line.lstrip())] + ELISION
        used += len(line) + 1
        if used > room:
            break
        kept.append(line)
        number = elided.get(number, number) + 1
    return Body(start, "\n".join(kept), is_cut=True)


def _lines(view: View, file: FileRow) -> list[str]:
    return view.text(file.id).split("\n")


def _elisions(symbols: list[SymbolRow], around: SymbolRow, whole: frozenset[int]) -> dict[int, int]:
    """First and last lines of the stretches to leave out: what follows the heads of the functions inside."""
    found, last = dict[int, int](), around.start_line
    for each in symbols[around.number + 1 :]:
        if each.start_line > around.end_line:
            break
        if each.kind in CALLABLE and each.start_line > last and each.number not in whole:
            first = each.name_line + 1 + each.signature.count("\n")
            if each.end_line - first >= _SHORTEST_ELIDED:
                found[first] = each.end_line
                last = each.end_line
        elif each.number in whole:
            last = max(last, each.end_line)
    return found
