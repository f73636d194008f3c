"""What differs between two trees, or between a tree and the working directory.

One git run prints three sections: a NUL-separated list of changed files (--raw), their line counts (--numstat), then
the patch. The first two are complete before the patch begins, so a diff that will be shown as a summary anyway is
stopped as soon as its counts are in.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from codecairn.cancel import Cancel
from codecairn.errors import CairnError, NotARepository
from codecairn.history.log import STATUS
from codecairn.paths import Guard, printable
from codecairn.source.failures import failure
from codecairn.source.git import Git, Layout
from codecairn.source.process import Finished
from codecairn.text import decoded, fence_language
from codecairn.types import Diff, DiffSummary, FileDiff, FileStatus

LARGE_DIFF_LINES = 1000
"""Above this many lines of hunks an answer is a summary."""

LARGE_DIFF_BYTES = 4 << 20
"""So that a few endless lines count as large too."""

_RAW = re.compile(rb":(\d+) (\d+) \S+ \S+ ([A-Z])\d*")
_COUNTS = re.compile(rb"(\d+|-)\t(\d+|-)\t(.*)", re.DOTALL)
# A line of a file never starts like these: it stands behind a space, a plus, a minus or a backslash.
_FILE_HEADER = re.compile(rb"^(?:diff --git |\* Unmerged path )", re.MULTILINE)
_NO_MODE = "000000"
_WENT = re.compile(r"^(?:fatal|error): (?:stat|open|could not open|unable to stat) .*: No such file or directory", re.M)
_TRIES = 5
_WORKING = "working directory"


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
        for _ in range(_TRIES):
            enough = None if query.summary else _CountsOnly()
            finished = git.run(*arguments, "--", *([path] if path else []), cancel=cancel, tree=tree, enough=enough)
            if finished.status == 0 or not _file_went(finished):
                break
    if finished.status != 0 and not finished.stopped_early:
        raise failure(finished)
    return _value(
        finished.output, sides.title, guard, summarised=finished.stopped_early or query.summary, asked=query.summary
    )


def _file_went(finished: Finished) -> bool:
    """Whether git gave up over a file that went between its listing and its reading: the next try finds it gone."""
    return _WENT.search(finished.complaint) is not None


@dataclass(frozen=True)
class _Sides:
    title: str
    arguments: list[str]
    working: bool


def _sides(git: Git, layout: Layout, query: DiffQuery, cancel: Cancel) -> _Sides:
    commits = {
        param: git.resolve(ref, cancel, param=param, complaint="Invalid git reference")
        for param, ref in (("ref1", query.ref1), ("ref2", query.ref2))
        if ref
    }
    if len(commits) < 2 and layout.bare:
        raise NotARepository(
            "This repository is bare: it has no working directory to compare", remedy="Give both ref1 and ref2."
        )
    if len(commits) == 2:
        return _Sides(
            f"{query.ref1}...{query.ref2}", ["--end-of-options", commits["ref1"], commits["ref2"]], working=False
        )
    if query.ref1:
        return _Sides(f"{query.ref1}...{_WORKING}", ["--end-of-options", commits["ref1"]], working=True)
    if query.ref2:
        return _Sides(f"{_WORKING}...{query.ref2}", ["-R", "--end-of-options", commits["ref2"]], working=True)
    # --ours keeps git from the combined form for conflicts, which has no counts.
    return _Sides(_WORKING, ["--ours"], working=True)


class _CountsOnly:
    """Stops git once the counts alone decide that the answer is a summary, or the patch has grown past all bounds."""

    def __init__(self) -> None:
        self._listing = _Listing()

    def __call__(self, output: bytearray) -> bool:
        if not self._listing.read(output):
            return False
        return self._listing.lines > LARGE_DIFF_LINES or len(output) - self._listing.end > LARGE_DIFF_BYTES


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

    @property
    def lines(self) -> int:
        return sum(entry.insertions + entry.deletions for entry in self.entries)

    def read(self, output: bytes | bytearray) -> bool:
        """Go on reading; whether every file has its counts."""
        fields = _Fields(output, self.end)
        try:
            while not self.entries and output[self.end : self.end + 1] == b":":
                self._named.append(_named(fields))
                self.end = fields.at
            while len(self.entries) < len(self._named):
                self.entries.append(_counted(self._named[len(self.entries)], fields))
                self.end = fields.at
        except _CutOffError:
            return False
        return bool(self.entries)


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


def _named(fields: _Fields) -> _Entry:
    row = fields.take()
    found = _RAW.fullmatch(row)
    if found is None:
        raise CairnError(f"git listed a change in a form not known here: {printable(decoded(row))}")
    status, path, old_path = STATUS.get(decoded(found[3]), "modified"), decoded(fields.take()), None
    if status in ("renamed", "copied"):
        old_path, path = path, decoded(fields.take())
    return _Entry(status, path, old_path, decoded(found[1]), decoded(found[2]))


def _counted(entry: _Entry, fields: _Fields) -> _Entry:
    row = fields.take()
    found = _COUNTS.fullmatch(row)
    if found is None:
        raise CairnError(f"git counted lines in a form not known here: {printable(decoded(row))}")
    if not found[3]:  # a rename: both names follow
        fields.take()
        fields.take()
    if found[1] == b"-":
        return replace(entry, binary=True)
    return replace(entry, insertions=int(found[1]), deletions=int(found[2]))


def _value(output: bytes, title: str, guard: Guard, *, summarised: bool, asked: bool) -> Diff:
    listing = _Listing()
    listing.read(output)
    patch = output[listing.end :].removeprefix(b"\0")
    entries = _conflicts_folded(listing.entries if summarised else _with_hunks(listing.entries, patch))
    if sum(entry.hunks.count("\n") for entry in entries) > LARGE_DIFF_LINES:
        summarised = True
    shown = [entry for entry in entries if not _hides(guard, entry)]
    files = [_file(entry, None if summarised or entry.binary else entry.hunks) for entry in shown]
    notes = []
    if summarised and not asked:
        notes.append(
            f"The diff is large (over {LARGE_DIFF_LINES:,} lines): summary shown. Name a filePath to see its lines."
        )
    return Diff(
        title=title, mode="summary" if summarised else "full", files=files, notes=notes,
        omitted_files=len(entries) - len(files),
        summary=DiffSummary(
            files_changed=len(files),
            insertions=sum(file.insertions for file in files),
            deletions=sum(file.deletions for file in files),
            binary_files=sum(file.binary for file in files),
        ),
    )  # fmt: skip


def _hides(guard: Guard, entry: _Entry) -> bool:
    return guard.blocks(entry.path) or bool(entry.old_path and guard.blocks(entry.old_path))


def _conflicts_folded(entries: list[_Entry]) -> list[_Entry]:
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
        deletions=entry.deletions, binary=entry.binary, language=fence_language(entry.path), old_mode=modes[0],
        new_mode=modes[1], diff=hunks,
    )  # fmt: skip


def _with_hunks(entries: list[_Entry], patch: bytes) -> list[_Entry]:
    """Patches come in the order of the list, so no file name has to be read back."""
    starts = [found.start() for found in _FILE_HEADER.finditer(patch)]
    patches = (decoded(patch[a:b]) for a, b in pairwise([*starts, len(patch)]))
    return [replace(entry, hunks="".join(map(_without_header, islice(patches, entry.patches)))) for entry in entries]


def _without_header(patch: str) -> str:
    start = re.search(r"^@@", patch, re.MULTILINE)
    return patch[start.start() :] if start else ""
