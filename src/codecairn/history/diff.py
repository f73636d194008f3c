"""Differences between two trees, or between a tree and the working directory.

One git run prints three sections: a NUL-separated list of changed files (--raw), their line counts (--numstat), then
the patch. The first two are complete before the patch begins, so a diff that will be shown as a summary anyway is
stopped as soon as its counts are in.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import islice, pairwise

import msgspec

from codecairn.cancel import Cancel
from codecairn.errors import CairnError, NotARepository
from codecairn.history.log import STATUS, hides
from codecairn.parse.formats import fence
from codecairn.paths import Guard, printable
from codecairn.source.git import Git, Layout
from codecairn.source.git_errors import (
    REPAIR,
    damage,
    failure,
    lacks_objects,
    missing_object,
    name_first_few,
    run_in_pieces,
)
from codecairn.source.git_objects import FOLDER, tree_changes, worktree_changes
from codecairn.source.git_settings import SHORT_DIGITS
from codecairn.source.process import Finished
from codecairn.source.refs import resolve
from codecairn.text import binary_kind, decode, one_line
from codecairn.types import Diff, DiffSummary, FileDiff, FileStatus

LARGE_DIFF_LINES = 1000
"""Above this many lines of hunks an answer is a summary."""

LARGE_DIFF_BYTES = 4 << 20
"""A few endless lines count as large too."""

_RAW = re.compile(rb":(\d+) (\d+) \S+ \S+ ([A-Z])\d*")
_COUNTS = re.compile(rb"(\d+|-)\t(\d+|-)\t(.*)", re.DOTALL)
# A line of a file never starts like these: it stands behind a space, a plus, a minus or a backslash.
_FILE_HEADER = re.compile(rb"^(?:diff --git |\* Unmerged path )", re.MULTILINE)
_NO_RENAMES = "Partial clone, or a damaged one: renames appear as a deletion and an addition."
_NO_MODE = "000000"
_WENT = re.compile(r"^(?:fatal|error): (?:stat|open|could not open|unable to stat) .*: No such file or directory", re.M)
"""git gave up over a file that went between its listing and its reading: the next try finds it gone."""
_TRIES = 5
_WORKING = "working directory"
_LONGEST_REF = 100


@dataclass(frozen=True)
class DiffQuery:
    ref1: str | None = None
    ref2: str | None = None
    path: str | None = None
    summary: bool = False


def diff(git: Git, guard: Guard, query: DiffQuery, cancel: Cancel) -> Diff:
    path = guard.inside(query.path, param="filePath") if query.path is not None else None
    layout = git.layout(cancel)
    sides = _sides(git, layout, query, cancel)
    arguments = [
        # --unified asks for a patch by itself, which doubles what a summary costs.
        "diff", "--raw", "--numstat", *([] if query.summary else ["--patch", "--unified=3"]), "-z", "--no-color",
        "--no-ext-diff", "--no-textconv", "--find-renames", "--ignore-submodules=dirty", "--submodule=short",
        "--no-indent-heuristic", "--diff-algorithm=myers", "--inter-hunk-context=0", "--src-prefix=a/",
        "--dst-prefix=b/",
        *([] if layout.whole else ["--relative"]), *sides.arguments,
    ]  # fmt: skip
    with git.working_tree(layout, cancel) if sides.working else nullcontext() as tree:

        def attempt(paths: Sequence[str]) -> Finished:
            enough = None if query.summary else _Listing().is_large
            return git.run(*arguments, "--", *paths, cancel=cancel, tree=tree, enough=enough)

        for _ in range(_TRIES):
            finished = attempt([path] if path else [])
            if finished.status == 0 or not _WENT.search(finished.complaint):
                break
        if finished.status != 0 and not finished.stopped_early and lacks_objects(finished):
            found = _around_gaps(git, guard, query, sides, layout, path, attempt, cancel)
            if not found.files:
                raise damage(finished, f"{found.notes[-1]} ({missing_object(finished)})")
            return found
    if finished.status != 0 and not finished.stopped_early:
        raise failure(finished)
    value = _value(
        [finished.output], sides, guard, summarised=finished.stopped_early or query.summary, asked=query.summary
    )
    if value.files or value.omitted_files:
        return value
    return msgspec.structs.replace(value, notes=[*value.notes, *_reasons(git, layout, sides, path, cancel)])


def _reasons(git: Git, layout: Layout, sides: _Sides, path: str | None, cancel: Cancel) -> list[str]:
    """Why there is nothing to show: what else changed, or a path that neither side has."""
    if path is not None and not _is_on_a_side(git, layout, sides, path, cancel):
        return [f"{one_line(path)} is on neither side."]
    if not sides.working:
        return ["Both trees are the same." if path is None else f"{one_line(path)} is the same in both trees."]
    chosen = ["--", path] if path is not None else ["--"]
    staged = git.ask("diff", "--cached", "--name-only", "-z", "--no-ext-diff", *chosen, cancel=cancel).count("\0")
    untracked = git.ask("ls-files", "--others", "--exclude-standard", "-z", *chosen, cancel=cancel).count("\0")
    reasons = []
    if not sides.commits:
        found = f"; {_file_count(staged)} staged: give ref1 HEAD to see them" if staged else ""
        reasons.append(f"No unstaged changes{found}.")
    if untracked:
        reasons.append(f"{_file_count(untracked)} not tracked by git, which no diff shows.")
    return reasons


def _file_count(count: int) -> str:
    return f"{count:,} {'file' if count == 1 else 'files'}"


def _is_on_a_side(git: Git, layout: Layout, sides: _Sides, path: str, cancel: Cancel) -> bool:
    if sides.working and (os.path.lexists(git.root / path) or git.ask("ls-files", "-z", "--", path, cancel=cancel)):
        return True
    name = f"{layout.prefix}{path}"
    return any(git.run("cat-file", "-e", f"{each}:{name}", cancel=cancel).status == 0 for each in sides.commits)


def _around_gaps(
    git: Git, guard: Guard, query: DiffQuery, sides: _Sides, layout: Layout, path: str | None,
    attempt: Callable[[Sequence[str]], Finished], cancel: Cancel,
) -> Diff:  # fmt: skip
    """The files that can be compared, and the names of those that cannot."""
    paths, lacking = _paths_that_differ(git, sides, layout, cancel)
    wanted = [each for each in paths if path is None or each == path or each.startswith(f"{path}/")]
    pieces = run_in_pieces(wanted, attempt, frozenset({0}))
    summarised = query.summary or any(each.stopped_early for each in pieces.finished)
    found = _value([each.output for each in pieces.finished], sides, guard, summarised=summarised, asked=True)
    unread = [each for each in (*pieces.lacking, *lacking) if not guard.blocks(each.rstrip("/"))]
    said = f"Not compared, as the repository lacks their objects: {name_first_few(unread)}. {REPAIR}"
    return msgspec.structs.replace(found, notes=[*found.notes, _NO_RENAMES, *([said] if unread else [])])


def _paths_that_differ(git: Git, sides: _Sides, layout: Layout, cancel: Cancel) -> tuple[list[str], list[str]]:
    """The paths that differ, and the folders that are not here; as git takes them, from the project's root."""
    if len(sides.commits) == 2:
        changes = tree_changes(git, sides.commits[0], sides.commits[1], cancel, prefix=layout.prefix)
    else:
        changes = worktree_changes(git, sides.commits[0] if sides.commits else "", cancel, prefix=layout.prefix)
    at = len(layout.prefix)
    is_folder = {each.path: FOLDER in (each.mode, each.old_mode) for each in changes}
    paths = [path[at:] for path, lacks in is_folder.items() if not lacks]
    return paths, [f"{path[at:]}/" for path, lacks in is_folder.items() if lacks]


