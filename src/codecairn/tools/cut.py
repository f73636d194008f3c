"""The text of a JSON answer, cut to a token budget: still JSON, with what was left out counted and the way to it named.

Only the text is ever cut. The structured half, and what bare methods return, stay whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, zip_longest
from typing import Any

import msgspec

from codecairn.text import CHARACTERS_PER_TOKEN

DEFAULT_TOKENS = 5_500
"""What an answer may cost a caller who asked for nothing special: under 6,000, with room for the closing words."""

MOST_TOKENS = 20_000
"""For a caller who named a count, a range or a file; below the 25,000 at which clients cut."""

_LONGEST_STRING = 2_000
_ORDINARY_COUNT = 10
_PASSAGES = (2_000, 1_200, 700)
"""Characters of each passage of a result, tried in turn: ten places with a part of each say more than three whole."""


def budget(*, asked: bool) -> float:
    """Characters an answer's text may have."""
    return (MOST_TOKENS if asked else DEFAULT_TOKENS) * CHARACTERS_PER_TOKEN


def json_text(fields: dict[str, Any], params: Mapping[str, Any]) -> str:
    text = encoded(fields)
    room = _room(params)
    if len(text) <= room:
        return text
    for longest in _PASSAGES if "results" in fields else ():
        shorter = {**fields, "results": _with_short_strings(fields["results"], longest)}
        text = encoded(shorter)
        if len(text) <= room:
            return text
        fields = shorter
    name = _longest_list(fields)
    if name is not None:
        fields, text = _with_fewer(fields, name, params, room)
    return text if len(text) <= room else encoded(_with_short_strings(fields, _LONGEST_STRING))


def _room(params: Mapping[str, Any]) -> float:
    """A tool that fills a budget of its caller's has kept to it already."""
    if "max_tokens" in params:
        return float(params["max_tokens"]) * CHARACTERS_PER_TOKEN
    return budget(asked=(params.get("limit") or 0) > _ORDINARY_COUNT)


def encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _longest_list(fields: dict[str, Any]) -> str | None:
    lists = [name for name, value in fields.items() if isinstance(value, list) and len(value) > 1]
    return max(lists, key=lambda name: len(encoded(fields[name])), default=None)


def _with_fewer(
    fields: dict[str, Any], name: str, params: Mapping[str, Any], room: float
) -> tuple[dict[str, Any], str]:
    pages = "count" in fields or "next_cursor" in fields
    lists = _paged(fields) if "next_cursor" in fields else {name: fields[name]}
    closing = {"list": name, "shown": 0, "of": len(fields[name]), "cursor": None}
    rest = len(encoded({**fields, **{each: [] for each in lists}, "cut": {**closing, "cursor": "0" * 12}}))
    sizes = accumulate(len(encoded(row)) + len(lists) for row in zip_longest(*lists.values()))
    shown = max(1, sum(1 for size in sizes if size + rest <= room))
    cursor = str(int(params.get("cursor") or 0) + shown) if pages and "cursor" in params else None
    if cursor is not None and "next_cursor" in fields:
        fields = {**fields, "next_cursor": cursor}
    kept = {each: rows[:shown] for each, rows in lists.items()}
    cut = {**fields, **kept, "cut": {**closing, "shown": shown, "cursor": cursor}}
    return cut, encoded(cut)


def _paged(fields: dict[str, Any]) -> dict[str, list[Any]]:
    """The lists that one cursor counts along, side by side."""
    return {name: value for name, value in fields.items() if isinstance(value, list)}


def _with_short_strings(value: Any, longest: int) -> Any:
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:longest]}… ({len(value) - longest:,} characters more)"
    if isinstance(value, dict):
        return {name: _with_short_strings(item, longest) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_short_strings(item, longest) for item in value]
    return value
