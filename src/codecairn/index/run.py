"""One index run: list, compare, read what changed, publish. The one writer of the index.

A run is safe to end at any point. Versions are written first (the lexical index, then the database), and nobody sees
them; the manifest names them last. The first run of a checkout publishes as it goes, so that there is something to
search; a later one publishes once, at its end, so that nobody sees half of a branch switch.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from codecairn.cancel import Cancel
from codecairn.errors import CairnError, Cancelled, ProjectNotFound
from codecairn.index.digest import Outcome, all_readers, lasting
from codecairn.index.pool import Workers, jobs_for
from codecairn.parse.language import language_of
from codecairn.paths import Guard
from codecairn.source.content import Found, Skip, read_text
from codecairn.source.git import Git
from codecairn.source.walk import MARKS, Listing, is_test, list_files
from codecairn.store.index import Checkout, Entry, IndexStore
from codecairn.store.lexical import Lexical, Writing
from codecairn.store.segments import Placed, Segment
from codecairn.store.version import FileVersion, Stat
from codecairn.store.view import View, viewing
from codecairn.store.writer import IndexWriter

if TYPE_CHECKING:
    from codecairn.index.embedding import Vectors

TEST = "test (include_tests is false)"
UNCHANGED = "unchanged"
FAILED = frozenset({"failed", "slow to parse", Skip.UNREADABLE, Skip.CHANGING})
"""Reasons that are no rule of ours: something went wrong with the file."""
_FIRST_BATCH_S, _LONGEST_BATCH_S = 1.0, 8.0
_BATCH_BYTES = 6_000_000
_PROJECT_FILES = frozenset(
    {
        "go.mod", "package.json", "pyproject.toml", "Cargo.toml", "pom.xml", "build.gradle", "CMakeLists.txt",
        "composer.json", "mix.exs", "Gemfile", "Makefile",
    }
)  # fmt: skip
"""A file of this name says, by being there, that none of its folder's files is listed (walk.py)."""
_LARGEST_GO_MOD = 1 << 18

Progress = Callable[[int, int, str], None]
Importers = Callable[[View, Cancel], Mapping[str, int]]
"""Counts for each file that others import how many do; made above this layer, where imports are understood."""


def unheard(done: int, total: int, said: str) -> None:
    """Progress that nobody asked for."""


@dataclass(frozen=True)
class Options:
    tests: bool = True
    vendor: bool = False


@dataclass
class Report:
    """What a run did."""

    files_indexed: int = 0
    symbols: int = 0
    chunks: int = 0
    vectors: int = 0
    removed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class Source:
    """Where the files are."""

    root: Path
    git: Git
    guard: Guard


