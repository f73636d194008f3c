"""What a variable is given where it is declared: an expression, a part of one, or each of what is iterated over."""

from __future__ import annotations

import re

from codecairn.resolve.brackets import split
from codecairn.resolve.given_values import is_part, part_start
from codecairn.resolve.patterns import Patterns
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import LOCAL, Definition, Elements, Instance, TupleValue, Value

_LOOP = re.compile(r"(?:[ \t]*,[ \t]*[\w$*]+)*\)?[ \t]*(?:\bin\b|\bof\b|:?=[ \t]*range\b)[ \t]+")
_GIVEN = re.compile(r"[ \t]*(?::[^=\n]+?)?(?:,[ \t]*\w+[ \t]*)*:?=(?![=>])\s*")
_UNWRAPPED = re.compile(r"\s*\)\s*=(?![=>])\s*")
_ASSIGNED = re.compile(r"\s*=(?![=>])\s*")
_LET = re.compile(r"\blet\s+$")
_UNSAFE = re.compile(r"unsafe\s*\{\s*")
_TAKEN = re.compile(r"[}\]]\s*=(?![=>])\s*")
_TAKEN_WITHIN = 2_000
"""Bytes in which the pattern ends that takes a value apart."""


class AssignedValues:
    def __init__(self, engine: Questions) -> None:
        self._engine = engine
        self._patterns = Patterns(engine)

    def entered(self, value: Value | None) -> Value | None:
        """What `with` gives: what the context manager's entry returns, or what it was made to yield."""
        if isinstance(value, Elements):
            return self._engine.expressions.element(value)
        if isinstance(value, Instance):
            for name in ("__enter__", "__aenter__"):
                if isinstance(found := self._engine.members.of_type(value.of, name), Definition):
                    return self._engine.expressions.return_value(found, value.of) or value
        return value

    def value(self, scope: FileScope, name: str, position: int) -> Value | None:
        """What a variable is assigned, or iterates over, where it is declared."""
        code = scope.source.code
        loop = _LOOP.match(code, position + len(name))
        if loop is not None:
            return self._loop_value(scope, position, loop)
        # Pairing the brackets of a file takes longer than the rest of a question about it.
        is_near = _TAKEN.search(code, position, position + _TAKEN_WITHIN) is not None
        brackets = scope.source.around(position, "{[") if is_near else None
        if brackets is not None and (taken := _TAKEN.match(code, brackets.end)) is not None:
            value = self._engine.expressions.evaluate(scope, scope.source.expression(taken.end()), taken.end())
            return self._engine.expressions.attribute(value, name, is_called=False) if value is not None else LOCAL
        match = _GIVEN.match(code, position + len(name))
        wrapped = scope.compiled.wrapped
        if match is None and wrapped is not None and wrapped.search(code, max(0, position - 40), position):
            match = _UNWRAPPED.match(code, position + len(name))
        if match is None and scope.rules.tuples:
            part = self._part(scope, position)
            return self._patterns.value(scope, position) if part == LOCAL else part
        if match is None:
            return LOCAL
        unsafe = _UNSAFE.match(code, match.end()) if wrapped is not None else None
        start = unsafe.end() if unsafe is not None else match.end()
        if wrapped is not None and (arms := self._patterns.arms(scope, start)) is not None:
            return arms
        steps = scope.source.expression(start)
        value = self._engine.expressions.evaluate(scope, steps, start) if steps else LOCAL
        if not is_part(code, position, match[0]):
            return value
        before = code[code.rfind("\n", 0, position) + 1 : position]
        number = len(split(f"{before}_", ",")) - 1
        if (own := part_start(code, match.end(), number)) >= 0:
            own += len(code[own : own + 200]) - len(code[own : own + 200].lstrip())
            return self._engine.expressions.evaluate(scope, scope.source.expression(own), own) or LOCAL
        if isinstance(value, TupleValue):
            return self.part_at(value, number)
        # Which part of a tuple a name takes is not told by what all of it holds.
        return LOCAL if isinstance(value, Elements) else value

    def _part(self, scope: FileScope, position: int) -> Value | None:
        """What a variable is given that is one of several in brackets: `let (a, b) = …`."""
        code, brackets = scope.source.code, scope.source.around(position, "(")
        given = _ASSIGNED.match(code, brackets.end + 1) if brackets is not None else None
        if brackets is None or given is None or not _LET.search(code, max(0, brackets.start - 20), brackets.start):
            return LOCAL
        steps = scope.source.expression(given.end())
        value = self._engine.expressions.evaluate(scope, steps, given.end()) if steps else None
        number = len(split(code[brackets.start + 1 : position] + "_", ",")) - 1
        return self.part_at(value, number) if isinstance(value, TupleValue) else LOCAL

    def part_at(self, value: TupleValue, number: int) -> Value:
        """One of several values, by its number."""
        if number >= len(value.types):
            return LOCAL
        home = self._engine.scope(value.file)
        return self._engine.types.value(home, value.types[number], value.position, value.me) or LOCAL

    def _loop_value(self, scope: FileScope, position: int, loop: re.Match[str]) -> Value | None:
        """What a loop gives one of its variables: the last takes what is iterated over, one before it a key."""
        start, code = loop.end(), scope.source.code
        value = self._engine.expressions.evaluate(scope, scope.source.expression(start), start)
        each = self._engine.expressions.element(value)
        if isinstance(each, TupleValue):
            head = code[code.rfind("for", 0, position) + 3 : position].replace("(", "")
            return self.part_at(each, len(split(f"{head}_", ",")) - 1)
        if not loop[0].lstrip().startswith(","):
            return each
        if not isinstance(value, Elements) or not value.key:
            return LOCAL
        return self._engine.types.value(self._engine.scope(value.file), value.key, value.position, value.me)
