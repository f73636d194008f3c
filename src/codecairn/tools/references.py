"""References: where a definition is used, each site with its own line, and what was refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct, structs

from codecairn.errors import InvalidInput, NoEdgesAvailable
from codecairn.file_roles import is_product, is_test
from codecairn.reading.references import kind_order, print_references
from codecairn.resolve.engine import Engine
from codecairn.resolve.pick import SymbolMeaning, meanings
from codecairn.resolve.references import Reference, ReferenceSet, Unresolved
from codecairn.resolve.same_definition import references_to_all
from codecairn.resolve.values import Definition
from codecairn.store.view import View
from codecairn.tools import Call, tool
from codecairn.tools.cursor import Cursor, offset_of
from codecairn.tools.inquiry import Ref, Workspace, clamp, inquire, project_of
from codecairn.tools.suggestions import suggest_names
from codecairn.tools.symbol_fields import symbol_fields

EdgeType = Literal["imports", "calls", "implements", "extends", "references"]
SymbolName = Annotated[
    str, Meta(description="Bare or qualified: pkg.Type.method, mod::fn, a/b.ts:fn", min_length=1, max_length=500)
]
_MOST_REFERENCES = 1000
NOT_ALL = "Not every use of the name was looked into: that takes more steps than one answer may; ask again to go on"
_LONGEST_CONTEXT = 400
"""Characters; of a longer line the part around the reference is shown."""


class SymbolOf(Struct, frozen=True, kw_only=True):
    symbol_id: str
    symbol_stable_id: str
    name: str
    qualified_name: str
    kind: str


class ReferredSymbol(SymbolOf, frozen=True, kw_only=True):
    path: str
    line_start: int


class _Row(Struct, frozen=True, kw_only=True):
    path: str
    line_start: int
    edge_type: EdgeType
    source_layer: str
    context: str
    from_symbol: SymbolOf


class UnresolvedRow(_Row, frozen=True, kw_only=True, omit_defaults=True):
    reason: str | None = None
    """Why it was not looked into: the question's budget of steps was spent before."""


class ReferenceRow(_Row, frozen=True, kw_only=True):
    confidence: float
    resolver: str


class CandidateReferences(Struct, frozen=True, kw_only=True):
    symbol: ReferredSymbol
    references: list[ReferenceRow]
    total_references: int
    unresolved_count: int
    elsewhere_count: int
    """Uses of the name that mean something else: a local name, a label, another definition, a library's."""


class References(CandidateReferences, frozen=True, kw_only=True):
    metadata: dict[str, Any]
    unresolved: list[UnresolvedRow] | None = None
    unresolved_reasons: dict[str, int] | None = None
    next_cursor: str | None = None
    candidates: list[CandidateReferences] | None = None
    """The other symbols of a bare name, where it has several: `symbol` is the likeliest."""


