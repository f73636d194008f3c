"""Stretches of a file to search and show: one a symbol, the rest of the file between them, long ones split."""

from __future__ import annotations

import re

from codecairn.parse.facts import Chunk, Symbol

LONGEST_CHUNK = 120
"""Lines. A longer symbol is shown by its parts, cut where its own members or blank lines are."""

_REMAINDER = 60
_CHUNKED = frozenset({"function", "method", "class", "struct", "interface", "trait", "enum", "type", "module"})


def chunks_of(symbols: list[Symbol], lines: int) -> list[Chunk]:
    """Chunks in the order of the file; every line that is not inside a symbol's own chunk is in a remainder."""
    chunks: list[Chunk] = []
    covered = 0
    for number, symbol in enumerate(symbols):
        if symbol.kind not in _CHUNKED:
            continue
        if symbol.parent < 0 and symbol.start_line > covered + 1:
            chunks += _pieces(covered + 1, symbol.start_line - 1, -1)
        chunks += _pieces(symbol.start_line, symbol.end_line, number, LONGEST_CHUNK)
        covered = max(covered, symbol.end_line)
    chunks += _pieces(covered + 1, lines, -1)
    return chunks


def _pieces(start: int, end: int, symbol: int, longest: int = _REMAINDER) -> list[Chunk]:
    return [Chunk(at, min(at + longest - 1, end), symbol) for at in range(start, end + 1, longest)]


_HEADING = re.compile(r"#{1,6}\s+\S")


def text_chunks(text: str) -> list[Chunk]:
    """Any other text, by blank-line blocks gathered to a readable size; Markdown by its headings."""
    lines = text.split("\n")
    starts = [1]
    for number, line in enumerate(lines, 1):
        is_break = _HEADING.match(line) or (not line.strip() and number - starts[-1] >= _REMAINDER)
        if is_break and number > starts[-1]:
            starts.append(number)
    ends = [start - 1 for start in starts[1:]] + [len(lines)]
    return [Chunk(start, end, -1) for start, end in zip(starts, ends, strict=True) if end >= start]
