"""read_file: a file of the project, and what it imports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, structs

from codecairn.budget import characters
from codecairn.errors import CairnError, OverlayNotReady, ParseFailed, RefNotFound
from codecairn.file_roles import main_role
from codecairn.files.read import FileText, extent_of, number_lines, read_at, read_here
from codecairn.index.status import LIVE
from codecairn.parse.deadline import SlowParse
from codecairn.parse.extract import Imports, extract, imports_in
from codecairn.paths import module_name
from codecairn.project import Project
from codecairn.reading.files import print_file
from codecairn.resolve.file_imports import files_of_imports
from codecairn.resolve.rules import rules_of
from codecairn.source.refs import resolve
from codecairn.store.view import FileRow, View
from codecairn.tools import Call, tool
from codecairn.tools.binding_rules import Rules, rules_for
from codecairn.tools.inquiry import Inquiry, Ref, UnlistedRoot, inquire, project_of
from codecairn.tools.outline import OutlineSymbol, nest_symbols
from codecairn.tools.suggestions import suggest_paths
from codecairn.tools.truncation import to_json

_MOST_DEPENDENCIES = 200
_MOST_CHARACTERS = 500_000
"""Of the text of all dependencies together; the others are named without it."""
_PARSE_S = 2.0
_MOST_OUTLINE = 3_500
"""Characters of the outline of a long file, as JSON: beyond it the members of classes are left to get_file_outline."""
_MOST_RULES, _LEAST_RULES = 2_000, 800
"""Characters of the bodies of rules, beside a text that fits and beside one that is cut anyway."""
_JSON_SHARE, _FRAME = 1.1, 1_500
"""Characters of JSON for one of text, and those around it with the names of rules."""
_BROKEN_SHARE = 0.1
"""A grammar stumbles over a macro here and there; a file is broken where more than that is lost."""

Line = Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="First line, from 1")]
LastLine = Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="Last line")]


class ReadText(Struct, frozen=True, kw_only=True, omit_defaults=True):
    path: str
    content: str
    size: int
    lines: int
    language: str
    encoding: str | None = None
    """Where it is not plain UTF-8."""
    startLine: int | None = None
    endLine: int | None = None


class Dependency(Struct, frozen=True, kw_only=True, omit_defaults=True):
    path: str
    type: Literal["import"]
    level: Literal[1]
    content: str | None = None
    omitted: str = ""
    """Why its content is not here."""


class ReadFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    file: ReadText
    dependencies: list[Dependency]
    metadata: dict[str, Any]
    outline: list[OutlineSymbol] = []
    """The symbols of a file that is longer than an answer."""
    external: list[str] = []
    """Imported, and in no file of the index: other packages, mostly."""
    unresolved: list[str] = []
    """Imported from the project, to judge by their names, and in no file of the index; all, where there is none."""
    rules: Rules = UNSET
    """Rules of the catalogue that bind this file."""


def _most_ms(arguments: Any) -> float:
    return 2000.0 if isinstance(arguments, dict) and arguments.get("includeDeps") else 500.0


@tool(family="files", per_minute=100, slow_ms=_most_ms, reading=print_file)
def read_file(
    call: Call,
    *,
    path: Annotated[str, Meta(description="From the project root", min_length=1)],
    includeDeps: Annotated[bool, Meta(description="With the files it imports")] = False,
    maxDepth: Annotated[int, Meta(ge=0, le=1, description="0: none")] = 1,
    startLine: Line = None,
    endLine: LastLine = None,
    lineNumbers: Annotated[bool, Meta(description="Number the lines")] = False,
    ref: Ref = None,
    workspace: UnlistedRoot = None,
) -> ReadFile:
    """A file of any branch; a long one by its outline and in pages. Use it when you know the path."""
    project = project_of(call, workspace)
    reader = _FileReader(call, project, ref, commit_for(call, project, ref))
    with suggest_paths(project, path, call.cancel, reader.commit):
        file = reader.read(path)
    extent = extent_of(file, startLine, endLine)
    shown = file.lines[extent.first - 1 : extent.last]
    loaded = _load_imports(reader, file) if includeDeps and maxDepth else _LoadedImports()
    call.connection.recent_files.append(file.path)
    is_part = startLine is not None or endLine is not None
    is_long = not is_part and len(file.text) > characters(asked=includeDeps)
    return ReadFile(
        file=ReadText(
            path=file.path, content=number_lines(shown, extent.first) if lineNumbers else "".join(shown),
            size=file.size,
            lines=len(file.lines), language=file.language, encoding=None if file.encoding == "utf-8" else file.encoding,
            startLine=extent.first if is_part else None, endLine=extent.last if is_part else None,
        ),
        dependencies=loaded.dependencies, external=loaded.external, unresolved=loaded.unresolved,
        metadata={**_facts(reader, file), **loaded.metadata}, outline=_outline(file) if is_long else [],
        rules=rules_for(call, project, [file.path], _room_for_rules(sum(map(len, shown)), is_part or includeDeps)),
    )  # fmt: skip


def _room_for_rules(shown: int, is_much: bool) -> int:
    """Characters for the bodies of rules: beside a text that is shown whole, or at the cost of a page of a long one."""
    left = characters(asked=is_much) - int(shown * _JSON_SHARE) - _FRAME
    return min(_MOST_RULES, left) if left > 0 else _LEAST_RULES


def _outline(file: FileText) -> list[OutlineSymbol]:
    """The symbols of a file by its own text; none where no grammar reads it in time."""
    if file.grammar is None:
        return []
    try:
        symbols = nest_symbols(extract(file.grammar, file.text.encode(), seconds=_PARSE_S).symbols)
    except SlowParse:
        return []
    if len(to_json(symbols)) <= _MOST_OUTLINE:
        return symbols
    top = [structs.replace(each, children=[]) for each in symbols]
    sizes = accumulate(len(to_json(each)) + 1 for each in top)
    return [each for each, size in zip(top, sizes, strict=True) if size <= _MOST_OUTLINE]


def commit_for(call: Call, project: Project, ref: str | None) -> str:
    """The commit that a call reads, by its ref or the connection's; empty for the working tree."""
    named = call.ref_for(project, ref)
    if named is None:
        return ""
    return resolve(project.git, named, call.cancel, param="ref", complaint="Invalid commit reference")