@dataclass
class Run:
    source: Source
    store: IndexStore
    lexical: Lexical
    vectors: Vectors | None
    workers: Workers
    importers: Importers
    options: Options
    cancel: Cancel
    progress: Progress = unheard
    anew: bool = False
    """Whether every file is read and parsed again, whatever is known of it."""
    report: Report = field(default_factory=Report)

    def __post_init__(self) -> None:
        self.writer = IndexWriter(self.store)

    def whole(self) -> Report:
        """Bring the whole checkout up to date."""
        began = time.monotonic()
        self.progress(0, 0, "Listing files")
        head, ref, prefix = self._head()
        listing = self._listed()
        checkout = self._opened(listing, prefix)
        known = self.store.manifest(checkout.id)
        extractors = all_readers()
        trusted = known if checkout.extractors == extractors and not self.anew else {}
        changed = self._changed(listing, trusted)
        gone = known.keys() - {found.path for found in listing.files}
        self._read(checkout, changed, gone, is_whole=True)
        counted = self._counted()
        self.report.seconds = time.monotonic() - began
        self.writer.finish(
            checkout.id, counted, complete=1, tests=self.options.tests, vendor=self.options.vendor, ref=ref, head=head,
            extractors=extractors, excluded=dict(listing.excluded), finished_at=time.time(),
            seconds=self.report.seconds, **go_module(self.source.root),
        )  # fmt: skip
        return self.report

    def some(self, paths: Iterable[str]) -> Report:
        """Bring these paths, and what lies below them, up to date; the checkout has been indexed whole before."""
        began = time.monotonic()
        head, ref, prefix = self._head()
        asked = sorted(set(map(_concerned, paths)))
        listing = self._listed(asked)
        checkout = self.writer.open_checkout(str(self.source.root), prefix)
        known = self.store.entries_below(checkout.id, asked)
        gone = known.keys() - {found.path for found in listing.files}
        self._read(checkout, self._changed(listing, known), gone, is_whole=False)
        self.report.seconds = time.monotonic() - began
        self.writer.finish(checkout.id, ref=ref, head=head, finished_at=time.time(), **go_module(self.source.root))
        return self.report

    def _head(self) -> tuple[str, str, str]:
        """HEAD, the name to call it by, and where in the repository the root is. It is read before the files: if it
        moves meanwhile, the index is stale and knows it."""
        git = self.source.git
        try:
            prefix = git.layout(self.cancel).prefix
            head, branch = git.head(self.cancel) or "", git.branch(self.cancel)
        except CairnError:
            return "", "live", ""
        return head, branch or head or "live", prefix

    def _opened(self, listing: Listing, prefix: str) -> Checkout:
        root = self.source.root
        if self.store.checkout(str(root)) is None and not _is_project(root, listing):
            raise ProjectNotFound(
                f"No project at {root}: no source file, no project file, no repository", param="path",
                remedy="Name the folder that holds the source.",
            )  # fmt: skip
        return self.writer.open_checkout(str(root), prefix)

    def _listed(self, only: list[str] | None = None) -> Listing:
        source = self.source
        self._listed_at_ns = time.time_ns()
        listing = list_files(source.root, source.git, source.guard, self.cancel, vendor=self.options.vendor, only=only)
        if not self.options.tests:
            kept = [found for found in listing.files if not is_test(found.path)]
            listing.excluded[TEST] += len(listing.files) - len(kept)
            listing = Listing(kept, +listing.excluded, listing.warnings)
        self.report.skipped += listing.excluded
        self.report.warnings += listing.warnings
        return listing

    def _changed(self, listing: Listing, known: dict[str, Entry]) -> list[Found]:
        changed = []
        for found in listing.files:
            entry = known.get(found.path)
            if entry is None or entry.stat != found[1:5]:
                changed.append(found)
            elif entry.reason in FAILED:
                self.report.failed[found.path] = entry.detail or entry.reason
            else:
                self.report.skipped[entry.reason or UNCHANGED] += 1
        return changed

    def _read(self, checkout: Checkout, changed: list[Found], gone: Iterable[str], *, is_whole: bool) -> None:
        gone = sorted(gone)
        self.report.removed = len(gone)
        if changed or gone:
            with self.lexical.writing() as writing:
                batch = _Batch(self, checkout, writing)
                self._digest(checkout, changed, batch)
                batch.finish(gone)
        if self.vectors is not None:
            self.report.warnings += self.vectors.catch_up(checkout.id, is_whole=is_whole)
            self.report.vectors = self.vectors.made
        self._collect()

    def _counted(self) -> Mapping[str, int] | None:
        """How many files import each; None where this generation was counted already, or could not be."""
        try:
            with viewing(self.store, self.lexical, str(self.source.root), self.source.guard.blocks) as view:
                is_known = view is None or view.checkout.counted == view.checkout.generation
                return None if view is None or is_known else self.importers(view, self.cancel)
        except Cancelled:
            raise
        except CairnError as error:
            self.report.warnings.append(f"Which files import which could not be counted: {error.message}")
            return None

    def _digest(self, checkout: Checkout, changed: list[Found], batch: _Batch) -> None:
        paths = [found.path for found in changed]
        versions = {} if self.anew else self.store.versions_at(checkout.prefix + path for path in paths)
        at = len(checkout.prefix)
        known = {path[at:]: ids for path, ids in versions.items()}
        jobs = jobs_for(self.source.root, checkout.prefix, self._algorithm(), paths, known)
        stats = {found.path: lasting(found, self._listed_at_ns) for found in changed}
        for done, outcome in enumerate(self.workers.outcomes(jobs, self.cancel) if jobs else (), 1):
            self.progress(done, len(paths), outcome.path)
            batch.take(outcome, stats[outcome.path])

    def _algorithm(self) -> str:
        """How this repository names its blobs: SHA-1, unless its commits are named by longer ids."""
        try:
            head = self.source.git.head(self.cancel) or ""
        except CairnError:
            head = ""
        return "sha256" if len(head) == 64 else "sha1"

    def _collect(self) -> None:
        """Take what nothing names any more from the lexical index, and after a day from the database."""
        dropped = self.writer.retire()
        if dropped:
            with self.lexical.writing() as writing:
                for each in dropped:
                    writing.delete(each)
                writing.commit()
            self.writer.retired(dropped)
        self.writer.collect()


