"""The past of what rules name: the commit that wrote a line, the tree it was written in, what became of a path.

A path that is gone is no proof of a mistake: it may be an example, or something a build makes. It is one where it was
there when its line was written, or at any time since, and is not now. So a line is dated by blame, the path is looked
up in the tree of that commit, and the commit that deleted it is asked where the file went.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from codecairn.anchors.tree import PathTree
from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.source.git import Git, names_of

MOST_COMMITS = 60
"""Trees of the past that one check reads; the newest lines are dated first."""
_MOST_HOPS = 6
_MOST_PATHS = 400
_PATHS_A_RUN = 100
_MOST_DELETIONS = 6
_BLAME_LINE = re.compile(r"^([0-9a-f]{40,64}) \d+ (\d+)", re.M)


@dataclass(frozen=True)
class Fate:
    """What became of a path: the commit that took it away, and where it stands now if it was moved."""

    commit: str
    now: str | None = None


@dataclass
class Past:
    """The history of one project, as far as it is asked for."""

    git: Git
    cancel: Cancel
    now: PathTree
    rules_at: str = ""
    """The commit that the rule files are read from; the working tree where none is named."""
    _trees: dict[str, PathTree | None] = field(default_factory=dict)
    _fates: dict[str, Fate | None] = field(default_factory=dict)
    _renames: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def line_commits(self, file: str, lines: Sequence[int]) -> dict[int, str]:
        """The commit that last wrote each line; HEAD's for one that is not committed, none for a file that is not."""
        ranges = [f"-L{each},{each}" for each in sorted(set(lines))]
        at = [self.rules_at] if self.rules_at else []
        run = self.git.run("blame", "--porcelain", "-w", *ranges, *at, "--", file, cancel=self.cancel)
        if run.status != 0:
            return {}
        found = {int(line): commit for commit, line in _BLAME_LINE.findall(run.output.decode("utf-8", "replace"))}
        return {line: commit if commit.strip("0") else "HEAD" for line, commit in found.items()}

    def tree_at(self, commit: str) -> PathTree | None:
        """The tree of a commit; None beyond the most that are read, or where git has it no more."""
        if commit not in self._trees:
            self._trees[commit] = self._read_tree(commit) if len(self._trees) < MOST_COMMITS else None
        return self._trees[commit]

    def _read_tree(self, commit: str) -> PathTree | None:
        run = self.git.run("ls-tree", "-r", "-z", "--name-only", commit, cancel=self.cancel)
        return PathTree(names_of(run.output)) if run.status == 0 else None

    def fates(self, paths: Iterable[str]) -> dict[str, Fate | None]:
        """What became of paths that are not there now; None where no commit of the history took one away."""
        wanted = list(dict.fromkeys(paths))[:_MOST_PATHS]
        fresh = [each for each in wanted if each not in self._fates]
        for at in range(0, len(fresh), _PATHS_A_RUN):
            group = fresh[at : at + _PATHS_A_RUN]
            deletions = self._deletions(group)
            for path in group:
                self._fates[path] = self._fate(path, deletions.get(path, []), _MOST_HOPS)
        return {each: self._fates[each] for each in wanted}

    def _deletions(self, paths: list[str]) -> dict[str, list[str]]:
        """For each path the commits that deleted it, or a file below it, the newest first."""
        run = self.git.run(
            "log", "--no-renames", "--diff-filter=D", "--name-only", "--relative", "-z", "--format=%x01%H",
            "HEAD", "--", *paths, cancel=self.cancel,
        )  # fmt: skip
        if run.status != 0:
            return {}
        found: dict[str, list[str]] = {}
        wanted, commit = set(paths), ""
        for part in run.output.decode("utf-8", "surrogateescape").split("\0"):
            name = part.lstrip("\n")
            if name.startswith("\x01"):
                commit = name[1:].strip()
                continue
            for path in _itself_and_above(name) & wanted:
                if commit not in found.setdefault(path, []):
                    found[path].append(commit)
        return found

    def _fate(self, path: str, commits: list[str], hops: int) -> Fate | None:
        if not commits:
            return None
        for commit in commits[:_MOST_DELETIONS]:
            target = self._target(path, commit)
            if target is not None and self.now.has(target):
                return Fate(commits[0], target)
            if target is not None and hops and target != path:
                further = self._fate(target, self._deletions([target]).get(target, []), hops - 1)
                if further is not None and further.now is not None:
                    return Fate(commits[0], further.now)
        return Fate(commits[0])

    def _target(self, path: str, commit: str) -> str | None:
        """Where a commit moved a file to, or most of the files of a folder."""
        renames = self._renames_in(commit)
        if path in renames:
            return renames[path] or None
        below = f"{path}/"
        ends = [(new, old[len(path) :]) for old, new in renames.items() if old.startswith(below)]
        folders = Counter(new.removesuffix(end) for new, end in ends if end and new.endswith(end))
        best = folders.most_common(1)
        return best[0][0] if best and best[0][1] * 2 >= len(ends) else None

    def _renames_in(self, commit: str) -> Mapping[str, str]:
        if commit not in self._renames:
            run = self.git.run(
                "diff-tree", "-r", "-z", "-M50%", "-l2000", "--relative", "--no-commit-id", "--name-status",
                "--diff-filter=DR", "--root", commit, cancel=self.cancel,
            )  # fmt: skip
            self._renames[commit] = dict(_pairs(names_of(run.output) if run.status == 0 else []))
        return self._renames[commit]

    @property
    def is_shallow(self) -> bool:
        try:
            return self.git.layout(self.cancel).shallow
        except CairnError:
            return False


def _pairs(fields: list[str]) -> Iterator[tuple[str, str]]:
    """The old path and the new of each file that a commit renamed; the new is empty for one that it deleted."""
    rest = iter(fields)
    for status in rest:
        yield next(rest, ""), next(rest, "") if status.startswith("R") else ""


def _itself_and_above(path: str) -> set[str]:
    found = {path}
    while "/" in path:
        path = path.rpartition("/")[0]
        found.add(path)
    return found
