"""The changes of a branch, by symbol."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NamedTuple

from msgspec import UNSET, Meta, Struct
from msgspec.structs import replace

from codecairn.cache import Cache
from codecairn.cancel import Cancel
from codecairn.diff.changed_files import MISSING, ChangedFiles, Comparison
from codecairn.diff.hunks import hunk_lines
from codecairn.diff.symbol_changes import symbol_changes
from codecairn.diff.symbol_tokens import TokenTable
from codecairn.diff.values import ChangeType, FileStatus, SymbolChange, SymbolPlace
from codecairn.diff.values import VersionChange as Compared
from codecairn.errors import CairnError, MergeBaseFailed, OverlayNotReady, RefNotFound
from codecairn.index.status import LIVE, IndexStatus
from codecairn.names.filters import Filters, check_path
from codecairn.names.kinds import SHORT_KINDS
from codecairn.names.qualified import qualified_name
from codecairn.paths import printable
from codecairn.project import Project
from codecairn.reading.changes import print_changes
from codecairn.resolve.identity import stable_id, symbol_id
from codecairn.source.merge_base import Parting, parting
from codecairn.source.refs import default_branch, has_commit, tip_of
from codecairn.store.database import IndexStore
from codecairn.store.layers import Layer
from codecairn.store.view import FileRow
from codecairn.text import number_of
from codecairn.tools import Call, tool
from codecairn.tools.binding_rules import Rules, rules_for
from codecairn.tools.cursor import Cursor, offset_of
from codecairn.tools.inquiry import Inquiry, Workspace, clamp, inquire, project_of
from codecairn.tools.suggestions import filters_without_files
from codecairn.tools.symbol_calls import CountedCalls, SymbolCalls, count_calls
from codecairn.tools.waiting import CallPatience

_MOST_CHANGES = 1000
_GLANCE_S = 0.05
_UNINDEXED = -1
"""Stands for the number of a layer that is not there yet."""
_NOT_COUNTED = "Callers were not counted of every symbol: that takes more steps than one answer may; ask again to go on"


class ChangedFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    path: str
    change_type: FileStatus
    old_path: str | None = None
    not_indexed: str | None = None
    """Why no symbol of it is compared."""


class SymbolRecord(Struct, frozen=True, kw_only=True):
    symbol_id: str
    symbol_stable_id: str
    kind: str
    qualified_name: str
    signature: str
    path: str
    line_start: int
    line_end: int


class LineSpan(Struct, frozen=True):
    start: int
    end: int


class ChangedSymbol(Struct, frozen=True, kw_only=True, omit_defaults=True):
    symbol: str
    change_type: ChangeType
    before: SymbolRecord | None
    after: SymbolRecord | None
    path: str
    lines: LineSpan
    moved_from: str | None = None
    renamed_from: str | None = None
    signature_changed: bool = False
    body_changed: bool = False
    whitespace_or_comments_only: bool = False
    only_members: bool = False
    callers_at_base: int | None = None
    callers_at_head: int | None = None
    """How many places call it, where it is a function or a method that is there."""
    unbound_at_base: int = 0
    unbound_at_head: int = 0
    """Calls of its name that could not be bound: with them it may have more callers than were counted."""
    callers: list[str] = []
    """The nearest that call it at the head, by name; at the base, where it is gone."""
    hunk: list[str] = []


class DiffContext(Struct, frozen=True, kw_only=True):
    base_ref: str
    head_ref: str
    merge_base_commit: str
    affected_files: int
    total_changes: int
    changes: list[ChangedSymbol]
    file_changes: list[ChangedFile]
    metadata: dict[str, Any]
    next_cursor: str | None = None
    files_without_symbols: int = 0
    """Changed files in which no symbol changed: documents, data, layout."""
    omitted_files: int = 0
    """Of those, as many as are not in `file_changes`."""
    rules: Rules = UNSET


@tool(family="refs", reading=print_changes)
def diff_context(
    call: Call,
    *,
    base_ref: Annotated[str | None, Meta(description="Default: default branch")] = None,
    head_ref: Annotated[str | None, Meta(description="Default: HEAD; live: files as they are")] = None,
    workspace: Workspace = None,
    path_filter: Annotated[str | None, Meta(description="Only below it")] = None,
    limit: Annotated[int, Meta(ge=1, description="Most symbols")] = 50,
    include_hunks: Annotated[bool, Meta(description="With the changed lines of each")] = False,
    cursor: Cursor = None,
) -> DiffContext:
    """What a branch changed, by symbol, and who calls that. Use it to review; git_diff has the lines."""
    project = project_of(call, workspace)
    filters = Filters(path_filter=check_path(path_filter)) if path_filter else Filters()
    offset, patience = offset_of(cursor), CallPatience(call)
    limit, clamping = clamp(limit, _MOST_CHANGES)
    base = _side(call, project, base_ref or _default(call, project), patience)
    asked = head_ref or call.connection.refs.get(project.root) or "HEAD"
    head = _side(call, project, asked, patience)
    parted = _parting(call, project, base.layer, head.layer)
    clamping += [parted.warning] if parted.warning else []
    changed, all_rows, tokens = _compare(call, project, parted.commit, head)
    with tokens.forgetting():
        files = [each for each in changed.files if _is_wanted(filters, each.path, each.old_path)]
        rows = [each for each in all_rows if _is_wanted(filters, *_paths(each))]
        if not files and head.has_calls:
            clamping += head.inquiry.answer(lambda view: filters_without_files(view, filters)) or []
        page, more = rows[offset : offset + limit], offset + limit < len(rows)
        at_base, is_base_whole = _callers(call, base, [each.before for each in page])
        at_head, is_head_whole = _callers(call, head, [each.after for each in page])
        clamping += [_NOT_COUNTED] if not (is_base_whole and is_head_whole) else []
        silent = len(files) - len({each.path for each in files} & _all_paths(rows))
        return DiffContext(
            base_ref=base.ref,
            head_ref=LIVE if asked == LIVE else head.ref,
            merge_base_commit=parted.commit,
            affected_files=len(files),
            total_changes=len(rows),
            changes=[_row(call, *each, with_hunk=include_hunks) for each in zip(page, at_base, at_head, strict=True)],
            file_changes=[_file(each) for each in _page_files(files, rows, page, limit, is_first=offset == 0)],
            files_without_symbols=silent,
            omitted_files=max(0, silent - limit),
            metadata=_metadata(base.inquiry, head.inquiry, changed, clamping, more=more, is_whole=not parted.warning),
            next_cursor=str(offset + limit) if more else None,
            rules=rules_for(call, project, (each.path for each in files)) if not offset else UNSET,
        )


_Comparison = tuple[ChangedFiles, list[SymbolChange], TokenTable]
_compared_commits: Cache[tuple[str, str, int, int, str], _Comparison] = Cache(
    "diff.comparisons", 10_000_000, lambda compared: _weight(*compared[:2])
)
"""Comparisons of two commits: the next page of one, or the same again, is not reckoned anew."""
_SYMBOL_BYTES, _ROW_BYTES = 700, 600


def _weight(changed: ChangedFiles, rows: list[SymbolChange]) -> int:
    versions = [side for file in changed.files for side in (file.before, file.after) if side is not None]
    texts = sum(len(each.text) + _SYMBOL_BYTES * len(each.symbols) for each in versions)
    return texts + _ROW_BYTES * (len(rows) + len(changed.files))


def _page_files(
    files: list[Compared], rows: list[SymbolChange], page: list[SymbolChange], limit: int, *, is_first: bool
) -> list[Compared]:
    """The files of a page's symbols; on the first page also those in which no symbol changed, as far as the limit
    goes."""
    here, any_ = _all_paths(page), _all_paths(rows)
    silent = [each for each in files if each.path not in any_][:limit] if is_first else []
    return [each for each in files if each.path in here or each in silent]


def _all_paths(rows: list[SymbolChange]) -> set[str]:
    return {path for each in rows for path in _paths(each)}


def _compare(call: Call, project: Project, parted: str, head: _RefSide) -> _Comparison:
    key = (str(head.store.path), parted, head.layer.id, head.layer.generation, head.layer.head)
    with _one_at_a_time(call.cancel):
        found = _compared_commits.get(key) if head.layer.name else None
        if found is None:
            with _noticing_pruned(project, head.layer, call.cancel):
                comparison = Comparison(project.git, head.store, project.guard, parted, head.layer, call.cancel)
                changed = comparison.file_changes()
            tokens = TokenTable()
            found = changed, symbol_changes(changed.files, call.cancel, tokens), tokens
            if head.layer.name:  # the working tree may have changed by the next call
                _compared_commits.put(key, found)
    return found


@contextmanager
def _noticing_pruned(project: Project, head: Layer, cancel: Cancel) -> Iterator[None]:
    """A commit that git prunes while it is compared is said to be gone: its ref has moved on."""
    try:
        yield
    except CairnError as error:
        cancel.check()
        if has_commit(project.git, head.head, cancel):
            raise
        gone = f"{printable(head.name or LIVE)} has moved, and {head.head[:12]} is gone from the repository"
        raise OverlayNotReady(gone, ref=head.name or LIVE, remedy="Call again in a moment.") from error


_comparing = threading.Lock()


@contextmanager
def _one_at_a_time(cancel: Cancel) -> Iterator[None]:
    """Comparisons take ten times the memory of other calls, and side by side not less time than one after another."""
    while not _comparing.acquire(timeout=_GLANCE_S):
        cancel.check()
    try:
        yield
    finally:
        _comparing.release()


class _RefSide(NamedTuple):
    """One of the two refs, with what is indexed of it."""

    inquiry: Inquiry
    store: IndexStore
    layer: Layer

    @property
    def ref(self) -> str:
        return self.inquiry.stands.ref

    @property
    def has_calls(self) -> bool:
        return self.layer.id != _UNINDEXED


def _side(call: Call, project: Project, ref: str, patience: CallPatience) -> _RefSide:
    try:
        inquiry = inquire(call, project, ref, patience)
    except OverlayNotReady as error:
        return _as_git_has_it(call, project, ref, error)
    layer, opened = inquiry.stands.layer, inquiry.stands.opened
    if layer is None or opened is None:
        raise inquiry.not_indexed()
    if inquiry.stands.freshness != "fresh" and layer.head and not has_commit(project.git, layer.head, call.cancel):
        gone = f"{printable(ref)} has moved, and {layer.head[:12]}, where it was, is gone from the repository"
        moved = OverlayNotReady(gone, ref=ref, remedy="Call again in a moment.")
        return _as_git_has_it(call, project, ref, moved)
    return _RefSide(inquiry, opened.store, layer)


def _as_git_has_it(call: Call, project: Project, ref: str, error: OverlayNotReady) -> _RefSide:
    """A ref that is still being indexed: its symbols can be compared, and who calls them is not known yet."""
    opened = project.index.open_index()
    like = opened.store.checkout(str(project.root)) if opened is not None else None
    if opened is None or like is None or ref == LIVE:
        raise error
    tip = tip_of(project.git, ref, call.cancel)
    layer = replace(like, id=_UNINDEXED, root="", name=tip.name, head=tip.commit, base=None, generation=0)
    note = f"{error.message}: its callers are not counted yet"
    stands = IndexStatus("syncing", "ready", "compatible", tip.name, opened, layer, [note])
    return _RefSide(Inquiry(project, stands, call.cancel), opened.store, layer)


def _default(call: Call, project: Project) -> str:
    tip = default_branch(project.git, call.cancel)
    if tip is None:
        raise RefNotFound("Nothing was ever committed", param="base_ref", remedy="Commit first; then name the commit.")
    return tip.name


def _parting(call: Call, project: Project, base: Layer, head: Layer) -> Parting:
    parted = parting(project.git, base.head, head.head, call.cancel) if base.head and head.head else None
    if parted is None:
        raise MergeBaseFailed("The two refs have no history in common here", base=base.head, head=head.head)
    return parted


def _is_wanted(filters: Filters, *paths: str) -> bool:
    """Whether it was or is there."""
    return any(filters.keep_file(FileRow(0, path, "", "", 0)) for path in paths)


def _paths(change: SymbolChange) -> list[str]:
    return [place.version.path for place in (change.before, change.after) if place is not None]


def _callers(call: Call, side: _RefSide, places: list[SymbolPlace | None]) -> CountedCalls:
    none: CountedCalls = [None] * len(places), True
    return side.inquiry.answer(lambda view: count_calls(view, places, call.cancel)) or none if side.has_calls else none


def _row(
    call: Call, change: SymbolChange, at_base: SymbolCalls | None, at_head: SymbolCalls | None, *, with_hunk: bool
) -> ChangedSymbol:
    call.cancel.check()
    row, calls = change.place.symbol, at_head or at_base
    return ChangedSymbol(
        symbol=row.name,
        change_type=change.change_type,
        before=_record(change.before),
        after=_record(change.after),
        path=change.path,
        lines=LineSpan(row.start_line, row.end_line),
        moved_from=change.moved_from,
        renamed_from=change.renamed_from,
        **change.difference._asdict(),
        callers_at_base=at_base.total if at_base else None,
        callers_at_head=at_head.total if at_head else None,
        unbound_at_base=at_base.unbound if at_base else 0,
        unbound_at_head=at_head.unbound if at_head else 0,
        callers=calls.nearest if calls else [],
        hunk=hunk_lines(change) if with_hunk else [],
    )


def _record(place: SymbolPlace | None) -> SymbolRecord | None:
    if place is None:
        return None
    version, row = place.version, place.symbol
    file = FileRow(0, version.path, version.language, version.package, 0)
    return SymbolRecord(
        symbol_id=symbol_id(file, row),
        symbol_stable_id=stable_id(file, row),
        kind=SHORT_KINDS.get(row.kind, row.kind),
        qualified_name=qualified_name(file, row),
        signature=row.signature,
        path=version.path,
        line_start=row.start_line,
        line_end=row.end_line,
    )


def _file(change: Compared) -> ChangedFile:
    old_path = change.old_path if change.status == "renamed" else None
    why = change.reason or None
    return ChangedFile(path=change.path, change_type=change.status, old_path=old_path, not_indexed=why)


def _metadata(
    base: Inquiry, head: Inquiry, changed: ChangedFiles, clamping: list[str], *, more: bool, is_whole: bool
) -> dict[str, Any]:
    freshness = [head.stands.freshness, base.stands.freshness]
    lacking = sum(each.reason == MISSING for each in changed.files)
    warnings = [*dict.fromkeys([*base.stands.warnings, *head.stands.warnings]), *clamping]
    if lacking:
        warnings.append(f"{number_of(lacking, 'file')} could not be compared: this clone lacks their contents")
    if changed.withheld:
        warnings.append(f"{number_of(changed.withheld, 'changed file')} not shown: secret or internal")
    least = "syncing" if "syncing" in freshness else next((each for each in freshness if each != "fresh"), "fresh")
    said = head.metadata(is_cut=more, is_whole=is_whole and not lacking, freshness_status=least)
    return {**said, "warnings": warnings} if warnings else said
