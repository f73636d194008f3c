"""Cuts an answer to its budget: its value is cut to so many characters of JSON, what is left out is counted and named.

The leading rows stay, since every list begins with the most useful; long passages are shortened before rows go. What
bare methods return, and what the shell asks for, stays whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from functools import cache
from itertools import accumulate, zip_longest
from typing import Any

import msgspec

from codecairn.budget import room_for
from codecairn.tools.cursor import SEAL, offset_of

_LEAST_LINES = 2_000
"""Characters of a file's text that are shown however much else there is to say."""
_NEXT = ("next_cursor", "nextCursor")
_PASSAGES = (1_200, 600, 300, 120, 40, 0)
"""Characters of each passage of a row, tried in turn: ten places with a part of each say more than three whole."""
_ENOUGH = 120
"""Characters of a passage where rows have to go all the same."""
_PASSAGE_FIELDS = frozenset(
    {"after", "before", "body", "content", "context", "context_after", "context_before", "diff", "doc", "doc_comment"}
)
"""Fields that hold a passage; what names a place is never cut."""
_LONGEST_STRING = 2_000


def fit_fields(fields: dict[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """The value as far as there is room for it."""
    room = room_for(fields, params)
    if len(to_json(fields)) <= room:
        return fields
    cut = _cut(fields, params, room)
    metadata = cut.get("metadata")
    if isinstance(metadata, dict) and metadata.get("result_completeness") == "complete":
        cut["metadata"] = {**metadata, "result_completeness": "truncated"}
    return cut


def _cut(fields: dict[str, Any], params: Mapping[str, Any], room: int) -> dict[str, Any]:
    if "file" in fields and "content" in fields["file"]:
        return _with_fewer_lines(fields, room)
    name = _longest_list(fields)
    if name is None:
        return dict(_with_short_strings(fields, _LONGEST_STRING))
    shorter = cache(lambda longest: {**fields, name: _with_short_passages(fields[name], longest)})
    # Shorter passages are never more text, so three tries find what six would.
    fitting = bisect_left(_PASSAGES, True, key=lambda longest: len(to_json(shorter(longest))) <= room)
    if fitting < len(_PASSAGES):
        return shorter(_PASSAGES[fitting])
    fewer = _with_fewer({**fields, name: _with_short_passages(fields[name], _ENOUGH)}, name, params, room)
    return fewer if len(to_json(fewer)) <= room else dict(_with_short_strings(fewer, _LONGEST_STRING))


def _with_fewer_lines(fields: dict[str, Any], room: int) -> dict[str, Any]:
    """A file first: whole, with the dependencies that fit beside it; or as many of its lines as fit."""
    dependencies = fields["dependencies"]
    bare = {**fields, "dependencies": [_without_content(each) for each in dependencies]}
    left = room - len(to_json(bare))
    if left >= 0:
        share = left / max(1, len(dependencies))
        return {**fields, "dependencies": [_fitting(each, share) for each in dependencies]}
    return _with_lines_cut(bare, room)


def _fitting(dependency: dict[str, Any], room: float) -> dict[str, Any]:
    return dependency if len(to_json(dependency.get("content", ""))) <= room else _without_content(dependency)


def _without_content(dependency: dict[str, Any]) -> dict[str, Any]:
    if "content" not in dependency:
        return dependency
    return {**{name: part for name, part in dependency.items() if name != "content"}, "omitted": _NO_ROOM}


def _with_lines_cut(fields: dict[str, Any], room: int) -> dict[str, Any]:
    file = fields["file"]
    *whole, last = file["content"].split("\n")
    lines = [f"{line}\n" for line in whole] + ([last] if last else [])
    left = max(_LEAST_LINES, room - len(to_json({**fields, "file": {**file, "content": ""}, "cut": _LONGEST_CUT})))
    sizes = accumulate(len(to_json(line)) - 2 for line in lines)
    shown = sum(1 for size in sizes if size <= left)
    content = "".join(lines[:shown]) or f"{lines[0][: int(left / 2)]}…"
    following = (file.get("startLine") or 1) + max(shown, 1)
    cut = {**_CUT, "shown": max(shown, 1), "of": len(lines), "startLine": following}
    return {**fields, "file": {**file, "content": content}, "cut": cut}


_CUT = {"list": "lines", "shown": 0, "of": 0, "startLine": 0}
_LONGEST_CUT = {**_CUT, "shown": 10**7, "of": 10**7, "startLine": 10**7}
_NO_ROOM = "no room here; read it by itself"


def to_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _longest_list(fields: dict[str, Any]) -> str | None:
    lists = [name for name, value in fields.items() if isinstance(value, list) and value]
    return max(lists, key=lambda name: len(to_json(fields[name])), default=None)


def _with_fewer(fields: dict[str, Any], name: str, params: Mapping[str, Any], room: int) -> dict[str, Any]:
    pages = "count" in fields or "next_cursor" in fields
    # One cursor counts along all lists side by side.
    names = [each for each in fields if isinstance(fields[each], list)] if "next_cursor" in fields else [name]
    lists = {each: fields[each] for each in names}
    closing = {"list": name, "shown": 0, "of": len(fields[name]), "cursor": None}
    longest = _cursor(fields, params, len(fields[name])) if pages else None
    rest = len(to_json({**fields, **{each: [] for each in lists}, "cut": {**closing, "cursor": longest}}))
    sizes = accumulate(len(to_json(row)) + len(lists) for row in zip_longest(*lists.values()))
    shown = max(1, sum(1 for size in sizes if size + rest <= room))
    cursor = _cursor(fields, params, shown) if pages else None
    if cursor is not None:
        fields = {**fields, **{each: cursor for each in _NEXT if each in fields}}
    kept = {each: rows[:shown] for each, rows in lists.items()}
    return {**fields, **kept, "cut": {**closing, "shown": shown, "cursor": cursor}}


def _cursor(fields: dict[str, Any], params: Mapping[str, Any], shown: int) -> str | None:
    """The way to the rows behind those shown; None where the tool gives no pages."""
    if SEAL not in params:
        return None
    if "tip" in fields:
        from codecairn.history.log import cursor_at  # noqa: PLC0415 - for who lists commits

        return str(params[SEAL](cursor_at(fields["tip"], fields["offset"] + shown)))
    return str(params[SEAL](str(offset_of(params["cursor"]) + shown)))


def _with_short_passages(value: Any, longest: int) -> Any:
    if isinstance(value, list):
        return [_with_short_passages(item, longest) if isinstance(item, list | dict) else item for item in value]
    if not isinstance(value, dict):
        return value
    cut = dict(value)  # of most fields nothing is cut, and a call for each took a twentieth of a search
    for name, item in value.items():
        if name in _PASSAGE_FIELDS:
            cut[name] = _short(item, longest)
        elif isinstance(item, list | dict):
            cut[name] = _with_short_passages(item, longest)
    return cut


def _short(passage: Any, longest: int) -> Any:
    if isinstance(passage, str):
        return passage if len(passage) <= longest else f"{passage[:longest]}…"
    if isinstance(passage, list):
        return [_short(item, longest) for item in passage]
    if isinstance(passage, dict) and passage.keys() <= _PASSAGE_FIELDS:
        return {name: _short(item, longest) for name, item in passage.items()}
    return passage


def _with_short_strings(value: Any, longest: int) -> Any:
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:longest]}… ({len(value) - longest:,} characters more)"
    if isinstance(value, dict):
        return {name: _with_short_strings(item, longest) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_short_strings(item, longest) for item in value]
    return value
