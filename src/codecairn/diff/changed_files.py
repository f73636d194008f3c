"""The files that differ between two commits, or a commit and the working tree, each with its symbols on both sides.

A content that the index knows is taken from there, any other is read from git's objects and taken apart here: a merge
base is seldom a ref that anybody indexed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from codecairn.cancel import Cancel
from codecairn.diff.values import FileStatus, Version, VersionChange
from codecairn.errors import VersionDamaged
from codecairn.file_roles import is_test
from codecairn.index.digest import LARGEST_FILE, Outcome, digest_blob, reader_version
from codecairn.parse.language import languages
from codecairn.paths import Guard
from codecairn.source.commit_listing import TreeSieve, sieve_of
from codecairn.source.file_content import Skip
from codecairn.source.git import Git, names_of
from codecairn.source.git_objects import Blob, TooLarge, TreeChange, TreeEntry, blobs, tree_changes, worktree_changes
from codecairn.store.database import IndexStore
from codecairn.store.file_version import version_id
from codecairn.store.layers import Layer

MISSING = "not in this clone"
DAMAGED = "damaged in the index; index_codebase reads it anew"
_TEST = "test"
_STATUS: dict[str, FileStatus] = {"A": "added", "D": "deleted", "R": "renamed"}
_Side = Version | str | None
"""A version, the reason why there is none, or nothing where there is no file."""


@dataclass(frozen=True)
class ChangedFiles:
    files: list[VersionChange]
    withheld: int
    """Files that may not be shown."""


@dataclass(frozen=True)
class Comparison:
    """Of a merge base with what a layer shows: a ref at its commit, or the working tree."""

    git: Git
    store: IndexStore
    guard: Guard
    merge_base: str
    head: Layer
    cancel: Cancel

    def file_changes(self) -> ChangedFiles:
        raw = self._raw()
        withheld = [each for each in raw if self._is_secret(each.path) or self._is_secret(each.old_path)]
        shown = [each for each in raw if each not in withheld]
        old = self._sides(
            [TreeEntry(each.old_path, each.old_mode, each.old_id, None) for each in shown if each.old_mode]
        )
        new = self._heads(shown)
        files = [self._change(each, old.get(each.old_path), new.get(each.path)) for each in shown]
        return ChangedFiles(sorted(files, key=lambda each: each.path), len(withheld))

    @property
    def _is_live(self) -> bool:
        return not self.head.name

    @property
    def _prefix(self) -> str:
        return self.head.prefix

    def _is_secret(self, path: str) -> bool:
        return self.guard.blocks(path.removeprefix(self._prefix))

    def _raw(self) -> list[TreeChange]:
        if not self._is_live:
            return tree_changes(
                self.git, self.merge_base, self.head.head, self.cancel, prefix=self._prefix, renames=True
            )
        found = worktree_changes(self.git, self.merge_base, self.cancel, prefix=self._prefix)
        return [*found, *self._changes_untracked_by_git({each.path for each in found})]

    def _changes_untracked_by_git(self, told: set[str]) -> Iterator[TreeChange]:
        """Files of the working tree that git does not track, and the index does."""
        tracked = set(names_of(self.git.read("ls-files", "-z", "--full-name", cancel=self.cancel)))
        for path in self.store.manifest(self.head.id):
            whole = self._prefix + path
            if whole not in tracked and whole not in told:
                yield TreeChange("A", whole, whole, 0, 0o100644, "", "")

    def _change(self, each: TreeChange, before: _Side, after: _Side) -> VersionChange:
        reasons = [side for side in (after, before) if isinstance(side, str)]
        return VersionChange(
            _STATUS.get(each.status, "modified"), each.path.removeprefix(self._prefix),
            each.old_path.removeprefix(self._prefix), before if isinstance(before, Version) else None,
            after if isinstance(after, Version) else None, reasons[0] if reasons else "",
        )  # fmt: skip

    def _heads(self, changes: list[TreeChange]) -> dict[str, _Side]:
        if not self._is_live:
            return self._sides([TreeEntry(each.path, each.mode, each.id, None) for each in changes if each.mode])
        return {each.path: self._index_side(each.path.removeprefix(self._prefix)) for each in changes if each.mode}

    def _index_side(self, path: str) -> _Side:
        """The indexed version of a file of the working tree."""
        entry = self.store.entry(self.head.id, path)
        if entry is None:
            return "not indexed"
        if entry.file is None:
            return entry.reason
        return self._load(entry.file) or DAMAGED

    def _load(self, file: int) -> Version | None:
        try:
            version = self.store.load(file)
        except VersionDamaged:
            return None
        return Version.of(version, self._prefix) if version is not None else None

    def _sides(self, entries: list[TreeEntry]) -> dict[str, _Side]:
        """By path; each path once, as of one commit."""
        left_out = dict(self._left_out(entries))
        wanted = {each.path: each for each in entries if each.path not in left_out}
        known = self._versions_in_index(wanted)
        unread = {path: each for path, each in wanted.items() if path not in known}
        return {**left_out, **known, **dict(self._read(unread))}

    def _left_out(self, entries: Iterable[TreeEntry]) -> Iterator[tuple[str, str]]:
        for each in entries:
            reason = self._sieve.exclusion(each)
            if reason is None and not self.head.tests and is_test(each.path.removeprefix(self._prefix)):
                reason = _TEST
            if reason is not None:
                yield each.path, reason

    @cached_property
    def _sieve(self) -> TreeSieve:
        head = self.head
        return sieve_of(self.git, head.prefix, self.guard, head.rules, self.cancel)

    def _versions_in_index(self, entries: dict[str, TreeEntry]) -> dict[str, Version]:
        contents = {path: bytes.fromhex(each.id) for path, each in entries.items()}
        found = {}
        for path, blob, file, language in self.store.versions_of(contents):
            is_current = version_id(path, blob, reader_version(languages().get(language))) == file
            if is_current and (version := self._load(file)) is not None:
                found[path] = version
        return found

    def _read(self, entries: dict[str, TreeEntry]) -> Iterator[tuple[str, _Side]]:
        paths: dict[str, list[str]] = {}
        for path, each in entries.items():
            paths.setdefault(each.id, []).append(path)
        for id_, blob in blobs(self.git, paths, self.cancel, most_bytes=LARGEST_FILE):
            for path in paths[id_]:
                self.cancel.check()
                yield path, self._take_apart(path, blob)

    def _take_apart(self, path: str, blob: Blob) -> _Side:
        if not isinstance(blob, bytes):
            return Skip.TOO_LARGE if isinstance(blob, TooLarge) else MISSING
        outcome: Outcome = digest_blob("", path, blob)
        return Version.of(outcome.version, self._prefix) if outcome.version is not None else outcome.reason
