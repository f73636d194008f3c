"""Values of a library's type that holds another and does not pass its members on: what is called on an `Option<Book>`
is a member of `Option`, and never of `Book`."""

from __future__ import annotations

import re

from codecairn.parse.kinds import CALLABLE, TYPES
from codecairn.resolve.documented import result_type
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope, Variable
from codecairn.resolve.source import ExpressionStep
from codecairn.resolve.tuple_parts import part_type
from codecairn.resolve.values import VARIABLES, Definition, Instance, Outside

_BASE = re.compile(r"[&\s]*(?:'\w+\s+)?(?:mut\s+)?(?:\w+::)*(\w+)\s*<")
_DECLARED = re.compile(r"\blet\s+(?:mut\s+)?$")
_GIVEN = re.compile(r"\s*=(?!=)\s*")
_WRAPPER = re.compile(r"[&\s]*(?:'\w+\s+)?(?:mut\s+)?(?:\w+::)*(\w+)\s*<\s*(.*)>\s*$", re.DOTALL)
_PASSED = re.compile(r"\?\s*\.\s*$")
"""`value?.member`: what is held is taken out first."""
_DECLARED_WITHIN = 20


class SealedValues:
    def __init__(self, engine: Questions) -> None:
        self._engine = engine

    def of(self, scope: FileScope, steps: list[ExpressionStep], position: int) -> Outside | None:
        """The library's value that stands before a member, where the type that is written for it holds another."""
        if not scope.rules.sealed or _PASSED.search(scope.source.code, max(0, position - _DECLARED_WITHIN), position):
            return None
        base = _BASE.match(self._opened(scope, self._written(scope, steps)))
        if base is None or base[1] not in scope.rules.sealed:
            return None
        own, _ = self._engine.names.lookup(scope, base[1], position, "type")
        is_own = isinstance(own, Definition) and self._engine.symbol(own).kind in TYPES - {"type"}
        return None if is_own else Outside(name=base[1])

    def _opened(self, scope: FileScope, text: str) -> str:
        """A type without the wrappers around it that pass its members on."""
        wrapper = _WRAPPER.match(text)
        while wrapper is not None and wrapper[1] in scope.rules.opens and not self._is_defined(wrapper[1]):
            text = wrapper[2]
            wrapper = _WRAPPER.match(text)
        return text

    def _is_defined(self, name: str) -> bool:
        return any(each.kind in TYPES for _, each in self._engine.definitions_named(name))

    def _written(self, scope: FileScope, steps: list[ExpressionStep]) -> str:
        """The type of an expression as it is written where its last part is declared; else nothing."""
        is_call = len(steps) > 1 and steps[-1].kind == "call"
        names = steps[:-1] if is_call else steps
        if names[-1].kind != "name":
            return ""
        last = names[-1].text
        if len(names) == 1:
            made = scope.rules.sealed_values.get(last)
            if made is not None:
                return f"{made}<_>"
            return self._of_function(scope, names[0]) if is_call else self._of_variable(scope, names[0])
        value = self._engine.expressions.evaluate(scope, names[:-1], names[-1].start)
        if isinstance(value, Instance) and last.isdigit():
            return part_type(self._engine.symbol(value.of).signature, int(last))
        found = self._engine.members.of(value, last) if value is not None else None
        if isinstance(found, Definition):
            return self._of_member(self._engine.members.namesake(found, is_called=is_call))
        if is_call and last in scope.rules.sealed_members:
            return self._opened(scope, self._written(scope, names[:-1]))
        return f"{scope.rules.sealed[0]}<_>" if is_call and self._gives_sealed(scope, last) else ""

    def _gives_sealed(self, scope: FileScope, name: str) -> bool:
        """Whether a library's method of a name gives a sealed value, and each of the project's does so too."""
        if name not in scope.rules.sealed_results:
            return False
        own = [each for row, each in self._engine.definitions_named(name) if row.language == scope.row.language]
        return all(
            (base := _BASE.match(each.returns)) is not None and base[1] in scope.rules.sealed
            for each in own
            if each.kind in CALLABLE
        )

    def _of_function(self, scope: FileScope, name: ExpressionStep) -> str:
        found, _ = self._engine.names.lookup(scope, name.text, name.start, "function")
        return self._of_member(found) if isinstance(found, Definition) else ""

    def _of_member(self, definition: Definition) -> str:
        scope, symbol = self._engine.scope(definition.file), self._engine.symbol(definition)
        if symbol.kind in CALLABLE:
            return result_type(scope, symbol)
        return self._bound_on(scope, symbol.name, symbol.name_line) if symbol.kind in VARIABLES else ""

    def _of_variable(self, scope: FileScope, name: ExpressionStep) -> str:
        """Of the innermost variable: as it is declared, else of what it is given."""
        seen = [
            each for each in scope.variables(name.text)
            if each.span.holds(name.start) and each.position < name.start and self._has_begun(scope, each, name.start)
        ]  # fmt: skip
        if not seen:
            return ""
        inner = min(seen, key=lambda each: (each.span.size, -each.position))
        if inner.kind == "parameter":
            return self._bound_on(scope, name.text, scope.source.line_of(inner.position))
        return self._of_local(scope, name.text, inner)

    def _has_begun(self, scope: FileScope, variable: Variable, position: int) -> bool:
        begins = scope.compiled.begins
        if begins is None or variable.kind != "block":
            return True
        return begins.search(scope.source.code, variable.position, position) is not None

    def _of_local(self, scope: FileScope, name: str, variable: Variable) -> str:
        """What a pattern takes out of another value is not what the whole of it is."""
        code, at = scope.source.code, variable.position
        if variable.kind != "block" or not _DECLARED.search(code, max(0, at - _DECLARED_WITHIN), at):
            return ""
        given = _GIVEN.match(code, at + len(name))
        if given is None:
            return self._bound_on(scope, name, scope.source.line_of(at))
        steps = scope.source.expression(given.end())
        question = ("written", scope.row.id, at)
        return (self._engine.once(question, lambda: self._written(scope, steps)) or "") if steps else ""

    def _bound_on(self, scope: FileScope, name: str, line: int) -> str:
        """The type that a declaration on a line gives a name."""
        return next((each.type for each in scope.bindings.get(name, ()) if each.line == line), "")
