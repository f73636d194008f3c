"""What is worth keeping between questions: files as they were read, and one generation's lists.

A file's id stands for one content at one path, so a scope is true for as long as it is kept. What depends on the
other files is kept with the generation it was found in.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

from codecairn.cache import MOST_VIEWS, Cache
from codecairn.names.qualified import module_of
from codecairn.resolve.packages import Manifests, manifests
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import by_key
from codecairn.store.file_version import SymbolRow, link_table
from codecairn.store.view import FileRow, View

_SYMBOL_BYTES = 700
_TEXT_SHARE, _SCOPE_SYMBOL_BYTES = 5, 1_200
"""A scope once all is asked of it that is asked for references: some 55 kB a file."""
_ROW_BYTES = 720
"""A file in the lists of a generation."""
_GENERATION_BYTES = 34_000_000
"""47,000 files: to list 43,000 takes 0.25 s, which every question would pay if the list were not kept."""
_ANSWER_BYTES = 300
_Answer = TypeVar("_Answer")
ASKED_FIRST: Any = object()
"""Stands for an answer that is not known: None is one."""
_Generation = tuple[tuple[str, str, str], tuple[str, int, int, int], float | None, Callable[[str], bool]]


def _answer_bytes(answer: object) -> int:
    return _ANSWER_BYTES + (_SYMBOL_BYTES * len(answer) if isinstance(answer, list) else 0)


def _scope_bytes(scope: FileScope) -> int:
    return _TEXT_SHARE * len(scope.source.text) + _SCOPE_SYMBOL_BYTES * len(scope.symbols)


_scopes: Cache[tuple[int, str], FileScope] = Cache("resolve.scopes", 24_000_000, _scope_bytes)
_links: Cache[int, bytes] = Cache("resolve.links", 3_000_000, len)
_answers: Cache[tuple[object, Hashable], Any] = Cache("resolve.answers", 8_000_000, _answer_bytes)


class Generation:
    """The files of one generation, and what was found among them."""

    def __init__(self, files: list[FileRow]) -> None:
        self.files = {file.path: file for file in files}
        self.rows = {file.id: file for file in files}
        self.own = object()
        """Stands for this generation in the keys of caches."""
        self._manifests: Manifests | None = None

    def answer(self, question: Hashable, default: Any = None) -> Any:
        """What was found for a question about this generation; questions begin with what they are about."""
        return _answers.get((self.own, question), default)

    def keep(self, question: Hashable, answer: _Answer) -> _Answer:
        _answers.put((self.own, question), answer)
        return answer

    @cached_property
    def folders(self) -> dict[str, list[FileRow]]:
        return by_key(self.files.values(), lambda file: posixpath.dirname(file.path))

    @cached_property
    def namesakes(self) -> dict[str, list[FileRow]]:
        """Files by their name without the folders."""
        return by_key(self.files.values(), lambda file: posixpath.basename(file.path))

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
        found = by_key(self.files.values(), lambda file: (file.language, module_of(file)))
        return {key: files for key, files in found.items() if key[1]}

    def manifests(self, view: View) -> Manifests:
        if self._manifests is None:
            self._manifests = manifests(view, self.files)
        return self._manifests

    def definitions_named(self, view: View, name: str) -> list[tuple[FileRow, SymbolRow]]:
        found: list[tuple[FileRow, SymbolRow]] | None = self.answer(("named", name))
        if found is None:
            found = self.keep(("named", name), [each for each in view.symbols_named(name) if each[1].name == name])
        return found

    def scope(self, view: View, file: int) -> FileScope:
        key = (file, self.rows[file].path)
        scope = _scopes.get(key)
        if scope is None:
            symbols, links, text = view.symbols(file), self.links(view, file), view.text(file)
            scope = _scopes.put(key, FileScope(self.rows[file], symbols, link_table(links), text))
        return scope

    def links(self, view: View, file: int) -> bytes:
        found = _links.get(file)
        if found is None:
            found = _links.put(file, view.links(file))
        return found


def _forget(_: _Generation, gone: Generation) -> None:
    """Forget what was found in a generation that is no more, and the files that no other generation has."""
    _answers.forget(lambda key: key[0] is gone.own)
    for forget in about_generations:
        forget(gone.own)
    living = [each.rows for each in _generations.values()]
    for file, row in gone.rows.items():
        if not any(file in rows for rows in living):
            _scopes.drop((file, row.path))
            _links.drop(file)


about_generations: list[Callable[[object], None]] = []
"""Who keeps something about a generation, under what stands for it, adds how that is forgotten."""
_generations: Cache[_Generation, Generation] = Cache(
    "resolve.generations",
    _GENERATION_BYTES,
    lambda known: _ROW_BYTES * len(known.files),
    lambda key: (key[0], key[3]),
    MOST_VIEWS,
    _forget,
)


def generation_of(view: View) -> Generation:
    key = (view.subject, view.state, view.layer.finished_at, view.is_blocked)
    found = _generations.get(key)
    return found if found is not None else _generations.put(key, Generation(list(view.files())))
