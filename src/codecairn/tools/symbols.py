"""Symbols by their names."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from codecairn.cancel import Cancel
from codecairn.errors import InvalidInput, SymbolNotFound
from codecairn.names.filters import Filters, check_language, check_path
from codecairn.names.kinds import SHORT_KINDS
from codecairn.names.lookup import Match, Named, find
from codecairn.names.qualified import qualified_name
from codecairn.parse.kinds import KINDS
from codecairn.paths import has_control, printable
from codecairn.rank.excerpts import Body, body_of, head_of
from codecairn.reading.outline import print_symbols
from codecairn.resolve.inherited_members import find_inherited
from codecairn.store.view import View
from codecairn.suggestions import nearest, suggestion
from codecairn.tools import Call, tool
from codecairn.tools.cursor import Cursor, offset_of
from codecairn.tools.inquiry import Ref, Workspace, inquire, project_of
from codecairn.tools.suggestions import filters_without_files
from codecairn.tools.symbol_fields import symbol_fields

LONGEST_NAME = 500
_ROOM = 12_000
"""Characters of source in an answer: with ten signatures it stays below what an ordinary answer may have."""
_BODIES = 3
_MOST_OTHERS = 5
_LONGEST_DOC = 160
_FULL_KINDS = {short: full for full, short in SHORT_KINDS.items()}

SymbolName = Annotated[
    str,
    Meta(description="Bare or qualified: pkg.Type.method, mod::fn, a/b.ts:fn", max_length=LONGEST_NAME),
]


class SymbolFound(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    qualified_name: str
    kind: str
    match: Match
    language: str
    path: str
    line_start: int
    line_end: int
    signature: str
    symbol_id: str
    symbol_stable_id: str
    source_layer: str
    doc: str | None = None
    body: str | None = None
    body_start_line: int | None = None
    body_cut: bool = False


class SymbolsFound(Struct, frozen=True, kw_only=True):
    symbols: list[SymbolFound]
    total_symbols: int
    metadata: dict[str, Any]
    next_cursor: str | None = None


@tool(family="refs", reading=print_symbols)
def find_symbol(
    call: Call,
    *,
    symbol_name: SymbolName,
    kind: Annotated[str | None, Meta(description="fn, method, class, struct, const, field …")] = None,
    path: Annotated[str | None, Meta(description="Folder, file or glob")] = None,
    language: Annotated[str | None, Meta(description="Only this language")] = None,
    limit: Annotated[int, Meta(ge=1, le=100, description="Most symbols")] = 10,
    cursor: Cursor = None,
    workspace: Workspace = None,
    ref: Ref = None,
) -> SymbolsFound:
    """A definition with its source, by its name or part of it. Use it instead of grepping for `def name`."""
    inquiry = inquire(call, project_of(call, workspace), ref)
    check_name(symbol_name)
    wanted = Filters(
        kinds=frozenset({_kind(kind)} if kind else ()), path_filter=check_path(path or ""),
        language=check_language(language) if language else "",
    )  # fmt: skip
    offset = offset_of(cursor)
    page, total = inquiry.require(lambda view: _page(view, symbol_name, wanted, offset, limit, call.cancel))
    after = offset + len(page)
    return SymbolsFound(
        symbols=page, total_symbols=total, metadata=inquiry.metadata(is_cut=after < total),
        next_cursor=str(after) if after < total else None,
    )  # fmt: skip


def check_name(name: str) -> None:
    if not name.strip() or has_control(name):
        reason = "it holds a control character" if name.strip() else "it is empty"
        raise InvalidInput(f"Not a name: {printable(name)} ({reason})", param="symbol_name", reason=reason)


def _kind(given: str) -> str:
    kind = _FULL_KINDS.get(given.strip().lower(), given.strip().lower())
    if kind not in KINDS:
        known = sorted(SHORT_KINDS.get(each, each) for each in KINDS)
        near = nearest(given, {*known, *KINDS})
        raise InvalidInput(
            f"Unknown kind: {printable(given)}", param="kind", reason=f"one of {', '.join(known)}", near=near,
            remedy=suggestion(near) or None,
        )  # fmt: skip
    return kind


def _page(
    view: View, name: str, wanted: Filters, offset: int, limit: int, cancel: Cancel
) -> tuple[list[SymbolFound], int]:
    found = find(view, name, wanted)
    if not found or found[0].match == "near":
        found = find_inherited(view, name, wanted, cancel) or found
    if not found:
        raise _not_found(view, name, wanted)
    page = found[offset : offset + limit]
    bodies = _bodies(view, page if page and page[0].match != "near" else page[:1])
    return [_row(view, each, bodies.get(place)) for place, each in enumerate(page)], len(found)


def _not_found(view: View, name: str, wanted: Filters) -> SymbolNotFound:
    asked = printable(name)
    others = find(view, name, Filters()) if wanted != Filters() else []
    if not others:
        return SymbolNotFound(f"No symbol is named {asked}, or nearly so", symbol_name=asked, near=[])
    why = " ".join(filters_without_files(view, wanted)).replace("path_filter", "path")
    near = list(dict.fromkeys(qualified_name(each.file, each.symbol) for each in others))[:_MOST_OTHERS]
    return SymbolNotFound(
        f"No symbol named {asked} passes the filters; {len(others)} do without them", symbol_name=asked,
        candidates=near, near=near, remedy=f"{why} Leave out kind, path or language.".lstrip(),
    )  # fmt: skip


def _bodies(view: View, page: list[Named]) -> dict[int, Body]:
    """The source of the first few, each whole; of the first of all as much as there is room for."""
    room, bodies = _ROOM, dict[int, Body]()
    for place, each in enumerate(page):
        body = body_of(view, each.file, each.symbol, room)
        if body is None and place == 0:
            body = head_of(view, each.file, each.symbol, room)
        if body is not None:
            bodies[place] = body
            room -= len(body.text)
        if len(bodies) == _BODIES:
            break
    return bodies


def _row(view: View, each: Named, body: Body | None) -> SymbolFound:
    file, symbol = each.file, each.symbol
    doc = symbol.doc.strip().split("\n")[0][:_LONGEST_DOC]
    return SymbolFound(
        **symbol_fields(file, symbol), match=each.match, language=file.language, path=file.path,
        line_start=symbol.name_line, line_end=symbol.end_line, signature=symbol.signature,
        source_layer=view.source_layer(file.path, file.id),
        doc=doc if doc and body is None else None, body=body.text if body else None,
        body_start_line=body.start_line if body else None,
        body_cut=body.is_cut if body else False,
    )  # fmt: skip
