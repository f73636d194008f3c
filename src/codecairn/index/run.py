"""One index run: list, compare, read what changed, publish. The one writer of the index.

A run is safe to end at any point. Versions are written first (the lexical index, then the database), and nobody sees
them; the manifest names them last. The first run of a checkout publishes as it goes, so that there is something to
search; a later one publishes once, at its end, so that nobody sees half of a branch switch.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from codecairn.cancel import Cancel
from codecairn.errors import CairnError, Cancelled, ProjectNotFound
from codecairn.index.batch import FAILED, UNCHANGED, Batch, Report
from codecairn.index.digest import all_readers, lasting
from codecairn.index.pool import Workers, jobs_for
from codecairn.index.refs import Refs, differing_paths
from codecairn.parse.language import language_of
from codecairn.paths import Guard
from codecairn.roles import is_test
from codecairn.source.content import Found, Skip, read_text
from codecairn.source.git import Git
from codecairn.source.refs import Tip, is_repository
from codecairn.source.walk import MARKS, Listing, list_files
from codecairn.store.index import Entry, IndexStore
from codecairn.store.layers import Layer, Scope
from codecairn.store.lexical import Lexical
from codecairn.store.view import View, viewing
from codecairn.store.writer import IndexWriter

if TYPE_CHECKING:
    from codecairn.index.embedding import Vectors

TEST = "test (include_tests is false)"
_PROJECT_FILES = frozenset(
    {
        "go.mod", "package.json", "pyproject.toml", "Cargo.toml", "pom.xml", "build.gradle", "CMakeLists.txt",
        "composer.json", "mix.exs", "Gemfile", "Makefile",
    }
)  # fmt: skip
"""A file of this name says, by being there, that none of its folder's files is listed (walk.py)."""
_LARGEST_GO_MOD = 1 << 18
_LONGEST_MODULE = 500
_MOST_KINDS = 5

Progress = Callable[[int, int, str], None]


class Importers(Protocol):
    """Counts who imports whom; made above this layer, where imports are understood."""

    def count(self, view: View, cancel: Cancel) -> Mapping[str, int]:
        """For each file that others import, how many do."""

    def recount(self, before: View, after: View, changed: Collection[str], cancel: Cancel) -> Mapping[str, int]:
        """The counts that differ between two views which differ in these paths; none is 0."""


def unheard(done: int, total: int, said: str) -> None:
    """Progress that nobody asked for."""


