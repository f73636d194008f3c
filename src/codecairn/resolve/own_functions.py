"""Functions that are members of no value and no type: such as stand outside of all types, or in another function; and
methods, which in some languages are nothing but members."""

from __future__ import annotations

import re

from codecairn.parse.facts import Site
from codecairn.parse.kinds import CALLABLE
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import Definition

_OF_A_VALUE = re.compile(r"(?<!\.)\.\s*$")
_OF_A_TYPE = re.compile(r"(?:\b[A-Z]\w*[a-z]\w*(?:\s*::\s*<[^;{}]*>)?|\bSelf|>)\s*::\s*$")
"""Behind the name of a type, as the custom of the language writes it, or a type in brackets of its own."""
_CALLED = re.compile(r"\s*[(<]")
_LEADING_DOT = re.compile(r"[(,\[:=?]\s*\.$")
_OF_TYPES = re.compile(r"\bstatic\b")
_WITHIN = 120


def is_member_of_none(engine: Questions, scope: FileScope, site: Site) -> bool:
    """Whether a name is used as a member of a value or a type, and all that the project has of it are none."""
    if scope.rules.scopes == "indent":
        return _are_inner(engine, site.name)
    if not scope.rules.functions_apart:
        return False
    code, at = scope.source.code, scope.source.position(site.line, site.column)
    start = max(0, at - _WITHIN)
    if _OF_A_VALUE.search(code, start, at) is None and _OF_A_TYPE.search(code, start, at) is None:
        return False
    own = [each for row, each in engine.definitions_named(site.name) if row.language == scope.row.language]
    return all(each.kind == "function" for each in own)


def are_methods(engine: Questions, scope: FileScope, name: str) -> bool:
    """Whether all that the project has of a name are methods, which the bare name does not mean in a language."""
    if not scope.rules.methods_apart:
        return False
    own = [each for row, each in engine.definitions_named(name) if row.language == scope.row.language]
    return bool(own) and all(each.kind == "method" for each in own)


def is_read(scope: FileScope, site: Site) -> bool:
    """Whether a member is named and not called, where that means no method."""
    end = scope.source.position(site.line, site.column) + len(site.name)
    return scope.rules.methods_called and _CALLED.match(scope.source.code, end) is None


def is_implied(engine: Questions, scope: FileScope, site: Site) -> bool:
    """Whether a member is called on a type that is left out (`.named("x")`), and the project has it for types alone."""
    at = scope.source.position(site.line, site.column)
    if site.kind != "calls" or _LEADING_DOT.search(scope.source.code, max(0, at - _WITHIN), at) is None:
        return False
    own = [each for row, each in engine.definitions_named(site.name) if row.language == scope.row.language]
    return bool(own) and all(_OF_TYPES.search(each.signature) for each in own)


def _are_inner(engine: Questions, name: str) -> bool:
    """Whether each definition of a name is a function inside another, where that gives them no owner."""
    found = engine.definitions_named(name)
    parents = [engine.scope(row.id).symbols[each.parent] for row, each in found if each.parent >= 0]
    return len(parents) == len(found) > 0 and all(each.kind in CALLABLE for each in parents)


def function_beside(engine: Questions, definition: Definition) -> Definition:
    """The function that has a module's name where the module is declared, which is meant where it is called."""
    scope, symbol = engine.scope(definition.file), engine.symbol(definition)
    for each in scope.imports.get(symbol.name, ()) if symbol.kind == "module" else ():
        value = engine.members.import_value(scope, each)
        if isinstance(value, Definition) and engine.symbol(value).kind in CALLABLE:
            return value
    return definition
