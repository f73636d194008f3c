"""Namespaces, which any file may open and add to: names by the path they are written with, wherever they are defined.

A path may leave out the namespaces around where it is written, and a file may open some by a macro that shows none. So
a path and the owner of a definition fit where one ends as the other does.
"""

from __future__ import annotations

import re

from codecairn.names.qualified import parts
from codecairn.parse.kinds import HOLDERS
from codecairn.parse.language import family
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import OUTSIDE_PATH, Definition, Namespace, Value, by_key
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow

_Candidate = tuple[FileRow, SymbolRow]
_Path = tuple[str, ...]
_IMPORTS_ITSELF = re.compile(r"\bimport\s+(?:unquote\()?__MODULE__")


class Namespaces:
    def __init__(self, engine: Questions) -> None:
        self._engine = engine
        self._owned: dict[tuple[str, str], dict[_Path, list[_Candidate]]] = {}
        self._visible: dict[tuple[int, str, _Path], Value | None] = {}

    def member(self, namespace: Namespace, name: str) -> Value | None:
        """What a name in a namespace means; a namespace where nothing has the name, Outside in a library's."""
        scope, path = self._engine.scope(namespace.file), namespace.path
        owned = self._by_owner(scope, name)
        fitting = self._in_sight(scope, owned, path) if scope.rules.closed else [
            each for owner, those in owned.items() if _fits(owner, path) for each in those
        ]  # fmt: skip
        exact = (owned.get(path) if fitting else None) or fitting
        if not exact and path[0] not in scope.rules.libraries and self._is_opened(path[-1]):
            exact = owned.get((), [])
        if exact:
            return self._one(scope, exact)
        if scope.rules.closed and not self._is_own(scope, (*path, name)) and not self._is_own(scope, path):
            return OUTSIDE_PATH
        return OUTSIDE_PATH if path[0] in scope.rules.libraries else Namespace((*path, name), scope.row.id)

    def _in_sight(self, scope: FileScope, owned: dict[_Path, list[_Candidate]], path: _Path) -> list[_Candidate]:
        """Those of a path that is whole, or begins inside a namespace which the same file writes."""
        around = {parts(symbol.path) for symbol in scope.symbols if symbol.kind == "module"}
        paths = {path, *((*outer, *path) for outer in around), *((*outer[:-1], *path) for outer in around)}
        return [each for owner, those in owned.items() if owner in paths for each in those]

    def visible(self, scope: FileScope, name: str, position: int) -> Value | None:
        """What a bare name means by the namespaces around it, innermost first, then by those that are used."""
        key = (scope.row.id, name, self._around(scope, position))
        if key in self._visible:
            return self._visible[key]
        value = self._find_visible(scope, name, key[2])
        if value is not None or not self._engine.is_waiting:  # else more may be found from elsewhere
            self._visible[key] = value
        return value

    def _find_visible(self, scope: FileScope, name: str, around: _Path) -> Value | None:
        owned = self._by_owner(scope, name)
        for depth in range(len(around), -1, -1):
            # Inside of a type its name means the type, not what makes one of it.
            if around[:depth] in owned and around[:depth][-1:] != (name,):
                return self._one(scope, owned[around[:depth]])
        used = [parts(each.module) for each in scope.wildcards if not scope.hides(each, name)] if owned else []
        seen = [each for owner, those in owned.items() if any(_fits(owner, path) for path in used) for each in those]
        if seen or not scope.rules.closed:
            return self._one(scope, seen) if seen else None
        return self._through_uses(scope, name) if owned else None

    def _through_uses(self, scope: FileScope, name: str) -> Value | None:
        """What a module that is used as a whole imports for those that use it."""
        for each in scope.all_imports:
            if each.name or each.alias or not each.module:
                continue
            for file in self._files(parts(each.module)):
                other = self._engine.scope(file)
                used = [parts(wildcard.module) for wildcard in other.wildcards]
                if _IMPORTS_ITSELF.search(other.source.code):
                    used.append(parts(each.module))
                owned = self._by_owner(scope, name)
                seen = [found for owner, those in owned.items() if owner in used for found in those]
                named = (self._engine.members.import_value(other, own) for own in other.imports.get(name, ()))
                value = self._one(scope, seen) if seen else next(named, None)
                if value is not None:
                    return value
        return None

    def around(self, scope: FileScope, position: int) -> Namespace | None:
        """The namespace that a position is in."""
        path = self._around(scope, position)
        return Namespace(path, scope.row.id) if path else None

    def opening(self, namespace: Namespace) -> Definition | None:
        """What opens a namespace, where that is one definition; the nearest of copies."""
        scope = self._engine.scope(namespace.file)
        if not scope.rules.closed:
            return None
        found = [each for each in self._openings(namespace.path) if parts(each[1].path) == namespace.path]
        return self._engine.names.first_seen(scope, found) if found else None

    def _openings(self, path: _Path) -> list[_Candidate]:
        return [each for each in self._engine.definitions_named(path[-1]) if each[1].kind == "module"]

    def _files(self, path: _Path) -> list[int]:
        return [row.id for row, symbol in self._openings(path) if parts(symbol.path) == path]

    def _is_own(self, scope: FileScope, path: _Path) -> bool:
        """Whether the project opens a namespace that a path may mean, in a language and its kin."""
        named, kin = self._engine.definitions_named(path[-1]), family(scope.row.language)
        return any(_fits(parts(symbol.path), path) for row, symbol in named if family(row.language) == kin)

    def _by_owner(self, scope: FileScope, name: str) -> dict[_Path, list[_Candidate]]:
        """The definitions of a name in a language and its kin, by the path that each is a member of."""
        kin = family(scope.row.language)
        if (kin, name) not in self._owned:
            named = (each for each in self._engine.definitions_named(name) if family(each[0].language) == kin)
            self._owned[kin, name] = by_key(named, _owner)
        return self._owned[kin, name]

    def _one(self, scope: FileScope, found: list[_Candidate]) -> Value | None:
        """The definition that all of some are, or the namespace that they open."""
        paths = {symbol.path for _, symbol in found}
        if len(paths) > 1:
            return None
        if all(symbol.kind == "module" for _, symbol in found):
            return Namespace(parts(paths.pop()), scope.row.id)
        return self._engine.names.first_seen(scope, [each for each in found if each[1].kind != "module"])

    def _around(self, scope: FileScope, position: int) -> _Path:
        """The namespaces and types around a position, and those of the method that is defined outside of its type."""
        inner = scope.symbol_at(position, HOLDERS)
        around = parts(inner.path) if inner else ()
        function = scope.symbol_at(position)
        owner = parts(scope.owner_path(function)) if function else ()
        return owner if len(owner) > len(around) else around

    def _is_opened(self, name: str) -> bool:
        """Whether the project opens a namespace of this name somewhere."""
        return any(symbol.kind == "module" for _, symbol in self._engine.definitions_named(name))


def _owner(candidate: _Candidate) -> _Path:
    symbol = candidate[1]
    return parts(symbol.path[: len(symbol.path) - len(symbol.name)])


def _fits(owner: _Path, path: _Path) -> bool:
    shared = min(len(owner), len(path))
    return shared > 0 and owner[-shared:] == path[-shared:]
