"""The values that travel between the layers: frozen, and spelled on the wire as their contract spells them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

FileStatus = Literal["added", "modified", "deleted", "renamed", "copied", "type changed", "unmerged"]


class CamelStruct(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=False):
    """A value whose fields are camelCase outside."""


class CommitFileChange(CamelStruct, frozen=True, kw_only=True):
    path: str
    status: FileStatus
    old_path: str | None = None


class Commit(CamelStruct, frozen=True, kw_only=True):
    hash: str
    short_hash: str
    author: str
    email: str
    date: str
    message: str
    body: str
    parents: list[str]
    files: list[CommitFileChange]
    """Those that fit the answer; `files_changed` counts all that may be shown."""
    files_changed: int
    omitted_files: int = 0


class CommitList(CamelStruct, frozen=True, kw_only=True):
    commits: list[Commit]
    count: int
    offset: int
    notes: list[str]
    tip: str | None = None
    next_cursor: str | None = None


class BlameLine(CamelStruct, frozen=True, kw_only=True, omit_defaults=True):
    line: int
    hash: str
    author: str
    date: str
    content: str
    origin_path: str | None = None
    """The file that the commit wrote this line into, where that is another one; `origin_line` is its place there."""
    origin_line: int | None = None


class BlameCommit(CamelStruct, frozen=True, kw_only=True, omit_defaults=True):
    hash: str
    short_hash: str
    author: str
    email: str
    date: str
    message: str
    body: str = ""


class Blame(CamelStruct, frozen=True, kw_only=True):
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


class FileDiff(CamelStruct, frozen=True, kw_only=True):
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


class DiffSummary(CamelStruct, frozen=True, kw_only=True):
    files_changed: int
    insertions: int
    deletions: int
    binary_files: int


class FolderChange(CamelStruct, frozen=True, kw_only=True):
    path: str
    files: int
    insertions: int
    deletions: int


class Diff(CamelStruct, frozen=True, kw_only=True):
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


Requirement = Literal["mandatory", "critical", "recommended", "optional", "deprecated"]


class RuleScope(CamelStruct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where an entry holds: for files that a glob, a module or a symbol of its own is about, in one of the languages.
    One on request holds for no file by itself."""

    globs: list[str] = []
    languages: list[str] = []
    symbols: list[str] = []
    modules: list[str] = []
    on_request: bool = False


class CodeBinding(CamelStruct, frozen=True, kw_only=True, omit_defaults=True):
    """How the code that an entry names outright stands against what it was when the entry was last written."""

    status: Literal["fresh", "drifted", "orphaned", "unknown"]
    reason: str = ""
    since: str | None = None
    """The commit that changed or removed it."""


class CatalogEntry(CamelStruct, frozen=True, kw_only=True, omit_defaults=True):
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
    shown_count: int | None = None
    """How many connections were shown it without asking for it."""
    last_shown_at: str | None = None
    applies_to: RuleScope | None = None
    """Where it holds; everywhere, if this is missing."""
    binding: CodeBinding | None = None


class PromptIssue(CamelStruct, frozen=True, kw_only=True, omit_defaults=True):
    rule_id: str
    severity: str
    description: str
    match: str
    category: str
    remediation: str | None = None


class ReviewSummary(CamelStruct, frozen=True, kw_only=True):
    counts: dict[str, int]
    highest_severity: str | None


class HotEntry(CamelStruct, frozen=True, kw_only=True):
    id: str
    usage_count: int
    last_used_at: str


class GateResult(CamelStruct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    passed: bool
    count: int
    op: str
    value: int
    severity: Literal["error", "warn"]
    description: str | None = None


class GateSummary(CamelStruct, frozen=True, kw_only=True):
    errors: int
    warnings: int
    total: int
