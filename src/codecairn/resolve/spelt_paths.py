"""Modules and packages that are named by their whole path where they are used."""

from __future__ import annotations

from itertools import takewhile

from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.source import ExpressionStep
from codecairn.resolve.values import OUTSIDE_PATH, Value


class SpeltPaths:
    def __init__(self, engine: Questions) -> None:
        self._engine = engine

    def of_module(self, scope: FileScope, steps: list[ExpressionStep]) -> tuple[Value | None, int]:
        """A module that is imported and then named by its whole path, and how many steps that are."""
        names = [step.text for step in steps]
        if not scope.rules.flat:
            return self._module_of_crate(scope, steps)
        for end in range(len(steps), 0, -1):
            path = ".".join(names[:end])
            if any(each.module == path for each in scope.all_imports):
                return self._engine.modules.find(scope.row, path) or OUTSIDE_PATH, end
        return (OUTSIDE_PATH if steps[0].text in scope.rules.libraries else None), 1

    def _module_of_crate(self, scope: FileScope, steps: list[ExpressionStep]) -> tuple[Value | None, int]:
        """The module that a path begins with, the longest there is: of this crate, or of another in the project."""
        code, end = scope.source.code, 0
        while end < len(steps) and code.startswith("::", steps[end].start + len(steps[end].text)):
            end += 1
        return self.of_crate(scope, [step.text for step in steps[: max(end, 1)]], steps[0].start)

    def of_crate(self, scope: FileScope, names: list[str], position: int) -> tuple[Value | None, int]:
        """The module that names lead to from a position, as many of them as do, and how many that are."""
        for last in range(len(names), 0, -1):
            path = scope.path_from(position, names[:last])
            if (module := self._engine.modules.find(scope.row, path)) is not None:
                return module, last
        return (OUTSIDE_PATH if names[0] in scope.rules.libraries else None), 1

    def of_package(self, scope: FileScope, steps: list[ExpressionStep]) -> tuple[Value | None, int]:
        """A package that is named by its whole path where it is used, and how many steps that are."""
        names = list(takewhile(lambda step: step.kind == "name", steps))
        for end in range(len(names), 0, -1):
            module = self._engine.modules.find(scope.row, ".".join(step.text for step in names[:end]))
            if module is not None:
                return module, end
        return None, 1
