"""Parameters of closures that a function of the project calls: its head says with what, as in `F: FnOnce(&Book)`."""

from __future__ import annotations

import re

from codecairn.parse.kinds import CALLABLE
from codecairn.resolve.brackets import closing_bracket, split
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import LOCAL, Definition, Value

_CALLED = re.compile(r"\bFn(?:Once|Mut)?\s*\(")
_GIVEN_TO = re.compile(
    r"\b(\w+)\s*\(\s*(?:[^()|{};]*,\s*)?(?:move\s+)?\|((?:[^|(){};]*,)?)\s*(?:&|mut\s+|ref\s+)*$"
)  # fmt: skip
_WITHIN = 100


class CalledClosures:
    def __init__(self, engine: Questions) -> None:
        self._engine = engine

    def value(self, scope: FileScope, position: int) -> Value | None:
        """What the function that is given a closure passes as the parameter that stands here."""
        given = _GIVEN_TO.search(scope.source.code, max(0, position - _WITHIN), position)
        function = self._function(scope, given[1], given.start(1)) if given is not None else None
        if given is None or function is None:
            return LOCAL
        signature, number = self._engine.symbol(function).signature, given[2].count(",")
        heads = [*_CALLED.finditer(signature)]
        if len(heads) != 1:
            return LOCAL
        opening = heads[0].end() - 1
        passed = split(signature[opening + 1 : closing_bracket(signature, opening, len(signature))], ",")
        if number >= len(passed):
            return LOCAL
        home, inside = self._engine.scope(function.file), self._engine.expressions.inside(function)
        return self._engine.types.value(home, passed[number], inside) or LOCAL

    def _function(self, scope: FileScope, name: str, position: int) -> Definition | None:
        steps = scope.source.receiver(position)
        if steps:
            value = self._engine.expressions.evaluate(scope, steps, position)
            found = self._engine.members.of(value, name) if value is not None else None
        else:
            found, _ = self._engine.names.lookup(scope, name, position, "function")
        is_function = isinstance(found, Definition) and self._engine.symbol(found).kind in CALLABLE
        return found if is_function and isinstance(found, Definition) else None
