"""Which files a file imports, and how many files import each file.

What an import names is found as the engine finds it (modules.py), but not followed: of `from package import name` the
package counts that passes the name on, not the file where it is defined. An import of a whole module of several files
(a Go package, a C# namespace) counts for each of them, one of a name in it for the file that defines the name. Each
importing file counts once; what is not in the project counts for nobody.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable

from codecairn.cancel import Cancel
from codecairn.names.qualified import module_of
from codecairn.parse.facts import Import
from codecairn.parse.language import languages
from codecairn.resolve.generation import Generation, generation_of
from codecairn.resolve.modules import Modules
from codecairn.resolve.packages import CONFIG
from codecairn.resolve.rules import rules_of
from codecairn.resolve.values import ModuleFiles
from codecairn.store.file_version import link_table
from codecairn.store.view import FileRow, View
from codecairn.words import identifiers

_HAVE_SUBMODULES = frozenset({"dotted", "crate"})
_NAME_WHAT_THEY_HOLD = frozenset({"crate", "package"})
_MOST_TOUCHED = 500


def files_of_imports(view: View, importer: FileRow, imports: Iterable[Import]) -> list[tuple[Import, list[FileRow]]]:
    """Each of a file's imports with the files of the project that it names, itself left out."""
    if _way(importer) == "none":
        return []
    named = ImportedFiles(view, generation_of(view))
    return [(each, named.files(importer, each)) for each in imports if each.module]


def count_importers(view: View, cancel: Cancel) -> dict[str, int]:
    """For each file that others import, how many do."""
    # Tables of their own: those of one run are of no use to the next generation, and are not kept.
    named = ImportedFiles(view, Generation(list(view.files())))
    counts = Counter[int]()
    for path in named.known.files:
        cancel.check()
        counts.update(named.by_path(path))
    return {named.known.rows[file].path: count for file, count in counts.items()}


def recount_importers(before: View, after: View, changed: Collection[str], cancel: Cancel) -> dict[str, int]:
    """The counts that differ between two views which differ in these paths; none is 0.

    What a file imports is found otherwise only where it names something that came or went: whoever does has the name
    in its text, and is looked at anew. Where a change may move what any import means, all are."""
    names = _changed_names(before, after, changed)
    counts = before.counts()
    if names is None or len(names) > _MOST_TOUCHED:
        whole = count_importers(after, cancel)
        return {path: whole.get(path, 0) for path in {*whole, *counts} if whole.get(path, 0) != counts.get(path, 0)}
    delta = Counter[str]()
    for view, sign in ((before, -1), (after, 1)):
        named = ImportedFiles(view, Generation(list(view.files())))
        using = {named.known.rows[file].path for name in names for file in view.using(name) if file in named.known.rows}
        # Who uses a name in one view does in the other, unless it changed itself.
        for path in sorted(using.union(changed) & named.known.files.keys()):
            cancel.check()
            for file in named.by_path(path):
                delta[named.known.rows[file].path] += sign
    return {path: counts.get(path, 0) + change for path, change in delta.items() if change}


def _changed_names(before: View, after: View, changed: Collection[str]) -> set[str] | None:
    """The names by which an import may mean something else than before; None where any import may."""
    names: set[str] = set()
    rules = [each.data.resolve for each in languages().values()]
    manifests, indexes = {each.manifest for each in rules}, {index for each in rules for index in each.index}
    for path in changed:
        one, other = before.file_at(path), after.file_at(path)
        stem = posixpath.basename(path).partition(".")[0]
        if posixpath.basename(path) in manifests or CONFIG.search(path):
            return None
        if one is None and other is None:
            continue
        if one is None or other is None:
            if stem in indexes or not identifiers(stem):
                return None
            names |= _all_names(before if one else after, one or other, stem)
        elif (one.language, one.package) != (other.language, other.package):
            return None
        else:
            names |= _top_names(before, one) ^ _top_names(after, other)
    return names


def _all_names(view: View, row: FileRow | None, stem: str) -> set[str]:
    """What an import has to say, at the least one of it, to mean a file or something in it."""
    assert row is not None
    folder = posixpath.basename(posixpath.dirname(row.path))
    module = re.split(r"\W+", module_of(row))
    return {*_top_names(view, row), *identifiers(f"{stem} {folder}"), *module[-1:]} - {""}


