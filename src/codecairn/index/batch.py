"""Outcomes on their way into the stores, and what a run counts of them."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec.structs import replace

from codecairn.index.digest import Outcome
from codecairn.index.run import Run
from codecairn.source.file_content import Skip
from codecairn.store.database import Entry
from codecairn.store.file_version import FileVersion, Stat
from codecairn.store.lexical import Writing
from codecairn.store.writer import Content, Vectors

UNCHANGED = "unchanged"
FAILED = frozenset({"failed", "slow to parse", Skip.UNREADABLE, Skip.CHANGING})
"""Reasons that are no rule of ours: something went wrong with the file."""
_FIRST_BATCH_S, _LONGEST_BATCH_S = 1.0, 128.0
"""From one batch to the next, four times as long each time. Where others use the machine a batch of eight seconds has
little in it: Django's lexical index was cut in thirty parts, and tantivy merges eight of about one size. Merging took a
twentieth of all processor time."""
_BATCH_BYTES = 8_000_000
"""Of source. With 3 MB each the lexical index of Django took two fifths more CPU: more parts, merged again."""

Publish = Callable[[Content], None]


class Batch:
    """Writes versions as they come in, so that memory stays bounded. Nobody sees them before an entry names them:
    that is the caller's to publish at the end, or, where `publish` is given, part after part. `on_branch` says
    that they are read for a ref other than the base."""

    def __init__(self, run: Run, writing: Writing, publish: Publish | None = None, *, on_branch: bool = False) -> None:
        self._run = run
        self._writing = writing
        self._publish = publish
        self._on_branch = on_branch
        self._versions: list[FileVersion] = []
        self._revived: list[int] = []
        self._entries: list[Entry] = []
        self._gone: set[str] = set()
        self._bytes = 0
        self._interval = _FIRST_BATCH_S
        self._due = time.monotonic() + self._interval

    def take(self, outcome: Outcome, stat: Stat) -> None:
        if outcome.reason == Skip.GONE:
            self._gone.add(outcome.path)  # since it was listed
            return
        self._count(outcome)
        self._run.remember_left_out(outcome.path, outcome.blob, outcome.reason)
        file = outcome.version.id if outcome.version else outcome.known
        seen = Stat(*outcome.stat) if any(outcome.stat) else stat
        if outcome.reason == "failed":
            seen = seen._replace(mtime_ns=-1)  # tried again by every run
        self._entries.append(Entry(outcome.path, file, outcome.reason, outcome.detail, seen))
        if outcome.version is not None:
            known = self._run.store.on_branch(outcome.version.id) if self._run.anew else None
            on_branch = self._on_branch if known is None else known
            self._versions.append(replace(outcome.version, on_branch=on_branch))
            self._bytes += outcome.version.size
        elif outcome.known is not None:
            self._revived.append(outcome.known)
        if time.monotonic() > self._due or self._bytes > _BATCH_BYTES:
            self._write()

    def _count(self, outcome: Outcome) -> None:
        report, version = self._run.report, outcome.version
        if version is not None:
            report.files_indexed += 1
            report.symbols += len(version.symbols)
            report.chunks += len(version.chunks)
            if version.complaint:
                report.broken[outcome.path] = version.complaint
        elif outcome.reason in FAILED:
            report.failed[outcome.path] = outcome.detail or outcome.reason
        else:
            report.skipped[outcome.reason or UNCHANGED] += 1

    def _write(self) -> None:
        versions, self._versions, self._bytes = self._versions, [], 0
        vectors = self._make_searchable(versions)
        if self._publish is None:
            self._run.target.writer.insert(Content(versions, vectors=vectors))
        else:
            self._publish(Content(versions, self._entries, vectors=vectors))
            self._entries = []
        self._interval = min(self._interval * 4, _LONGEST_BATCH_S)
        self._due = time.monotonic() + self._interval

    def _make_searchable(self, versions: list[FileVersion]) -> Vectors:
        """Documents for the lexical index, written, and vectors, of which the database is still to be told."""
        store = self._run.store
        revived = store.unsearchable(self._revived)
        self._revived = []
        if versions or revived:
            self._run.target.writer.announce([*(version.id for version in versions), *revived])
        for version in versions:
            self._writing.add(version)
        for loaded in map(store.load, revived):
            if loaded is not None:
                self._writing.add(loaded)
        if versions or revived:
            self._writing.commit()
        if revived:
            self._run.target.writer.mark_searchable(revived)
        vectors = self._run.target.vectors
        return vectors.of(versions) if vectors is not None else None

    def finish(self) -> Content:
        """The part that is left, to be published in one generation."""
        versions, self._versions = self._versions, []
        vectors = self._make_searchable(versions)
        self._run.cancel.check()
        return Content(versions, self._entries, self._gone, vectors)
