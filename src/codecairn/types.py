"""The values that travel between the layers: frozen, and spelled on the wire as their contract spells them."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

FileStatus = Literal["added", "modified", "deleted", "renamed", "copied", "type changed", "unmerged"]


class Wire(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=False):
    """A value whose fields are camelCase outside."""


class FileChange(Wire, frozen=True, kw_only=True):
    path: str
    status: FileStatus
    old_path: str | None = None


class Commit(Wire, frozen=True, kw_only=True):
    hash: str
    short_hash: str
    author: str
    email: str
    date: str
    message: str
    body: str
    parents: list[str]
    files: list[FileChange]
    """Those that fit the answer; `files_changed` counts all that may be shown."""
    files_changed: int
    omitted_files: int = 0


class CommitList(Wire, frozen=True, kw_only=True):
    commits: list[Commit]
    count: int
    offset: int
    notes: list[str]
    tip: str | None = None
    next_cursor: str | None = None


class BlameLine(Wire, frozen=True, kw_only=True, omit_defaults=True):
    line: int
    hash: str
    author: str
    date: str
    content: str
    origin_path: str | None = None
    """The file that the commit wrote this line into, where that is another one; `origin_line` is its place there."""
    origin_line: int | None = None


class BlameCommit(Wire, frozen=True, kw_only=True, omit_defaults=True):
    hash: str
    short_hash: str
    author: str
    email: str
    date: str
    message: str
    body: str = ""


class Blame(Wire, frozen=True, kw_only=True):
    file_path: str
    language: str
    start_line: int
    end_line: int
    total_lines: int
    local_modifications: bool
    lines: list[BlameLine]
    commits: list[BlameCommit]
    notes: list[str]
    next_start_line: int | None = None
    """Where the lines asked for go on, if they did not fit."""


class FileDiff(Wire, frozen=True, kw_only=True):
    path: str
    status: FileStatus
    insertions: int
    deletions: int
    binary: bool
    language: str
    old_path: str | None = None
    old_mode: str | None = None
    new_mode: str | None = None
    diff: str | None = None
    """The hunks, without git's file header; null in summaries and for binary files."""


class DiffSummary(Wire, frozen=True, kw_only=True):
    files_changed: int
    insertions: int
    deletions: int
    binary_files: int


class FolderChange(Wire, frozen=True, kw_only=True):
    path: str
    files: int
    insertions: int
    deletions: int


class Diff(Wire, frozen=True, kw_only=True):
    title: str
    mode: Literal["full", "summary"]
    compared: str
    """Both sides in words, with the commits that refs stood for."""
    summary: DiffSummary
    statuses: dict[FileStatus, int]
    """How many files were added, modified and so on."""
    binary_kinds: list[str]
    files: list[FileDiff]
    """Those of this page; `summary` counts all."""
    omitted_files: int
    notes: list[str]
    folders: list[FolderChange] = []
    """Where the changes lie, the most changed first, if not all files fit a page."""
    files_left: int = 0
    lines_left: int = 0
    """Lines of the last file that follow on the next page."""
    next_cursor: str | None = None


class Health(Wire, frozen=True, kw_only=True, omit_defaults=True):
    status: Literal["ok", "degraded"]
    timestamp: str
    version: str
    problems: list[str] = []


class MethodMetrics(Wire, frozen=True, kw_only=True):
    method: str
    count: int
    avg_ms: float
    max_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    successes: int
    failures: int
    errors: dict[str, int]
    """The failures by their type."""
    rate_limit_hits: int
    slow_calls: int
    """Calls that took longer than their tool's maximum."""


class CacheMetrics(Wire, frozen=True, kw_only=True):
    name: str
    entries: int
    bytes: int
    """What its entries are reckoned to take."""
    most_bytes: int


class MetricsSnapshot(Wire, frozen=True, kw_only=True):
    generated_at: str
    methods: list[MethodMetrics]
    caches: list[CacheMetrics]
    """What is kept only to be faster, each up to its bound."""
    rss_bytes: int | None
    """The memory the process has now; null where the system does not tell."""


Requirement = Literal["mandatory", "critical", "recommended", "optional", "deprecated"]


