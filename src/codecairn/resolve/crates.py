"""The crates of a repository: by which name each is known, and in which module its paths begin.

A crate is named in the manifest of its package, which need not be the name of its folder; `crate` in a file is the
crate whose root stands nearest above it. Modules are written as `module_of` writes them, from the folders alone.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from codecairn.names.qualified import module_of
from codecairn.store.view import FileRow, View

_SECTION = re.compile(r"^\[(package|lib)\]((?:\n(?!\[)[^\n]*)*)", re.MULTILINE)
_FIELD = re.compile(r"^(name|path)\s*=\s*[\"']([^\"'\n]+)", re.MULTILINE)
_ROOTS = ("lib.rs", "main.rs")


@dataclass(frozen=True)
class Crates:
    roots: dict[str, tuple[FileRow, ...]]
    """The root of each library by the name that paths begin with."""
    folders: frozenset[str]
    """Where packages are."""


def read_crates(view: View, manifests: list[FileRow], files: dict[str, FileRow]) -> Crates:
    found = dict[str, tuple[FileRow, ...]]()
    for manifest in manifests:
        folder, text = posixpath.dirname(manifest.path), view.text(manifest.id)
        for name, path in _libraries(text):
            root = files.get(posixpath.normpath(posixpath.join(folder, path)))
            if root is not None:
                found.setdefault(name, (root,))
    return Crates(found, frozenset(posixpath.dirname(each.path) for each in manifests))


def _libraries(text: str) -> Iterator[tuple[str, str]]:
    """The library that a manifest declares: its name and its root."""
    sections = {name: dict[str, str](_FIELD.findall(fields)) for name, fields in _SECTION.findall(text)}
    library = sections.get("lib", {})
    name = library.get("name", sections.get("package", {}).get("name", ""))
    if name:
        yield name.replace("-", "_"), library.get("path", "src/lib.rs")


def crate_of(importer: FileRow, crates: Crates, files: dict[str, FileRow]) -> list[str]:
    """The module in which the paths of a file's crate begin."""
    folder = posixpath.dirname(importer.path)
    while True:
        roots = [files[path] for path in (posixpath.join(folder, each) for each in _ROOTS) if path in files]
        if roots:
            return _parts(module_of(roots[0]))
        outer = posixpath.dirname(folder)
        if not folder or folder in crates.folders:
            return []
        if outer in crates.folders:
            # A folder of tests or examples, each of which is a crate.
            return _parts(module_of(importer))[: 1 + outer.count("/") + bool(outer)]
        folder = outer


def _parts(module: str) -> list[str]:
    return [part for part in module.split("::") if part]
