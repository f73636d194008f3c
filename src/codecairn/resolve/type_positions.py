"""Where a name stands for a type and not for a value, by the text around it."""

from __future__ import annotations

import re

from codecairn.resolve.scope import FileScope

_RESULT_BEFORE = re.compile(r"\)\s{0,9}:\s{0,9}\Z")
"""A brace after this begins the type of a result."""
_KEYWORD_BEFORE = re.compile(r"\b(?:extends|implements|as|keyof|infer|is|satisfies|readonly|type)\s*$")


def is_type_position(scope: FileScope, start: int, end: int) -> bool:
    code = scope.source.code
    before = code[max(0, start - 120) : start].rstrip()
    after = code[end : end + 60].lstrip()
    if before.endswith("typeof") or after[:1] in ("(", "."):
        return False
    if before.endswith(":") and after[:1] in (",", "}"):
        around = scope.source.around(start)
        return (
            around is None
            or code[around.start] != "{"
            or _RESULT_BEFORE.search(code, max(0, around.start - 20), around.start) is not None
        )
    if before.endswith("=>") and after.startswith("=") and not after.startswith(("==", "=>")):
        return True
    if before.endswith((":", "<", "|", "&")) and not before.endswith(("||", "&&")):
        return True
    if _KEYWORD_BEFORE.search(before) is not None:
        return True
    return after[:1] in (">", "|", "&", "<") and not after.startswith(("||", "&&", ">=", "> ", "< ", "<="))
