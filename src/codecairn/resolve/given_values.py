"""How a variable is given its value: as a whole, as one of several, or out of a wrapper."""

from __future__ import annotations

import re

_MATCH = re.compile(r"match\s+")
_SAME_AGAIN = re.compile(r"\b(?:Some|Ok)\((\w+)\)\s*=>\s*\1\s*[,}]")
_WITHIN = 1_000
"""Bytes of a `match` in which an arm is looked for."""


def is_part(code: str, position: int, after: str) -> bool:
    """Whether a name is one of several that are assigned together."""
    before = code[code.rfind("\n", 0, position) + 1 : position].rstrip()
    return before.endswith(",") or after.lstrip().startswith(",")


def matched(code: str, start: int) -> int:
    """Where the expression begins that a `match` takes out of its wrapper, and gives as it is."""
    match = _MATCH.match(code, start)
    opening = code.find("{", start, start + _WITHIN) if match is not None else -1
    is_same = opening >= 0 and _SAME_AGAIN.search(code, opening, opening + _WITHIN) is not None
    return match.end() if match is not None and is_same else start