class _Batch:
    """Outcomes on their way into the stores."""

    def __init__(self, run: Run, checkout: Checkout, writing: Writing) -> None:
        self._run = run
        self._checkout = checkout
        self._writing = writing
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
        file = outcome.version.id if outcome.version else outcome.known
        seen = Stat(*outcome.stat) if any(outcome.stat) else stat
        if outcome.reason == "failed":
            seen = seen._replace(mtime_ns=-1)  # tried again by every run
        self._entries.append(Entry(outcome.path, file, outcome.reason, outcome.detail, seen))
        if outcome.version is not None:
            self._versions.append(outcome.version)
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
                report.failed[outcome.path] = version.complaint
        elif outcome.reason in FAILED:
            report.failed[outcome.path] = outcome.detail or outcome.reason
        else:
            report.skipped[outcome.reason or UNCHANGED] += 1

    def _write(self) -> None:
        versions, self._versions, self._bytes = self._versions, [], 0
        vectors = self._make_searchable(versions)
        if self._checkout.complete:
            self._run.writer.insert(versions, vectors)
        else:
            self._run.writer.publish(self._checkout.id, versions, self._entries, vectors=vectors)
            self._entries = []
        self._interval = min(self._interval * 2, _LONGEST_BATCH_S)
        self._due = time.monotonic() + self._interval

    def _make_searchable(self, versions: list[FileVersion]) -> tuple[Segment, list[Placed]] | None:
        """Documents for the lexical index, written, and vectors, of which the database is still to be told."""
        store = self._run.store
        revived = store.unsearchable(self._revived)
        self._revived = []
        if versions or revived:
            self._run.writer.announce([*(version.id for version in versions), *revived])
        for version in versions:
            self._writing.add(version)
        for loaded in map(store.load, revived):
            if loaded is not None:
                self._writing.add(loaded)
        if versions or revived:
            self._writing.commit()
        if revived:
            self._run.writer.searchable(revived)
        return self._run.vectors.of(versions) if self._run.vectors is not None else None

    def finish(self, gone: list[str]) -> None:
        """The last batch, and with it the change of the manifest."""
        versions, self._versions = self._versions, []
        vectors = self._make_searchable(versions)
        self._run.cancel.check()
        self._run.writer.publish(self._checkout.id, versions, self._entries, self._gone.union(gone), vectors)


def _concerned(path: str) -> str:
    """The path itself; for a mark, the folder it speaks of."""
    folder, _, name = path.rpartition("/")
    return folder if folder and name in MARKS else path


def _is_project(root: Path, listing: Listing) -> bool:
    if (root / ".git").exists():
        return True
    return any(language_of(found.path) or found.path in _PROJECT_FILES for found in listing.files)


def go_module(root: Path) -> dict[str, str | None]:
    """What go.mod says, where there is one."""
    content = read_text(root, "go.mod", _LARGEST_GO_MOD)
    said: dict[str, str | None] = {"module": None, "go_version": None}
    if isinstance(content, Skip):
        return said
    for line in content.text.decode("utf-8", "replace").splitlines():
        words = line.split("//", 1)[0].split()
        if len(words) == 2 and words[0] in ("module", "go"):
            said["module" if words[0] == "module" else "go_version"] = words[1].strip('"')
    return said
