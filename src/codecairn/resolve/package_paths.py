"""Names written with their package (`\\App\\Models\\User`), and those without one that every package sees."""

from __future__ import annotations

from codecairn.parse.kinds import CALLABLE
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import OUTSIDE, Definition, Value
from codecairn.store.file_version import SymbolRow


class PackagePaths:
    def __init__(self, engine: Questions) -> None:
        self._engine = engine

    def value(self, scope: FileScope, name: str, wants: str = "any") -> Value | None:
        """What a name with its package means; Outside where the project has no such package."""
        package, _, last = self._whole(scope, name).rpartition(scope.rules.path_mark)
        if not package:
            return self.unpackaged(scope, last, is_global=True) or OUTSIDE
        module = self._engine.modules.find(scope.row, package)
        return OUTSIDE if module is None else self._engine.members.export(module, last, wants)

    def _whole(self, scope: FileScope, name: str) -> str:
        """The name from the outermost package on, without a mark before it."""
        mark = scope.rules.path_mark
        first, _, rest = name.partition(mark)
        if not first:
            return rest
        for each in scope.imports.get(first, ()):
            return mark.join(part for part in (each.module, each.name, rest) if part)
        return f"{scope.row.package}{mark}{rest if first == 'namespace' else name}".lstrip(mark)

    def unpackaged(self, scope: FileScope, name: str, *, is_global: bool = False) -> Definition | None:
        """A definition outside all packages: a function from everywhere, a type only where no package is around."""
        sees_all = is_global or not scope.row.package
        found = [
            (row, symbol) for row, symbol in self._engine.definitions_named(name)
            if row.language == scope.row.language and not row.package and _is_seen(symbol, sees_all)
        ]  # fmt: skip
        return self._engine.names.first_seen(scope, found) if found else None


def _is_seen(symbol: SymbolRow, sees_all: bool) -> bool:
    return symbol.parent < 0 and (sees_all or symbol.kind in CALLABLE | {"const"})
