"""Parameters that a test framework fills in by their name: the function of that name which is marked as a fixture.

It is looked for in the file of the parameter, then in the files that the framework reads from the folders above it
(`conftest.py`), and at last among all files, where only one has such a function, as a plugin has.
"""

from __future__ import annotations

import posixpath
import re

from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import Definition, Elements, Value
from codecairn.store.file_version import SymbolRow


class Fixtures:
    def __init__(self, engine: Questions) -> None:
        self._engine = engine

    def meant(self, scope: FileScope, name: str, position: int) -> Definition | None:
        """The fixture that a parameter of a test, or of another fixture, is filled with."""
        function = scope.symbol_at(position) if scope.compiled.fixture is not None else None
        if function is None or not (function.name.startswith("test") or self._is_fixture(scope, function)):
            return None
        own = Definition(scope.row.id, function.number)
        question = ("fixture", scope.row.id, name, own if function.name == name else None)
        return self._engine.once(question, lambda: self._nearest(scope, name, own))

    def value(self, fixture: Definition) -> Value | None:
        """What a fixture gives: its result, or what it yields."""
        given = self._engine.expressions.return_value(fixture, None)
        return self._engine.expressions.element(given) if isinstance(given, Elements) else given

    def _nearest(self, scope: FileScope, name: str, asking: Definition) -> Definition | None:
        others = {each: path for each, path in self.named(scope, name).items() if each != asking}
        for place in (scope.row.path, *_shared_files(scope)):
            here = [each for each, path in others.items() if path == place] or self._fixtures_by_mark(place, name)
            if here:
                return here[-1]
        return next(iter(others)) if len(others) == 1 else None

    def named(self, scope: FileScope, name: str) -> dict[Definition, str]:
        """The fixtures of a name and the paths of their files, in the order of these."""
        if scope.compiled.fixture is None:
            return {}
        question = ("fixtures", scope.row.language, name)
        return self._engine.once_a_generation(question, lambda: self._find(scope.row.language, name)) or {}

    def _find(self, language: str, name: str) -> dict[Definition, str]:
        return {
            Definition(row.id, symbol.number): row.path for row, symbol in self._engine.definitions_named(name)
            if row.language == language and self._is_fixture(self._engine.scope(row.id), symbol)
        }  # fmt: skip

    def _fixtures_by_mark(self, path: str, name: str) -> list[Definition]:
        """The fixtures of a file that are given a name in their mark: `@fixture(name="app")`."""
        row = self._engine.known.files.get(path)
        scope = self._engine.scope(row.id) if row is not None else None
        given = re.compile(rf"\bname\s*=\s*[\"']{re.escape(name)}[\"']")
        if scope is None or given.search(scope.source.text) is None:
            return []
        return [
            Definition(scope.row.id, each.number) for each in scope.symbols
            if self._is_fixture(scope, each)
            and any(given.search(scope.source.line(line)) for line in range(each.start_line, each.name_line))
        ]  # fmt: skip

    def _is_fixture(self, scope: FileScope, symbol: SymbolRow) -> bool:
        pattern = scope.compiled.fixture
        heads = (scope.source.line(number) for number in range(symbol.start_line, symbol.name_line))
        return pattern is not None and any(pattern.match(line) is not None for line in heads)


def _shared_files(scope: FileScope) -> list[str]:
    folder, found = posixpath.dirname(scope.row.path), list[str]()
    while True:
        found += [posixpath.join(folder, name) for name in scope.rules.fixture_files]
        if not folder:
            return found
        folder = posixpath.dirname(folder)
