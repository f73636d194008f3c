"""The symbol diff against brute force, on real histories.

    python benchmarks/symbol_diff.py REPOSITORY [--pairs 50] [--of merges|tags] [--seed 1]

For merged branches (what each brought: merge base and tip), or for neighbouring tags, two accounts are drawn up.
Ours: changed files from `git diff-tree` with renames, their symbols compared by `symbol_changes`. Brute force: both
whole trees, listed without renames and parsed file by file, each a multiset of (file, kind, path, text of the symbol).
What only one tree has must be in the rows, on that side, and nothing else may be.

A row may say more than the sets do, that a deleted and an added symbol are one which moved, but it may not lose one.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path

from measure import markdown

from codecairn.cancel import Cancel
from codecairn.diff.symbol_changes import symbol_changes
from codecairn.diff.values import FileStatus, SymbolPlace, Version, VersionChange
from codecairn.index.digest import LARGEST_FILE, version_of
from codecairn.parse.deadline import SlowParse
from codecairn.parse.language import language_of
from codecairn.source.file_content import classify
from codecairn.source.git import Git
from codecairn.source.git_objects import TreeChange, blobs, tree, tree_changes

Symbol = tuple[str, str, str, bytes]
_STATUS: dict[str, FileStatus] = {"A": "added", "D": "deleted", "M": "modified", "R": "renamed", "T": "modified"}


@dataclass
class Tally:
    pairs: int = 0
    files: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    missed: int = 0
    invented: int = 0
    cpu_s: list[float] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--of", choices=("merges", "tags"), default="merges")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    git, tally = Git(wanted.repository), Tally()
    parsed = Parsed(git)
    chance = random.Random(wanted.seed)
    pairs = _merges(git, chance) if wanted.of == "merges" else _tags(git, chance)
    for old, new in islice(pairs, wanted.pairs):
        _compare(git, parsed, old, new, tally)
    changed = ", ".join(f"{count} {name}" for name, count in sorted(tally.rows.items()))
    print(changed)
    spread = sorted(tally.cpu_s)
    row = [
        wanted.repository.parent.name, str(tally.pairs), str(tally.files), str(tally.missed), str(tally.invented),
        f"{spread[len(spread) // 2] * 1000:.0f}", f"{spread[-1] * 1000:.0f}",
    ]  # fmt: skip
    print(markdown(["repository", "pairs", "files", "missed", "invented", "CPU ms p50", "max"], [row]))


def _merges(git: Git, chance: random.Random) -> Iterator[tuple[str, str]]:
    listed = git.read("rev-list", "--merges", "--parents", "--all", cancel=Cancel()).decode().splitlines()
    for line in chance.sample(listed, len(listed)):
        _, first, second, *_ = line.split()
        base = git.run("merge-base", first, second, cancel=Cancel()).output.decode().strip()
        if base and base != second:
            yield base, second


def _tags(git: Git, chance: random.Random) -> Iterator[tuple[str, str]]:
    order = ("for-each-ref", "--sort=creatordate", "--format=%(objectname)^{commit}", "refs/tags")
    tags = git.read(*order, cancel=Cancel()).decode().split()
    ids = [git.resolve(tag, Cancel(), param="", complaint="no such tag") for tag in tags]
    pairs = list(pairwise(ids))
    return iter(chance.sample(pairs, len(pairs)))


class Parsed:
    """Every content is parsed once, whatever trees hold it."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._known: dict[tuple[str, str], Version | None] = {}

    def get(self, wanted: list[tuple[str, str]]) -> dict[tuple[str, str], Version | None]:
        """Of (path, blob id)."""
        new = [each for each in dict.fromkeys(wanted) if each not in self._known]
        contents = blobs(self._git, [id_ for _, id_ in new], Cancel(), most_bytes=LARGEST_FILE)
        for key, (_, raw) in zip(new, contents, strict=True):
            self._known[key] = _version(key[0], raw) if isinstance(raw, bytes) else None
        return {each: self._known[each] for each in wanted}


def _version(path: str, raw: bytes) -> Version | None:
    language = language_of(path, raw)
    if language is None or b"\0" in raw[:8192] or classify(path, raw):
        return None
    try:
        return Version.of(version_of(0, path, b"", raw, language))
    except SlowParse:
        return None


def _compare(git: Git, parsed: Parsed, old: str, new: str, tally: Tally) -> None:
    changes = [_change(parsed, each) for each in tree_changes(git, old, new, Cancel(), renames=True)]
    began = time.process_time()
    rows = symbol_changes(changes, Cancel())
    tally.cpu_s.append(time.process_time() - began)
    lost = Counter(_symbol(each.before) for each in rows if each.before)
    gained = Counter(_symbol(each.after) for each in rows if each.after)
    before, after = _whole(git, parsed, old), _whole(git, parsed, new)
    tally.pairs += 1
    tally.files += len(changes)
    tally.rows.update(each.change_type for each in rows)
    tally.rows.update({"moved": sum(bool(each.moved_from) for each in rows)})
    tally.rows.update({"renamed": sum(bool(each.renamed_from) for each in rows)})
    tally.rows.update({"layout only": sum(each.difference.whitespace_or_comments_only for each in rows)})
    tally.rows.update({"members only": sum(each.difference.only_members for each in rows)})
    tally.missed += ((before - after) - lost).total() + ((after - before) - gained).total()
    tally.invented += (lost - (before - after)).total() + (gained - (after - before)).total()
    for said, group in (("missed", (before - after) - lost), ("missed", (after - before) - gained),
                        ("invented", lost - (before - after)), ("invented", gained - (after - before))):  # fmt: skip
        for each in sorted(group)[:3]:
            print(old[:9], new[:9], said, each[:3])


def _change(parsed: Parsed, each: TreeChange) -> VersionChange:
    wanted = [
        (each.old_path, each.old_id if _is_file(each.old_mode) else ""),
        (each.path, each.id if _is_file(each.mode) else ""),
    ]
    found = parsed.get([key for key in wanted if key[1]])
    before, after = (found.get(key) for key in wanted)
    return VersionChange(_STATUS[each.status], each.path, each.old_path, before, after)


def _is_file(mode: int) -> bool:
    return mode & 0o170000 == 0o100000


def _symbol(place: SymbolPlace) -> Symbol:
    row = place.symbol
    return place.version.path, row.kind, row.path, row.content_hash


def _whole(git: Git, parsed: Parsed, commit: str) -> Counter[Symbol]:
    entries = [each for each in tree(git, commit, "", Cancel()) if _is_file(each.mode)]
    versions = parsed.get([(each.path, each.id) for each in entries])
    return Counter(
        (path, row.kind, row.path, row.content_hash)
        for (path, _), version in versions.items()
        if version is not None
        for row in version.symbols
    )


if __name__ == "__main__":
    main()
