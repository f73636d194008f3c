"""Variables that a pattern takes out of a value: `match data { Data::List(items) => … }`."""

from __future__ import annotations

import re

from codecairn.resolve.brackets import split
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.source import Span
from codecairn.resolve.tuple_parts import part_type
from codecairn.resolve.values import LOCAL, Definition, Value, either

_CASE = re.compile(r"(?:\w+\s*::\s*)*\b[A-Z]\w*$")
_CASE_WITHIN = 80
_MATCH = re.compile(r"match\s+")
_ARM = re.compile(r"=>\s*")
_ARMS_WITHIN = 3_000
"""Bytes of a `match` in which its arms are looked at."""
_LEAVES = re.compile(r"(?:return|continue|break)\b|\w+!")
_MATCHED = re.compile(r"\bmatch\s+(?!.*\bmatch\s)", re.DOTALL)
_MATCHED_WITHIN = 300


class Patterns:
    def __init__(self, engine: Questions) -> None:
        self._engine = engine

    def value(self, scope: FileScope, position: int) -> Value | None:
        """What a variable in the brackets of a pattern is given: a field of the case that the pattern names."""
        code, brackets = scope.source.code, scope.source.around(position, "(")
        case = _CASE.search(code, max(0, brackets.start - _CASE_WITHIN), brackets.start) if brackets else None
        if brackets is None or case is None:
            return LOCAL
        steps = scope.source.steps(code, case.start(), brackets.start)
        if scope.rules.sealed_values.get(steps[-1].text):
            return self._matched(scope, brackets)
        found = self._case(scope, case.start(), brackets.start)
        number = len(split(code[brackets.start + 1 : position] + "_", ",")) - 1
        told = part_type(self._engine.symbol(found).signature, number) if found is not None else ""
        if found is None or not told:
            return LOCAL
        home = self._engine.scope(found.file)
        return self._engine.types.value(home, told, self._engine.expressions.inside(found)) or LOCAL

    def arms(self, scope: FileScope, start: int) -> Value | None:
        """What a `match` that begins here gives: what its arms do; None where none begins here."""
        code = scope.source.code
        if _MATCH.match(code, start) is None:
            return None
        opening = code.find("{", start, start + _MATCHED_WITHIN)
        if opening < 0:
            return LOCAL
        end, given = scope.source.closing(opening), list[Value | None]()
        for arm in _ARM.finditer(code, opening, min(end, opening + _ARMS_WITHIN)):
            around = scope.source.around(arm.start(), "{")
            is_own = around is not None and around.start == opening and _LEAVES.match(code, arm.end()) is None
            steps = scope.source.expression(arm.end()) if is_own else []
            given.append(self._engine.expressions.evaluate(scope, steps, arm.end()) if steps else None)
        return either(given) or LOCAL

    def _case(self, scope: FileScope, start: int, end: int) -> Definition | None:
        """The case of an enumeration, or the type, that a path in a pattern names."""
        steps = scope.source.steps(scope.source.code, start, end)
        if len(steps) == 1:
            found, _ = self._engine.names.lookup(scope, steps[0].text, start)
        else:
            holder = self._engine.expressions.evaluate(scope, steps[:-1], start)
            found = self._engine.members.of(holder, steps[-1].text) if holder is not None else None
        return found if isinstance(found, Definition) else None

    def _matched(self, scope: FileScope, brackets: Span) -> Value | None:
        """What is taken out of a wrapper in an arm of a `match`: what is matched, as a wrapper stands for it."""
        arms = scope.source.around(brackets.start, "{")
        if arms is None:
            return LOCAL
        head = _MATCHED.search(scope.source.code, max(0, arms.start - _MATCHED_WITHIN), arms.start)
        steps = scope.source.expression(head.end()) if head is not None else []
        value = self._engine.expressions.evaluate(scope, steps, head.end()) if steps and head is not None else None
        return value or LOCAL