@dataclass(frozen=True)
class _Sides:
    title: str
    compared: str
    arguments: list[str]
    commits: list[str]
    """Those that refs stood for."""

    @property
    def working(self) -> bool:
        return len(self.commits) < 2


def _sides(git: Git, layout: Layout, query: DiffQuery, cancel: Cancel) -> _Sides:
    commits = {
        param: resolve(git, ref, cancel, param=param, complaint="Invalid git reference")
        for param, ref in (("ref1", query.ref1), ("ref2", query.ref2))
        if ref
    }
    if len(commits) < 2 and layout.bare:
        raise NotARepository(
            "This repository is bare: it has no working directory to compare", remedy="Give both ref1 and ref2."
        )
    named = {param: _commit_label(getattr(query, param), commit) for param, commit in commits.items()}
    ids = list(commits.values())
    if len(ids) == 2:
        compared = f"the trees of {named['ref1']} and {named['ref2']}, directly (not from where they parted)"
        return _Sides(f"{query.ref1}...{query.ref2}", compared, ["--end-of-options", *ids], ids)
    if query.ref1:
        compared = f"the tree of {named['ref1']} with the working directory, staged and unstaged changes alike"
        return _Sides(f"{query.ref1}...{_WORKING}", compared, ["--end-of-options", *ids], ids)
    if query.ref2:
        compared = f"the working directory, staged and unstaged changes alike, with the tree of {named['ref2']}"
        return _Sides(f"{_WORKING}...{query.ref2}", compared, ["-R", "--end-of-options", *ids], ids)
    # --ours keeps git from the combined form for conflicts, which has no counts.
    return _Sides(_WORKING, "the index with the working directory: unstaged changes", ["--ours"], [])


