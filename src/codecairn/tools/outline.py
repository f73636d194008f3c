"""The symbols of a file or of a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from codecairn.budget import characters
from codecairn.errors import NotFound
from codecairn.file_roles import PROSE
from codecairn.names.kinds import SHORT_KINDS
from codecairn.parse.facts import Symbol
from codecairn.paths import printable
from codecairn.project import Project
from codecairn.reading.outline import print_outline
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow, View
from codecairn.suggestions import nearest_paths, suggestion
from codecairn.tools import Call, tool
from codecairn.tools.cursor import Cursor, offset_of
from codecairn.tools.inquiry import Ref, Workspace, inquire, project_of
from codecairn.tools.suggestions import paths_in_view

_AROUND_ROWS = 1_500
"""Characters of an answer that are no symbols."""
_ROW = 80
"""Characters that a symbol takes beside its name and its signature."""
_FILE_ROW = 120
_LONGEST_SIGNATURE = 200
_MOST_SYMBOLS = 2_000
_MOST_OF_A_FILE = 40
"""Symbols of one file in the outline of a folder."""
_MOST_FOLDERS = 60
_UNDER = " > "
"""Between the headings that a part of a document stands under."""


Limit = Annotated[
    Annotated[int, Meta(ge=1, le=_MOST_SYMBOLS)] | None, Meta(description="Most symbols (default: what fits)")
]


class OutlineSymbol(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    kind: str
    line_start: int
    line_end: int
    signature: str = ""
    children: list[OutlineSymbol] = []


class OutlinedFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    path: str
    language: str
    lines: int
    source_layer: str
    symbols: list[OutlineSymbol]
    omitted_symbols: int = 0


class OutlinedFolder(Struct, frozen=True, kw_only=True):
    path: str
    files: int


class Outline(Struct, frozen=True, kw_only=True):
    path: str
    files: list[OutlinedFile]
    folders: list[OutlinedFolder]
    total_symbols: int
    total_files: int
    files_without_symbols: int
    metadata: dict[str, Any]
    next_cursor: str | None = None


@tool(family="refs", reading=print_outline)
def get_file_outline(
    call: Call,
    *,
    path: Annotated[str, Meta(description="File, or folder (`.`: all): its files' top-level symbols", max_length=4096)],
    limit: Limit = None,
    cursor: Cursor = None,
    workspace: Workspace = None,
    ref: Ref = None,
) -> Outline:
    """The symbols of a file or folder with their lines. Use it before reading a long file."""
    project = project_of(call, workspace)
    inquiry = inquire(call, project, ref)
    given, offset = project.guard.inside(path), offset_of(cursor)
    outline, complaint = inquiry.require(lambda view: _outline(view, project, given, offset, limit))
    metadata = inquiry.metadata([complaint] if complaint else [], is_cut=outline.next_cursor is not None)
    return structs.replace(outline, metadata=metadata)


def _outline(view: View, project: Project, path: str, offset: int, limit: int | None) -> tuple[Outline, str]:
    """A page, and what the parser complained of."""
    file = view.file_at(path)
    if file is not None:
        return _file_page(view, file, offset, limit), view.complaint(file.id)
    below = list(view.files_below("" if path == "." else path))
    if not below:
        raise _unknown(view, project, path)
    return _folder_page(view, path, below, offset, limit), ""


# A file.


def _file_page(view: View, file: FileRow, offset: int, limit: int | None) -> Outline:
    symbols = _sections(view, file) if file.language in PROSE else view.symbols(file.id)
    count = _fitting(symbols[offset:], limit)
    shown = symbols[offset : offset + count]
    entry = OutlinedFile(
        path=file.path, language=file.language, lines=file.lines, source_layer=view.source_layer(file.path, file.id),
        symbols=_nest(symbols, shown),
    )  # fmt: skip
    after = offset + count
    return Outline(
        path=file.path, files=[entry], folders=[], total_symbols=len(symbols), total_files=1,
        files_without_symbols=int(not symbols), metadata={}, next_cursor=str(after) if after < len(symbols) else None,
    )  # fmt: skip


def _nest(symbols: list[SymbolRow], shown: list[SymbolRow]) -> list[OutlineSymbol]:
    """The shown ones as they stand in each other; what is around the first is repeated, so that a page stands alone."""
    wanted = {each.number for each in shown}
    for each in shown:
        while each.parent >= 0 and each.parent not in wanted:
            each = symbols[each.parent]  # noqa: PLW2901 - outward
            wanted.add(each.number)
    inside: dict[int, list[SymbolRow]] = {}
    for each in symbols:
        if each.number in wanted:
            inside.setdefault(each.parent, []).append(each)
    return _children(inside, -1)


def _children(inside: dict[int, list[SymbolRow]], parent: int) -> list[OutlineSymbol]:
    return [_entry(each, _children(inside, each.number)) for each in inside.get(parent, ())]


def _entry(each: SymbolRow | Symbol, children: list[OutlineSymbol]) -> OutlineSymbol:
    return OutlineSymbol(
        name=each.name, kind=SHORT_KINDS.get(each.kind, each.kind), signature=_signature(each),
        line_start=each.start_line, line_end=each.end_line, children=children,
    )  # fmt: skip


def nest_symbols(symbols: Sequence[Symbol]) -> list[OutlineSymbol]:
    """The symbols of one parsed file as they stand in each other."""
    inside: dict[int, list[int]] = {}
    for number, each in enumerate(symbols):
        inside.setdefault(each.parent, []).append(number)

    def nest(parent: int) -> list[OutlineSymbol]:
        return [_entry(symbols[number], nest(number)) for number in inside.get(parent, ())]

    return nest(-1)


def _signature(each: SymbolRow | Symbol) -> str:
    said = each.signature
    return said if len(said) <= _LONGEST_SIGNATURE else said[: _LONGEST_SIGNATURE - 1] + "…"


def _fitting(symbols: list[SymbolRow], limit: int | None) -> int:
    """How many symbols an answer has room for, one at least."""
    room = _room(limit)
    for count, each in enumerate(symbols):
        room -= _size(each)
        if count == limit or (room < 0 and count):
            return count
    return len(symbols)


def _room(limit: int | None) -> float:
    return characters(asked=limit is not None) - _AROUND_ROWS


def _size(each: SymbolRow) -> int:
    return _ROW + len(each.name) + len(_signature(each))


def _sections(view: View, file: FileRow) -> list[SymbolRow]:
    """The headings of a document, as if they were symbols; one without a text of its own begins with its first part."""
    extents: dict[tuple[str, ...], list[int]] = {}
    for chunk in view.chunks(file.id):
        titles = tuple(chunk.title.split(_UNDER)) if chunk.title else ()
        for depth in range(1, len(titles) + 1):
            extents.setdefault(titles[:depth], [chunk.start_line, 0])[1] = chunk.end_line
    numbers = {titles: number for number, titles in enumerate(extents)}
    return [_section(number, titles, extents[titles], numbers) for titles, number in numbers.items()]


def _section(number: int, titles: tuple[str, ...], extent: list[int], numbers: dict[tuple[str, ...], int]) -> SymbolRow:
    start, end = extent
    return SymbolRow(
        number=number, kind="section", name=titles[-1], path=_UNDER.join(titles), signature="", doc="",
        start_line=start, end_line=end, name_line=start, parent=numbers.get(titles[:-1], -1), ordinal=0, returns="",
        tags="", content_hash=b"",
    )  # fmt: skip


# A folder.


def _folder_page(view: View, path: str, below: list[FileRow], offset: int, limit: int | None) -> Outline:
    """Files by how near they are, then by name; the cursor counts files."""
    counts, folder = view.symbol_counts(), "" if path == "." else path
    telling = sorted((each for each in below if each.id in counts), key=lambda each: (each.path.count("/"), each.path))
    files = list(_fill_page(view, telling[offset:], limit))
    after = offset + len(files)
    return Outline(
        path=path, files=files, folders=[] if offset else list(_folders(folder, below)), total_files=len(below),
        total_symbols=sum(counts[each.id] for each in telling), files_without_symbols=len(below) - len(telling),
        metadata={}, next_cursor=str(after) if after < len(telling) else None,
    )  # fmt: skip


def _fill_page(view: View, files: list[FileRow], limit: int | None) -> Iterator[OutlinedFile]:
    """As many files as there is room for, one at least."""
    room, left = _room(limit), limit or _MOST_SYMBOLS
    for place, file in enumerate(files):
        top = [each for each in view.symbols(file.id) if each.parent < 0]
        shown = top[:_MOST_OF_A_FILE]
        room -= _FILE_ROW + sum(map(_size, shown))
        left -= len(shown)
        if place and (room < 0 or left < 0):
            return
        yield OutlinedFile(
            path=file.path, language=file.language, lines=file.lines,
            source_layer=view.source_layer(file.path, file.id), symbols=[_entry(each, []) for each in shown],
            omitted_symbols=len(top) - len(shown),
        )  # fmt: skip


def _folders(folder: str, below: list[FileRow]) -> Iterator[OutlinedFolder]:
    """The folders directly inside, with how many files each has below it."""
    start = len(folder) + 1 if folder else 0
    inner = Counter(each.path[start:].split("/", 1)[0] for each in below if "/" in each.path[start:])
    for name, files in sorted(inner.items())[:_MOST_FOLDERS]:
        yield OutlinedFolder(path=f"{folder}/{name}" if folder else name, files=files)


# What has no outline.


def _unknown(view: View, project: Project, path: str) -> NotFound:
    if (reason := view.absence(path)) is not None:
        return NotFound(
            f"{path} has no symbols: it is left out of the index ({reason})", path=path, state=reason,
            remedy="Nothing to do: such files are listed, not read.",
        )  # fmt: skip
    if (project.root / path).exists():
        return NotFound(
            f"{path} is not in the index: ignored by git or by the index's options, or newer than the index", path=path,
            state="not_indexed", remedy="Run index_codebase; if it stays out, read the file itself.",
        )  # fmt: skip
    near = nearest_paths(path, paths_in_view(view))
    return NotFound(
        f"No such file or folder: {printable(path)}", path=printable(path), state="unknown", near=near,
        remedy=suggestion(near) or None,
    )  # fmt: skip
