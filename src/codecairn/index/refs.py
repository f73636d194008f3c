"""Refs, indexed from git's objects: nothing is checked out, and only what was never seen is read.

The default branch is the base, whole; another ref is the difference between the two trees. A run that has brought the
working tree up to date does the same for the base, for the branch that is checked out and for every ref indexed before
that has moved; a ref that was never indexed is when somebody asks for it by name. Refs that are gone from the
repository go from the index when nobody has asked for them in a month.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from codecairn.errors import CairnError, Cancelled
from codecairn.file_roles import is_test
from codecairn.index.blobs import read_entries
from codecairn.index.digest import reader_versions
from codecairn.index.ref_use import drop_gone
from codecairn.index.run import Report, Run
from codecairn.source.commit_listing import RULE_NAMES, TreeSieve, rule_files, sieve_of
from codecairn.source.git import OBJECT_ID
from codecairn.source.git_errors import name_first_few as names
from codecairn.source.git_objects import FOLDER, TreeEntry, tree, tree_changes
from codecairn.source.refs import Tip, default_branch, is_repository, tips
from codecairn.store.database import differing_paths
from codecairn.store.layers import Layer, Scope
from codecairn.store.ref_writer import RefWriter
from codecairn.store.view import View, open_view

log = logging.getLogger("codecairn.index")


@dataclass(frozen=True)
class _Change:
    """The change of a layer: entries of a tree to index, and paths that are no more."""

    entries: Mapping[str, TreeEntry]
    gone: frozenset[str]
    rules: dict[str, str]
    excluded: dict[str, int]

    @property
    def paths(self) -> set[str]:
        return {*self.entries, *self.gone}


def update_refs(run: Run, also: Collection[str] = frozenset()) -> None:
    """Bring up to date what is indexed of the repository's branches, and these. It never fails a run, and adds nothing
    but warnings to its report, which is about the files."""
    report, run.report = run.report, Report()
    try:
        if is_repository(run.source.git, run.cancel):
            Refs(run).keep_up(also)
    except Cancelled:
        raise
    except CairnError as error:
        run.report.warnings.append(f"Branches could not be indexed: {error.message}. {error.remedy}")
    finally:
        report.warnings += run.report.warnings
        run.report = report


def index_ref(run: Run, tip: Tip) -> Report:
    began = time.monotonic()
    run.progress(0, 0, f"Comparing {tip.name}")
    Refs(run).index(tip)
    run.report.seconds = time.monotonic() - began
    return run.report


class Refs:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._git = run.source.git
        self._scope = Scope(self._git.layout(run.cancel).prefix, run.options.tests, run.options.vendor)
        self._store = run.store
        self._writer = RefWriter(run.store)

    @cached_property
    def _readers(self) -> str:
        return reader_versions()

    def keep_up(self, also: Collection[str] = frozenset()) -> None:
        """The base, the branch that is checked out, what was indexed before and has moved, and these."""
        base = self._bring_up_base()
        if base is None:
            return
        current = self._git.branch(self._run.cancel)
        known = {layer.name: layer for layer in self._store.refs(self._scope.key)}
        here = tips(self._git, self._run.cancel)
        for name in sorted({*known, *also, *([current] if current else [])} - {base.name}):
            commit = here.get(name) or (name if OBJECT_ID.fullmatch(name) else None)
            if commit is not None and not self._is_done(known.get(name), commit):
                self._attempt(Tip(name, commit), base)
        for name in drop_gone(self._store, self._git, self._run.cancel):
            log.info("%s is gone from the repository and was not used for long: dropped from the index", name)

    def _attempt(self, tip: Tip, base: Layer) -> None:
        """One ref that cannot be read is no reason to leave the others out."""
        try:
            self._lay(tip, base)
        except Cancelled:
            raise
        except CairnError as error:
            self._run.report.warnings.append(f"{tip.name} could not be indexed: {error.message}")

    def index(self, tip: Tip) -> Layer:
        """One ref, by name."""
        base = self._bring_up_base()
        if base is None:
            raise CairnError(
                "There is no default branch to compare with", remedy="Check out a branch, or set init.defaultBranch."
            )
        if tip.name == base.name:
            return base
        known = next((each for each in self._store.refs(self._scope.key) if each.name == tip.name), None)
        return known if known and self._is_done(known, tip.commit) else self._lay(tip, base)

    def _is_current(self, layer: Layer | None, commit: str) -> bool:
        return layer is not None and layer.head == commit and layer.extractors == self._readers and not self._run.anew

    def _is_done(self, layer: Layer | None, commit: str) -> bool:
        """Whether a run that laid a ref also came to count its imports."""
        return self._is_current(layer, commit) and layer is not None and layer.is_counted

    def _bring_up_base(self) -> Layer | None:
        """The base at the tip of the default branch; None where nothing was ever committed."""
        tip = default_branch(self._git, self._run.cancel)
        if tip is None:
            return None
        base = self._store.base(self._scope.key)
        if base is None:
            return self._create_base(tip)
        if base.name == tip.name and self._is_current(base, tip.commit):
            return base if base.is_counted else self._finish(base, None, ())
        return self._move(base, tip)

    def _create_base(self, tip: Tip) -> Layer:
        change = self._whole(tip)
        content = read_entries(self._run, self._scope.prefix, change.entries)
        facts = self._facts(tip, change)
        base = self._writer.create_base(self._scope, tip.name, content, **facts)
        with open_view(self._store, self._run.target.lexical, str(self._run.source.root), self._is_blocked) as folder:
            return self._finish(base, folder, differing_paths(self._store, base, folder.layer) if folder else ())

    def _move(self, base: Layer, tip: Tip) -> Layer:
        change = self._between(base, tip)
        content = read_entries(self._run, self._scope.prefix, change.entries)
        facts = self._facts(tip, change)
        with self._viewing(base) as before:  # as it was: what is published meanwhile is not seen in it
            moved = self._writer.move(base, tip.name, content._replace(removed=change.gone), **facts)
            return self._finish(moved, before, change.paths)

    def _lay(self, tip: Tip, base: Layer) -> Layer:
        change = self._between(base, tip)
        content = read_entries(self._run, self._scope.prefix, change.entries, on_branch=True)
        facts = self._facts(tip, change)
        layer = self._writer.lay(self._scope, tip.name, base, content._replace(removed=change.gone), **facts)
        with self._viewing(base) as below:
            return self._finish(layer, below, change.paths)

    def _finish(self, layer: Layer, before: View | None, changed: Collection[str]) -> Layer:
        run = self._run
        run.make_vectors(layer.id)
        self._count(layer, before, changed)
        run.target.collect()
        found = self._store.layer(layer.id)
        assert found is not None
        return found

    def _count(self, layer: Layer, before: View | None, changed: Collection[str]) -> None:
        """Count the imports that differ from those counted before, or all where none were."""
        run = self._run
        with self._viewing(layer) as view:
            if before is not None and before.is_counted:
                other = run.importers.recount(before, view, changed, run.cancel)
            else:
                other = _differences(view.counts(), run.importers.count(view, run.cancel))
        is_elsewhere = before is not None and before.layer.id not in (layer.id, layer.base)
        if is_elsewhere and before is not None and before.is_counted:  # a working tree: it has no rows of ours
            other = {**before.counts(), **other}
        self._writer.count(layer, other)

    def _between(self, base: Layer, tip: Tip) -> _Change:
        """How the base becomes another commit: by the difference of the trees, or by looking at the whole where the
        rules changed, or the readers did, or what the base was is no more."""
        is_readable = base.extractors == self._readers and not self._run.anew
        change = self._difference(base, tip) if is_readable else None
        if change is not None:
            return change
        whole = self._whole(tip)
        known = self._store.manifest(base.id)
        return _Change(whole.entries, frozenset(known.keys() - whole.entries.keys()), whole.rules, whole.excluded)

    def _difference(self, base: Layer, tip: Tip) -> _Change | None:
        prefix = self._scope.prefix
        try:
            changes = tree_changes(self._git, base.head, tip.commit, self._run.cancel, prefix=prefix)
        except Cancelled:
            raise
        except CairnError:  # the base's commit is no more: its branch was forced, and git has cleaned up
            return None
        if any(change.path.rpartition("/")[2] in RULE_NAMES or FOLDER in (change.mode, change.old_mode)
               for change in changes):  # fmt: skip
            return None
        sieve = self._sieve(base.rules)
        for change in changes:
            if change.id:
                sieve.take_entry(TreeEntry(change.path, change.mode, change.id, None))
        entries = self._filter(sieve)
        paths = {change.path.removeprefix(prefix) for change in changes}
        return _Change(entries, frozenset(paths - entries.keys()), base.rules, {})

    def _whole(self, tip: Tip) -> _Change:
        listed = tree(self._git, tip.commit, self._scope.prefix, self._run.cancel)
        rules = rule_files(listed, self._scope.prefix)
        sieve = self._sieve(rules)
        for entry in listed:
            sieve.take_entry(entry)
        if lacking := [f"{entry.path}/" for entry in listed if entry.is_lacking_folder]:
            self._run.report.warnings.append(f"The repository lacks what {names(lacking)} holds at {tip.name}")
        return _Change(self._filter(sieve), frozenset(), rules, dict(sieve.excluded))

    def _sieve(self, rules: Mapping[str, str]) -> TreeSieve:
        source, scope = self._run.source, self._scope
        return sieve_of(self._git, scope.prefix, source.guard, rules, self._run.cancel)

    def _filter(self, sieve: TreeSieve) -> dict[str, TreeEntry]:
        return {path: entry for path, entry in sieve.entries.items() if self._scope.tests or not is_test(path)}

    def _facts(self, tip: Tip, change: _Change) -> dict[str, Any]:
        said = {"head": tip.commit, "extractors": self._readers, "finished_at": time.time(), "rules": change.rules}
        return {**said, "excluded": change.excluded} if change.excluded else said

    @contextmanager
    def _viewing(self, layer: Layer) -> Iterator[View]:
        with open_view(self._store, self._run.target.lexical, "", self._is_blocked, layer.id) as view:
            assert view is not None
            yield view

    def _is_blocked(self, path: str) -> bool:
        return self._run.source.guard.blocks(path)


def _differences(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """The counts that changed; one that is no more is 0."""
    return {path: after.get(path, 0) for path in {*before, *after} if before.get(path, 0) != after.get(path, 0)}
