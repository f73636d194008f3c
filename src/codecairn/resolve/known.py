"""What is worth keeping between questions: files as they were read, and one generation's lists.

A file's id stands for one content at one path, so a scope is true for as long as it is kept. What depends on the
other files is kept with the generation it was found in.
"""

from __future__ import annotations

import posixpath
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, TypeVar

from codecairn.parse.facts import Import
from codecairn.rank.filters import module_of
from codecairn.resolve.packages import Manifests, manifests
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import Definition, Module, Outside, Value
from codecairn.store.version import SymbolRow, link_table
from codecairn.store.view import FileRow, View

_MOST_SCOPE_BYTES = 96_000_000
_MOST_LINK_BYTES = 32_000_000
_SYMBOL_BYTES = 700
_MOST_GENERATIONS = 4

_Key = TypeVar("_Key")
_Kept = TypeVar("_Kept")


class Shelf(Generic[_Key, _Kept]):
    """What was used lately, up to a weight."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._weight = 0
        self._kept: OrderedDict[_Key, tuple[_Kept, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _Key) -> _Kept | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found[0] if found else None

    def put(self, key: _Key, value: _Kept, weight: int) -> None:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = (value, weight)
                self._weight += weight
            while len(self._kept) > 1 and self._weight > self._most:
                self._weight -= self._kept.popitem(last=False)[1][1]


_scopes: Shelf[tuple[int, str], FileScope] = Shelf(_MOST_SCOPE_BYTES)
_links: Shelf[int, bytes] = Shelf(_MOST_LINK_BYTES)
_Generation = tuple[str, tuple[int, int, int], float | None, Callable[[str], bool]]
_generations: OrderedDict[_Generation, Known] = OrderedDict()
_lock = threading.Lock()


class Known:
    """The files of one generation, and what was found among them."""

    def __init__(self, files: list[FileRow]) -> None:
        self.files = {file.path: file for file in files}
        self.rows = {file.id: file for file in files}
        self.members: dict[tuple[Definition, str, str], Definition | Outside | None] = {}
        self.values: dict[tuple[Definition, Definition | None], Value | None] = {}
        self.imported: dict[tuple[int, Import, str], Value | None] = {}
        self.modules: dict[tuple[str, str, str], Module | None] = {}
        self.uses: Shelf[tuple[str, str], Any] | None = None
        self._manifests: Manifests | None = None
        self._named: dict[str, list[tuple[FileRow, SymbolRow]]] = {}

    @cached_property
    def folders(self) -> dict[str, list[FileRow]]:
        found: dict[str, list[FileRow]] = defaultdict(list)
        for path, file in self.files.items():
            found[posixpath.dirname(path)].append(file)
        return dict(found)

    @cached_property
    def namesakes(self) -> dict[str, list[FileRow]]:
        """Files by their name without the folders."""
        found: dict[str, list[FileRow]] = defaultdict(list)
        for path, file in self.files.items():
            found[posixpath.basename(path)].append(file)
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

    def manifests(self, view: View) -> Manifests:
        if self._manifests is None:
            self._manifests = manifests(view, self.files)
        return self._manifests

    def named(self, view: View, name: str) -> list[tuple[FileRow, SymbolRow]]:
        if name not in self._named:
            self._named[name] = [each for each in view.named(name) if each[1].name == name]
        return self._named[name]

    def scope(self, view: View, file: int) -> FileScope:
        key = (file, self.rows[file].path)
        scope = _scopes.get(key)
        if scope is None:
            symbols, links, text = view.symbols(file), self.links(view, file), view.text(file)
            scope = FileScope(self.rows[file], symbols, link_table(links), text)
            # The code without its strings comes to the text, once it is asked for.
            _scopes.put(key, scope, 2 * len(text) + len(links) + _SYMBOL_BYTES * len(symbols))
        return scope

    def links(self, view: View, file: int) -> bytes:
        found = _links.get(file)
        if found is None:
            found = view.links(file)
            _links.put(file, found, len(found))
        return found


def known(view: View) -> Known:
    key = (view.layer.root, view.state, view.layer.finished_at, view.is_blocked)
    with _lock:
        found = _generations.get(key)
    if found is None:
        found = Known(list(view.files()))
        with _lock:
            _generations[key] = found
            while len(_generations) > _MOST_GENERATIONS:
                _generations.popitem(last=False)
    return found
