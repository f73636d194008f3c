"""A result as a person reads it: the symbol with its real boundaries, what stands above it and what follows."""

from __future__ import annotations

from dataclasses import dataclass

from codecairn.parse.chunks import own_lines
from codecairn.parse.facts import Chunk
from codecairn.store.version import ChunkRow, SymbolRow
from codecairn.store.view import FileRow, View

LONGEST_CONTENT = 160
"""Lines. A longer symbol is shown by the part of it that was found."""
_LONGEST_AFTER = 4
ELISION = "…"


@dataclass(frozen=True)
class Shown:
    start_line: int
    end_line: int
    content: str
    content_start_line: int
    is_cut: bool
    before: str
    after: str


def shown(view: View, file: FileRow, chunk: ChunkRow, symbol: int) -> Shown:
    """A symbol, be it the chunk's own or one inside it; the chunk where there is none."""
    lines = view.text(file.id).split("\n")
    start, end = extent_of(view, file.id, chunk.number, symbol)
    first, content, is_cut = _content(view, file, chunk, (start, end), lines)
    return Shown(
        start, end, content, first, is_cut,
        before=view.head(file.id) if start > 1 else "", after="\n".join(_following(lines, end)),
    )  # fmt: skip


def extent_of(view: View, file: int, number: int, symbol: int) -> tuple[int, int]:
    """From the comment above a symbol to its end, however many chunks it has."""
    chunk, head = view.chunk(file, number), view.symbol(file, symbol) if symbol >= 0 else None
    return (chunk.start_line, chunk.end_line) if head is None else extent_of_symbol(view, file, head)


def extent_of_symbol(view: View, file: int, symbol: SymbolRow) -> tuple[int, int]:
    pieces = [each for each in view.chunks(file) if each.symbol == symbol.number]
    if not pieces:
        return symbol.start_line, symbol.end_line
    return min(each.start_line for each in pieces), max(symbol.end_line, pieces[0].start_line)


def _content(
    view: View, file: FileRow, chunk: ChunkRow, extent: tuple[int, int], lines: list[str]
) -> tuple[int, str, bool]:
    start, end = extent
    if end - start < LONGEST_CONTENT:
        return start, "\n".join(lines[start - 1 : end]), False
    chunks = view.chunks(file.id)
    own = own_lines([Chunk(each.start_line, each.end_line, each.symbol) for each in chunks])[chunk.number]
    text, last = [], own[0][0] - 1
    for first, until in own:
        if first > last + 1:
            text.append(ELISION)
        text += lines[first - 1 : until]
        last = until
    return own[0][0], "\n".join(text[:LONGEST_CONTENT]), True


def _following(lines: list[str], end: int) -> list[str]:
    rest = [line for line in lines[end : end + 3 * _LONGEST_AFTER] if line.strip()]
    return rest[:_LONGEST_AFTER]
