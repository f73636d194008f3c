"""The text of a result: a symbol with its boundaries and surroundings, or by its heads where there is little room."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from codecairn.parse.chunks import own_lines
from codecairn.parse.facts import Chunk
from codecairn.parse.kinds import CALLABLE
from codecairn.store.file_version import ChunkRow, SymbolRow
from codecairn.store.view import FileRow, View

LONGEST_CONTENT = 160
"""Lines. A longer symbol is shown by the part of it that was found."""
_LONGEST_AFTER = 4
_BLOCK = 4096
"""Characters whose line ends are counted at once."""
ELISION = "…"
_SHORTEST_ELIDED = 3
"""Lines that a member's body must have for leaving it out to save any."""


class Excerpt(Struct, frozen=True):
    start_line: int
    end_line: int
    content: str
    content_start_line: int
    is_cut: bool
    before: str
    after: str


def excerpt_of(view: View, file: FileRow, chunk: ChunkRow, symbol: int) -> Excerpt:
    """A symbol, be it the chunk's own or one inside it; the chunk where there is none."""
    start, end = extent_of(view, file.id, chunk.number, symbol)
    last = max(end, chunk.end_line) + 3 * _LONGEST_AFTER
    lines = Lines.of(view.text(file.id), min(start, chunk.start_line), last)
    first, content, is_cut = _content(view, file, chunk, (start, end), lines)
    return Excerpt(
        start, end, content, first, is_cut,
        before=view.head(file.id) if start > 1 else "", after="\n".join(_following(lines, end)),
    )  # fmt: skip


class Lines(NamedTuple):
    """Lines of a file, from one on."""

    first: int
    lines: list[str]

    @classmethod
    def of(cls, text: str, first: int, last: int) -> Lines:
        """What stands before is counted and not taken apart: of a long file that is most of the work."""
        at, before = 0, first - 1
        while (count := text.count("\n", at, at + _BLOCK)) < before and at < len(text):
            at, before = at + _BLOCK, before - count
        for _ in range(before):
            at = text.find("\n", at) + 1 or len(text)
        most = last - first + 1
        return cls(first, text[at:].split("\n", most)[:most])

    def between(self, start: int, end: int) -> list[str]:
        return self.lines[start - self.first : end - self.first + 1]


def extent_of(view: View, file: int, number: int, symbol: int) -> tuple[int, int]:
    """From the comment above a symbol to its end, however many chunks it has."""
    chunk, head = view.chunk(file, number), view.symbol(file, symbol) if symbol >= 0 else None
    return (chunk.start_line, chunk.end_line) if head is None else extent_of_symbol(view, file, head)


def extent_of_symbol(view: View, file: int, symbol: SymbolRow) -> tuple[int, int]:
    begins = view.begins_of(file, symbol.number)
    return (min(begins), max(symbol.end_line, begins[0])) if begins else (symbol.start_line, symbol.end_line)


def _content(
    view: View, file: FileRow, chunk: ChunkRow, extent: tuple[int, int], lines: Lines
) -> tuple[int, str, bool]:
    start, end = extent
    if end - start < LONGEST_CONTENT:
        return start, "\n".join(lines.between(start, end)), False
    chunks = view.chunks(file.id)
    own = own_lines([Chunk(each.start_line, each.end_line, each.symbol) for each in chunks])[chunk.number]
    text, last = [], own[0][0] - 1
    for first, until in own:
        if first > last + 1:
            text.append(ELISION)
        text += lines.between(first, until)
        last = until
    return own[0][0], "\n".join(text[:LONGEST_CONTENT]), True


def _following(lines: Lines, end: int) -> list[str]:
    rest = [line for line in lines.between(end + 1, end + 3 * _LONGEST_AFTER) if line.strip()]
    return rest[:_LONGEST_AFTER]


# For a reader with little room.


class Body(Struct, frozen=True):
    start_line: int
    text: str
    is_cut: bool


def body_of(view: View, file: FileRow, symbol: SymbolRow, room: int) -> Body | None:
    """The symbol with the comment above it, if it has room (characters)."""
    start, end = extent_of_symbol(view, file.id, symbol)
    text = "\n".join(view.text(file.id).split("\n")[start - 1 : end])
    return Body(start, text, is_cut=False) if len(text) <= room else None


def head_of(view: View, file: FileRow, symbol: SymbolRow, room: int, whole: frozenset[int] = frozenset()) -> Body:
    """As much as there is room for: without the bodies of its members, but for those that are to be shown whole, and
    then without its end."""
    start, end = extent_of_symbol(view, file.id, symbol)
    lines = view.text(file.id).split("\n")
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
