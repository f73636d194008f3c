"""A project at a glance: its files by folder, how much they are imported, which of them are ways in.

A module is a folder with code in it, called by the folder's own name; the project's name stands for the root. Several
folders may share a name; a path tells them apart.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from codecairn.beside import place_of
from codecairn.paths import module_name
from codecairn.resolve.known import known
from codecairn.store.view import FileRow, View

_ENTRY = re.compile(
    r"(?:^|/)(?:__main__\.py|main\.(?:py|go|rs|c|cc|cpp|ts|js|swift|kt|java|scala|dart|zig|hs)|Main\.(?:java|kt|hs|scala)"
    r"|manage\.py|cli\.(?:py|ts|js|rs)|app\.(?:py|ts|js|tsx)|server\.(?:py|ts|js|go)|wsgi\.py|asgi\.py|Program\.cs"
    r"|index\.(?:ts|js|php)|lib\.rs|mod\.ts)$"
)
_SHALLOW = frozenset({"index", "lib", "app", "server"})
"""Names that are a way in near the root, and anything at all further down."""
_NEAR_THE_ROOT = 2


@dataclass(frozen=True)
class Module:
    """A folder with files of its own."""

    name: str
    folder: str
    files: tuple[FileRow, ...]
    """Of the product where it has any, the most imported first."""
    importers: int
    """The sum over its files."""
    place: str


@dataclass(frozen=True)
class Survey:
    project: str
    files: tuple[FileRow, ...]
    importers: Mapping[str, int]

    @cached_property
    def product(self) -> list[FileRow]:
        """The code that is neither test nor example, the most imported first; any code where all of it is such."""
        code = [file for file in self.files if file.language and place_of(file.path, file.language) == "code"]
        return sorted(code or [file for file in self.files if file.language], key=self._weight)

    @cached_property
    def modules(self) -> list[Module]:
        """Those of the product, by how much they are imported, then the others."""
        folders: dict[str, list[FileRow]] = defaultdict(list)
        for file in self.files:
            folders[posixpath.dirname(file.path)].append(file)
        found = [self._module(folder, files) for folder, files in folders.items()]
        return sorted(found, key=lambda each: (each.place != "code", -each.importers, each.folder))

    def _module(self, folder: str, files: list[FileRow]) -> Module:
        own = [file for file in files if place_of(file.path, file.language) == "code"]
        place = "code" if own else Counter(place_of(each.path, each.language) for each in files).most_common(1)[0][0]
        shown = sorted(own or files, key=self._weight)
        importers = sum(self.importers[file.path] for file in shown)
        return Module(module_name(shown[0].path, self.project), folder, tuple(shown), importers, place)

    def named(self, name: str) -> list[Module]:
        """The modules of a name, or the one at a path; the weightiest first."""
        wanted = name.strip("/")
        at = [each for each in self.modules if each.folder == wanted and "/" in wanted]
        return at or [each for each in self.modules if wanted in (each.name, each.folder)]

    @cached_property
    def entries(self) -> list[FileRow]:
        """Files by whose name a program or a package begins, the shallowest first."""
        found = [file for file in self.product if _is_entry(file.path)]
        return sorted(found, key=lambda file: (file.path.count("/"), file.path))

    @cached_property
    def languages(self) -> list[tuple[str, int, int]]:
        """Each with its files and lines, the one with most lines first."""
        files, lines = Counter[str](), Counter[str]()
        for file in self.files:
            files[file.language] += 1
            lines[file.language] += file.lines
        return [(name, files[name], lines[name]) for name, _ in lines.most_common() if name]

    def _weight(self, file: FileRow) -> tuple[int, str]:
        return -self.importers[file.path], file.path


def survey(view: View, project: str) -> Survey:
    files, counts = known(view).rows.values(), view.counts()
    return Survey(project, tuple(files), {file.path: counts.get(file.path, 0) for file in files})


def _is_entry(path: str) -> bool:
    if _ENTRY.search(path) is None:
        return False
    stem = posixpath.basename(path).split(".")[0]
    return stem not in _SHALLOW or path.count("/") <= _NEAR_THE_ROOT
