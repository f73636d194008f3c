"""A project at a glance: its files by folder, how much they are imported, which of them are ways in.

A module is a folder with code in it, called by the folder's own name; the project's name stands for the root. Several
folders may share a name; a path tells them apart.
"""

from __future__ import annotations

import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from codecairn.catalog.entries import Catalog
from codecairn.context.central_symbols import FileUses
from codecairn.file_roles import Role, is_product, role_of
from codecairn.history.churn import Churn
from codecairn.paths import module_name
from codecairn.resolve.generation import generation_of
from codecairn.store.view import FileRow, View


@dataclass(frozen=True)
class ModuleFolder:
    """A folder with files of its own."""

    name: str
    folder: str
    files: tuple[FileRow, ...]
    """Of the product where it has any, the most imported first."""
    importers: int
    """The sum over its files."""
    role: Role


@dataclass(frozen=True)
class Survey:
    project: str
    files: tuple[FileRow, ...]
    importers: Mapping[str, int]

    @cached_property
    def product(self) -> list[FileRow]:
        """The code that is neither test nor example, the most imported first; any code where all of it is such."""
        code = [file for file in self.files if file.language and is_product(file.path, file.language)]
        return sorted(code or [file for file in self.files if file.language], key=self._weight)

    @cached_property
    def modules(self) -> list[ModuleFolder]:
        """Those of the product, by how much they are imported, then the others."""
        folders: dict[str, list[FileRow]] = defaultdict(list)
        for file in self.files:
            folders[posixpath.dirname(file.path)].append(file)
        found = [self._module(folder, files) for folder, files in folders.items()]
        return sorted(found, key=lambda each: (each.role != "source", -each.importers, each.folder))

    def _module(self, folder: str, files: list[FileRow]) -> ModuleFolder:
        own = [file for file in files if is_product(file.path, file.language)]
        shown = sorted(own or files, key=self._weight)
        importers = sum(self.importers[file.path] for file in shown)
        name = module_name(shown[0].path, self.project)
        return ModuleFolder(name, folder, tuple(shown), importers, "source" if own else common_role(files))

    def find_modules(self, name: str) -> list[ModuleFolder]:
        """The modules of a name, or the one at a path; the weightiest first."""
        wanted = name.strip("/")
        at = [each for each in self.modules if each.folder == wanted and "/" in wanted]
        return at or [each for each in self.modules if wanted in (each.name, each.folder)]

    @cached_property
    def entries(self) -> list[FileRow]:
        """Files by whose name a program or a package begins, the shallowest first."""
        found = [file for file in self.product if role_of(file.path) == "entry"]
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


@dataclass(frozen=True)
class ProjectFacts:
    """All that is known of a project, from which its pages are made."""

    survey: Survey
    uses: FileUses
    churn: Churn
    catalog: Catalog


def survey(view: View, project: str) -> Survey:
    files, counts = generation_of(view).rows.values(), view.counts()
    return Survey(project, tuple(files), {file.path: counts.get(file.path, 0) for file in files})


def common_role(files: Iterable[FileRow]) -> Role:
    """The role that most of some files have; that of the product's code is `source`, whatever it is in detail."""
    keys = [(each.path, each.language) for each in files]
    roles = Counter[Role]("source" if is_product(*key) else role_of(*key) for key in keys)
    return roles.most_common(1)[0][0]
