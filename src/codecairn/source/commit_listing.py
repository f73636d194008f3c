"""The files of a commit that may be indexed: by the rules of file_listing.py, with the commit's own ignore files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from codecairn.cancel import Cancel
from codecairn.paths import Guard
from codecairn.source import file_listing
from codecairn.source.git import Git
from codecairn.source.git_objects import TreeEntry, blobs
from codecairn.source.ignore_rules import IgnoreRules

RULE_NAMES = frozenset({file_listing.RULES, *file_listing.MARKS})
"""Files by which others are left out, each by its name."""


class TreeSieve(file_listing.Sieve):
    """Takes entries of a tree below a prefix, keeps those that pass and counts the rest."""

    def __init__(self, prefix: str, guard: Guard, rules: Mapping[str, str], marked: Iterable[str]) -> None:
        self._texts = rules
        super().__init__(Path(), guard, vendor=True)
        self._prefix = prefix
        self.mark(marked)
        self.entries: dict[str, TreeEntry] = {}

    def take_entry(self, entry: TreeEntry) -> None:
        if reason := self.exclusion(entry):
            self.excluded[reason] += 1
        else:
            self.entries[entry.path.removeprefix(self._prefix)] = entry

    def exclusion(self, entry: TreeEntry) -> str | None:
        """The reason why an entry is left out; None where it passes."""
        if not file_listing.is_showable(entry.path):
            return file_listing.UNNAMEABLE
        if entry.is_submodule:
            return file_listing.SUBMODULE
        if entry.is_lacking_folder:
            return file_listing.LACKING
        if entry.is_link:
            return file_listing.LINK
        path = entry.path.removeprefix(self._prefix)
        folder = self._folder(path.rpartition("/")[0])
        return folder.reason or self._file_exclusion(path, folder.rules)

    def _is_linked(self, path: str) -> str | None:
        del path  # nothing of a tree lies behind a link
        return None

    def _rules(self, folder: str, name: str, above: IgnoreRules) -> IgnoreRules:
        text = self._texts.get(f"{folder}/{name}" if folder else name)
        return above if text is None else IgnoreRules(folder, text, above)


def rule_files(entries: Iterable[TreeEntry], prefix: str) -> dict[str, str]:
    """The files by which others are left out, from the prefix on, each with its blob."""
    found = {}
    for entry in entries:
        path = entry.path.removeprefix(prefix)
        if path.rpartition("/")[2] in RULE_NAMES and not entry.is_link and not entry.is_submodule:
            found[path] = entry.id
    return found


def sieve_of(git: Git, prefix: str, guard: Guard, rules: Mapping[str, str], cancel: Cancel) -> TreeSieve:
    """A sieve by these rule files."""
    names = {path: id_ for path, id_ in rules.items() if path.rpartition("/")[2] == file_listing.RULES}
    contents = dict(blobs(git, set(names.values()), cancel, most_bytes=file_listing.LARGEST_RULES))
    texts = {path: contents[id_] for path, id_ in names.items()}
    told = {path: data.decode("utf-8", "replace") for path, data in texts.items() if isinstance(data, bytes)}
    marked = (path.rpartition("/")[0] for path in rules if path not in names)
    return TreeSieve(prefix, guard, told, marked)
