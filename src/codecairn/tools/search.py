"""Search, and why a result stands where it stands."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from codecairn.errors import EmptyQuery, ResultNotFound
from codecairn.file_roles import is_vendored
from codecairn.globs import glob
from codecairn.names.filters import Filters, check_language, check_path
from codecairn.names.kinds import SHORT_KINDS
from codecairn.names.qualified import module_of, package_of, qualified_name
from codecairn.paths import printable
from codecairn.rank.candidate import Ranked
from codecairn.rank.excerpts import excerpt_of, extent_of
from codecairn.rank.search import CANDIDATES, Mode, Question
from codecairn.reading.search import print_explanation, print_search
from codecairn.store.view import View
from codecairn.suggestions import nearest_paths, suggestion
from codecairn.tools import Call, tool
from codecairn.tools.cursor import Cursor, offset_of
from codecairn.tools.inquiry import Inquiry, ProjectPath, Ref, UnlistedRoot, Workspace, inquire, project_of
from codecairn.tools.suggestions import filters_without_files

_LONGEST_QUERY = 1000
_MOST_EXACT_NUMBER = (1 << 53) - 1
"""The largest whole number that every JSON reader keeps exact."""
SymbolKind = Literal[
    "function", "method", "class", "struct", "interface", "trait", "enum", "type", "const", "var", "field", "module",
]  # fmt: skip
DddPattern = Literal["aggregate", "entity", "value_object", "repository", "service"]
SearchMode = Annotated[Mode, Meta(description="Words, meaning, or both")]


class SearchFilters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    symbol_types: list[SymbolKind] = []
    file_pattern: str = ""
    ddd_patterns: list[DddPattern] = []
    packages: list[str] = []
    min_relevance: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.0


class FoundSymbol(Struct, frozen=True, kw_only=True):
    name: str
    kind: str
    package: str
    signature: str
    doc_comment: str
    qualified_name: str


class FoundFile(Struct, frozen=True, kw_only=True):
    path: str
    package: str
    start_line: int
    end_line: int
    language: str
    vendored: bool


class SearchResult(Struct, frozen=True, kw_only=True):
    chunk_id: int
    rank: int
    relevance_score: float
    ranking_score: float
    symbol: FoundSymbol | None
    file: FoundFile
    source_layer: str
    content: str
    context_before: str
    context_after: str
    content_cut: bool
    content_start_line: int


class SearchStatistics(Struct, frozen=True, kw_only=True):
    total_results: int
    returned_results: int
    search_duration_ms: float
    cache_hit: bool


class SearchAnswer(Struct, frozen=True, kw_only=True):
    success: Literal[True]
    query: str
    results: list[SearchResult]
    statistics: SearchStatistics
    message: str
    metadata: dict[str, Any]
    next_cursor: str | None = None


_NO_FILTERS = SearchFilters()
Query = Annotated[str, Meta(description="Anything", max_length=_LONGEST_QUERY)]
FilterObject = Annotated[
    SearchFilters, Meta(description="symbol_types, file_pattern (glob), ddd_patterns, packages, min_relevance")
]


@tool(family="index", reading=print_search)
def search_code(
    call: Call,
    *,
    query: Query,
    path: ProjectPath = None,
    limit: Annotated[int, Meta(ge=1, le=100, description="Most results")] = 10,
    filters: FilterObject = _NO_FILTERS,
    search_mode: SearchMode = "hybrid",
    language: Annotated[str | None, Meta(description="Only this language")] = None,
    path_filter: Annotated[str | None, Meta(description="Folder or glob")] = None,
    cursor: Cursor = None,
    ref: Ref = None,
    workspace: UnlistedRoot = None,
) -> SearchAnswer:
    """Where is this done? Functions, classes and documents for a question, a name, a path or an error message, best
    first. Use it before grep."""
    began = time.perf_counter()
    project = project_of(call, workspace, path)
    asked = _question(call, query, filters, search_mode, language, path_filter)
    offset = offset_of(cursor)
    inquiry = inquire(call, project, ref)
    page = _page(inquiry, asked, offset, limit)
    call.sequence = page.sequence
    ms = (time.perf_counter() - began) * 1000
    after = offset + len(page.results)
    is_cut = after < page.total
    return SearchAnswer(
        success=True, query=query, results=page.results,
        statistics=SearchStatistics(
            total_results=page.total, returned_results=len(page.results), search_duration_ms=round(ms, 3),
            cache_hit=page.is_known,
        ),
        message=_message(inquiry, page.total, ms),
        metadata=inquiry.metadata(page.warnings, is_cut=is_cut or page.is_capped, **page.suppressed),
        next_cursor=str(after) if is_cut else None,
    )  # fmt: skip


def _message(inquiry: Inquiry, total: int, ms: float) -> str:
    if inquiry.is_empty:
        return f"Nothing could be searched: {inquiry.first_run}"
    so_far = " so far" if inquiry.stands.is_partial else ""
    return f"Found {total} results{so_far} in {ms:.0f}ms"


@dataclass(frozen=True)
class _SearchPage:
    results: list[SearchResult]
    total: int
    is_known: bool
    is_capped: bool
    warnings: tuple[str, ...] = ()
    suppressed: dict[str, Any] = field(default_factory=dict)
    sequence: str = ""
    """Every result in its place: one that was read meanwhile may stand elsewhere."""


def _question(
    call: Call, query: str, filters: SearchFilters, mode: Mode, language: str | None, path_filter: str | None,
    candidates: int = CANDIDATES,
) -> Question:  # fmt: skip
    if not query.strip():
        raise EmptyQuery("The query is empty", param="query", reason="Query is empty or whitespace-only")
    if filters.file_pattern:
        glob(filters.file_pattern)
    wanted = Filters(
        frozenset(filters.symbol_types), frozenset(filters.ddd_patterns), frozenset(filters.packages),
        filters.file_pattern, check_path(path_filter or ""), check_language(language) if language else "",
        filters.min_relevance,
    )  # fmt: skip
    return Question(query, mode, wanted, candidates, frozenset(call.connection.recent_files))


def _page(inquiry: Inquiry, asked: Question, offset: int, limit: int) -> _SearchPage:
    def answer(view: View) -> _SearchPage:
        found, is_known = inquiry.project.searcher.rank(view, asked)
        part = found.results[offset : offset + limit]
        results = [_result(view, each, offset + place) for place, each in enumerate(part, 1)]
        warnings = found.warnings if found.results else (*found.warnings, *filters_without_files(view, asked.filters))
        order = repr(found.results.places)
        suppressed = {"suppressed_duplicate_count": found.suppressed} if found.suppressed else {}
        return _SearchPage(results, len(found.results), is_known, found.is_capped, warnings, suppressed, order)

    return _SearchPage([], 0, is_known=False, is_capped=False) if inquiry.is_empty else inquiry.require(answer)


def _result(view: View, ranked: Ranked, place: int) -> SearchResult:
    candidate = ranked.candidate
    file = view.file(candidate.file)
    assert file is not None
    symbol = view.symbol(candidate.file, candidate.symbol) if candidate.symbol >= 0 else None
    text = excerpt_of(view, file, view.chunk(candidate.file, candidate.number), candidate.symbol)
    return SearchResult(
        chunk_id=chunk_id(candidate.file, candidate.number), rank=place, relevance_score=ranked.relevance,
        ranking_score=ranked.total,
        symbol=FoundSymbol(
            name=symbol.name, kind=symbol.kind, package=module_of(file), signature=symbol.signature,
            doc_comment=symbol.doc, qualified_name=qualified_name(file, symbol),
        ) if symbol else None,
        file=FoundFile(
            path=file.path, package=package_of(file), start_line=text.start_line, end_line=text.end_line,
            language=file.language, vendored=is_vendored(file.path),
        ),
        source_layer=view.source_layer(file.path, file.id), content=text.content,
        context_before=text.before, context_after=text.after, content_cut=text.is_cut,
        content_start_line=text.content_start_line,
    )  # fmt: skip


def chunk_id(file: int, number: int) -> int:
    """A number for the chunk that stays as long as its file does."""
    return (file * 1_000_003 + number) & _MOST_EXACT_NUMBER


class ExplainedResult(Struct, frozen=True, kw_only=True):
    path: str
    line_start: int
    line_end: int
    kind: str
    name: str
    source_layer: str
    rank: int


class Explanation(Struct, frozen=True, kw_only=True):
    query: str
    result: ExplainedResult
    scoring: dict[str, float]
    scoring_details: dict[str, str]
    metadata: dict[str, Any]


@tool(family="refs", reading=print_explanation)
def explain_ranking(
    call: Call,
    *,
    query: Query,
    result_path: Annotated[str, Meta(description="Its path", min_length=1)],
    result_line_start: Annotated[int, Meta(ge=1, description="Its first line")],
    workspace: Workspace = None,
    ref: Ref = None,
    language: Annotated[str | None, Meta(description="As in the search")] = None,
    limit: Annotated[int, Meta(ge=1, le=1000, description="Candidates that are weighed")] = CANDIDATES,
    search_mode: SearchMode = "hybrid",
    filters: Annotated[SearchFilters, Meta(description="As there")] = _NO_FILTERS,
    path_filter: Annotated[str | None, Meta(description="As there")] = None,
) -> Explanation:
    """Why a search result stands where it stands. Use it when a search is odd."""
    project = project_of(call, workspace)
    inquiry = inquire(call, project, ref)
    asked = _question(call, query, filters, search_mode, language, path_filter, limit)

    def answer(view: View) -> Explanation:
        ranking = project.searcher.rank(view, asked)[0]
        found = ranking.results
        place = _place_of(view, found, result_path, result_line_start)
        if place is None:
            raise _lacking(view, asked, found, result_path, result_line_start)
        return _explain(view, query, found[place], place + 1, inquiry.metadata(ranking.warnings))

    return inquiry.require(answer)


def _place_of(view: View, found: Sequence[Ranked], path: str, line: int) -> int | None:
    """The result at a path and line: the one that begins there, else the smallest around it."""
    around = []
    for place, each in enumerate(found):
        candidate = each.candidate
        if candidate.path == path:
            start, end = extent_of(view, candidate.file, candidate.number, candidate.symbol)
            if line in (start, candidate.start_line):
                return place
            if start <= line <= end:
                around.append((end - start, place))
    return min(around)[1] if around else None


def _explain(view: View, query: str, ranked: Ranked, place: int, metadata: dict[str, Any]) -> Explanation:
    from codecairn.rank.explain import reasons  # noqa: PLC0415 - for who asks why

    candidate = ranked.candidate
    start, end = extent_of(view, candidate.file, candidate.number, candidate.symbol)
    return Explanation(
        query=query,
        result=ExplainedResult(
            path=candidate.path, line_start=start, line_end=end, kind=SHORT_KINDS.get(candidate.kind, candidate.kind),
            name=candidate.name, source_layer=view.source_layer(candidate.path, candidate.file), rank=place,
        ),
        scoring={**ranked.contributions, "total": ranked.total},
        scoring_details=reasons(view, query, ranked),
        metadata=metadata,
    )  # fmt: skip


def _lacking(view: View, asked: Question, found: Sequence[Ranked], path: str, line: int) -> ResultNotFound:
    from codecairn.rank.explain import what_it_lacked  # noqa: PLC0415 - the same

    file = view.file_at(path)
    lacked = "no file of this path is indexed" if file is None else what_it_lacked(view, asked, found, file, line)
    near = nearest_paths(path, (each.path for each in view.files())) if file is None else []
    return ResultNotFound(
        f"The search does not return {printable(path)}:{line}: {lacked}", result_path=printable(path), lacked=lacked,
        near=near, remedy=suggestion(near) or None,
    )  # fmt: skip
