"""The index by its two verbs: make it, and ask how it stands."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from codecairn.clock import iso_seconds
from codecairn.errors import IndexIncompatible
from codecairn.index.run import Options, Report
from codecairn.index.status import LIVE, IndexStatus, files_now, index_status, unusable_status
from codecairn.parse.language import languages
from codecairn.project import Project
from codecairn.reading.project import print_indexed, print_status
from codecairn.source.refs import tip_of
from codecairn.store import folders
from codecairn.store.database import Totals
from codecairn.store.lexical import size_of
from codecairn.store.schema import SCHEMA
from codecairn.text import number_of
from codecairn.tools import Call, tool
from codecairn.tools.inquiry import Inquiry, ProjectPath, UnlistedRoot, project_of
from codecairn.tools.waiting import CallProgress

_MOST_ERRORS = 100


class SkippedFiles(Struct, frozen=True, kw_only=True):
    reason: str
    count: int


class FailedFile(Struct, frozen=True, kw_only=True):
    file: str
    error: str


class IndexStatistics(Struct, frozen=True, kw_only=True):
    files_indexed: int
    files_skipped: int
    files_failed: int
    """As many as `errors` names: those left out of the index, and those read around a syntax error."""
    files_removed: int
    symbols_extracted: int
    chunks_created: int
    embeddings_generated: int
    duration_seconds: float
    index_size_mb: float


class Indexed(Struct, frozen=True, kw_only=True):
    success: Literal[True]
    project_id: int
    statistics: IndexStatistics
    skipped: list[SkippedFiles]
    errors: list[FailedFile]
    message: str
    metadata: dict[str, Any]


@tool(family="index", read_only=False, reading=print_indexed)
def index_codebase(
    call: Call,
    *,
    path: ProjectPath = None,
    force_reindex: Annotated[bool, Meta(description="Build anew, unchanged files too")] = False,
    include_tests: Annotated[bool, Meta(description="Index test files")] = True,
    include_vendor: Annotated[bool, Meta(description="Index vendored code that git does not track")] = False,
    ref: Annotated[str | None, Meta(description="Branch, tag or commit to index, without a checkout")] = None,
    workspace: UnlistedRoot = None,
) -> Indexed:
    """Index another project or a branch; the served project is kept indexed. Use it for what the server does not do
    itself."""
    project = project_of(call, workspace, path)
    options, index = Options(include_tests, include_vendor), project.index
    tip = tip_of(project.git, ref, call.cancel) if ref not in (None, LIVE) else None
    report = index.index(options, force=force_reindex, cancel=call.cancel, progress=CallProgress(call), ref=tip)
    index.settle(call.cancel)
    inquiry = Inquiry(project, index_status(index, call.cancel, tip.name if tip else None), call.cancel)
    errors = [FailedFile(file=file, error=why) for file, why in sorted({**report.broken, **report.failed}.items())]
    is_cut = len(errors) > _MOST_ERRORS
    return Indexed(
        success=True, project_id=project_id(project), statistics=_statistics(project, report),
        skipped=[SkippedFiles(reason=reason, count=count) for reason, count in sorted(report.skipped.items())],
        errors=errors[:_MOST_ERRORS], message=_message(report),
        metadata=inquiry.metadata(report.warnings, is_cut=is_cut, **({"safety_limit_applied": True} if is_cut else {})),
    )  # fmt: skip


def _statistics(project: Project, report: Report) -> IndexStatistics:
    return IndexStatistics(
        files_indexed=report.files_indexed, files_skipped=report.skipped.total(),
        files_failed=len(report.failed) + len(report.broken),
        files_removed=report.removed, symbols_extracted=report.symbols, chunks_created=report.chunks,
        embeddings_generated=report.vectors, duration_seconds=round(report.seconds, 3),
        index_size_mb=index_size_mb(project),
    )  # fmt: skip


def _message(report: Report) -> str:
    said = [f"Successfully indexed {number_of(report.files_indexed, 'file')} in {report.seconds:.1f} seconds"]
    if report.broken:
        said.append(f"{number_of(len(report.broken), 'file')} read around syntax errors")
    if report.failed:
        said.append(f"{number_of(len(report.failed), 'file')} failed")
    if len(report.broken) + len(report.failed) > _MOST_ERRORS:
        said.append(f"the first {_MOST_ERRORS} errors are listed")
    return "; ".join(said)


class IndexedProject(Struct, frozen=True, kw_only=True):
    id: int
    root_path: str
    module_name: str | None
    go_version: str | None
    index_version: str
    languages: list[str]


class StatusStatistics(Struct, frozen=True, kw_only=True):
    total_files: int
    files_indexed: int
    files_as_text: int
    total_symbols: int
    total_chunks: int
    total_embeddings: int
    index_size_mb: float
    last_indexed_at: str | None
    indexing_duration_seconds: float | None
    total_lines: int
    skipped: list[SkippedFiles]
    files_with_errors: int


class StatusHealth(Struct, frozen=True, kw_only=True):
    database_accessible: bool
    embeddings_available: bool
    fts_indexes_built: bool


class IndexProgress(Struct, frozen=True, kw_only=True):
    files_done: int
    files_total: int


class Status(Struct, frozen=True, kw_only=True):
    success: Literal[True]
    indexed: bool
    project: IndexedProject | None
    statistics: StatusStatistics | None
    health: StatusHealth | None
    message: str
    metadata: dict[str, Any]
    progress: IndexProgress | None = None


@tool(family="index", reading=print_status)
def get_status(call: Call, *, path: ProjectPath = None, workspace: UnlistedRoot = None) -> Status:
    """What is indexed, how fresh, what was left out and why. Use it when a search misses something."""
    project = project_of(call, workspace, path)
    stands = index_status(project.index, call.cancel)
    if project.mail is not None:
        stands = replace(stands, warnings=[*stands.warnings, *project.mail.remarks()])
    progress, totals = _progress(call, project, stands), None
    try:
        totals = stands.opened.store.totals(stands.layer.id) if stands.opened and stands.layer else None
    except IndexIncompatible as error:  # damaged where the first look did not touch
        stands = replace(unusable_status(project.index, error, stands.ref), freshness=stands.freshness)
    if totals is None:
        damaged = stands.schema in ("corrupt_manifest", "reindex_required")
        return Status(
            success=True, indexed=False, project=None, statistics=None,
            health=_health(stands) if damaged else None, message=_absence(stands), metadata=stands.metadata(),
            progress=progress,
        )  # fmt: skip
    statistics = _status_statistics(project, stands, totals)
    return Status(
        success=True, indexed=True, project=_project(project, stands, totals), statistics=statistics,
        health=_health(stands, statistics.total_embeddings),
        message=_presence(stands, statistics.total_files, progress), metadata=stands.metadata(), progress=progress,
    )  # fmt: skip


def _absence(stands: IndexStatus) -> str:
    if stands.indexing == "indexing":
        return "Project is being indexed for the first time; nothing can be searched yet."
    if stands.indexing == "failed" and stands.warnings:
        return f"Project not indexed. Run index_codebase to create index. {stands.warnings[0]}"
    return "Project not indexed. Run index_codebase to create index."


def _progress(call: Call, project: Project, stands: IndexStatus) -> IndexProgress | None:
    """How far the run under way has come, or how far the first one came before it was interrupted."""
    if (activity := project.index.activity) is not None:
        return IndexProgress(files_done=activity.done, files_total=activity.total)
    if not stands.is_interrupted:
        return None
    assert stands.layer is not None
    assert stands.opened is not None
    there = stands.opened.store.totals(stands.layer.id).files
    return IndexProgress(files_done=there, files_total=len(files_now(project.index, stands.layer, call.cancel)))


def _presence(stands: IndexStatus, files: int, progress: IndexProgress | None) -> str:
    if stands.is_interrupted:
        of_all = f" of {progress.files_total}" if progress else ""
        return (
            f"Indexing was interrupted: {files}{of_all} files are there. "
            "Run index_codebase (in a shell: cairn index) to read the rest."
        )
    if stands.is_partial:
        return f"Project is being indexed; {number_of(files, 'file')} so far"
    return f"Project indexed successfully with {number_of(files, 'file')}"


def _project(project: Project, stands: IndexStatus, totals: Totals) -> IndexedProject:
    assert stands.layer is not None
    return IndexedProject(
        id=project_id(project), root_path=str(project.root), module_name=stands.layer.module,
        go_version=stands.layer.go_version, index_version=f"{SCHEMA}.0.0",
        languages=list(totals.languages),
    )  # fmt: skip


def _status_statistics(project: Project, stands: IndexStatus, totals: Totals) -> StatusStatistics:
    layer, opened = stands.layer, stands.opened
    assert layer is not None
    assert opened is not None
    skipped = Counter(layer.excluded) + Counter(opened.store.reasons(layer.id))
    return StatusStatistics(
        total_files=totals.files, files_indexed=totals.indexed, files_as_text=_as_text(totals),
        total_symbols=totals.symbols, total_chunks=totals.chunks,
        total_embeddings=totals.vectors, index_size_mb=index_size_mb(project),
        last_indexed_at=iso_seconds(layer.finished_at) if layer.finished_at else None,
        indexing_duration_seconds=layer.seconds, total_lines=totals.lines,
        skipped=[SkippedFiles(reason=reason, count=count) for reason, count in sorted(skipped.items())],
        files_with_errors=totals.complaints,
    )  # fmt: skip


def _as_text(totals: Totals) -> int:
    """How many of the indexed files are searched as text alone, since no grammar here is theirs."""
    return sum(count for name, count in totals.languages.items() if name not in languages())


def _health(stands: IndexStatus, vectors: int = 0) -> StatusHealth:
    return StatusHealth(
        database_accessible=stands.has_database, embeddings_available=vectors > 0, fts_indexes_built=stands.has_text
    )


def project_id(project: Project) -> int:
    """A number that stays the project's for as long as it lies where it lies."""
    return int(project.index.folder.name[:7], 16)


def index_size_mb(project: Project) -> float:
    epoch = folders.current_epoch(project.index.folder)
    return round(size_of(epoch) / 1e6, 3) if epoch else 0.0
