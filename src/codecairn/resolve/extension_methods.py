"""Functions that are called on their first argument as its members are: `this Type value` in C#.

Such a function is seen where its package is used. What the types of libraries extend is not known here, so it is meant
where its own type is written of the receiver, or one of a library whose name ends alike (`DbConnection` where an
`IDbConnection` is wanted); of a receiver of which nothing is known only where nothing else has the name.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from codecairn.names.qualified import last_part
from codecairn.parse.kinds import TYPES
from codecairn.resolve.expression_steps import is_call
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.source import ExpressionStep
from codecairn.resolve.values import UNTOLD, Definition, Elements, Instance, Local, Outside, Resolver, Value
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow

_ANY = re.compile(r"T(?:[A-Z0-9]\w*)?|object")
"""How a type parameter is named, which any type fits."""
_LAST_WORD = re.compile(r"[A-Z][a-z0-9]*$")
_TYPE_PARAMETER = re.compile(r"T(?:[A-Z0-9]\w*)?$")


class _Extension(NamedTuple):
    file: FileRow
    symbol: SymbolRow
    type: str


class _Named(NamedTuple):
    extensions: list[_Extension]
    has_others: bool
    """Whether something else is a member of this name."""


class ExtensionMethods:
    def __init__(self, engine: Questions) -> None:
        self._engine = engine
        self._names: dict[tuple[str, str], _Named] = {}

    def meant(self, scope: FileScope, name: str, value: Value | None) -> tuple[Definition, Resolver] | None:
        """The function that a member of a value is, and how it was found."""
        if scope.compiled.extended is None or (isinstance(value, Outside) and value.is_told):
            return None
        named = self._of_name(scope, name)
        is_unknown = value is None or isinstance(value, Local) or value == UNTOLD
        if not named.extensions or (is_unknown and named.has_others):
            return None
        packages = self._packages(scope)
        seen = [each for each in named.extensions if each.file.package in packages]
        written = [each for each in seen if isinstance(value, Outside) and each.type == value.name]
        fitting = written or [each for each in seen if is_unknown or self._fits(each, value)]
        if len({each.symbol.path for each in fitting}) != 1:
            return None
        found = Definition(fitting[0].file.id, fitting[0].symbol.number)
        return found, "receiver_type" if written or isinstance(value, Instance) else "unique_name"

    def is_of_library(self, scope: FileScope, name: str, value: Value) -> bool:
        """Whether a member is that of a library's type, as no function of the project is called so on anything. A type
        that is called as type parameters are may stand for one of the project; what is written nowhere as a type may
        be a function, whose result is not known."""
        if scope.compiled.extended is None or not isinstance(value, Outside) or not value.name:
            return False
        if _TYPE_PARAMETER.match(value.name) or self._of_name(scope, name).extensions:
            return False
        question = ("written type", scope.row.id, value.name)
        return bool(self._engine.once(question, lambda: _is_written(scope.source.code, value.name)))

    def called(self, scope: FileScope, steps: list[ExpressionStep], number: int, value: Value) -> Definition | None:
        """The function that a step of an expression calls on what a library gives."""
        if not is_call(steps, number) or not isinstance(value, Outside | Elements):
            return None
        found = self.meant(scope, steps[number].text, value)
        return found[0] if found is not None else None

    def _of_name(self, scope: FileScope, name: str) -> _Named:
        key = (scope.row.language, name)
        if key not in self._names:
            rows = [each for each in self._engine.definitions_named(name) if each[0].language == scope.row.language]
            heads = [(row, symbol, scope.compiled.extended_type(symbol.signature)) for row, symbol in rows]
            extensions = [_Extension(row, symbol, last_part(type_)) for row, symbol, type_ in heads if type_]
            self._names[key] = _Named(extensions, len(extensions) < len(rows))
        return self._names[key]

    def _packages(self, scope: FileScope) -> set[str]:
        """The packages whose functions a file sees: its own, those around it, and those it uses."""
        own = scope.row.package.split(".")
        return {".".join(own[:end]) for end in range(len(own) + 1)} | {each.module for each in scope.wildcards}

    def _fits(self, each: _Extension, value: Value | None) -> bool:
        if _ANY.fullmatch(each.type):
            return True
        is_own = any(symbol.kind in TYPES for _, symbol in self._engine.definitions_named(each.type))
        if isinstance(value, Outside):
            return not is_own and _last_word(value.name) == _last_word(each.type)
        if not isinstance(value, Instance):
            return isinstance(value, Elements) and f"{each.type}<" in each.symbol.signature
        lineage = self._engine.members.lineage(value.of)
        names = {self._engine.symbol(above).name for above in (value.of, *lineage.above)}
        return each.type in names or (lineage.is_open and not is_own)


def _is_written(code: str, type_: str) -> bool:
    """Whether a name is that of a type somewhere in a file: behind `new`, or before a name that is declared."""
    declared = rf"\b{type_}(?:<[^;(){{}}]*>)?\??\s+@?\w+\s*[=;,)]"
    return re.search(rf"\bnew\s+(?:[\w.]+\.)?{type_}\b|{declared}", code) is not None


def _last_word(name: str) -> str:
    found = _LAST_WORD.search(name)
    return found[0] if found else name
