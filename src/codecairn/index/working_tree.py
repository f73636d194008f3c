"""The run of a working tree: list, compare, read what changed, publish.

A run is safe to end at any point. Versions are written first (the lexical index, then the database), and nobody sees
them; the manifest names them last. The first run of a checkout publishes as it goes, so that there is something to
search; a later one publishes once, at its end, so that nobody sees half of a branch switch.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path, PurePosixPath

from codecairn.errors import CairnError, Cancelled, ProjectNotFound
from codecairn.index.batch import FAILED, UNCHANGED, Batch
from codecairn.index.committed_files import committed_outcomes
from codecairn.index.digest import Outcome, lasting_stamp, reader_versions
from codecairn.index.run import Report, Run
from codecairn.index.team_versions import take_for_files
from codecairn.index.worker_pool import jobs_for
from codecairn.parse.language import language_of
from codecairn.source.file_content import ListedFile, Skip, read_text
from codecairn.source.file_listing import MARKS, Listing
from codecairn.store.database import Entry, differing_paths
from codecairn.store.layers import Layer, Scope
from codecairn.store.view import View, open_view

_PROJECT_FILES = frozenset(
    {
        "go.mod", "package.json", "pyproject.toml", "Cargo.toml", "pom.xml", "build.gradle", "CMakeLists.txt",
        "composer.json", "mix.exs", "Gemfile", "Makefile",
    }
)  # fmt: skip
"""A folder with a file of such a name is a project, in whatever language."""
_LARGEST_GO_MOD = 1 << 18
_LONGEST_MODULE = 500
_MOST_KINDS = 5


class WorkingTree:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._source, self._target = run.source, run.target
        self._root = str(run.source.root)

    def update(self) -> Report:
        """Bring the whole checkout up to date."""
        run, began = self._run, time.monotonic()
        run.progress(0, 0, "Listing files")
        git_state = self._git_state()
        listing = self._list()
        layer = self._open(listing)
        known = run.store.manifest(layer.id)
        extractors = reader_versions()
        trusted = known if layer.extractors == extractors and not run.anew else {}
        self._read(layer, self._find_changed(listing, trusted), _missing(known, listing), is_whole=True)
        counts = self._counts()
        run.report.seconds = time.monotonic() - began
        self._target.writer.finish(
            layer.id, counts, complete=1, tests=run.options.tests, vendor=run.options.vendor, **git_state,
            extractors=extractors, excluded=dict(listing.excluded), finished_at=time.time(),
            seconds=run.report.seconds, **go_module(self._source.root),
        )  # fmt: skip
        return run.report

    def update_paths(self, paths: Iterable[str]) -> Report:
        """Bring these paths, and what lies below them, up to date; the checkout has been indexed whole before."""
        run, began = self._run, time.monotonic()
        git_state = self._git_state()
        asked = sorted(set(map(_folder_of_mark, paths)))
        listing = self._list(asked)
        layer = self._target.writer.open_checkout(self._root, self._source.prefix(run.cancel))
        known = run.store.entries_below(layer.id, asked)
        self._read(layer, self._find_changed(listing, known), _missing(known, listing), is_whole=False)
        run.report.seconds = time.monotonic() - began
        self._target.writer.finish(layer.id, **git_state, finished_at=time.time(), **go_module(self._source.root))
        return run.report

    def _git_state(self) -> dict[str, str]:
        """HEAD and the name to call it by. It is read before the files: if it moves meanwhile, the index is stale and
        knows it."""
        return {"head": self._source.head(self._run.cancel), "ref": self._source.ref(self._run.cancel)}

    def _open(self, listing: Listing) -> Layer:
        root = self._source.root
        if self._run.store.checkout(self._root) is None and not _is_project(root, listing):
            raise ProjectNotFound(
                f"No project at {root}: {_why_none(root, listing)}", param="path", left_out=dict(listing.excluded),
                warnings=listing.warnings, remedy="Name the folder that holds the source.",
            )  # fmt: skip
        return self._target.writer.open_checkout(self._root, self._source.prefix(self._run.cancel))

    def _list(self, only: list[str] | None = None) -> Listing:
        self._listed_at_ns = time.time_ns()
        listing = self._source.list_files(self._run.cancel, self._run.options, only)
        self._run.report.skipped += listing.excluded
        self._run.report.warnings += listing.warnings
        return listing

    def _find_changed(self, listing: Listing, known: Mapping[str, Entry]) -> list[ListedFile]:
        changed, report = [], self._run.report
        for found in listing.files:
            entry = known.get(found.path)
            if entry is None or entry.stat != found[1:5]:
                changed.append(found)
            elif entry.reason in FAILED:
                report.failed[found.path] = entry.detail or entry.reason
            else:
                report.skipped[entry.reason or UNCHANGED] += 1
        return changed

    def _read(self, layer: Layer, changed: list[ListedFile], gone: set[str], *, is_whole: bool) -> None:
        run, writer = self._run, self._target.writer
        run.report.removed = len(gone)
        if changed or gone:
            committed = committed_outcomes(run, layer, changed)
            take_for_files(run, layer.prefix, [found.path for found in changed if found.path not in committed])
            with self._target.lexical.writing() as writing:
                batch = Batch(run, writing, None if layer.complete else partial(writer.publish, layer.id))
                self._digest(layer, changed, committed, batch)
                left = batch.finish()
                writer.publish(layer.id, left._replace(removed=gone.union(left.removed)))
        run.make_vectors(layer.id, is_whole=is_whole)
        self._target.collect()

    def _digest(self, layer: Layer, changed: list[ListedFile], committed: Mapping[str, Outcome], batch: Batch) -> None:
        run = self._run
        stats = {found.path: lasting_stamp(found, self._listed_at_ns) for found in changed}
        for outcome in committed.values():
            batch.take(outcome, stats[outcome.path])
        paths = [found.path for found in changed if found.path not in committed]
        known = run.versions_at(layer.prefix, paths)
        jobs = jobs_for(self._source.root, layer.prefix, run.algorithm(), paths, known)
        for done, outcome in enumerate(run.workers.outcomes(jobs, run.cancel) if jobs else (), 1):
            run.progress(done, len(paths), outcome.path)
            batch.take(outcome, stats[outcome.path])

    def _counts(self) -> Mapping[str, int] | None:
        """How many files import each; None where this generation was counted already, or could not be."""
        run = self._run
        try:
            with open_view(run.store, self._target.lexical, self._root, self._source.guard.blocks) as view:
                if view is None or view.layer.is_counted:
                    return None
                like_base = None if run.is_mending else self._counts_by_base(view)
                return run.importers.count(view, run.cancel) if like_base is None else like_base
        except Cancelled:
            raise
        except CairnError as error:
            run.report.warnings.append(f"Which files import which could not be counted: {error.message}")
            return None

    def _counts_by_base(self, view: View) -> Mapping[str, int] | None:
        """The counts of a working tree, told from those of the base, which has most of its files; None where there is
        none. A clean clone of Django takes 0.6 s of CPU to count from nothing."""
        run = self._run
        base = run.store.base(Scope(view.layer.prefix, run.options.tests, run.options.vendor).key)
        if base is None:
            return None
        with open_view(run.store, self._target.lexical, "", self._source.guard.blocks, base.id) as below:
            if below is None or not below.is_counted:
                return None
            changed = differing_paths(run.store, base, view.layer)
            other = run.importers.recount(below, view, changed, run.cancel) if changed else {}
            return {path: count for path, count in {**below.counts(), **other}.items() if count}


def _missing(known: Mapping[str, Entry], listing: Listing) -> set[str]:
    return known.keys() - {found.path for found in listing.files}


def _folder_of_mark(path: str) -> str:
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
    """Module and version from go.mod, where there is one."""
    content = read_text(root, "go.mod", _LARGEST_GO_MOD)
    said: dict[str, str | None] = {"module": None, "go_version": None}
    if isinstance(content, Skip):
        return said
    for line in content.text.decode("utf-8", "replace").splitlines():
        words = line.split("//", 1)[0].split()
        if len(words) == 2 and words[0] in ("module", "go"):
            said["module" if words[0] == "module" else "go_version"] = words[1].strip('"')[:_LONGEST_MODULE]
    return said