def _commit_label(ref: str, commit: str) -> str:
    short = commit[:SHORT_DIGITS]
    return short if commit.startswith(ref) else f"{one_line(ref, _LONGEST_REF)} ({short})"


@dataclass(frozen=True)
class _Entry:
    """A changed file: its row of --raw and, once that has come, its row of --numstat."""

    status: FileStatus
    path: str
    old_path: str | None
    old_mode: str
    new_mode: str
    insertions: int = 0
    deletions: int = 0
    binary: bool = False
    hunks: str = ""

    @property
    def patches(self) -> int:
        # A file that became a link (or back) is printed as one file deleted and one created.
        return 2 if self.status == "type changed" else 1


class _CutOffError(Exception):
    """The output so far ends amid a row."""


class _Listing:
    """The two lists before the patch, read as far as they have come; `end` is where they go on, or the patch starts."""

    def __init__(self) -> None:
        self.end = 0
        self.entries: list[_Entry] = []
        self._named: list[_Entry] = []
        self._judged = 0

    def is_large(self, output: bytearray) -> bool:
        """Whether the counts alone decide that the answer is a summary, or the patch has grown past all bounds."""
        if not self.read(output):
            return False
        lines = sum(entry.insertions + entry.deletions for entry in self.entries)
        return lines > LARGE_DIFF_LINES or len(output) - self.end > LARGE_DIFF_BYTES

    def read(self, output: bytes | bytearray) -> bool:
        """Go on reading; whether every file has its counts."""
        fields = _Fields(output, self.end)
        try:
            while not self._judged and output[self.end : self.end + 1] == b":":
                self._named.append(_entry(fields))
                self.end = fields.at
            while self._judged < len(self._named):
                entry = _with_counts(self._named[self._judged], fields)
                self._judged += 1
                if entry is not None:
                    self.entries.append(entry)
                self.end = fields.at
        except _CutOffError:
            return False
        return bool(self._judged)


class _Fields:
    """NUL-ended fields, one after the other."""

    def __init__(self, output: bytes | bytearray, at: int) -> None:
        self._output = output
        self.at = at

    def take(self) -> bytes:
        end = self._output.find(b"\0", self.at)
        if end < 0:
            raise _CutOffError
        field, self.at = bytes(self._output[self.at : end]), end + 1
        return field


def _entry(fields: _Fields) -> _Entry:
    row = fields.take()
    found = _RAW.fullmatch(row)
    if found is None:
        raise CairnError(f"git listed a change in a form not known here: {printable(decode(row))}")
    status, path, old_path = STATUS.get(decode(found[3]), "modified"), decode(fields.take()), None
    if status in ("renamed", "copied"):
        old_path, path = path, decode(fields.take())
    return _Entry(status, path, old_path, decode(found[1]), decode(found[2]))


