"""The page of a module: its files, what others use of it, what it rests on, what moves in it, which rules are its."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator

from codecairn.cancel import Cancel
from codecairn.catalog.entries import Catalog
from codecairn.catalog.scope import Subject, nearest_of
from codecairn.context.central_symbols import FileUses, central_symbols
from codecairn.context.markdown import (
    churn_row,
    code,
    count_of,
    file_name,
    folder_name,
    ground,
    page,
    quote,
    remark,
    rule_row,
    section,
    symbol_row,
)
from codecairn.context.overview_page import hot_files, module_about
from codecairn.context.summaries import opening
from codecairn.context.survey import ModuleFolder, ProjectFacts, Survey
from codecairn.errors import NotFound
from codecairn.file_roles import is_test
from codecairn.index.status import IndexStatus
from codecairn.paths import printable
from codecairn.resolve.file_imports import ImportedFiles
from codecairn.resolve.generation import generation_of as known_files
from codecairn.store.view import FileRow, View
from codecairn.suggestions import nearest
from codecairn.text import one_line
from codecairn.types import CatalogEntry

_FILES, _SYMBOLS, _NEIGHBOURS, _HOT, _TESTS, _RULES = 20, 15, 8, 5, 6, 8
_NEAR = 5
_MOST_PAGES = 2
"""Folders of one name that are told in full."""
_MOST_OTHERS = 20


def modules_called(survey: Survey, name: str) -> tuple[list[ModuleFolder], list[ModuleFolder]]:
    """The modules of a name that are told in full, those of the product where there are any; and the others."""
    found = survey.find_modules(name)
    if not found:
        raise unknown_module(survey, name)
    shown = [each for each in found if each.role == "source"][:_MOST_PAGES] or found[:1]
    return shown, [each for each in found if each not in shown]


def module_page(
    view: View, known: ProjectFacts, shown: list[ModuleFolder], others: list[ModuleFolder], notes: Iterable[str],
    stands: IndexStatus,
    cancel: Cancel,
) -> str:  # fmt: skip
    parts = [part for each in shown for part in _parts(view, known, each, cancel)]
    paths = [f"- {code(f'context://module/{each.folder}')}" for each in others[:_MOST_OTHERS]]
    title = f"Further folders called {one_line(shown[0].name)}"
    return page(*parts, *notes, section(title, paths, len(others) - _MOST_OTHERS, "folders"), ground(stands))


def unknown_module(survey: Survey, name: str) -> NotFound:
    near = near_modules(survey, name)
    remedy = f"Did you mean {', '.join(near)}?" if near else "context://project/overview lists the modules."
    return NotFound(f"No module is called {printable(name)}", module=printable(name), near=near, remedy=remedy)


def near_modules(survey: Survey, name: str) -> list[str]:
    """Modules whose name begins with this one, else has it in it, else is spelled nearly so; the weightiest first."""
    wanted = posixpath.basename(name.strip("/"))
    spelled = nearest(wanted, [each.name for each in survey.modules], _NEAR)
    return list(dict.fromkeys([*(completions(survey, wanted) if wanted else ()), *spelled]))[:_NEAR]


def completions(survey: Survey, typed: str) -> list[str]:
    """Modules for what was typed so far; by their paths once it has a slash, or where a name is not enough."""
    if "/" in typed:
        return [each.folder for each in survey.modules if each.folder.startswith(typed)]
    return completing(dict.fromkeys(each.name for each in survey.modules), typed)


def completing(names: Iterable[str], typed: str) -> list[str]:
    """The names that begin with what was typed, then those that have it in them."""
    wanted = typed.casefold()
    return sorted(
        (each for each in names if wanted in each.casefold()), key=lambda each: not each.casefold().startswith(wanted)
    )


def _parts(view: View, known: ProjectFacts, module: ModuleFolder, cancel: Cancel) -> Iterator[str]:
    survey, folder, files = known.survey, module.folder, module.files
    used = central_symbols(view, known.uses, _SYMBOLS, folder)
    defined = [] if used else _definitions(view, module)
    tests = _tests(view, survey, module, cancel)
    changed, _ = hot_files(survey, known.churn, folder)
    yield f"# Module {one_line(module.name)}: {folder_name(folder)}"
    yield quote(module_about(view, module))
    lines = count_of(sum(each.lines for each in files), "line")
    yield f"{count_of(len(files), 'file')}, {lines}.{_inner(survey, folder)}"
    rows = [_file_row(view, known, each) for each in files[:_FILES]]
    yield section("Files, the most imported first", rows, len(files) - _FILES, "files")
    yield section("What is used most of it", map(symbol_row, used))
    yield section("What it defines", defined)
    yield section("Rests on", _neighbours(_dependencies(known.uses, folder)))
    yield section("Used by", _neighbours(_using(known.uses, folder)))
    yield section("Changing most", (churn_row(*each) for each in changed[:_HOT]))
    yield section("Tests that import it", [f"- {code(each)}" for each in tests[:_TESTS]], len(tests) - _TESTS, "tests")
    yield section("Rules for it", map(rule_row, _rules(known.catalog, module)))


def _file_row(view: View, known: ProjectFacts, file: FileRow) -> str:
    importers, commits = known.survey.importers[file.path], known.churn.changes.get(file.path, 0)
    said = [count_of(file.lines, "line")]
    said += [f"imported by {count_of(importers, 'file')}"] if importers else []
    said += [f"{count_of(commits, 'commit')} lately"] if commits else []
    return f"- {file_name(file)} {', '.join(said)}" + remark(opening(view.text(file.id), file.language))


def _definitions(view: View, module: ModuleFolder) -> list[str]:
    """Top-level symbols of its first files."""
    found = [(file, each) for file in module.files[:_FILES] for each in view.symbols(file.id) if each.parent < 0]
    public = [(file, each) for file, each in found if not each.name.startswith("_")]
    return [
        f"- {code(each.path)} {each.kind}, {code(f'{file.path}:{each.name_line}')}"
        for file, each in (public or found)[:_SYMBOLS]
    ]


def _dependencies(uses: FileUses, folder: str) -> Counter[str]:
    """Folders of whose definitions the module's files use some, by how many files do."""
    found = Counter[str]()
    for path, places in uses.by_file.items():
        if posixpath.dirname(path) == folder:
            found.update({posixpath.dirname(place.path) for place in places} - {folder})
    return found