class CatalogEntry(Wire, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    title: str
    body: str
    priority: int
    audience: Literal["individual", "group", "all"]
    requirement: Requirement
    categories: list[str]
    source_hash: str
    schema_version: str
    created_at: str
    updated_at: str
    risk_score: int
    rationale: str | None = None
    deprecated_by: str | None = None
    source: str | None = None
    usage_count: int | None = None
    last_used_at: str | None = None


class ProjectedEntry(Wire, frozen=True, kw_only=True):
    """An entry of which only some fields were asked for."""

    id: str
    title: str | UnsetType = UNSET
    body: str | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    audience: Literal["individual", "group", "all"] | UnsetType = UNSET
    requirement: Requirement | UnsetType = UNSET
    categories: list[str] | UnsetType = UNSET
    source_hash: str | UnsetType = UNSET
    schema_version: str | UnsetType = UNSET
    created_at: str | UnsetType = UNSET
    updated_at: str | UnsetType = UNSET
    risk_score: int | UnsetType = UNSET
    rationale: str | UnsetType = UNSET
    deprecated_by: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    usage_count: int | UnsetType = UNSET
    last_used_at: str | UnsetType = UNSET


class EntryPage(Wire, frozen=True, kw_only=True, omit_defaults=True):
    hash: str
    count: int
    items: list[CatalogEntry]
    total: int | None = None
    """How many there are in all, where these are not all."""
    next_cursor: str | None = None
    warnings: list[str] = []


class ProjectedPage(Wire, frozen=True, kw_only=True, omit_defaults=True):
    hash: str
    count: int
    items: list[ProjectedEntry]
    total: int | None = None
    next_cursor: str | None = None
    warnings: list[str] = []


class EntryFound(Wire, frozen=True, kw_only=True, omit_defaults=True):
    hash: str
    item: CatalogEntry
    warnings: list[str] = []


class EntryMissing(Wire, frozen=True, kw_only=True):
    not_found: Literal[True]
    hash: str


class UpToDate(Wire, frozen=True, kw_only=True):
    up_to_date: Literal[True]
    hash: str


class EntryChanges(Wire, frozen=True, kw_only=True, omit_defaults=True):
    hash: str
    added: list[CatalogEntry]
    updated: list[CatalogEntry]
    removed: list[str]
    warnings: list[str] = []


class EntriesChanged(Wire, frozen=True, kw_only=True, omit_defaults=True):
    hash: str
    changed: list[CatalogEntry]
    warnings: list[str] = []


class PromptIssue(Wire, frozen=True, kw_only=True, omit_defaults=True):
    rule_id: str
    severity: str
    description: str
    match: str
    category: str
    remediation: str | None = None


class ReviewSummary(Wire, frozen=True, kw_only=True):
    counts: dict[str, int]
    highest_severity: str | None


class Review(Wire, frozen=True, kw_only=True):
    issues: list[PromptIssue]
    summary: ReviewSummary


class PromptTooLong(Wire, frozen=True, kw_only=True):
    truncated: Literal[True]
    message: str
    max: int


class Drift(Wire, frozen=True, kw_only=True):
    id: str
    expected: str
    actual: str


class Integrity(Wire, frozen=True, kw_only=True):
    hash: str
    count: int
    issues: list[Drift]
    issue_count: int


class UseCounted(Wire, frozen=True, kw_only=True):
    id: str
    usage_count: int
    last_used_at: str
    hash: str


class HotEntry(Wire, frozen=True, kw_only=True):
    id: str
    usage_count: int
    last_used_at: str


class HotSet(Wire, frozen=True, kw_only=True):
    hash: str
    count: int
    limit: int
    items: list[HotEntry]


class GateResult(Wire, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    passed: bool
    count: int
    op: str
    value: int
    severity: Literal["error", "warn"]
    description: str | None = None


class GateSummary(Wire, frozen=True, kw_only=True):
    errors: int
    warnings: int
    total: int


class GateReport(Wire, frozen=True, kw_only=True):
    generated_at: str
    results: list[GateResult]
    summary: GateSummary


class NotConfigured(Wire, frozen=True, kw_only=True):
    not_configured: Literal[True]
