"""The values that travel between the layers: frozen, and spelled on the wire as their contract spells them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

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
    omitted_files: int = 0


class CommitList(Wire, frozen=True, kw_only=True):
    commits: list[Commit]
    count: int
    offset: int
    notes: list[str]
    tip: str | None = None
    next_cursor: str | None = None


class BlameLine(Wire, frozen=True, kw_only=True):
    line: int
    hash: str
    author: str
    date: str
    content: str


class BlameCommit(Wire, frozen=True, kw_only=True):
    hash: str
    short_hash: str
    author: str
    email: str
    date: str
    message: str


class Blame(Wire, frozen=True, kw_only=True):
    file_path: str
    language: str
    start_line: int
    end_line: int
    local_modifications: bool
    lines: list[BlameLine]
    commits: list[BlameCommit]
    notes: list[str]


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


class Diff(Wire, frozen=True, kw_only=True):
    title: str
    mode: Literal["full", "summary"]
    summary: DiffSummary
    files: list[FileDiff]
    omitted_files: int
    notes: list[str]


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
    errors: dict[str, int]
    rate_limit_hits: int


class MetricsSnapshot(Wire, frozen=True, kw_only=True):
    generated_at: str
    methods: list[MethodMetrics]
