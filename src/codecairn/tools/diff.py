"""What a branch changed, told by symbol."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct

from codecairn.diff.changes import MISSING, Changed, Comparison
from codecairn.diff.symbols import symbol_changes
from codecairn.diff.values import ChangeType, FileStatus, Place, SymbolChange
from codecairn.diff.values import FileChange as Compared
from codecairn.errors import MergeBaseFailed, NotReady, RefNotFound
from codecairn.index.run import Options
from codecairn.index.standing import LIVE, Standing, scope_of
from codecairn.parse.kinds import CALLABLE
from codecairn.project import Project
from codecairn.rank.explain import SHORT_KINDS
from codecairn.rank.filters import Filters, checked_path, qualified_name
from codecairn.resolve.engine import Engine
from codecairn.resolve.identity import stable_id, symbol_id
from codecairn.resolve.references import references_to
from codecairn.resolve.values import Definition
from codecairn.source.refs import default_branch, tip_of
from codecairn.store.index import IndexStore
from codecairn.store.layers import Layer, Scope
from codecairn.store.view import FileRow, View
from codecairn.tools import Call, tool
from codecairn.tools.views import Cursor, Workspace, clamped, looked_at, newest, offset_of, project_of

_MOST_CHANGES = 1000
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


class Lines(Struct, frozen=True):
    start: int
    end: int


class _Change(Struct, frozen=True, kw_only=True):
    symbol: str
    change_type: ChangeType
    before: SymbolRecord | None
    after: SymbolRecord | None
    path: str
    lines: Lines


class ChangedSymbol(_Change, frozen=True, kw_only=True, omit_defaults=True):
    moved_from: str | None = None
    renamed_from: str | None = None
    signature_changed: bool = False
    body_changed: bool = False
    whitespace_or_comments_only: bool = False
    only_members: bool = False
    callers_at_base: int | None = None
    callers_at_head: int | None = None
    """How many places call it, where it is a function or a method that is there."""


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


@tool(family="refs")
def diff_context(
    call: Call,
    *,
    base_ref: Annotated[str | None, Meta(description="Default: default branch")] = None,
    head_ref: Annotated[str | None, Meta(description="Default: HEAD; live: files as they are")] = None,
    workspace: Workspace = None,
    path_filter: Annotated[str | None, Meta(description="Only below it")] = None,
    limit: Annotated[int, Meta(ge=1, description="Most symbols")] = 50,
    cursor: Cursor = None,
) -> DiffContext:
    """What a branch changed, by symbol: signatures, renames, moves, callers. Use it to review one; git_diff has the
    lines."""
    project = project_of(call, workspace)
    filters = Filters(path_filter=checked_path(path_filter)) if path_filter else Filters()
    offset = offset_of(cursor)
    limit, clamping = clamped(limit, _MOST_CHANGES)
    base = _indexed(call, project, base_ref or _default(call, project))
    asked = head_ref or call.connection.refs.get(project.root) or "HEAD"
    head = _indexed(call, project, asked)
    parted = _merge_base(call, project, base.layer, head.layer)
    changed, all_rows = _compared(call, project, parted, head)
    files = [each for each in changed.files if _is_wanted(filters, each.path, each.old_path)]
    rows = [each for each in all_rows if _is_wanted(filters, *_paths(each))]
    page = rows[offset : offset + limit]
    more = offset + limit < len(rows)
    at_base, is_base_whole = _callers(call, project, base, [each.before for each in page])
    at_head, is_head_whole = _callers(call, project, head, [each.after for each in page])
    clamping += [_NOT_COUNTED] if not (is_base_whole and is_head_whole) else []
    return DiffContext(
        base_ref=base.stands.ref,
        head_ref=LIVE if asked == LIVE else head.stands.ref,
        merge_base_commit=parted,
        affected_files=len(files),
        total_changes=len(rows),
        changes=[_row(call, *each) for each in zip(page, at_base, at_head, strict=True)],
        file_changes=[_file(each) for each in files],
        metadata=_metadata(base.stands, head.stands, changed, clamping, more=more),
        next_cursor=str(offset + limit) if more else None,
    )


_Compared = tuple[Changed, list[SymbolChange]]
_last: dict[tuple[str, str, int, int], _Compared] = {}
"""The last comparison of two commits: its next page, or the same again, is not reckoned anew."""


def _compared(call: Call, project: Project, parted: str, head: _Indexed) -> _Compared:
    key = (str(head.store.path), parted, head.layer.id, head.layer.generation)
    found = _last.get(key) if head.layer.name else None
    if found is None:
        changed = Comparison(project.git, head.store, project.guard, parted, head.layer, call.cancel).changed()
        found = changed, list(symbol_changes(changed.files, call.cancel))
        if head.layer.name:  # the working tree may have changed by the next call
            _last.clear()
            _last[key] = found
    return found


class _Indexed(NamedTuple):
    stands: Standing
    store: IndexStore
    layer: Layer


def _indexed(call: Call, project: Project, ref: str) -> _Indexed:
    """A ref as git has it now: what the index has not of it yet is indexed first."""
    stands = _caught_up(call, project, ref) if ref != LIVE else looked_at(call, project, LIVE)
    if stands.layer is None or stands.opened is None:
        raise NotReady("Project not indexed", details=stands.warnings)
    return _Indexed(stands, stands.opened.store, stands.layer)


def _caught_up(call: Call, project: Project, ref: str) -> Standing:
    tip = tip_of(project.git, ref, call.cancel)
    try:
        stands = looked_at(call, project, tip.name)
        if stands.layer is not None and stands.layer.head == tip.commit:
            return stands
    except (RefNotFound, NotReady):
        pass  # git has it, so it can be indexed
    opened = project.index.opened()
    scope = scope_of(project.index, opened, call.cancel) if opened else Scope("")
    project.index.index(Options(scope.tests, scope.vendor), force=False, cancel=call.cancel, ref=tip)
    return looked_at(call, project, tip.name)


def _default(call: Call, project: Project) -> str:
    tip = default_branch(project.git, call.cancel)
    if tip is None:
        raise RefNotFound("Nothing was ever committed", param="base_ref", remedy="Commit first; then name the commit.")
    return tip.name


def _merge_base(call: Call, project: Project, base: Layer, head: Layer) -> str:
    parted = project.git.merge_base(base.head, head.head, call.cancel) if base.head and head.head else None
    if parted is None:
        raise MergeBaseFailed("The two refs have no history in common here", base=base.head, head=head.head)
    return parted


def _is_wanted(filters: Filters, *paths: str) -> bool:
    """Whether it was or is there."""
    return any(filters.keep_file(FileRow(0, path, "", "", 0)) for path in paths)


def _paths(change: SymbolChange) -> list[str]:
    return [place.version.path for place in (change.before, change.after) if place is not None]


def _callers(call: Call, project: Project, side: _Indexed, places: list[Place | None]) -> tuple[list[int | None], bool]:
    """How often each is called in what a ref shows, and whether all were counted; None where it is not there, nothing
    that is called, or not counted."""

    def answer(view: View) -> tuple[list[int | None], bool]:
        engine = Engine(view, call.cancel)
        found = (_found(view, place) if place is not None else None for place in places)
        counts = [_calls(engine, each) if each is not None else None for each in found]
        return counts, not engine.budget.unreached

    return newest(side.stands, project, answer) or ([None] * len(places), True)


def _found(view: View, place: Place) -> Definition | None:
    row, file = place.symbol, view.file_at(place.version.path)
    if file is None or row.kind not in CALLABLE:
        return None
    same = (each for each in view.symbols(file.id) if (each.kind, each.path) == (row.kind, row.path))
    number = next((each.number for each in same if each.ordinal == row.ordinal), None)
    return None if number is None else Definition(file.id, number)


def _calls(engine: Engine, target: Definition) -> int | None:
    if engine.budget.is_spent:
        engine.budget.unreached += 1
        return None
    found = references_to(engine, target)
    return sum(1 for each in found.references if each.kind == "calls") if found.is_whole else None


def _row(call: Call, change: SymbolChange, at_base: int | None, at_head: int | None) -> ChangedSymbol:
    call.cancel.check()
    row = change.place.symbol
    return ChangedSymbol(
        symbol=row.name,
        change_type=change.change_type,
        before=_record(change.before),
        after=_record(change.after),
        path=change.path,
        lines=Lines(row.start_line, row.end_line),
        moved_from=change.moved_from,
        renamed_from=change.renamed_from,
        **change.difference._asdict(),
        callers_at_base=at_base,
        callers_at_head=at_head,
    )


def _record(place: Place | None) -> SymbolRecord | None:
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
    return ChangedFile(
        path=change.path, change_type=change.status, old_path=old_path, not_indexed=change.reason or None
    )


def _metadata(base: Standing, head: Standing, changed: Changed, clamping: list[str], *, more: bool) -> dict[str, Any]:
    said = head.metadata("truncated" if more else "complete")
    if head.freshness == "fresh":
        said["freshness_status"] = base.freshness
    lacking = sum(each.reason == MISSING for each in changed.files)
    warnings = [*dict.fromkeys([*base.warnings, *head.warnings]), *clamping]
    if lacking:
        said["result_completeness"] = "partial"
        warnings.append(f"{lacking} files could not be compared: this clone lacks their contents")
    if changed.withheld:
        warnings.append(f"{changed.withheld} changed files are secret or internal and are not shown")
    return {**said, "warnings": warnings} if warnings else said
