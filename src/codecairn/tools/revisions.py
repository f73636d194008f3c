"""Branches, tags and commits: what is indexed of them, and which one a connection is on."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from codecairn.clock import iso_seconds
from codecairn.errors import CairnError, OverlayNotReady, ProjectNotFound
from codecairn.index.ref_use import last_ref_use, lease_of, note_ref_use
from codecairn.index.status import LIVE, IndexStatus, index_status, scope_of
from codecairn.project import Project
from codecairn.reading.project import print_refs, print_switched
from codecairn.source.refs import is_repository, tips, worktrees
from codecairn.store.layers import Layer
from codecairn.store.open_index import OpenIndex
from codecairn.tools import Call, tool
from codecairn.tools.inquiry import Inquiry, Workspace, glance, inquire, project_of
from codecairn.tools.waiting import is_first_run


class IndexedRef(Struct, frozen=True, kw_only=True):
    ref: str
    is_default: bool
    last_indexed_commit: str | None
    merge_base_commit: str | None
    file_count: int
    symbol_count: int
    status: str
    last_accessed_at: str | None


class RefList(Struct, frozen=True, kw_only=True):
    refs: list[IndexedRef]
    total_refs: int
    vcs_mode: bool
    metadata: dict[str, Any]


@tool(family="refs", reading=print_refs)
def list_refs(call: Call, *, workspace: Workspace = None) -> RefList:
    """Which branches, tags and commits are indexed. Use it before work on another branch."""
    project = project_of(call, workspace)
    inquiry = inquire(call, project)
    stands = inquiry.stands
    in_git = is_repository(project.git, call.cancel)
    refs = _refs(call, project, stands) if in_git else _only_the_files(stands)
    if not refs and (stands.layer is None or is_first_run(stands)):
        raise _nothing_yet(inquiry)
    return RefList(refs=refs, total_refs=len(refs), vcs_mode=in_git, metadata=inquiry.metadata())


def _nothing_yet(inquiry: Inquiry) -> CairnError:
    stands = inquiry.stands
    if is_first_run(stands) or stands.indexing == "indexing":
        return inquiry.not_indexed(OverlayNotReady)
    remedy = inquiry.not_indexed().remedy
    return ProjectNotFound(f"Nothing is indexed at {inquiry.project.root}", details=stands.warnings, remedy=remedy)


def _refs(call: Call, project: Project, stands: IndexStatus) -> list[IndexedRef]:
    opened = stands.opened
    if opened is None:
        return []
    here = tips(project.git, call.cancel)
    layers = opened.store.refs(scope_of(project.index, opened, call.cancel).key)
    base, rows = next((each.head for each in layers if each.base is None), ""), []
    for layer in layers:
        used, parted = last_ref_use(opened.folder, layer), _merge_base(call, project, base, layer)
        rows.append(_row(opened, layer, layer.name, _status(layer, here), used, parted))
    return rows


def _row(
    opened: OpenIndex, layer: Layer, ref: str, status: str, used: float | None, parted: str | None = None
) -> IndexedRef:
    totals = opened.store.totals(layer.id)
    return IndexedRef(
        ref=ref, is_default=layer.base is None, last_indexed_commit=layer.head if layer.name else None,
        merge_base_commit=parted, file_count=totals.indexed, symbol_count=totals.symbols, status=status,
        last_accessed_at=iso_seconds(used) if used else None,
    )  # fmt: skip


def _merge_base(call: Call, project: Project, base: str, layer: Layer) -> str | None:
    """The commit where a ref left the default branch; None for that branch, and where the clone lacks it."""
    return None if layer.base is None else project.git.merge_base(base, layer.head, call.cancel)


def _status(layer: Layer, here: dict[str, str]) -> str:
    """`stale` where the ref has moved since, `gone` where the repository has no such ref any more."""
    if layer.name == layer.head:
        return "active"
    tip = here.get(layer.name)
    return "gone" if tip is None else "active" if tip == layer.head else "stale"


def _only_the_files(stands: IndexStatus) -> list[IndexedRef]:
    layer, opened = stands.layer, stands.opened
    if layer is None or opened is None:
        return []
    return [_row(opened, layer, LIVE, "active", layer.finished_at)]


class SwitchedRef(Struct, frozen=True, kw_only=True):
    ref: str
    previous_ref: str
    worktree_path: str | None
    status: str
    last_indexed_commit: str | None
    metadata: dict[str, Any]


@tool(family="refs", idempotent=True, reading=print_switched)
def switch_ref(
    call: Call,
    *,
    ref: Annotated[str, Meta(description="Branch, tag, commit, or live: the working tree", min_length=1)],
    workspace: Workspace = None,
) -> SwitchedRef:
    """Later calls without `ref` are about this one. Use it to work on a branch without a checkout."""
    project = project_of(call, workspace)
    before = call.connection.refs.get(project.root) or index_status(project.index, call.cancel).ref
    inquiry = glance(call, project, ref)
    stands = inquiry.stands
    if stands.layer is None or stands.opened is None:
        raise inquiry.not_indexed()
    layer = stands.layer if stands.layer.name else None
    if layer is not None:
        note_ref_use(stands.opened.folder, layer, now=True)
    path, warnings = _settle(call, project, stands.opened.folder, layer)
    return SwitchedRef(
        ref=stands.ref if layer is not None else LIVE, previous_ref=before, worktree_path=path,
        status="active" if stands.freshness == "fresh" else "stale",
        last_indexed_commit=stands.layer.head or None, metadata=inquiry.metadata(warnings),
    )  # fmt: skip


def _settle(call: Call, project: Project, folder: Path, layer: Layer | None) -> tuple[str | None, list[str]]:
    """The connection on its ref: leased, remembered, and checked out where that is wanted."""
    path = _worktree(call, project, layer)
    if not call.connection.lasts:
        return path, [_UNCONNECTED]
    lease = partial(project.leases.hold, call.connection.id, project.root)
    leases = [lease_of(folder, layer)] if layer is not None else []
    warnings: list[str] = []
    if project.settings.worktrees and layer is not None and path is None:
        checkout = project.worktrees.ensure(layer, partial(lease, *leases), call.cancel)
        path, warnings = str(checkout.path), checkout.warnings
    else:
        lease(*leases)
    if project.settings.worktrees:
        project.worktrees.clean(call.cancel)
    call.connection.refs.pop(project.root, None)
    if layer is not None:
        call.connection.refs[project.root] = layer.name
    return path, warnings


_UNCONNECTED = "This protocol has no connection to remember a ref for: give `ref` with every later call."


def _worktree(call: Call, project: Project, layer: Layer | None) -> str | None:
    """The folder in which the ref is checked out, if there is one."""
    if layer is None:
        return str(project.root)
    found = next((each.path for each in worktrees(project.git, call.cancel) if each.branch == layer.name), None)
    return str(found) if found else None