@dataclass(frozen=True)
class _FileReader:
    """Files as one call sees them: in the working tree, or in the commit that its ref stood for when it began."""

    call: Call
    project: Project
    ref: str | None
    commit: str
    """Empty for the working tree."""

    def read(self, path: str) -> FileText:
        if not self.commit:
            return read_here(self.project.guard, path)
        return read_at(self.project.git, self.project.guard, path, self.commit, self.call.cancel)


def _facts(reader: _FileReader, file: FileText) -> dict[str, Any]:
    said = {
        "module": module_name(file.path, reader.project.name), "role": main_role(file.path),
        "lastModified": file.modified,
    }  # fmt: skip
    return {**said, "commit": reader.commit} if reader.commit else said


# What it imports.


@dataclass(frozen=True)
class _LoadedImports:
    dependencies: list[Dependency] = field(default_factory=list)
    external: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)


def _load_imports(reader: _FileReader, file: FileText) -> _LoadedImports:
    imports = _imports(file)
    inquiry, missing = _inquire(reader)
    if imports is None:
        return _LoadedImports(metadata=inquiry.metadata())
    row = FileRow(-1, file.path, file.language, imports.package, len(file.lines))
    found = inquiry.answer(lambda view: _resolve(view, row, imports))
    if found is None:
        modules = list(dict.fromkeys(each.module for each in imports.names if each.module))
        remark = "The imports were not resolved: there is no index to ask."
        return _LoadedImports(unresolved=modules, metadata=inquiry.metadata([remark]))
    paths, external, unresolved = found
    dependencies = list(_dependencies(reader, paths[:_MOST_DEPENDENCIES]))
    left_out = len(paths) - len(dependencies)
    warnings = [*missing, *_remarks(imports, left_out)]
    is_cut = left_out > 0 or any(each.omitted == _NO_ROOM for each in dependencies)
    return _LoadedImports(dependencies, external, unresolved, inquiry.metadata(warnings, is_cut=is_cut))


def _inquire(reader: _FileReader) -> tuple[Inquiry, list[str]]:
    """Ask the index of the ref that is read; where there is none ask that of the working tree, and say so."""
    try:
        return inquire(reader.call, reader.project, reader.ref), []
    except (RefNotFound, OverlayNotReady) as error:
        remark = f"{error.message}: the imports were resolved by the index of the working tree."
        return inquire(reader.call, reader.project, LIVE), [remark]


def _remarks(imports: Imports, left_out: int) -> list[str]:
    said = []
    if imports.errors.line:
        said.append(f"Syntax error at line {imports.errors.line}: the imports were read around it.")
    if left_out:
        said.append(f"{left_out} more dependencies are not listed.")
    return said


def _imports(file: FileText) -> Imports | None:
    """The imports of a file; None where its language has none that are known."""
    if file.grammar is None:
        return None
    try:
        imports = imports_in(file.grammar, file.text.encode(), seconds=_PARSE_S)
    except SlowParse:
        raise ParseFailed(
            "Failed to parse imports", path=file.path, details=f"parsing took over {_PARSE_S:g} s"
        ) from None
    # What a preprocessor includes stands on lines of its own, whatever the grammar makes of the macros around them.
    if imports.errors.line and rules_of(file.language).rules.imports != "include":
        last = max((each.line for each in imports.names), default=0)
        if imports.errors.share > _BROKEN_SHARE or imports.errors.line <= last:
            raise ParseFailed(
                "Failed to parse imports", path=file.path, details=f"Syntax error at line {imports.errors.line}"
            )
    return imports


def _resolve(view: View, row: FileRow, imports: Imports) -> tuple[list[str], list[str], list[str]]:
    """The paths that a file imports, the modules outside the project, and those of the project that are not there."""
    found = files_of_imports(view, row, imports.names)
    known = {each.module for each, files in found if files}
    outside = list(dict.fromkeys(each.module for each, _ in found if each.module not in known))
    paths = list(dict.fromkeys(file.path for _, files in found for file in files))
    return paths, [each for each in outside if not _is_own(each)], [each for each in outside if _is_own(each)]


def _is_own(module: str) -> bool:
    """Whether an import can only mean a file of the project: it is relative to its own."""
    return module.startswith((".", "crate::", "self::", "super::"))


_NO_ROOM = "too much text for one answer; read it by itself"


def _dependencies(reader: _FileReader, paths: list[str]) -> Iterator[Dependency]:
    room = _MOST_CHARACTERS
    for path in paths:
        content, omitted = None, ""
        try:
            content = reader.read(path).text
        except CairnError as error:
            omitted = error.message
        if content is not None and len(content) > room:
            content, omitted = None, _NO_ROOM
        room -= len(content or "")
        yield Dependency(path=path, type="import", level=1, content=content, omitted=omitted)
