"""Of several definitions of one path, the one that a file means: one that it imports, else the nearest by folders.

A name may have hundreds of definitions, as a module has that every file opens again, and each file that uses it asks.
So they are put in order once for a folder, and a file only looks which of them it imports or has itself. A type that
stands outside of the headers, as one of a test does, is seen in its own file and hardly in another.
"""

from __future__ import annotations

import posixpath

from codecairn.parse.kinds import TYPES
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import Definition
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow

_Candidates = list[tuple[FileRow, SymbolRow]]


class NearestDefinitions:
    def __init__(self, engine: Questions) -> None:
        self._engine = engine
        self._seen: dict[int, frozenset[int]] = {}
        self._ordered: dict[tuple[str, int], tuple[_Candidates, _Candidates]] = {}
        """By folder and list; the list is kept, so that no other has its number."""

    def first(self, scope: FileScope, found: _Candidates) -> Definition:
        ordered, seen = self._order(scope, found), self._imports_of(scope)
        own = [each for each in ordered if each[0].id == scope.row.id]
        candidates = [*own, *ordered] if own else ordered
        row, symbol = next((each for each in candidates if each[0].id in seen), candidates[0])
        return Definition(row.id, symbol.number)

    def _imports_of(self, scope: FileScope) -> frozenset[int]:
        """The files that a file imports."""
        if scope.row.id not in self._seen:
            modules = (self._engine.modules.find(scope.row, each.module) for each in scope.all_imports)
            files = (file for module in modules if module is not None for file in module.files)
            self._seen[scope.row.id] = frozenset(files)
        return self._seen[scope.row.id]

    def _order(self, scope: FileScope, found: _Candidates) -> _Candidates:
        """Nearest to a folder first, then by path and place."""
        folder = posixpath.dirname(scope.row.path)
        key = (folder, id(found))
        if key not in self._ordered:
            around, headers = folder.split("/") if folder else [], scope.rules.headers

            def order(each: tuple[FileRow, SymbolRow]) -> tuple[bool, int, str, int]:
                row, symbol = each
                is_hidden = bool(headers) and symbol.kind in TYPES and not row.path.endswith(headers)
                return is_hidden, -_common_letters(around, row.path), row.path, symbol.number

            self._ordered[key] = (found, sorted(found, key=order))
        return self._ordered[key][1]


def _common_letters(folders: list[str], path: str) -> int:
    """How many letters of its path a file shares with some folders, one inside the other."""
    shared = 0
    for one, other in zip(folders, path.split("/"), strict=False):
        if one != other:
            break
        shared += len(one) + 1
    return shared