def _top_names(view: View, row: FileRow) -> set[str]:
    own = {symbol.name for symbol in view.symbols(row.id) if symbol.parent < 0}
    return own | {each.alias or each.name for each in link_table(view.links(row.id)).imports}


class ImportedFiles:
    """The files that imports name."""

    def __init__(self, view: View, among: Generation) -> None:
        self._view = view
        self.known = among
        self._modules = Modules(view, among)
        self._held: dict[tuple[str, ModuleFiles, str], Iterable[int]] = {}
        self._reexported: dict[int, frozenset[str]] = {}

    def by_path(self, path: str) -> set[int]:
        """The other files that the file of a path imports."""
        row = self.known.files[path]
        return self.by(row) - {row.id} if _way(row) != "none" else set()

    def by(self, importer: FileRow) -> set[int]:
        names: dict[str, set[str]] = {}
        for each in self._imports(importer.id):
            if each.module:
                names.setdefault(each.module, set()).add(each.name)
        return {
            file
            for path, wanted in names.items()
            for module in (self._modules.find(importer, path),)
            for name in wanted
            for file in self._files_in(importer, module, path, name)
        }

    def files(self, importer: FileRow, each: Import) -> list[FileRow]:
        found = {self.known.rows[file].path for file in self._files(importer, each.module, each.name)}
        return [self.known.files[path] for path in sorted(found - {importer.path})]

    def _imports(self, file: int) -> list[Import]:
        return link_table(self._view.links(file)).imports

    def _files(self, importer: FileRow, path: str, name: str) -> Iterable[int]:
        return self._files_in(importer, self._modules.find(importer, path), path, name)

    def _files_in(self, importer: FileRow, module: ModuleFiles | None, path: str, name: str) -> Iterable[int]:
        way = _way(importer)
        if module is None:
            return self._holders(importer, path) if way in _NAME_WHAT_THEY_HOLD else ()
        if name in ("", "*"):
            return module.files
        key = (importer.language, module, name)
        if key not in self._held:
            self._held[key] = self._holding(importer, module, name)
        return self._held[key]

    def _holding(self, importer: FileRow, module: ModuleFiles, name: str) -> Iterable[int]:
        way = _way(importer)
        inner = self._modules.submodule(importer, module, name) if way in _HAVE_SUBMODULES else None
        if inner is not None and not self._has(module, name):
            return inner.files
        return self._defining(module, name) if way == "package" else module.files

    def _holders(self, importer: FileRow, path: str) -> list[int]:
        """The files with a type of which an import names an item: `use a::Type::Item`."""
        before, _, last = path.rpartition("::" if _way(importer) == "crate" else ".")
        outer = self._modules.find(importer, before) if before else None
        return self._defining(outer, last) if outer is not None else []

    def _has(self, module: ModuleFiles, name: str) -> bool:
        """Whether a module has something of its own, or passes something on, that is named as a module in it is;
        `mod name;` only says that the inner one is there."""
        own = self._defining(module, name, but="module")
        return bool(own) or any(name in self._reexports(file) for file in module.files)

    def _defining(self, module: ModuleFiles, name: str, but: str = "") -> list[int]:
        named = self.known.definitions_named(self._view, name)
        found = {row.id for row, symbol in named if symbol.parent < 0 and symbol.kind != but}
        return [file for file in module.files if file in found]

    def _reexports(self, file: int) -> frozenset[str]:
        if file not in self._reexported:
            row = self.known.rows[file]
            others = (each for each in self._imports(file) if not self._is_itself(row, each.module))
            self._reexported[file] = frozenset(each.alias or each.name for each in others)
        return self._reexported[file]

    def _is_itself(self, importer: FileRow, path: str) -> bool:
        """Whether a module imports from itself, as `from . import inner` does: what it passes on is the inner one."""
        module = self._modules.find(importer, path)
        return module is not None and importer.id in module.files


def _way(importer: FileRow) -> str:
    return rules_of(importer.language).rules.imports
