"""The Markdown of resources and prompts. Names come from repositories: none of them can end its line or its quotes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from codecairn.context.central import Central
from codecairn.context.modules import ModuleFile, ModulePage, ModulePages
from codecairn.context.overview import Folder, Hot, KeyModule, Overview
from codecairn.context.stack import Manifest, commands_of, entries_of
from codecairn.index.standing import Standing
from codecairn.parse.formats import display_name
from codecairn.roles import Role
from codecairn.store.version import SymbolRow
from codecairn.store.view import FileRow
from codecairn.text import one_line
from codecairn.types import CatalogEntry

_LONGEST_NAME = 200
_ENTRIES = 8
_LANGUAGES = 6
_ROLES: dict[Role, str] = {
    "test": "tests", "document": "documents", "vendored": "vendored", "example": "examples", "benchmark": "benchmarks",
    "legacy": "legacy", "configuration": "configuration", "data": "data",
}  # fmt: skip


def code(text: str) -> str:
    """As code on one line, with more backticks around it than in it."""
    clean = one_line(text, _LONGEST_NAME)
    fence = "`"
    while fence in clean:
        fence += "`"
    pad = " " if clean[:1] == "`" or clean[-1:] == "`" else ""
    return f"{fence}{pad}{clean}{pad}{fence}"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def section(title: str, rows: Iterable[str], omitted: int = 0, what: str = "") -> str:
    """A heading and its list, with what was left out; nothing where the list is empty."""
    listed = list(rows)
    if not listed:
        return ""
    more = [f"- … and {omitted:,} more {what}"] if omitted > 0 else []
    return "\n".join([f"## {title}", *listed, *more])


def page(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def ground(stands: Standing) -> str:
    """What an answer rests on."""
    said = [f"Index of {code(stands.ref)}: {stands.freshness}"]
    if stands.layer is None:
        said = ["Not indexed yet" if stands.indexing != "indexing" else "Indexing is under way: nothing to show yet"]
    elif stands.is_partial:
        said.append("not all files are indexed yet")
    warnings = (one_line(each.rstrip("."), _LONGEST_NAME) for each in stands.warnings)
    return f"_{'; '.join([*said, *warnings])}._"


def overview_page(value: Overview, notes: Iterable[str], stands: Standing) -> str:
    survey = value.survey
    return page(
        f"# {one_line(survey.project)}",
        f"> {value.about}" if value.about else "",
        "\n".join(_facts(value)),
        section("Layout", map(_folder, value.folders), value.omitted["folders"], "folders"),
        section("Modules, the most imported first", map(_module, value.modules), value.omitted["modules"], "modules"),
        section(_central_title(value), map(symbol_row, value.central)),
        section(hot_title(value), _hot_rows(value), value.omitted["files"], "files that changed more than once"),
        section("Rules that bind", map(rule_row, value.rules), value.omitted["rules"], "binding rules"),
        *notes,
        section("Read next", _next(value)),
        ground(stands),
    )


def bare_page(project: str, about: str, manifests: list[Manifest], stands: Standing) -> str:
    """What can be said of a project that is not indexed: what its README and its manifests say."""
    return page(f"# {one_line(project)}", f"> {about}" if about else "", "\n".join(_stack(manifests)), ground(stands))


def _facts(value: Overview) -> Iterator[str]:
    survey = value.survey
    languages = [
        f"{display_name(name)} {counted(files, 'file')}, {counted(lines, 'line')}"
        for name, files, lines in survey.languages
    ]
    more = len(languages) - _LANGUAGES
    yield f"- **Languages**: {' · '.join(languages[:_LANGUAGES])}" + (f" · {more} more" if more > 0 else "")
    yield from _stack(list(value.manifests))
    if entries := list(_entries(value)):
        yield f"- **Ways in**: {', '.join(entries)}"


def _stack(manifests: list[Manifest]) -> Iterator[str]:
    if manifests:
        yield f"- **Stack**: {' · '.join(map(_manifest, manifests))}"
    if commands := commands_of(manifests):
        yield f"- **Commands**: {', '.join(map(code, commands))}"


def _manifest(each: Manifest) -> str:
    said = [*map(one_line, each.facts)]
    said += [f"needs {', '.join(map(one_line, each.dependencies))}"] if each.dependencies else []
    said += [f"{each.omitted} more"] if each.omitted else []
    return f"{each.what} ({code(each.path)}{': ' + '; '.join(said) if said else ''})"


def _entries(value: Overview) -> Iterator[str]:
    declared = [f"{code(entry)} ({code(where)})" for entry, where in entries_of(list(value.manifests))]
    found = [code(file.path) for file in value.survey.entries]
    shown = [*declared, *found][:_ENTRIES]
    more = len(declared) + len(found) - len(shown)
    yield from shown
    if more > 0:
        yield f"{more} more"


def _folder(each: Folder) -> str:
    kind = f", {_ROLES[each.role]}" if each.role in _ROLES else ""
    line = f"- {code(each.name + '/')} {counted(each.files, 'file')}, mostly {display_name(each.language)}{kind}"
    if not each.inner:
        return line
    inner = ", ".join(f"{code(name + '/')} {files:,}" for name, files in each.inner)
    more = f", {each.inner_omitted} more" if each.inner_omitted else ""
    return f"{line}: {inner}{more}"


def _module(each: KeyModule) -> str:
    module = each.module
    files = ", ".join(code(file.path.rpartition("/")[2]) for file in each.key_files)
    where = code((module.folder or ".") + "/")
    symbols = f"; {', '.join(map(code, each.symbols))}" if each.symbols else ""
    line = f"- **{one_line(module.name)}** {where} {counted(len(module.files), 'file')}: {files}{symbols}"
    return line + _about(each.about)


def _central_title(value: Overview) -> str:
    return "Central symbols, by the files of the product that use them" + (
        "" if value.counts_all else " (counted in the most imported files alone)"
    )


def symbol_row(each: Central) -> str:
    symbol, place = each.symbol, f"{each.file.path}:{each.symbol.name_line}"
    doc = one_line(symbol.doc.strip().split("\n")[0], 120)
    return f"- {code(symbol.path)} {symbol.kind}, {code(place)}, used in {counted(each.used_in, 'file')}" + _about(doc)


def hot_title(value: Overview) -> str:
    if not value.churn.commits:
        return "Changing most"
    whole = "" if value.churn.is_whole else ", of those that could be read in time"
    return f"Changing most, in the last {value.churn.commits:,} commits (since {value.churn.since}{whole})"


def hot_row(each: Hot) -> str:
    return f"- {code(each.path)} {counted(each.commits, 'commit')}"


def _hot_rows(value: Overview) -> Iterator[str]:
    yield from map(hot_row, value.hot)
    if value.hot_beside:
        yield f"- beside the product: {', '.join(f'{code(each.path)} {each.commits}' for each in value.hot_beside)}"


def rule_row(each: CatalogEntry) -> str:
    return f"- {one_line(each.title, 160)} ({each.requirement}, {code(each.id)})"


def _next(value: Overview) -> Iterator[str]:
    for path, about in value.documents:
        yield f"- {code(path)}" + _about(about)
    example = value.modules[0].module.name if value.modules else "NAME"
    yield f"- {code(f'context://module/{example}')}: one module, its files and what it rests on"
    yield "- Tools: `search_code` for where something is done, `find_references` for who uses it, `git_log` for why"


def _about(said: str) -> str:
    return f" — {said}" if said else ""


def module_page(value: ModulePages, notes: Iterable[str], stands: Standing) -> str:
    parts = [part for each in value.pages for part in _module_parts(each)]
    paths = [f"- {code(f'context://module/{each}')}" for each in value.others]
    others = section(f"Further folders called {one_line(value.name)}", paths, value.others_omitted, "folders")
    return page(*parts, *notes, others, ground(stands))


def _module_parts(value: ModulePage) -> Iterator[str]:
    module = value.module
    yield f"# Module {one_line(module.name)}: {code((module.folder or '.') + '/')}"
    if value.about:
        yield f"> {value.about}"
    yield f"{counted(len(module.files), 'file')}, {counted(value.lines, 'line')}." + _inner(value)
    yield section("Files, the most imported first", map(_module_file, value.files), value.files_omitted, "files")
    yield section("What is used most of it", map(symbol_row, value.used))
    yield section("What it defines", (_definition_row(*each) for each in value.defined))
    yield section("Rests on", map(_neighbour, value.rests_on))
    yield section("Used by", map(_neighbour, value.used_by))
    yield section("Changing most", map(hot_row, value.hot))
    yield section("Tests that import it", [f"- {code(each)}" for each in value.tests], value.tests_omitted, "tests")
    yield section("Rules for it", map(rule_row, value.rules))


def _definition_row(file: FileRow, symbol: SymbolRow) -> str:
    return f"- {code(symbol.path)} {symbol.kind}, {code(f'{file.path}:{symbol.name_line}')}"


def _inner(value: ModulePage) -> str:
    return f" Folders inside: {', '.join(code(each + '/') for each in value.inner)}." if value.inner else ""


def _module_file(each: ModuleFile) -> str:
    said = [counted(each.file.lines, "line")]
    said += [f"imported by {counted(each.importers, 'file')}"] if each.importers else []
    said += [f"{counted(each.commits, 'commit')} lately"] if each.commits else []
    return f"- {code(each.file.path.rpartition('/')[2])} {', '.join(said)}" + _about(each.about)


def _neighbour(each: tuple[str, int]) -> str:
    return f"- {code((each[0] or '.') + '/')} {counted(each[1], 'file')}"
