"""Functions that stand outside of all types, and so are members of no value and no type."""

from __future__ import annotations

import re

from codecairn.parse.facts import Site
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope

_OF_A_VALUE = re.compile(r"(?<!\.)\.\s*$")
_OF_A_TYPE = re.compile(r"(?:\b[A-Z]\w*[a-z]\w*(?:\s*::\s*<[^;{}]*>)?|\bSelf|>)\s*::\s*$")
"""Behind the name of a type, as the custom of the language writes it, or a type in brackets of its own."""
_WITHIN = 120


def is_member_of_none(engine: Questions, scope: FileScope, site: Site) -> bool:
    """Whether a name is used as a member of a value or a type, and all that the project has of it are functions."""
    code, at = scope.source.code, scope.source.position(site.line, site.column)
    start = max(0, at - _WITHIN)
    if _OF_A_VALUE.search(code, start, at) is None and _OF_A_TYPE.search(code, start, at) is None:
        return False
    own = [each for row, each in engine.definitions_named(site.name) if row.language == scope.row.language]
    return all(each.kind == "function" for each in own)
