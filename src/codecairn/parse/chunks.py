"""Stretches of a file to search and show. Each line belongs to exactly one of them.

A symbol worth finding by itself has a chunk: its extent with the comment above it. What is its own in there are the
lines that no chunk inside it takes, so a class is its head, its doc and its small members. Lines outside all symbols
are gathered in remainders. A symbol with more lines of its own than are read at once has several chunks, cut where a
statement at the shallowest indentation begins, after a blank line if there is one. Blank lines between two chunks, and
outside all symbols the brackets that close something, go with the chunk before them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from codecairn.parse.facts import Chunk, Symbol
from codecairn.parse.kinds import CALLABLE, HOLDERS
from codecairn.parse.lines import SourceLines

LONGEST_CHUNK = 120
"""Lines of its own that one chunk of a symbol has at most."""
LONGEST_REMAINDER = 60
_SMALL = 4
"""A nested symbol of fewer lines is read with what it is nested in; a value of fewer lines with what is around it."""
_CLOSING = b" \t\r\n\f)}];,"


class ChunkExtent(NamedTuple):
    """The lines of a symbol, or of a block that adds to one, as it stands in the file."""

    start: int
    end: int
    symbol: int
    above: int
    """Where the comment begins that belongs to it; its own first line where there is none."""
    kind: str


@dataclass(slots=True)
class _Stretch:
    start: int
    end: int
    symbol: int
    is_module: bool
    inner: list[_Stretch] = field(default_factory=list)

    def own(self) -> Iterator[tuple[int, int]]:
        at = self.start
        for each in self.inner:
            if each.start > at:
                yield at, each.start - 1
            at = each.end + 1
        if at <= self.end:
            yield at, self.end


def extents_of(symbols: list[Symbol], above: Iterable[int]) -> list[ChunkExtent]:
    return [
        ChunkExtent(each.start_line, each.end_line, number, first or each.start_line, each.kind)
        for number, (each, first) in enumerate(zip(symbols, above, strict=True))
    ]


def chunks_of(extents: list[ChunkExtent], text: SourceLines) -> list[Chunk]:
    """Chunks in the order of the file, the outer before what is in it."""
    whole = _nest(extents, text.count)
    _join_blanks(whole, text, _CLOSING)
    if whole.inner and not text.text(1, whole.inner[0].start - 1).strip():
        whole.inner[0].start = 1
    chunks = [
        piece for first, last in whole.own() for piece in _pieces([(first, last)], -1, text, LONGEST_REMAINDER)
    ]  # fmt: skip
    waiting = list(whole.inner)
    for each in waiting:
        _join_blanks(each, text)
        chunks += _pieces(list(each.own()), each.symbol, text, LONGEST_CHUNK, (each.start, each.end))
        waiting += each.inner
    return sorted(chunks, key=lambda each: (each.start_line, -each.end_line))


def _nest(extents: list[ChunkExtent], lines: int) -> _Stretch:
    whole = _Stretch(1, lines, -1, is_module=True)
    stack = [whole]
    taken = 0
    for each in sorted(extents, key=lambda each: (each.start, -each.end)):
        end = min(each.end, lines)
        while len(stack) > 1 and stack[-1].end < end:
            taken = stack.pop().end
        around = stack[-1]
        if not _is_worthy(each, around):
            continue
        taken = max(taken, around.inner[-1].end if around.inner else 0)
        above = min(each.start, max(each.above, around.start + (around is not whole)))
        start = max(above, taken + 1)
        if start <= end:
            stack.append(_Stretch(start, end, each.symbol, each.kind == "module"))
            around.inner.append(stack[-1])
    return whole


def _is_worthy(each: ChunkExtent, around: _Stretch) -> bool:
    is_small = each.end - each.start + 1 < _SMALL
    if each.kind in CALLABLE or each.kind in HOLDERS or each.kind == "scope":
        return not is_small or (around.is_module and each.kind in CALLABLE | (HOLDERS - {"type", "module"}))
    return around.is_module and not is_small


def _join_blanks(around: _Stretch, text: SourceLines, blanks: bytes | None = None) -> None:
    for number, each in enumerate(around.inner):
        following = around.inner[number + 1].start if number + 1 < len(around.inner) else around.end + 1
        if each.end + 1 < following and not text.text(each.end + 1, following - 1).strip(blanks):
            each.end = following - 1


def _pieces(
    own: list[tuple[int, int]], symbol: int, text: SourceLines, longest: int, extent: tuple[int, int] | None = None
) -> list[Chunk]:
    if not own:
        return []
    first, last = extent or (own[0][0], own[-1][1])
    if sum(end - start + 1 for start, end in own) <= longest:
        return [Chunk(first, last, symbol)]
    lines = [line for start, end in own for line in range(start, end + 1)]
    starts = [first, *cuts(lines, text, longest)]
    ends = [start - 1 for start in starts[1:]] + [last]
    return [Chunk(start, end, symbol) for start, end in zip(starts, ends, strict=True)]


def cuts(lines: list[int], text: SourceLines, longest: int) -> Iterator[int]:
    """The lines that begin a new piece, so that pieces are of about one size and none is longer than `longest`."""
    at = 0
    while len(lines) - at > longest:
        left = len(lines) - at
        even = left / -(-left // longest)
        window = range(at + max(1, int(even * 0.6)), at + longest + 1)
        at = min(window, key=lambda place: _cost(place, lines, text, at + even))
        yield lines[at]


def _cost(place: int, lines: list[int], text: SourceLines, even: float) -> tuple[int, bool, float]:
    line = lines[place]
    return text.depth(line), bool(text.text(line - 1, line - 1).strip()), abs(place - even)


def own_lines(chunks: list[Chunk]) -> list[list[tuple[int, int]]]:
    """For each chunk the ranges of lines that are its own, first and last line, in order."""
    order = sorted(range(len(chunks)), key=lambda each: (chunks[each].start_line, -chunks[each].end_line))
    own: list[list[tuple[int, int]]] = [[] for _ in chunks]
    stack: list[int] = []
    at = 1

    def close(until: int) -> None:
        nonlocal at
        if stack and at <= until:
            own[stack[-1]].append((at, until))
        at = max(at, until + 1)

    for each in order:
        while stack and chunks[stack[-1]].end_line < chunks[each].start_line:
            close(chunks[stack[-1]].end_line)
            stack.pop()
        close(chunks[each].start_line - 1)
        stack.append(each)
    while stack:
        close(chunks[stack[-1]].end_line)
        stack.pop()
    return own
