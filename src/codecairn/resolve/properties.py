"""Methods that are read as fields are: by the word before them, or by what decorates them."""

from __future__ import annotations

from codecairn.parse.kinds import TYPES
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import Definition

_MOST_PASSED_ON = 3


class Properties:
    def __init__(self, engine: Questions) -> None:
        self._engine = engine

    def holds(self, definition: Definition) -> bool:
        """Whether a method is one that is read as a field is."""
        scope, symbol = self._engine.scope(definition.file), self._engine.symbol(definition)
        if symbol.signature.startswith("get "):
            return True
        heads = (scope.source.line(number).strip() for number in range(symbol.start_line, symbol.name_line))
        return any(head.startswith("@") and self._makes(scope, head[1:]) for head in heads)

    def _makes(self, scope: FileScope, decorator: str) -> bool:
        """Whether a decorator makes a method one that is read: by its name, or as a type that says what it gives."""
        if "property" in decorator:
            return True
        if self._is_imported_property(scope, decorator):
            return True
        maker = self._engine.names.lookup(scope, decorator, 0)[0] if decorator.isidentifier() else None
        if not isinstance(maker, Definition):
            return False
        is_type = self._engine.symbol(maker).kind in TYPES
        return is_type and isinstance(self._engine.members.of_type(maker, "__get__"), Definition)

    def _is_imported_property(self, scope: FileScope, name: str, depth: int = 0) -> bool:
        """Whether a name is an import's for something that is called a property where it comes from."""
        for each in scope.imports.get(name, ()):
            module = self._engine.modules.find(scope.row, each.module) if depth < _MOST_PASSED_ON else None
            inner = [self._engine.scope(file) for file in module.files] if module is not None else []
            if "property" in each.name or any(self._is_imported_property(one, each.name, depth + 1) for one in inner):
                return True
        return False
