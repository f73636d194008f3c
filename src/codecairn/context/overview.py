"""The overview of a project, as values: what it is, how it is laid out, what much of it rests on, what moves in it."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from codecairn.catalog.entries import Catalog
from codecairn.context.central import Central, Place, Uses, central
from codecairn.context.openings import README, first_paragraph, opening
from codecairn.context.stack import Manifest
from codecairn.context.survey import Module, Survey, common_role
from codecairn.history.churn import Churn
from codecairn.roles import Role
from codecairn.store.view import FileRow, View
from codecairn.types import CatalogEntry

_MODULES, _KEY_FILES, _KEY_SYMBOLS, _SYMBOLS, _HOT, _HOT_BESIDE, _DOCUMENTS, _RULES = 16, 3, 4, 20, 10, 3, 8, 8
_FOLDERS, _INNER = 14, 12
_DOCUMENT = re.compile(
    r"^(?:docs?/)?(?:readme|contributing|architecture|design|hacking|development|agents|claude|overview|index|getting[-_]"
    r"started|security|style(?:guide)?)(?:\.\w+)?$",
    re.IGNORECASE,
)
_BINDING = ("mandatory", "critical")


@dataclass(frozen=True)
class Folder:
    """A folder of the root, with what is below it."""

    name: str
    files: int
    language: str
    role: Role
    inner: tuple[tuple[str, int], ...] = ()
    """Folders inside it, with how many files each has below it."""
    inner_omitted: int = 0


@dataclass(frozen=True)
class KeyModule:
    module: Module
    about: str
    key_files: tuple[FileRow, ...]
    symbols: tuple[str, ...]
    """What the rest of the product uses most of it."""


@dataclass(frozen=True)
class Hot:
    path: str
    commits: int


@dataclass(frozen=True)
class Overview:
    survey: Survey
    about: str
    manifests: tuple[Manifest, ...]
    folders: tuple[Folder, ...]
    modules: tuple[KeyModule, ...]
    central: tuple[Central, ...]
    counts_all: bool
    """Whether the uses of every file of the product were counted."""
    hot: tuple[Hot, ...]
    hot_beside: tuple[Hot, ...]
    churn: Churn
    documents: tuple[tuple[str, str], ...]
    rules: tuple[CatalogEntry, ...]
    rules_in_all: int
    omitted: Mapping[str, int]
    """What there is more of than is shown, by what it is."""


def overview(
    view: View, survey: Survey, uses: Uses, churn: Churn, manifests: list[Manifest], catalog: Catalog
) -> Overview:
    folders = _folders(survey)
    modules = [each for each in survey.modules if each.role == "source"]
    hot = hot_files(survey, churn)
    documents = [file for file in survey.files if _DOCUMENT.match(file.path)]
    binding = binding_rules(catalog)
    used = _by_folder(uses.counts())
    return Overview(
        survey=survey, about=_about(view, survey), manifests=tuple(manifests), folders=tuple(folders[:_FOLDERS]),
        modules=tuple(_key_module(view, each, used.get(each.folder, [])) for each in modules[:_MODULES]),
        central=tuple(central(view, uses, _SYMBOLS)), counts_all=uses.is_whole,
        hot=tuple(hot["code"][:_HOT]), hot_beside=tuple(hot["beside"][:_HOT_BESIDE]), churn=churn,
        documents=tuple((each.path, _about_file(view, each)) for each in documents[:_DOCUMENTS]),
        rules=tuple(binding[:_RULES]), rules_in_all=len(catalog.entries),
        omitted={
            "folders": len(folders) - _FOLDERS, "modules": len(modules) - _MODULES,
            "files": len(hot["code"]) - _HOT, "rules": len(binding) - _RULES,
        },
    )  # fmt: skip


def binding_rules(catalog: Catalog) -> list[CatalogEntry]:
    """Those nobody may pass over, the weightiest first."""
    binding = (each.value for each in catalog.entries.values() if each.value.requirement in _BINDING)
    return sorted(binding, key=lambda each: (each.priority, each.id))


def hot_files(survey: Survey, churn: Churn, folder: str | None = None) -> dict[str, list[Hot]]:
    """Files that are still there by how many commits changed them: of the product, and beside it."""
    product = {file.path for file in survey.product}
    found: dict[str, list[Hot]] = {"code": [], "beside": []}
    for path in survey.importers:
        commits = churn.changes.get(path, 0)
        if commits > 1 and (folder is None or posixpath.dirname(path) == folder):
            found["code" if path in product else "beside"].append(Hot(path, commits))
    return {place: sorted(rows, key=lambda each: (-each.commits, each.path)) for place, rows in found.items()}


def module_about(view: View, module: Module) -> str:
    """What a folder's own document, or the file that stands for it, says of it."""
    here = [each for each in view.files_below(module.folder) if posixpath.dirname(each.path) == module.folder]
    readme = next((each for each in here if README.match(posixpath.basename(each.path))), None)
    first = [readme] if readme is not None and module.folder else []
    standing = [each for each in here if re.match(r"(?:__init__|doc|mod|lib|index|package-info)\.", _base(each.path))]
    return next((said for each in (*first, *standing) if (said := _about_file(view, each))), "")


def _by_folder(counts: Counter[Place]) -> dict[str, list[str]]:
    """The definitions of each folder, the most used first."""
    found: dict[str, list[str]] = {}
    for place in sorted(counts, key=lambda place: (-counts[place], place)):
        found.setdefault(posixpath.dirname(place.path), []).append(place.symbol)
    return found


def _key_module(view: View, module: Module, used: list[str]) -> KeyModule:
    return KeyModule(module, module_about(view, module), module.files[:_KEY_FILES], tuple(used[:_KEY_SYMBOLS]))


def _about(view: View, survey: Survey) -> str:
    readme = next((file for file in survey.files if README.match(file.path)), None)
    return first_paragraph(view.text(readme.id)) if readme is not None else ""


def _about_file(view: View, file: FileRow) -> str:
    return opening(view.text(file.id), file.language)


def _folders(survey: Survey) -> list[Folder]:
    """The folders of the root, those with most of the product first."""
    below: dict[str, list[FileRow]] = {}
    for file in survey.files:
        if "/" in file.path:
            below.setdefault(file.path.split("/", 1)[0], []).append(file)
    found = [_folder(name, files) for name, files in below.items()]
    return sorted(found, key=lambda each: (each.role != "source", -each.files, each.name))


def _folder(name: str, files: list[FileRow]) -> Folder:
    """A folder that holds nothing but another is told as the other: `src/shop/` for `src/`."""
    while len(inside := {each.path[len(name) + 1 :].split("/", 1)[0] for each in files}) == 1:
        only = f"{name}/{inside.pop()}"
        if any(each.path == only for each in files):
            break
        name = only
    role = common_role(files)
    language = Counter(each.language or "other" for each in files).most_common(1)[0][0]
    below = (each.path[len(name) + 1 :].split("/") for each in files)
    inner = Counter(parts[0] for parts in below if len(parts) > 1).most_common()
    shown = tuple(inner[:_INNER]) if role == "source" else ()
    return Folder(name, len(files), language, role, shown, len(inner) - len(shown) if shown else 0)


def _base(path: str) -> str:
    return posixpath.basename(path)