@dataclass(frozen=True)
class Options:
    tests: bool = True
    vendor: bool = False


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
        layer = self._opened(listing, prefix)
        known = self.store.manifest(layer.id)
        extractors = all_readers()
        trusted = known if layer.extractors == extractors and not self.anew else {}
        changed = self._changed(listing, trusted)
        gone = known.keys() - {found.path for found in listing.files}
        self._read(layer, changed, gone, is_whole=True)
        counted = self._counted()
        self.report.seconds = time.monotonic() - began
        self.writer.finish(
            layer.id, counted, complete=1, tests=self.options.tests, vendor=self.options.vendor, ref=ref, head=head,
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
        layer = self.writer.open_checkout(str(self.source.root), prefix)
        known = self.store.entries_below(layer.id, asked)
        gone = known.keys() - {found.path for found in listing.files}
        self._read(layer, self._changed(listing, known), gone, is_whole=False)
        self.report.seconds = time.monotonic() - began
        self.writer.finish(layer.id, ref=ref, head=head, finished_at=time.time(), **go_module(self.source.root))
        return self.report

    def keep_refs(self, also: Collection[str] = frozenset()) -> None:
        """Bring up to date what is indexed of the repository's branches, and these. It never fails a run, and of what
        it does only warnings are told: a report is about the files."""
        told, self.report = self.report, Report()
        try:
            refs = self._refs()
            if refs is not None:
                refs.keep_up(also)
        except Cancelled:
            raise
        except CairnError as error:
            self.report.warnings.append(f"Branches could not be indexed: {error.message}. {error.remedy}")
        finally:
            told.warnings += self.report.warnings
            self.report = told

    def one_ref(self, tip: Tip) -> Report:
        began = time.monotonic()
        self.progress(0, 0, f"Comparing {tip.name}")
        refs = self._refs()
        assert refs is not None, "a ref was resolved"
        refs.index(tip)
        self.report.seconds = time.monotonic() - began
        return self.report

    def _refs(self) -> Refs | None:
        if not is_repository(self.source.git, self.cancel):
            return None
        prefix = self.source.git.layout(self.cancel).prefix
        return Refs(self, Scope(prefix, self.options.tests, self.options.vendor))

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

    def _opened(self, listing: Listing, prefix: str) -> Layer:
        root = self.source.root
        if self.store.checkout(str(root)) is None and not _is_project(root, listing):
            why = _why_none(root, listing)
            raise ProjectNotFound(
                f"No project at {root}: {why}", param="path", left_out=dict(listing.excluded),
                warnings=listing.warnings, remedy="Name the folder that holds the source.",
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

    def _read(self, layer: Layer, changed: list[Found], gone: Iterable[str], *, is_whole: bool) -> None:
        gone = sorted(gone)
        self.report.removed = len(gone)
        if changed or gone:
            with self.lexical.writing() as writing:
                batch = Batch(self, writing, None if layer.complete else partial(self.writer.publish, layer.id))
                self._digest(layer, changed, batch)
                last = batch.finish()
                self.writer.publish(
                    layer.id, last.versions, last.entries, removed={*gone, *last.gone}, vectors=last.vectors
                )
        if self.vectors is not None:
            self.report.warnings += self.vectors.catch_up(layer.id, is_whole=is_whole)
            self.report.vectors = self.vectors.made
        self.collect()

    def _counted(self) -> Mapping[str, int] | None:
        """How many files import each; None where this generation was counted already, or could not be."""
        try:
            with viewing(self.store, self.lexical, str(self.source.root), self.source.guard.blocks) as view:
                if view is None or view.layer.counted == view.layer.generation:
                    return None
                like_base = None if view.layer.counted else self._counted_by_base(view)
                return self.importers.count(view, self.cancel) if like_base is None else like_base
        except Cancelled:
            raise
        except CairnError as error:
            self.report.warnings.append(f"Which files import which could not be counted: {error.message}")
            return None

    def _counted_by_base(self, view: View) -> Mapping[str, int] | None:
        """The counts of a working tree that is new here, told from those of the base, which has most of its files;
        None where there is none. A clean clone of Django takes 0.6 s of CPU to count from nothing."""
        base = self.store.base(Scope(view.layer.prefix, self.options.tests, self.options.vendor).key)
        if base is None:
            return None
        with viewing(self.store, self.lexical, "", self.source.guard.blocks, base.id) as below:
            if below is None or not below.is_counted:
                return None
            changed = differing_paths(self.store, base, view.layer)
            other = self.importers.recount(below, view, changed, self.cancel) if changed else {}
            return {path: count for path, count in {**below.counts(), **other}.items() if count}

    def _digest(self, layer: Layer, changed: list[Found], batch: Batch) -> None:
        paths = [found.path for found in changed]
        versions = {} if self.anew else self.store.versions_at(layer.prefix + path for path in paths)
        at = len(layer.prefix)
        known = {path[at:]: ids for path, ids in versions.items()}
        jobs = jobs_for(self.source.root, layer.prefix, self.algorithm(), paths, known)
        stats = {found.path: lasting(found, self._listed_at_ns) for found in changed}
        for done, outcome in enumerate(self.workers.outcomes(jobs, self.cancel) if jobs else (), 1):
            self.progress(done, len(paths), outcome.path)
            batch.take(outcome, stats[outcome.path])

    def algorithm(self) -> str:
        """How this repository names its blobs: SHA-1, unless its commits are named by longer ids."""
        try:
            head = self.source.git.head(self.cancel) or ""
        except CairnError:
            head = ""
        return "sha256" if len(head) == 64 else "sha1"

    def collect(self) -> None:
        """Take what nothing names any more from the lexical index, and after a day from the database."""
        dropped = self.writer.retire()
        if dropped:
            with self.lexical.writing() as writing:
                for each in dropped:
                    writing.delete(each)
                writing.commit()
            self.writer.retired(dropped)
        self.writer.collect()


def _concerned(path: str) -> str:
    """The path itself; for a mark, the folder it speaks of."""
    folder, _, name = path.rpartition("/")
    return folder if folder and name in MARKS else path


def _is_project(root: Path, listing: Listing) -> bool:
    if (root / ".git").exists():
        return True
    return any(language_of(found.path) or found.path in _PROJECT_FILES for found in listing.files)


def _why_none(root: Path, listing: Listing) -> str:
    """Why a folder is no project, from what was found in it."""
    if listing.files:
        kinds = Counter(PurePosixPath(found.path).suffix or "no extension" for found in listing.files)
        named = ", ".join(kind for kind, _ in kinds.most_common(_MOST_KINDS))
        return f"none of its {len(listing.files)} files is source or a project file ({named})"
    if listing.excluded:
        counted = ", ".join(f"{count} {reason}" for reason, count in sorted(listing.excluded.items()))
        return f"everything in it is left out ({counted})"
    try:
        is_empty = next(root.iterdir(), None) is None
    except OSError:
        return "it cannot be read"
    return "it is empty" if is_empty else "the repository around it ignores every file in it, or there are only folders"


def go_module(root: Path) -> dict[str, str | None]:
    """What go.mod says, where there is one."""
    content = read_text(root, "go.mod", _LARGEST_GO_MOD)
    said: dict[str, str | None] = {"module": None, "go_version": None}
    if isinstance(content, Skip):
        return said
    for line in content.text.decode("utf-8", "replace").splitlines():
        words = line.split("//", 1)[0].split()
        if len(words) == 2 and words[0] in ("module", "go"):
            said["module" if words[0] == "module" else "go_version"] = words[1].strip('"')[:_LONGEST_MODULE]
    return said
