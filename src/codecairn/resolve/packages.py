"""Where a script's import leads that names no path: `paths` of a tsconfig, or a package of the same repository.

A package is found by the `name` in its package.json, what is asked of it by its `exports`. Those mostly name what a
build will put somewhere (`./dist/core/index.js`), so the same below `src` is tried as well; what is no file of the
project is passed over.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from codecairn.file_roles import is_test
from codecairn.store.view import FileRow, View

CONFIG = re.compile(r"(?:^|/)[jt]sconfig[^/]*\.json$")
# What is not closed goes to the end: looking for its end again from each later mark would take the square of the time.
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*(?:"|\Z|\\\Z))|//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)|,(?=\s*[}\]])')
_BUILT = frozenset({"dist", "lib", "build", "out", "esm", "cjs", "es", "types"})
_ENTRIES = ("source", "types", "typings", "module", "main")
_DEEPEST = 5
_DEEPEST_EXPORT = 20


@dataclass(frozen=True)
class Manifests:
    """The package.json and tsconfig files of one generation, read."""

    packages: dict[str, tuple[str, dict[str, Any]]]
    """By name, with the folder."""
    configs: dict[str, dict[str, Any]]

    def places(self, folder: str, module: str) -> Iterator[str]:
        """Where a module may be that is imported in a folder, the likeliest first, with or without an ending."""
        yield from self._map_path(folder, module)
        name = next((each for each in _prefixes(module) if each in self.packages), None)
        if name is not None:
            home, package = self.packages[name]
            for place in _inside(package, module[len(name) :].strip("/")):
                yield posixpath.join(home, place)

    def entries(self, folder: str) -> Iterator[str]:
        """Where what a package gives may begin, from its folder."""
        package = next((package for home, package in self.packages.values() if home == folder), None)
        return _inside(package, "") if package is not None else iter(())

    def has_package(self, module: str) -> bool:
        """Whether a module is in a package of the repository, or a path that a configuration maps."""
        return any(each in self.packages for each in _prefixes(module))

    def _map_path(self, folder: str, module: str) -> Iterator[str]:
        config = self._config(folder)
        base, paths = self._paths(config, 0) if config else ("", {})
        for pattern, targets in paths.items():
            star = _star(pattern, module)
            for target in targets if star is not None and isinstance(targets, list) else ():
                yield posixpath.normpath(posixpath.join(base, str(target).replace("*", star or "")))
        if config and "baseUrl" in self._options(config):
            yield posixpath.normpath(posixpath.join(base, module))

    def _config(self, folder: str) -> str:
        """The nearest configuration at or above a folder; of several there, the one that maps paths."""
        while True:
            if here := self._by_folder.get(folder):
                return next((path for path in here if self._paths(path, 0)[1]), here[0])
            if not folder:
                return ""
            folder = posixpath.dirname(folder)

    @cached_property
    def _by_folder(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.configs):
            found[posixpath.dirname(path)].append(path)
        return dict(found)

    def _paths(self, config: str, depth: int) -> tuple[str, dict[str, Any]]:
        """The folder that mapped paths are relative to, and the mapping, its own or inherited."""
        options, folder = self._options(config), posixpath.dirname(config)
        base = posixpath.normpath(posixpath.join(folder, str(options.get("baseUrl", ""))))
        if isinstance(options.get("paths"), dict) or depth == _DEEPEST:
            return base, options.get("paths") or {}
        for each in _string_list(self.configs.get(config, {}).get("extends")):
            parent = posixpath.normpath(posixpath.join(folder, each))
            for path in (parent, f"{parent}.json"):
                if path in self.configs:
                    return self._paths(path, depth + 1)
        return base, {}

    def _options(self, config: str) -> dict[str, Any]:
        options = self.configs.get(config, {}).get("compilerOptions")
        return options if isinstance(options, dict) else {}


def manifests(view: View, files: dict[str, FileRow]) -> Manifests:
    packages: dict[str, list[tuple[str, dict[str, Any]]]] = defaultdict(list)
    configs = {path: _read(view, file) for path, file in files.items() if CONFIG.search(path)}
    for path, file in files.items():
        if posixpath.basename(path) == "package.json" and not is_test(path):
            package = _read(view, file)
            packages[str(package.get("name", ""))].append((posixpath.dirname(path), package))
    # A name that two packages have is no one's.
    return Manifests({name: found[0] for name, found in packages.items() if name and len(found) == 1}, configs)


def _read(view: View, file: FileRow) -> dict[str, Any]:
    try:
        read = json.loads(_COMMENT.sub(lambda match: match[1] or "", view.text(file.id)))
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _prefixes(module: str) -> Iterator[str]:
    """The module and what it is inside of, the longest first: a/b/c, a/b, a."""
    while module:
        yield module
        module = module.rpartition("/")[0]


def _inside(package: dict[str, Any], rest: str) -> Iterator[str]:
    for target in _export_targets(package.get("exports"), f"./{rest}" if rest else "."):
        yield from _sources(target)
    for entry in _ENTRIES if not rest else ():
        yield from (place for target in _string_list(package.get(entry)) for place in _sources(target))
    yield from (posixpath.join("src", rest or "index"), rest or "index")


def _export_targets(exports: Any, wanted: str) -> Iterator[str]:
    if isinstance(exports, dict) and any(key.startswith(".") for key in exports):
        for key, target in exports.items():
            if (star := _star(key, wanted)) is not None:
                yield from (each.replace("*", star) for each in _strings(target))
    elif wanted == ".":
        yield from _strings(exports)


def _strings(target: Any, depth: int = 0) -> Iterator[str]:
    """Whatever the conditions of an export lead to; those nested beyond reason lead nowhere."""
    if depth > _DEEPEST_EXPORT:
        return
    if isinstance(target, str):
        yield target
    for each in target.values() if isinstance(target, dict) else target if isinstance(target, list) else ():
        yield from _strings(each, depth + 1)


def _sources(target: str) -> Iterator[str]:
    """A file of a package, and where its source may be if a build makes it."""
    parts = posixpath.normpath(target).split("/")
    yield "/".join(parts)
    if parts[0] in _BUILT:
        yield "/".join(["src", *parts[1:]])
    yield "/".join(["src", *parts])


def _star(pattern: str, text: str) -> str | None:
    """What the star of a pattern stands for in a text; None where the text does not fit."""
    before, star, after = pattern.partition("*")
    if not star:
        return "" if pattern == text else None
    fits = text.startswith(before) and text.endswith(after) and len(text) >= len(before) + len(after)
    return text[len(before) : len(text) - len(after)] if fits else None


def _string_list(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str)]
