"""Types and cases of enumerations whose fields have a place and no name: `struct Pair(Left, pub Right);`."""

from __future__ import annotations

import re

from codecairn.resolve.brackets import closing_bracket, split

_HEAD = re.compile(r"[^({]*?\b\w+\s*(?:<(?:[^<>]|<[^<>]*>)*>)?\s*\(")
_BEFORE_A_TYPE = re.compile(r"^(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?")


def part_type(signature: str, number: int) -> str:
    """The type of one field, as it is written; else nothing."""
    head = _HEAD.match(signature)
    if head is None:
        return ""
    opening = head.end() - 1
    parts = split(signature[opening + 1 : closing_bracket(signature, opening, len(signature))], ",")
    return _BEFORE_A_TYPE.sub("", parts[number]) if number < len(parts) else ""
