"""Parameters of closures that a container's methods call with what it holds: `books.iter().any(|book| …)`."""

from __future__ import annotations

import re
from typing import NamedTuple

from codecairn.resolve.scope import FileScope

_EACH = frozenset({
    "all", "any", "each", "every", "filter", "filter_map", "find", "findIndex", "findLast", "find_map", "first",
    "firstOrNull", "flatMap", "flat_map", "forEach", "for_each", "inspect", "is_some_and", "and_then", "map",
    "mapNotNull", "none", "partition", "position", "some", "take_while", "skip_while", "takeWhile", "All", "Any",
    "First", "FirstOrDefault", "Select", "SelectMany", "Single", "Where", "allMatch", "anyMatch", "noneMatch",
    "also", "let", "is_none_or", "map_or", "map_or_else", "map_while", "max_by_key", "min_by_key", "retain",
    "rposition", "sort_by_key",
})  # fmt: skip
"""Methods whose first argument is called with one of what they are called on, or with it itself where it is no
container."""
_BEFORE = re.compile(r"(\w+)\s*(?:\(\s*(?:[^()|{}]*,\s*)?(?:async\s+|move\s+)*[(|]?|\{)\s*(?:&|mut\s+|ref\s+)*$")
_AFTER = re.compile(r"\s*(?:\||(?:,[^()|]*)?\)?\s*(?:=>|->)|in\b)")
_PART_BEFORE = re.compile(r"(\w+)\s*\(\s*(?:move\s+)?\|\s*&*\(((?:[^()|]*,)?)\s*(?:&|mut\s+|ref\s+)*$")
_PART_AFTER = re.compile(r"\s*(?:,[^()|]*)?\)\s*\|")
_WITHIN = 60


class ClosureParameter(NamedTuple):
    """A parameter of a closure: where the method stands that is given the closure, and the part of what that passes."""

    method: int
    part: int


def closure_parameter(scope: FileScope, name: str, position: int) -> ClosureParameter | None:
    """The closure whose first parameter, or a part of that, a name is; None where it is none."""
    code, start = scope.source.code, max(0, position - _WITHIN)
    before = _BEFORE.search(code, start, position)
    if before is not None and before[1] in _EACH and _AFTER.match(code, position + len(name)) is not None:
        return ClosureParameter(before.start(1), -1)
    before = _PART_BEFORE.search(code, start, position)
    if before is not None and before[1] in _EACH and _PART_AFTER.match(code, position + len(name)) is not None:
        return ClosureParameter(before.start(1), before[2].count(","))
    return None
