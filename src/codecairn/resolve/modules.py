"""Which files an import names, in each of the ways languages have of naming them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from codecairn.names.qualified import module_of
from codecairn.parse.language import family, languages
from codecairn.parse.name_rules import NameRules
from codecairn.resolve.crates import Crates, crate_of, read_crates
from codecairn.resolve.generation import ASKED_FIRST, Generation
from codecairn.resolve.rules import rules_of
from codecairn.resolve.values import ModuleFiles
from codecairn.store.view import FileRow, View


class Modules:
    def __init__(self, view: View, known: Generation) -> None:
        self._view = view
        self._known = known
        self.files = known.files
        self._declared: dict[tuple[str, str], tuple[str, str] | None] = {}
        self._roots_by_package: dict[str, dict[str, set[str]]] = {}
        self._packages: dict[tuple[str, str], bool] = {}
        self._places: dict[tuple[str, str], ModuleFiles | None] = {}

    def find(self, importer: FileRow, module: str) -> ModuleFiles | None:
        """The module that an import in a file names; None for what is not in the project."""
        path = importer.path
        place = path if _rules(importer).imports == "crate" else path.rpartition("/")[0]
        key = ("module", importer.language, place, module)
        found: ModuleFiles | None = self._known.answer(key, ASKED_FIRST)
        if found is not ASKED_FIRST:
            return found
        return self._known.keep(key, self._find(importer, module) if module else None)

    def _find(self, importer: FileRow, module: str) -> ModuleFiles | None:
        ways = {"dotted": self._by_dots, "path": self._by_path, "folder": self._by_folder, "crate": self._by_crate,
                "package": self._by_package, "include": self._by_include}  # fmt: skip
        way = ways.get(_rules(importer).imports)
        return way(importer, module) if way is not None else None

    def beside(self, importer: FileRow) -> list[FileRow]:
        """The other files whose top-level names are seen in this one without an import."""
        folder = posixpath.dirname(importer.path)
        if _rules(importer).shares == "folder":
            return [
                each
                for each in self._known.folders.get(folder, [])
                if each.language == importer.language and each.package == importer.package and each != importer
            ]
        if _rules(importer).shares == "package":
            return [
                each
                for each in self._known.packages.get((importer.language, module_of(importer)), [])
                if each != importer
            ]
        return []

    def is_beside(self, importer: FileRow, row: FileRow) -> bool:
        """Whether a file is one of those beside another; to list them all takes as long as there are files."""
        own = importer
        if row.language != own.language or row == own:
            return False
        if _rules(importer).shares == "folder":
            return posixpath.dirname(row.path) == posixpath.dirname(own.path) and row.package == own.package
        return _rules(importer).shares == "package" and bool(module := module_of(own)) and module_of(row) == module

    # One way each.

    def _by_dots(self, importer: FileRow, module: str) -> ModuleFiles | None:
        folder = posixpath.dirname(importer.path)
        dots = len(module) - len(module.lstrip("."))
        parts = [part for part in module.lstrip(".").split(".") if part]
        if dots:
            for _ in range(dots - 1):
                folder = posixpath.dirname(folder)
            return self._at(importer, posixpath.join(folder, *parts))
        root = self._root(importer, folder, parts[0])
        return self._at(importer, "/".join([root, *parts] if root else parts)) if root is not None else None

    def _root(self, importer: FileRow, folder: str, first: str) -> str | None:
        """Where the first part of an absolute import is found that stands in a folder."""
        key = ("root", importer.language, folder, first)
        known: str | None = self._known.answer(key, ASKED_FIRST)
        if known is not ASKED_FIRST:
            return known
        roots = self._roots(importer, folder)
        found = next((root for root in roots if self._at(importer, posixpath.join(root, first))), None)
        return self._known.keep(key, self._other_root(importer, first) if found is None else found)

    def _other_root(self, importer: FileRow, first: str) -> str | None:
        """The folder of the only package of a name that is a project of its own in the same repository."""
        roots = self._package_roots(importer).get(first, ())
        outer = [root for root in roots if not self._is_package(importer, root)]
        return outer[0] if len(outer) == 1 else None

    def _package_roots(self, importer: FileRow) -> dict[str, set[str]]:
        """The folders that hold a package, by its name."""
        known = self._roots_by_package.get(importer.language)
        if known is not None:
            return known
        rules, found = _rules(importer), dict[str, set[str]]()
        for index in (f"{index}{ending}" for index in rules.index for ending in rules.endings):
            for file in self._known.namesakes.get(index, ()):
                root, name = posixpath.split(posixpath.dirname(file.path))
                found.setdefault(name, set()).add(root)
        return self._roots_by_package.setdefault(importer.language, found)

    def _is_package(self, importer: FileRow, folder: str) -> bool:
        key = (importer.language, folder)
        known = self._packages.get(key)
        if known is None:
            rules = _rules(importer)
            known = self._packages[key] = any(
                posixpath.join(folder, f"{index}{ending}") in self.files
                for index in rules.index for ending in rules.endings
            )  # fmt: skip
        return known

    def _roots(self, importer: FileRow, folder: str) -> list[str]:
        """Where absolute imports are looked for: the folders above that are no packages, and `src` in them; at last the
        project itself, even where it has become one."""
        roots = []
        while True:
            if not folder or not self._is_package(importer, folder):
                roots += [folder, *(posixpath.join(folder, root) for root in _rules(importer).roots)]
            if not folder:
                return roots
            folder = posixpath.dirname(folder)

    def _at(self, importer: FileRow, base: str) -> ModuleFiles | None:
        key = (importer.language, base)
        if key not in self._places:
            self._places[key] = self._find_at(importer, base)
        return self._places[key]

    def _find_at(self, importer: FileRow, base: str) -> ModuleFiles | None:
        base = posixpath.normpath(base) if base else ""
        base = "" if base == "." else base
        for ending in _rules(importer).endings:
            if f"{base}{ending}" in self.files:
                return ModuleFiles((self.files[f"{base}{ending}"].id,))
        for index in _rules(importer).index:
            for ending in _rules(importer).endings:
                path = f"{base}/{index}{ending}" if base else f"{index}{ending}"
                if path in self.files:
                    return ModuleFiles((self.files[path].id,), base)
        is_folder = _rules(importer).imports == "dotted" and base in self._known.ancestors
        return ModuleFiles((), base) if is_folder else None

    def _by_path(self, importer: FileRow, module: str) -> ModuleFiles | None:
        folder = posixpath.dirname(importer.path)
        if module.startswith("."):
            return self._script(importer, posixpath.join(folder, module))
        places = self._known.manifests(self._view).places(folder, module)
        return next((found for place in places if (found := self._script(importer, place)) is not None), None)

    def _script(self, importer: FileRow, base: str) -> ModuleFiles | None:
        ending = max((each for each in _rules(importer).endings if base.endswith(each)), key=len, default="")
        bare = base.removesuffix(ending)
        found = self._at(importer, bare) or (self._at(importer, base) if bare != base else None)
        if found is None:
            found = next(filter(None, (self._at(importer, place) for place in self._entries(base))), None)
        whole = self.files.get(posixpath.normpath(base)) if found is None else None
        return ModuleFiles((whole.id,)) if whole and family(whole.language) == family(importer.language) else found

    def _entries(self, folder: str) -> Iterator[str]:
        """Where a folder begins that has a manifest, without endings."""
        folder = posixpath.normpath(folder).removeprefix(".").strip("/")
        for place in self._known.manifests(self._view).entries(folder):
            yield posixpath.join(folder, posixpath.splitext(place)[0])

    def _by_folder(self, importer: FileRow, module: str) -> ModuleFiles | None:
        own = self._module_around(_rules(importer), posixpath.dirname(importer.path))
        for prefix, root in [own, *self._modules_declared(_rules(importer))] if own is not None else ():
            if module == prefix or module.startswith(f"{prefix}/"):
                folder = posixpath.join(root, module[len(prefix) :].strip("/"))
                beside = self._known.folders.get(folder.strip("/"), [])
                files = [each.id for each in beside if each.language == importer.language and not _is_test_file(each)]
                if files:
                    return ModuleFiles(tuple(files))
        return None

    def _modules_declared(self, rules: NameRules) -> list[tuple[str, str]]:
        """Every module of the project and where it is rooted, the longest name first."""
        found: list[tuple[str, str]] | None = self._known.answer(("modules", rules.manifest))
        if found is None:
            roots = {posixpath.dirname(each.path) for each in self._known.namesakes.get(rules.manifest, ())}
            around = (self._module_around(rules, root) for root in sorted(roots))
            found = sorted({each for each in around if each is not None}, key=lambda each: (-len(each[0]), each[1]))
            self._known.keep(("modules", rules.manifest), found)
        return found

    def _module_around(self, rules: NameRules, folder: str) -> tuple[str, str] | None:
        """The module around a folder and where it is rooted. Folders may be nested deeper than calls may be."""
        passed, found = list[tuple[str, str]](), None
        while (rules.manifest, folder) not in self._declared:
            passed.append((rules.manifest, folder))
            declared = self.files.get(posixpath.join(folder, rules.manifest))
            text = self._view.text(declared.id) if declared else ""
            name = re.search(rules.manifest_name, text, re.MULTILINE)
            if name is not None or not folder:
                found = (name[1], folder) if name else None
                break
            folder = posixpath.dirname(folder)
        else:
            found = self._declared[rules.manifest, folder]
        self._declared.update(dict.fromkeys(passed, found))
        return found

    def _by_crate(self, importer: FileRow, module: str) -> ModuleFiles | None:
        crates = self._crates(importer)
        own = [part for part in module_of(importer).split("::") if part]
        crate, parts = crate_of(importer, crates, self.files), module.split("::")
        if parts[0] == "crate":
            return self._of_crate(importer, crate + parts[1:])
        if parts[0] == "self":
            return self._of_crate(importer, own + parts[1:])
        if parts[0] == "super":
            while parts and parts[0] == "super":
                own, parts = own[:-1], parts[1:]
            return self._of_crate(importer, own + parts)
        named = [[*module_of(root).split("::"), *parts[1:]] for root in crates.roots.get(parts[0], ())]
        bases = (own + parts, *named, parts, crate + parts)
        return next(filter(None, (self._of_crate(importer, base) for base in bases)), None)

    def _of_crate(self, importer: FileRow, parts: list[str]) -> ModuleFiles | None:
        """The files of a module that is written in full; the roots of the outermost package where nothing is."""
        path = "::".join(part for part in parts if part)
        if path:
            files = self._known.packages.get((importer.language, path), [])
        else:
            roots = (self.files.get(f"src/{index}.rs") for index in ("lib", "main"))
            files = [each for each in roots if each is not None]
        return ModuleFiles(tuple(each.id for each in files), path) if files else None

    def _crates(self, importer: FileRow) -> Crates:
        found: Crates | None = self._known.answer(("crates",))
        if found is not None:
            return found
        manifests = sorted(self._known.namesakes.get(_rules(importer).manifest, ()), key=lambda each: each.path)
        return self._known.keep(("crates",), read_crates(self._view, manifests, self.files))

    def _by_package(self, importer: FileRow, module: str) -> ModuleFiles | None:
        files = self._known.packages.get((importer.language, module.strip("\\").strip(".")))
        return ModuleFiles(tuple(each.id for each in files)) if files else None

    def _by_include(self, importer: FileRow, module: str) -> ModuleFiles | None:
        module = re.sub(f"^(?:{_rules(importer).prefix})", "", module)
        near = posixpath.normpath(posixpath.join(posixpath.dirname(importer.path), module))
        if near in self.files:
            return ModuleFiles((self.files[near].id,))
        for ending in ("", *_rules(importer).endings):
            named = self._known.namesakes.get(posixpath.basename(module) + ending, [])
            found = [file for file in named if f"/{file.path}".endswith(f"/{module}{ending}")]
            if found:
                return ModuleFiles((found[0].id,)) if len(found) == 1 else None
        return None

    def is_own(self, importer: FileRow, module: str) -> bool:
        """Whether a path begins in the project, so that what is not found there is not known to be a library's."""
        way = _rules(importer).imports
        if module.startswith((".", "/", "@/", "~/", "#")):
            return True
        if way == "path":
            is_folder = f"packages/{module.partition('/')[0]}" in self._known.ancestors
            return is_folder or self._known.manifests(self._view).has_package(module)
        if way == "folder":
            own = self._module_around(_rules(importer), posixpath.dirname(importer.path))
            return own is not None and f"{module}/".startswith(f"{own[0]}/")
        if way in ("dotted", "package"):
            first = module.split(".")
            before = (".".join(first[:end]) for end in range(len(first) - 1, 0, -1))
            return any(self.find(importer, each) is not None for each in before)
        return False

    def submodule(self, importer: FileRow, module: ModuleFiles, name: str) -> ModuleFiles | None:
        if module.folder is None:
            return None
        if _rules(importer).imports == "dotted":
            return self._at(importer, posixpath.join(module.folder, name))
        path = f"{module.folder}::{name}" if module.folder else name
        files = self._known.packages.get((importer.language, path))
        return ModuleFiles(tuple(each.id for each in files), path) if files else None


def _is_test_file(file: FileRow) -> bool:
    globs = languages()[file.language].data.test_files
    return any(fnmatchcase(posixpath.basename(file.path), glob) for glob in globs)


def _rules(importer: FileRow) -> NameRules:
    return rules_of(importer.language).rules
