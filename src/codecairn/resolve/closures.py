"""Parameters of closures that a container's methods call with what it holds: `books.iter().any(|book| …)`."""

from __future__ import annotations

import re

from codecairn.resolve.scope import FileScope

_EACH = frozenset({
    "all", "any", "each", "every", "filter", "filter_map", "find", "findIndex", "findLast", "find_map", "first",
    "firstOrNull", "flatMap", "flat_map", "forEach", "for_each", "inspect", "is_some_and", "and_then", "map",
    "mapNotNull", "none", "partition", "position", "some", "take_while", "skip_while", "takeWhile", "All", "Any",
    "First", "FirstOrDefault", "Select", "SelectMany", "Single", "Where", "allMatch", "anyMatch", "noneMatch",
    "also", "let",
})  # fmt: skip
"""Methods whose first argument is called with one of what they are called on, or with it itself where it is no
container."""
_BEFORE = re.compile(r"(\w+)\s*(?:\(\s*(?:async\s+|move\s+)*[(|]?|\{)\s*(?:&|mut\s+|ref\s+)*$")
_AFTER = re.compile(r"\s*(?:\||(?:,[^()|]*)?\)?\s*(?:=>|->)|in\b)")
_WITHIN = 60


def caller_position(scope: FileScope, name: str, position: int) -> int:
    """Where the name of the method stands that is given a closure whose first parameter this is; -1 where none is."""
    code = scope.source.code
    before = _BEFORE.search(code, max(0, position - _WITHIN), position)
    if before is None or before[1] not in _EACH or _AFTER.match(code, position + len(name)) is None:
        return -1
    return before.start(1)
