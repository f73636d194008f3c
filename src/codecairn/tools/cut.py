"""The text of a JSON answer, cut to a token budget: still JSON, with what was left out counted and the way to it named.

Only the text is ever cut. The structured half, and what bare methods return, stay whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, zip_longest
from typing import Any

import msgspec

from codecairn.history.log import cursor_at
from codecairn.text import CHARACTERS_PER_TOKEN
from codecairn.tools.cursor import SEAL, offset_of

DEFAULT_TOKENS = 5_500
"""What an answer may cost a caller who asked for nothing special: under 6,000, with room for the closing words."""

MOST_TOKENS = 20_000
"""For a caller who named a count, a range or a file; below the 25,000 at which clients cut."""

_LONGEST_STRING = 2_000
_ORDINARY_COUNT = 10
_ORDINARY_MATCHES = 50
"""How many rows tools give a caller who names no count."""
_LEAST_LINES = 2_000
"""Characters of a file's text that are shown however much else there is to say."""
_NEXT = ("next_cursor", "nextCursor")
_PASSAGES = (2_000, 1_200, 700)
"""Characters of each passage of a result, tried in turn: ten places with a part of each say more than three whole."""


def budget(*, asked: bool) -> float:
    """Characters an answer's text may have."""
    return (MOST_TOKENS if asked else DEFAULT_TOKENS) * CHARACTERS_PER_TOKEN


def json_text(fields: dict[str, Any], params: Mapping[str, Any]) -> str:
    text = encoded(fields)
    room = _room(fields, params)
    if len(text) <= room:
        return text
    if "file" in fields and "content" in fields["file"]:
        return _with_fewer_lines(fields, room)
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


def _room(fields: dict[str, Any], params: Mapping[str, Any]) -> float:
    """A tool that fills a budget of its caller's has kept to it already."""
    if "max_tokens" in params:
        return float(params["max_tokens"]) * CHARACTERS_PER_TOKEN
    return budget(asked=_is_asked(fields, params))


def _is_asked(fields: dict[str, Any], params: Mapping[str, Any]) -> bool:
    """Whether a caller asked for much: a count beyond the ordinary, lines, or more files than one."""
    ordinary = _ORDINARY_MATCHES if fields.keys() & {"matches", "changes"} else _ORDINARY_COUNT
    return (params.get("limit") or 0) > ordinary or any(map(params.get, ("startLine", "endLine", "includeDeps")))


def _with_fewer_lines(fields: dict[str, Any], room: float) -> str:
    """A file first: whole, with the dependencies that fit beside it; or as many of its lines as fit."""
    dependencies = fields["dependencies"]
    bare = {**fields, "dependencies": [_named_only(each) for each in dependencies]}
    left = room - len(encoded(bare))
    if left >= 0:
        return encoded({**fields, "dependencies": [_fitting(each, left / len(dependencies)) for each in dependencies]})
    return _with_lines_cut(bare, room)


def _fitting(dependency: dict[str, Any], room: float) -> dict[str, Any]:
    return dependency if len(encoded(dependency.get("content", ""))) <= room else _named_only(dependency)


def _named_only(dependency: dict[str, Any]) -> dict[str, Any]:
    if "content" not in dependency:
        return dependency
    return {**{name: part for name, part in dependency.items() if name != "content"}, "omitted": _ONLY_STRUCTURED}


def _with_lines_cut(fields: dict[str, Any], room: float) -> str:
    file = fields["file"]
    *whole, last = file["content"].split("\n")
    lines = [f"{line}\n" for line in whole] + ([last] if last else [])
    left = max(_LEAST_LINES, room - len(encoded({**fields, "file": {**file, "content": ""}, "cut": _CUT})))
    sizes = accumulate(len(encoded(line)) - 2 for line in lines)
    shown = sum(1 for size in sizes if size <= left)
    content = "".join(lines[:shown]) or f"{lines[0][: int(left / 2)]}…"
    following = (file.get("startLine") or 1) + max(shown, 1)
    cut = {**_CUT, "shown": max(shown, 1), "of": len(lines), "startLine": following}
    return encoded({**fields, "file": {**file, "content": content}, "cut": cut})


_CUT = {"list": "lines", "shown": 0, "of": 0, "startLine": 0}
_ONLY_STRUCTURED = "in the structured result, or read it by itself"


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
    longest = _cursor(fields, params, len(fields[name])) if pages else None
    rest = len(encoded({**fields, **{each: [] for each in lists}, "cut": {**closing, "cursor": longest}}))
    sizes = accumulate(len(encoded(row)) + len(lists) for row in zip_longest(*lists.values()))
    shown = max(1, sum(1 for size in sizes if size + rest <= room))
    cursor = _cursor(fields, params, shown) if pages else None
    if cursor is not None:
        fields = {**fields, **{each: cursor for each in _NEXT if each in fields}}
    kept = {each: rows[:shown] for each, rows in lists.items()}
    cut = {**fields, **kept, "cut": {**closing, "shown": shown, "cursor": cursor}}
    return cut, encoded(cut)


def _cursor(fields: dict[str, Any], params: Mapping[str, Any], shown: int) -> str | None:
    """The way to the rows behind those shown; None where the tool gives no pages."""
    if SEAL not in params:
        return None
    if "tip" in fields:
        return str(params[SEAL](cursor_at(fields["tip"], fields["offset"] + shown)))
    return str(params[SEAL](str(offset_of(params["cursor"]) + shown)))


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