def _using(uses: FileUses, folder: str) -> Counter[str]:
    """Folders with files that use something of the module, by how many do."""
    found = Counter[str]()
    for path, places in uses.by_file.items():
        here = posixpath.dirname(path)
        if here != folder and any(posixpath.dirname(place.path) == folder for place in places):
            found[here] += 1
    return found


def _neighbours(counts: Counter[str]) -> list[str]:
    shown = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:_NEIGHBOURS]
    return [f"- {folder_name(folder)} {count_of(files, 'file')}" for folder, files in shown]


def _tests(view: View, survey: Survey, module: ModuleFolder, cancel: Cancel) -> list[str]:
    """Test files that import the module's, those that import little else first."""
    imported, own = ImportedFiles(view, known_files(view)), {file.id for file in module.files}
    found = list[tuple[float, str]]()
    for file in survey.files:
        if is_test(file.path) and posixpath.dirname(file.path) != module.folder:
            cancel.check()
            names = imported.by_path(file.path)
            if names & own:
                found.append((-(len(names & own) ** 2) / len(names), file.path))
    return [path for _, path in sorted(found)]


def _rules(catalog: Catalog, module: ModuleFolder) -> list[CatalogEntry]:
    """Those about one of its files, the nearest first, then those of its category."""
    subjects = (Subject(each.path, each.language, module.name) for each in module.files[:_FILES])
    near = nearest_of(catalog.scopes.holding(each) for each in subjects) if catalog.scopes.is_scoped else []
    own = [each.entry.value for each in near if not each.is_everywhere]
    named = sorted((each.value for each in catalog.in_category(module.name)), key=lambda each: (each.priority, each.id))
    return list({each.id: each for each in (*own, *named)}.values())[:_RULES]


def _inner(survey: Survey, folder: str) -> str:
    start = f"{folder}/" if folder else ""
    below = {each.folder[len(start) :].split("/")[0] for each in survey.modules if each.folder.startswith(start)}
    inner = sorted(below - {""})[:_FILES]
    return f" Folders inside: {', '.join(code(each + '/') for each in inner)}." if inner else ""
