"""The page of a project: what it is, how it is laid out, what much of it rests on, what moves in it."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from codecairn.catalog.entries import Catalog
from codecairn.context.build_files import PackageManifest
from codecairn.context.central_symbols import DefinitionPlace, FileUses, central_symbols
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
from codecairn.context.summaries import README, first_paragraph, opening
from codecairn.context.survey import ModuleFolder, ProjectFacts, Survey, common_role
from codecairn.file_roles import Role
from codecairn.history.churn import Churn
from codecairn.index.status import IndexStatus
from codecairn.parse.formats import display_name
from codecairn.store.view import FileRow, View
from codecairn.text import one_line
from codecairn.types import CatalogEntry

_MODULES, _KEY_FILES, _KEY_SYMBOLS, _SYMBOLS, _HOT, _HOT_BESIDE, _DOCUMENTS, _RULES = 16, 3, 4, 20, 10, 3, 8, 8
_FOLDERS, _INNER, _ENTRIES, _LANGUAGES = 14, 12, 8, 6
_DOCUMENT = re.compile(
    r"^(?:docs?/)?(?:readme|contributing|architecture|design|hacking|development|agents|claude|overview|index|getting[-_]"
    r"started|security|style(?:guide)?)(?:\.\w+)?$",
    re.IGNORECASE,
)
_STANDS_FOR_FOLDER = re.compile(r"(?:__init__|doc|mod|lib|index|package-info)\.")
_BINDING = ("mandatory", "critical")
_ROLES: dict[Role, str] = {
    "test": "tests", "document": "documents", "vendored": "vendored", "example": "examples", "benchmark": "benchmarks",
    "legacy": "legacy", "configuration": "configuration", "data": "data",
}  # fmt: skip


def overview_page(
    view: View, known: ProjectFacts, manifests: list[PackageManifest], notes: Iterable[str], stands: IndexStatus
) -> str:
    survey = known.survey
    folders, modules = _folders(survey), [each for each in survey.modules if each.role == "source"]
    changed, beside = hot_files(survey, known.churn)
    binding, used = binding_rules(known.catalog), _symbols_by_folder(known.uses)
    modules_shown = [_module(view, each, used.get(each.folder, [])) for each in modules[:_MODULES]]
    hot = [churn_row(*each) for each in changed[:_HOT]]
    if beside:
        listed = ", ".join(f"{code(path)} {commits}" for path, commits in beside[:_HOT_BESIDE])
        hot.append(f"- beside the product: {listed}")
    return page(
        f"# {one_line(survey.project)}",
        quote(_about(view, survey)),
        "\n".join(_facts(survey, manifests)),
        section("Layout", map(_folder_row, folders[:_FOLDERS]), len(folders) - _FOLDERS, "folders"),
        section("Modules, the most imported first", modules_shown, len(modules) - _MODULES, "modules"),
        section(_central_title(known.uses), map(symbol_row, central_symbols(view, known.uses, _SYMBOLS))),
        section(_hot_title(known.churn), hot, len(changed) - _HOT, "files that changed more than once"),
        section("Rules that bind", map(rule_row, binding[:_RULES]), len(binding) - _RULES, "binding rules"),
        *notes,
        section("Read next", _next(view, survey, modules)),
        ground(stands),
    )


def bare_page(project: str, about: str, manifests: list[PackageManifest], stands: IndexStatus) -> str:
    """The page of a project that is not indexed: its README and its manifests."""
    return page(f"# {one_line(project)}", quote(about), "\n".join(_stack(manifests)), ground(stands))


def binding_rules(catalog: Catalog) -> list[CatalogEntry]:
    """Those nobody may pass over wherever they work, the weightiest first."""
    binding = (each.value for each in catalog.scopes.everywhere if each.value.requirement in _BINDING)
    return sorted(binding, key=lambda each: (each.priority, each.id))


def hot_files(
    survey: Survey, churn: Churn, folder: str | None = None
) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Files that several commits changed, with how many, the most changed first: of the product, and beside it."""
    product = {file.path for file in survey.product}
    found = [
        (path, commits)
        for path in survey.importers
        if (commits := churn.changes.get(path, 0)) > 1 and (folder is None or posixpath.dirname(path) == folder)
    ]
    found.sort(key=lambda each: (-each[1], each[0]))
    return [each for each in found if each[0] in product], [each for each in found if each[0] not in product]


def module_about(view: View, module: ModuleFolder) -> str:
    """The first words of a folder's own document, else of the file that stands for it."""
    here = [each for each in view.files_below(module.folder) if posixpath.dirname(each.path) == module.folder]
    named = [(posixpath.basename(each.path), each) for each in here]
    first = [each for name, each in named if README.match(name)][:1] if module.folder else []
    standing = [each for name, each in named if _STANDS_FOR_FOLDER.match(name)]
    return next((said for each in (*first, *standing) if (said := _about_file(view, each))), "")


def _symbols_by_folder(uses: FileUses) -> dict[str, list[str]]:
    """The definitions of each folder, the most used first."""
    counts: Counter[DefinitionPlace] = uses.counts()
    found: dict[str, list[str]] = {}
    for place in sorted(counts, key=lambda place: (-counts[place], place)):
        found.setdefault(posixpath.dirname(place.path), []).append(place.symbol)
    return found


