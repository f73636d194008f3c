"""One module, as values: its files, what others use of it, what it rests on, what moves in it, which rules are its."""

from __future__ import annotations

import posixpath
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches

from codecairn.cancel import Cancel
from codecairn.catalog.entries import Catalog
from codecairn.context.central import Central, Uses, central
from codecairn.context.openings import opening
from codecairn.context.overview import Hot, hot_files, module_about
from codecairn.context.survey import Module, Survey
from codecairn.errors import NotFound
from codecairn.history.churn import Churn
from codecairn.paths import printable
from codecairn.resolve.importers import ImportedFiles
from codecairn.resolve.known import known
from codecairn.roles import is_test
from codecairn.store.version import SymbolRow
from codecairn.store.view import FileRow, View
from codecairn.types import CatalogEntry

_FILES, _SYMBOLS, _NEIGHBOURS, _HOT, _TESTS, _RULES = 20, 15, 8, 5, 6, 8
_NEAR = 5
_MOST_PAGES = 2
"""Folders of one name that are told in full."""
_MOST_OTHERS = 20


@dataclass(frozen=True)
class ModuleFile:
    file: FileRow
    importers: int
    commits: int
    about: str


@dataclass(frozen=True)
class ModulePage:
    module: Module
    about: str
    lines: int
    files: tuple[ModuleFile, ...]
    used: tuple[Central, ...]
    defined: tuple[tuple[FileRow, SymbolRow], ...]
    """Top-level symbols of its first files, where nothing of it is used elsewhere."""
    rests_on: tuple[tuple[str, int], ...]
    used_by: tuple[tuple[str, int], ...]
    """Other folders, with how many of their files use something of it."""
    hot: tuple[Hot, ...]
    tests: tuple[str, ...]
    """Those that import it."""
    tests_omitted: int
    rules: tuple[CatalogEntry, ...]
    inner: tuple[str, ...]
    files_omitted: int


@dataclass(frozen=True)
class ModulePages:
    name: str
    pages: tuple[ModulePage, ...]
    others: tuple[str, ...]
    """Further folders of the same name."""
    others_omitted: int


@dataclass(frozen=True)
class Known:
    """What is known of the whole project, from which a module's part is taken."""

    survey: Survey
    uses: Uses
    churn: Churn
    catalog: Catalog


def module_pages(view: View, known: Known, name: str, cancel: Cancel) -> ModulePages:
    """The modules of a name: those of the product in full where there are any, the others by their paths."""
    found = known.survey.named(name)
    if not found:
        raise unknown_module(known.survey, name)
    told = [each for each in found if each.role == "source"][:_MOST_PAGES] or found[:1]
    others = [each.folder for each in found if each not in told]
    pages = tuple(_page(view, known, each, cancel) for each in told)
    return ModulePages(found[0].name, pages, tuple(others[:_MOST_OTHERS]), max(0, len(others) - _MOST_OTHERS))


def unknown_module(survey: Survey, name: str) -> NotFound:
    near = near_modules(survey, name)
    remedy = f"Did you mean {', '.join(near)}?" if near else "context://project/overview lists the modules."
    return NotFound(f"No module is called {printable(name)}", module=printable(name), near=near, remedy=remedy)


def near_modules(survey: Survey, name: str) -> list[str]:
    """Modules whose name begins with this one, else has it in it, else is spelled nearly so; the weightiest first."""
    known = list(dict.fromkeys(each.name for each in survey.modules))
    wanted = posixpath.basename(name.strip("/")).casefold()
    begins = [each for each in known if wanted and each.casefold().startswith(wanted)]
    within = [each for each in known if wanted and wanted in each.casefold()]
    close = get_close_matches(wanted, [each.casefold() for each in known], _NEAR, 0.6)
    spelled = [each for each in known if each.casefold() in close]
    return list(dict.fromkeys([*begins, *within, *spelled]))[:_NEAR]


def completions(survey: Survey, typed: str) -> list[str]:
    """Modules for what was typed so far; by their paths once it has a slash, or where a name is not enough."""
    if "/" in typed:
        return [each.folder for each in survey.modules if each.folder.startswith(typed)]
    names = list(dict.fromkeys(each.name for each in survey.modules))
    wanted = typed.casefold()
    begins = [each for each in names if each.casefold().startswith(wanted)]
    return begins + [each for each in names if wanted in each.casefold() and each not in begins]


def _page(view: View, known: Known, module: Module, cancel: Cancel) -> ModulePage:
    survey, folder = known.survey, module.folder
    used, tests = tuple(central(view, known.uses, _SYMBOLS, folder)), _tests(view, survey, module, cancel)
    return ModulePage(
        module=module, about=module_about(view, module), lines=sum(each.lines for each in module.files),
        files=tuple(_file(view, survey, known.churn, each) for each in module.files[:_FILES]),
        files_omitted=max(0, len(module.files) - _FILES), used=used,
        defined=() if used else tuple(_definitions(view, module)),
        rests_on=_most(_dependencies(known.uses, folder)), used_by=_most(_using(known.uses, folder)),
        hot=tuple(hot_files(survey, known.churn, folder)["code"][:_HOT]), tests=tuple(tests[:_TESTS]),
        tests_omitted=max(0, len(tests) - _TESTS), rules=tuple(_rules(known.catalog, module)),
        inner=tuple(_inner(survey, folder)),
    )  # fmt: skip


def _file(view: View, survey: Survey, churn: Churn, file: FileRow) -> ModuleFile:
    about = opening(view.text(file.id), file.language)
    return ModuleFile(file, survey.importers[file.path], churn.changes.get(file.path, 0), about)


def _definitions(view: View, module: Module) -> list[tuple[FileRow, SymbolRow]]:
    found = [(file, each) for file in module.files[:_FILES] for each in view.symbols(file.id) if each.parent < 0]
    public = [(file, each) for file, each in found if not each.name.startswith("_")]
    return (public or found)[:_SYMBOLS]


def _dependencies(uses: Uses, folder: str) -> Counter[str]:
    """Folders of whose definitions the module's files use some, by how many files do."""
    found = Counter[str]()
    for path, places in uses.by_file.items():
        if posixpath.dirname(path) == folder:
            found.update({posixpath.dirname(place.path) for place in places} - {folder})
    return found


def _using(uses: Uses, folder: str) -> Counter[str]:
    found = Counter[str]()
    for path, places in uses.by_file.items():
        here = posixpath.dirname(path)
        if here != folder and any(posixpath.dirname(place.path) == folder for place in places):
            found[here] += 1
    return found


def _most(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:_NEIGHBOURS])


def _tests(view: View, survey: Survey, module: Module, cancel: Cancel) -> list[str]:
    """Test files that import the module's, those that import little else first."""
    imported, own = ImportedFiles(view, known(view)), {file.id for file in module.files}
    found = list[tuple[float, str]]()
    for file in survey.files:
        if is_test(file.path) and posixpath.dirname(file.path) != module.folder:
            cancel.check()
            names = imported.by_path(file.path)
            if names & own:
                found.append((-(len(names & own) ** 2) / len(names), file.path))
    return [path for _, path in sorted(found)]


def _rules(catalog: Catalog, module: Module) -> list[CatalogEntry]:
    found = [each.value for each in catalog.in_category(module.name)]
    return sorted(found, key=lambda each: (each.priority, each.id))[:_RULES]


def _inner(survey: Survey, folder: str) -> list[str]:
    start = f"{folder}/" if folder else ""
    below = {each.folder[len(start) :].split("/")[0] for each in survey.modules if each.folder.startswith(start)}
    return sorted(below - {""})[:_FILES]