def _with_counts(entry: _Entry, fields: _Fields) -> _Entry | None:
    """The entry with its counts. git counts no lines of a file that was written again with the same content after it
    was listed: such a file has not changed, and the row that comes next is that of another file, or empty."""
    start = fields.at
    row = fields.take()
    found = _COUNTS.fullmatch(row)
    if found is None and row:
        raise CairnError(f"git counted lines in a form not known here: {printable(decode(row))}")
    if found is None or decode(found[3]) != ("" if entry.old_path else entry.path):
        fields.at = start
        return None
    if entry.old_path:  # both names follow
        fields.take()
        fields.take()
    if found[1] == b"-":
        return replace(entry, binary=True)
    return replace(entry, insertions=int(found[1]), deletions=int(found[2]))


def _value(outputs: Sequence[bytes], sides: _Sides, guard: Guard, *, summarised: bool, asked: bool) -> Diff:
    entries: list[_Entry] = []
    for output in outputs:
        listing = _Listing()
        listing.read(output)
        patch = output[listing.end :].removeprefix(b"\0")
        entries += _fold_conflicts(listing.entries if summarised else _with_hunks(listing.entries, patch))
    if sum(entry.hunks.count("\n") for entry in entries) > LARGE_DIFF_LINES:
        summarised = True
    shown = [entry for entry in entries if not hides(guard, entry.path, entry.old_path)]
    files = [_file(entry, None if summarised or entry.binary else entry.hunks) for entry in shown]
    kinds = Counter(binary_kind(file.path) for file in files if file.binary)
    notes = []
    if summarised and not asked:
        notes.append(
            f"The diff is large (over {LARGE_DIFF_LINES:,} lines): summary shown. Name a filePath to see its lines."
        )
    return Diff(
        title=sides.title, compared=sides.compared, mode="summary" if summarised else "full", files=files, notes=notes,
        omitted_files=len(entries) - len(files), binary_kinds=[kind for kind, _ in kinds.most_common()],
        statuses=dict(Counter(file.status for file in files)),
        summary=DiffSummary(
            files_changed=len(files),
            insertions=sum(file.insertions for file in files),
            deletions=sum(file.deletions for file in files),
            binary_files=sum(file.binary for file in files),
        ),
    )  # fmt: skip


def _fold_conflicts(entries: list[_Entry]) -> list[_Entry]:
    """A conflict is listed as unmerged and, where the file is there, once more as modified: that row has the lines."""
    folded: list[_Entry] = []
    for entry in entries:
        if folded and folded[-1].status == "unmerged" and folded[-1].path == entry.path:
            folded[-1] = replace(entry, status="unmerged")
        else:
            folded.append(entry)
    return folded


def _file(entry: _Entry, hunks: str | None) -> FileDiff:
    changed = entry.old_mode != entry.new_mode and _NO_MODE not in (entry.old_mode, entry.new_mode)
    modes = (entry.old_mode, entry.new_mode) if changed else (None, None)
    return FileDiff(
        path=entry.path, old_path=entry.old_path, status=entry.status, insertions=entry.insertions,
        deletions=entry.deletions, binary=entry.binary, language=fence(entry.path), old_mode=modes[0],
        new_mode=modes[1], diff=hunks,
    )  # fmt: skip


def _with_hunks(entries: list[_Entry], patch: bytes) -> list[_Entry]:
    """Patches come in the order of the list, so no file name has to be read back."""
    starts = [found.start() for found in _FILE_HEADER.finditer(patch)]
    patches = (decode(patch[a:b]) for a, b in pairwise([*starts, len(patch)]))
    return [replace(entry, hunks="".join(map(_without_header, islice(patches, entry.patches)))) for entry in entries]


def _without_header(patch: str) -> str:
    start = re.search(r"^@@", patch, re.MULTILINE)
    return patch[start.start() :] if start else ""
