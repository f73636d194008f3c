"""One run of the indexer: the order, the stores it writes to, and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.paths import Guard
from codecairn.source.file_listing import Listing, list_files
from codecairn.source.git import Git

if TYPE_CHECKING:
    from codecairn.index.embedding import Vectors
    from codecairn.index.worker_pool import Workers
    from codecairn.store.database import IndexStore
    from codecairn.store.file_version import FileVersion
    from codecairn.store.lexical import Lexical, Writing
    from codecairn.store.view import View
    from codecairn.store.writer import IndexWriter

TEST = "test (include_tests is false)"
Progress = Callable[[int, int, str], None]
_MOST_LEFT_OUT = 50_000
"""Paths, some 250 bytes each: those beyond are read again from git."""


def ignore_progress(done: int, total: int, said: str) -> None:
    """Progress that nobody asked for."""


class Options(Struct, frozen=True):
    tests: bool = True
    vendor: bool = False


class Source(Struct, frozen=True):
    """Where the files are."""

    root: Path
    git: Git
    guard: Guard
    is_behind: Callable[[], bool] | None = None
    """Tells of a replica that a team server keeps whether more is published than it shows. Nobody else writes its
    files: they change with HEAD, and not otherwise. None where files are their user's."""
    fetch: Callable[[Sequence[int], Cancel], Iterator[list[FileVersion]]] | None = None
    """Fetches file versions by key from a team server; None where there is none."""

    def head(self, cancel: Cancel) -> str:
        """The commit that is checked out; empty where there is none."""
        try:
            return self.git.head(cancel) or ""
        except CairnError:
            return ""

    def ref(self, cancel: Cancel) -> str:
        """The current branch, the commit where there is none, `live` outside git."""
        try:
            return self.git.branch(cancel) or self.git.head(cancel) or "live"
        except CairnError:
            return "live"

    def prefix(self, cancel: Cancel) -> str:
        """The folder of the project in the repository; empty outside git."""
        try:
            return self.git.layout(cancel).prefix
        except CairnError:
            return ""

    def list_files(self, cancel: Cancel, options: Options, only: list[str] | None = None) -> Listing:
        listing = list_files(self.root, self.git, self.guard, cancel, vendor=options.vendor, only=only)
        if options.tests:
            return listing
        from codecairn.file_roles import is_test  # noqa: PLC0415 - for who leaves tests out

        kept = [found for found in listing.files if not is_test(found.path)]
        listing.excluded[TEST] += len(listing.files) - len(kept)
        return Listing(kept, +listing.excluded, listing.warnings)


class Importers(Struct, frozen=True):
    """Count which files import which; made above this layer, where imports are understood."""

    count: Callable[[View, Cancel], Mapping[str, int]]
    """For each file that others import, how many do."""
    recount: Callable[[View, View, Collection[str], Cancel], Mapping[str, int]]
    """The counts that differ between two views which differ in these paths; none is 0."""


class Report(Struct):
    """The outcome of a run."""

    files_indexed: int = 0
    symbols: int = 0
    chunks: int = 0
    vectors: int = 0
    removed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = {}
    """Files that are not in the index because something went wrong with them, with the reason."""
    broken: dict[str, str] = {}
    """Files that are in the index as far as they could be read, with what could not."""
    warnings: list[str] = []
    seconds: float = 0.0


class Target(Struct, frozen=True, dict=True):
    """The stores that a run writes to."""

    store: IndexStore
    lexical: Lexical
    vectors: Vectors | None

    @cached_property
    def writer(self) -> IndexWriter:
        from codecairn.store.writer import IndexWriter  # noqa: PLC0415 - for who writes

        return IndexWriter(self.store)

    def receive(self, writing: Writing, versions: Sequence[FileVersion]) -> None:
        """Write versions that were read elsewhere; documents first and the database last, as every batch is written
        (store/schema.py)."""
        from codecairn.store.writer import Content  # noqa: PLC0415 - as above

        self.writer.announce([each.id for each in versions])
        for each in versions:
            writing.add(each)
        writing.commit()
        self.writer.insert(Content(versions, vectors=self.vectors.of(versions) if self.vectors else None))

    def collect(self) -> None:
        """Take what nothing names any more from the lexical index, and after a day from the database."""
        dropped = self.writer.retire()
        if dropped:
            with self.lexical.writing() as writing:
                for each in dropped:
                    writing.delete(each)
                writing.commit()
            self.writer.forget_retired(dropped)
        self.writer.collect()


class Run(Struct):
    source: Source
    target: Target
    workers: Workers
    importers: Importers
    options: Options
    cancel: Cancel
    progress: Progress = ignore_progress
    anew: bool = False
    """Whether every file is read and parsed again, whatever is known of it."""
    is_mending: bool = False
    """Whether versions were found damaged, so that what other layers say of them cannot be built upon."""
    report: Report = field(default_factory=Report)
    left_out: dict[str, tuple[bytes, str]] = {}
    """Of paths that were read in this run and are not indexed: the blob that git has of the content, and the reason."""

    def remember_left_out(self, path: str, blob: bytes, reason: str) -> None:
        if blob and len(self.left_out) < _MOST_LEFT_OUT:
            self.left_out[path] = (blob, reason)

    @property
    def store(self) -> IndexStore:
        return self.target.store

    def algorithm(self) -> str:
        """How this repository names its blobs: SHA-1, unless its commits are named by longer ids."""
        return "sha256" if len(self.source.head(self.cancel)) == 64 else "sha1"

    def versions_at(self, prefix: str, paths: Collection[str]) -> dict[str, list[int]]:
        """The versions known of each path, relative to the project; none where everything is read anew."""
        found = {} if self.anew else self.store.versions_at(prefix + path for path in paths)
        return {path.removeprefix(prefix): ids for path, ids in found.items()}

    def make_vectors(self, layer: int, *, is_whole: bool = True) -> None:
        """Make the vectors that a layer lacks."""
        if self.target.vectors is not None:
            self.report.warnings += self.target.vectors.catch_up(layer, is_whole=is_whole)
            self.report.vectors = self.target.vectors.made
