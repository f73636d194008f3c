"""The lines of one symbol that changed, as a unified diff without its headings."""

from __future__ import annotations

from difflib import unified_diff

from codecairn.diff.values import SymbolChange, SymbolPlace

_AROUND = 1
_MOST_LINES = 40
_LONGEST_TEXT = 2_000
"""Lines of a symbol that are compared; difflib takes quadratic time in the worst case."""


def hunk_lines(change: SymbolChange) -> list[str]:
    """The changed lines; what goes beyond the most is counted in the last one."""
    before, after = _lines(change.before), _lines(change.after)
    if max(len(before), len(after)) > _LONGEST_TEXT:
        return [f"… too long to compare line by line: {len(before):,} and {len(after):,} lines"]
    found = [line for line in unified_diff(before, after, n=_AROUND, lineterm="") if not line.startswith(_HEADINGS)]
    if len(found) <= _MOST_LINES:
        return found
    return [*found[:_MOST_LINES], f"… {len(found) - _MOST_LINES:,} more lines"]


_HEADINGS = ("--- ", "+++ ", "@@ ")


def _lines(place: SymbolPlace | None) -> list[str]:
    if place is None:
        return []
    text = place.version.text.decode("utf-8", "replace").split("\n")
    return [line.rstrip("\r") for line in text[place.symbol.start_line - 1 : place.symbol.end_line]]