def _module(view: View, module: ModuleFolder, used: list[str]) -> str:
    files = ", ".join(map(file_name, module.files[:_KEY_FILES]))
    symbols = f"; {', '.join(map(code, used[:_KEY_SYMBOLS]))}" if used else ""
    size = count_of(len(module.files), "file")
    line = f"- **{one_line(module.name)}** {folder_name(module.folder)} {size}: {files}{symbols}"
    return line + remark(module_about(view, module))


def _about(view: View, survey: Survey) -> str:
    readme = next((file for file in survey.files if README.match(file.path)), None)
    return first_paragraph(view.text(readme.id)) if readme is not None else ""


def _about_file(view: View, file: FileRow) -> str:
    return opening(view.text(file.id), file.language)


class _FolderRow(NamedTuple):
    name: str
    files: list[FileRow]
    role: Role


def _folders(survey: Survey) -> list[_FolderRow]:
    """The folders of the root, those with most of the product first."""
    below: dict[str, list[FileRow]] = {}
    for file in survey.files:
        if "/" in file.path:
            below.setdefault(file.path.split("/", 1)[0], []).append(file)
    found = [_FolderRow(_inmost(name, files), files, common_role(files)) for name, files in below.items()]
    return sorted(found, key=lambda each: (each.role != "source", -len(each.files), each.name))


def _inmost(name: str, files: list[FileRow]) -> str:
    """A folder that holds nothing but another is told as the other: `src/shop/` for `src/`."""
    while len(inside := {each.path[len(name) + 1 :].split("/", 1)[0] for each in files}) == 1:
        only = f"{name}/{inside.pop()}"
        if any(each.path == only for each in files):
            break
        name = only
    return name


def _folder_row(each: _FolderRow) -> str:
    language = Counter(file.language or "other" for file in each.files).most_common(1)[0][0]
    kind = f", {_ROLES[each.role]}" if each.role in _ROLES else ""
    line = f"- {folder_name(each.name)} {count_of(len(each.files), 'file')}, mostly {display_name(language)}{kind}"
    below = (file.path[len(each.name) + 1 :].split("/") for file in each.files)
    inner = Counter(parts[0] for parts in below if len(parts) > 1).most_common()
    if each.role != "source" or not inner:
        return line
    listed = ", ".join(f"{code(name + '/')} {files:,}" for name, files in inner[:_INNER])
    return f"{line}: {listed}" + (f", {len(inner) - _INNER} more" if len(inner) > _INNER else "")


def _facts(survey: Survey, manifests: list[PackageManifest]) -> Iterator[str]:
    languages = [
        f"{display_name(name)} {count_of(files, 'file')}, {count_of(lines, 'line')}"
        for name, files, lines in survey.languages
    ]
    more = len(languages) - _LANGUAGES
    yield f"- **Languages**: {' · '.join(languages[:_LANGUAGES])}" + (f" · {more} more" if more > 0 else "")
    yield from _stack(manifests)
    declared = [f"{code(entry)} ({code(each.path)})" for each in manifests for entry in each.entries]
    entries = [*declared, *(code(file.path) for file in survey.entries)]
    if entries:
        rest = [f"{len(entries) - _ENTRIES} more"] if len(entries) > _ENTRIES else []
        yield f"- **Ways in**: {', '.join([*entries[:_ENTRIES], *rest])}"


def _stack(manifests: list[PackageManifest]) -> Iterator[str]:
    if manifests:
        yield f"- **Stack**: {' · '.join(map(_manifest, manifests))}"
    if commands := [command for each in manifests for command in each.commands]:
        yield f"- **Commands**: {', '.join(map(code, commands))}"


def _manifest(each: PackageManifest) -> str:
    said = [*map(one_line, each.facts)]
    said += [f"needs {', '.join(map(one_line, each.dependencies))}"] if each.dependencies else []
    said += [f"{each.omitted} more"] if each.omitted else []
    return f"{each.what} ({code(each.path)}{': ' + '; '.join(said) if said else ''})"


def _central_title(uses: FileUses) -> str:
    return "Central symbols, by the files of the product that use them" + (
        "" if uses.is_whole else " (counted in the most imported files alone)"
    )


def _hot_title(churn: Churn) -> str:
    if not churn.commits:
        return "Changing most"
    whole = "" if churn.is_whole else ", of those that could be read in time"
    return f"Changing most, in the last {churn.commits:,} commits (since {churn.since}{whole})"


def _next(view: View, survey: Survey, modules: list[ModuleFolder]) -> Iterator[str]:
    documents = [file for file in survey.files if _DOCUMENT.match(file.path)]
    for file in documents[:_DOCUMENTS]:
        yield f"- {code(file.path)}" + remark(_about_file(view, file))
    example = modules[0].name if modules else "NAME"
    yield f"- {code(f'context://module/{example}')}: one module, its files and what it rests on"
    yield "- Tools: `search_code` for where something is done, `find_references` for who uses it, `git_log` for why"
