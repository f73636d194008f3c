"""How long an answer may be: by what its caller asked for, in characters, since clients cut or replace longer ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codecairn.text import CHARACTERS_PER_TOKEN

DEFAULT_CHARACTERS = 8_000
"""An answer to a caller who asked for nothing special."""
MOST_CHARACTERS = 40_000
"""An answer whatever is asked for."""
ORDINARY_COUNT = 10
_ORDINARY_ROWS = {"matches": 50, "changes": 50, "references": 20}
"""How many rows tools give a caller who names no count."""
_RANGES = ("startLine", "endLine", "includeDeps", "include_hunks")


def characters(*, asked: bool) -> int:
    """Characters of an answer whose caller asked for much, or did not."""
    return MOST_CHARACTERS if asked else DEFAULT_CHARACTERS


def room_for(fields: Mapping[str, Any], params: Mapping[str, Any]) -> int:
    """Characters of one answer. A tool that fills a budget of its caller's has kept to it already."""
    if "max_tokens" in params:
        return min(MOST_CHARACTERS, int(params["max_tokens"] * CHARACTERS_PER_TOKEN))
    return characters(asked=_is_much_asked(fields, params))


def _is_much_asked(fields: Mapping[str, Any], params: Mapping[str, Any]) -> bool:
    """Whether a caller asked for a count beyond the ordinary, for lines, or for more files than one."""
    ordinary = next((count for name, count in _ORDINARY_ROWS.items() if name in fields), ORDINARY_COUNT)
    return max(params.get("limit") or 0, params.get("maxCount") or 0) > ordinary or any(map(params.get, _RANGES))