@tool(family="refs", reading=print_references)
def find_references(
    call: Call,
    *,
    symbol_name: SymbolName,
    ref: Ref = None,
    kind: Annotated[EdgeType | None, Meta(description="Only uses of this kind")] = None,
    limit: Annotated[int, Meta(ge=1, description="Most references")] = 20,
    cursor: Cursor = None,
    path: Annotated[str | None, Meta(description="File of the definition meant")] = None,
    line: Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="Its line there")] = None,
    workspace: Workspace = None,
    include_unresolved: Annotated[bool, Meta(description="List unbound uses too")] = False,
) -> References:
    """Every use of a symbol, bound by scopes and types: calls, subclasses, imports. Use it instead of grep, which mixes
    up equal names."""
    if line is not None and path is None:
        raise InvalidInput("A line needs its path", param="path", reason="line is given without path")
    inquiry = inquire(call, project_of(call, workspace), ref)
    offset = offset_of(cursor)
    limit, clamping = clamp(limit, _MOST_REFERENCES)

    def answer(view: View) -> References:
        engine = Engine(view, call.cancel)
        with suggest_names(view, symbol_name):
            (target, uses), *others = weigh(engine, meanings(engine, symbol_name, path, line))
        share, rows = limit if offset else max(1, limit // (len(others) + 1)), _rows(engine, uses, kind)
        page = _page(engine, target, rows, offset, share, include_unresolved=include_unresolved)
        warnings = clamping if uses.is_whole else [*clamping, NOT_ALL]
        is_cut = page.next_cursor is not None
        page = structs.replace(page, metadata=inquiry.metadata(warnings, is_cut=is_cut, is_whole=uses.is_whole))
        return page if offset or not others else _with_candidates(engine, page, others, kind, share)

    return inquiry.require(answer, NoEdgesAvailable)


def weigh(engine: Engine, found: list[SymbolMeaning]) -> list[tuple[Definition, ReferenceSet]]:
    """Each symbol with its uses; of several the product's own before what tests define, then the most used first."""
    weighed = [(each.definition, references_to_all(engine, each.every, is_apart=each.is_apart)) for each in found]
    rows = engine.known.rows

    def order(each: tuple[Definition, ReferenceSet]) -> tuple[bool, int]:
        row = rows[each[0].file]
        return not is_product(row.path, row.language), -len(each[1].references)

    return sorted(weighed, key=order)


def _with_candidates(
    engine: Engine, page: References, others: list[tuple[Definition, ReferenceSet]], kind: str | None, share: int
) -> References:  # fmt: skip
    told = [_candidate(engine, target, _rows(engine, found, kind), share) for target, found in others]
    metadata = page.metadata
    if metadata["result_completeness"] == "complete" and any(
        len(each.references) < each.total_references for each in told
    ):
        metadata = {**metadata, "result_completeness": "truncated"}
    return structs.replace(page, candidates=told, metadata=metadata)


def _candidate(engine: Engine, target: Definition, rows: ReferenceSet, share: int) -> CandidateReferences:
    bound, unbound = rows.references, rows.unresolved
    return CandidateReferences(
        symbol=describe_symbol(engine, target), references=[reference_row(engine, each) for each in bound[:share]],
        total_references=len(bound), unresolved_count=len(unbound), elsewhere_count=len(rows.elsewhere),
    )  # fmt: skip


_Place = TypeVar("_Place", Reference, Unresolved)


def _rows(engine: Engine, found: ReferenceSet, kind: str | None) -> ReferenceSet:
    def order(each: Reference | Unresolved) -> tuple[int, bool, str, int]:
        path = engine.scope(each.file).row.path
        return kind_order(each.kind), is_test(path), path, each.line

    bound, unbound = _of_kind(found.references, kind), _of_kind(found.unresolved, kind)
    return replace(found, references=sorted(bound, key=order), unresolved=sorted(unbound, key=order))


def _of_kind(rows: list[_Place], kind: str | None) -> list[_Place]:
    return [each for each in rows if kind is None or each.kind == kind]


def _page(
    engine: Engine, target: Definition, found: ReferenceSet, offset: int, limit: int, *, include_unresolved: bool
) -> References:
    """A page of both lists: the cursor counts along the two side by side."""
    bound, unbound = found.references, found.unresolved
    after = offset + limit
    is_cut = after < (max(len(bound), len(unbound)) if include_unresolved else len(bound))
    return References(
        symbol=describe_symbol(engine, target),
        references=[
            reference_row(engine, each)
            for each in bound[offset:after]
        ],
        total_references=len(bound), unresolved_count=len(unbound), elsewhere_count=len(found.elsewhere),
        unresolved_reasons=dict(Counter(each.reason for each in unbound).most_common()) or None,
        metadata={},
        unresolved=[
            UnresolvedRow(**_place(engine, each), reason=each.reason)
            for each in unbound[offset:after]
        ] if include_unresolved else None,
        next_cursor=str(after) if is_cut else None,
    )  # fmt: skip


def reference_row(engine: Engine, each: Reference) -> ReferenceRow:
    return ReferenceRow(**_place(engine, each), confidence=each.confidence, resolver=each.resolver)


def describe_symbol(engine: Engine, target: Definition) -> ReferredSymbol:
    file, symbol = engine.scope(target.file).row, engine.symbol(target)
    return ReferredSymbol(**symbol_fields(file, symbol), path=file.path, line_start=symbol.name_line)


def _place(engine: Engine, each: Reference | Unresolved) -> dict[str, Any]:
    scope = engine.scope(each.file)
    return {
        "path": scope.row.path, "line_start": each.line, "edge_type": each.kind,
        "source_layer": engine.view.source_layer(scope.row.path, each.file),
        "context": _context(scope.source.line(each.line), each.column),
        "from_symbol": symbol_around(engine, each.file, each.symbol),
    }  # fmt: skip


def _context(line: str, column: int) -> str:
    if len(line) > _LONGEST_CONTEXT:
        start = max(0, min(column, len(line)) - _LONGEST_CONTEXT // 2)
        line = line[start : start + _LONGEST_CONTEXT]
    return line.strip()


def symbol_around(engine: Engine, file: int, number: int) -> SymbolOf:
    """The symbol a site stands in; the module where it stands in none."""
    scope = engine.scope(file)
    return SymbolOf(**symbol_fields(scope.row, scope.symbols[number] if number >= 0 else None))
