"""Uses of a type that make a value of it, and so use its constructors; and one that does not, its destructor's name."""

from __future__ import annotations

import re

from codecairn.parse.facts import Site
from codecairn.parse.kinds import CALLABLE
from codecairn.resolve.questions import BoundSite, Questions
from codecairn.resolve.scope import FileScope

_DECLARED = re.compile(r"(?:\s*<[^;{}()]*>)?\s+\w+\s*[({;]")
"""Behind a type, a variable that is given arguments or none: `Lock lock(&mutex);`, `Status status;`."""


def makes_value(scope: FileScope, site: Site) -> bool:
    """Whether a type is called, or stands before a variable that is declared in the body of a function or before a
    field that is given its value in braces."""
    if not scope.rules.declares_values:
        return site.kind == "calls"
    at = scope.source.position(site.line, site.column)
    if site.kind == "calls" or _is_in_destructor(scope, at):
        return not _is_in_destructor(scope, at)
    declared = _DECLARED.match(scope.source.code, at + len(site.name))
    if declared is None:
        return False
    function = scope.symbol_at(at, CALLABLE)
    if function is not None:
        return at > scope.name_at(function)
    return declared[0].endswith("{") or _is_in_body(scope, at)


def _is_in_body(scope: FileScope, at: int) -> bool:
    """Whether a place is in a body, however deep, that no symbol has: of a test, say, whose head is a macro's."""
    braces = scope.source.around(at, "{")
    while braces is not None and not scope.source.code.endswith((")", ") "), 0, braces.start):
        braces = scope.source.around(braces.start, "{")
    return braces is not None


def _is_in_destructor(scope: FileScope, at: int) -> bool:
    return scope.source.code.endswith("~", 0, at)


def of_destructor(engine: Questions, scope: FileScope, site: Site, bound: BoundSite) -> BoundSite:
    """The type where a site is in the name of a destructor, which is no use of a constructor."""
    if bound.definition is None or not scope.rules.declares_values:
        return bound
    if not _is_in_destructor(scope, scope.source.position(site.line, site.column)):
        return bound
    return bound._replace(definition=engine.members.constructed_type(bound.definition) or bound.definition)
