"""What is worth keeping between questions: files as they were read, and one generation's lists.

A file's id stands for one content at one path, so a scope is true for as long as it is kept. What depends on the
other files is kept with the generation it was found in.
"""

from __future__ import annotations

import posixpath
import threading
from collections import OrderedDict, defaultdict
from functools import cached_property

from codecairn.rank.filters import module_of
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import Definition, Outside, Value
from codecairn.store.version import SymbolRow
from codecairn.store.view import FileRow, View

_MOST_SITES = 400_000
"""Of all files that are kept, some 60 MB."""
_MOST_GENERATIONS = 4

_scopes: OrderedDict[tuple[int, str], FileScope] = OrderedDict()
_generations: OrderedDict[tuple[str, int, int, float | None], Known] = OrderedDict()
_lock = threading.Lock()
_weight = 0


class Known:
    """The files of one generation, and what was found among them."""

    def __init__(self, files: list[FileRow]) -> None:
        self.files = {file.path: file for file in files}
        self.rows = {file.id: file for file in files}
        self.members: dict[tuple[Definition, str, str], Definition | Outside | None] = {}
        self.values: dict[tuple[Definition, Definition | None], Value | None] = {}
        self._named: dict[str, list[tuple[FileRow, SymbolRow]]] = {}

    @cached_property
    def folders(self) -> dict[str, list[FileRow]]:
        found: dict[str, list[FileRow]] = defaultdict(list)
        for path, file in self.files.items():
            found[posixpath.dirname(path)].append(file)
        return dict(found)

    @cached_property
    def ancestors(self) -> frozenset[str]:
        """Every folder that has a file somewhere below it."""
        found = set(self.folders)
        for folder in self.folders:
            while folder := posixpath.dirname(folder):
                found.add(folder)
        return frozenset(found)

    @cached_property
    def packages(self) -> dict[tuple[str, str], list[FileRow]]:
        """Files by language and the module they are."""
        found: dict[tuple[str, str], list[FileRow]] = defaultdict(list)
        for file in self.files.values():
            if module := module_of(file):
                found[file.language, module].append(file)
        return dict(found)

    def named(self, view: View, name: str) -> list[tuple[FileRow, SymbolRow]]:
        if name not in self._named:
            self._named[name] = [each for each in view.named(name) if each[1].name == name]
        return self._named[name]

    def scope(self, view: View, file: int) -> FileScope:
        key = (file, self.rows[file].path)
        scope = _scopes.get(key)
        if scope is not None:
            return scope
        scope = FileScope(self.rows[file], view.symbols(file), view.links(file), view.text(file))
        _shelve(key, scope)
        return scope


def _shelve(key: tuple[int, str], scope: FileScope) -> None:
    global _weight  # noqa: PLW0603 - one shelf for the process
    with _lock:
        if key not in _scopes:
            _scopes[key] = scope
            _weight += scope.weight
        while len(_scopes) > 1 and _weight > _MOST_SITES:
            _weight -= _scopes.popitem(last=False)[1].weight


def known(view: View) -> Known:
    checkout = view.checkout
    key = (checkout.root, checkout.id, checkout.generation, checkout.finished_at)
    with _lock:
        found = _generations.get(key)
    if found is None:
        found = Known(list(view.files()))
        with _lock:
            _generations[key] = found
            while len(_generations) > _MOST_GENERATIONS:
                _generations.popitem(last=False)
    return found
