"""An error for reading: what is wrong, what would work, and the nearest there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codecairn.errors import CairnError
from codecairn.reading import lines
from codecairn.text import one_line

_MOST = 10
_TOLD = frozenset({"param", "reason", "path", "ref", "remedy"})
"""Facts that the message and the remedy say already."""


def print_error(error: CairnError) -> str:
    return lines([f"Error ({error.code}): {one_line(error.message)}", *_facts(error), one_line(error.remedy)])


def _facts(error: CairnError) -> Iterator[str]:
    reason = error.data.get("reason")
    if isinstance(reason, str) and reason not in error.message:
        yield one_line(reason)
    for name, value in error.data.items():
        if name in _TOLD or not value or _is_suggested(value, error.remedy):
            continue
        if isinstance(value, list):
            yield f"{name}:"
            yield from (f"  {_row(each)}" for each in value[:_MOST])
            if len(value) > _MOST:
                yield f"  … {len(value) - _MOST:,} more"
        elif isinstance(value, str) and value not in error.message:
            yield f"{name}: {one_line(value)}"


def _is_suggested(value: Any, remedy: str) -> bool:
    """Whether the remedy names the best of a list already."""
    return isinstance(value, list) and isinstance(value[0], str) and value[0] in remedy


def _row(each: Any) -> str:
    if not isinstance(each, dict):
        return one_line(str(each))
    place = ":".join(str(each[name]) for name in ("path", "line_start", "line") if name in each)
    name = each.get("qualified_name") or each.get("name") or ""
    return one_line(f"{name}  {place}".strip() or str(each))
