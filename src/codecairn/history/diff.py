"""What differs between two trees, or between a tree and the working directory.

One git run prints three sections: a NUL-separated list of changed files (--raw), their line counts (--numstat), then
the patch. The first two are complete before the patch begins, so a diff that will be shown as a summary anyway is
stopped as soon as its counts are in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from codecairn.cancel import Cancel
from codecairn.errors import InvalidInput, NotARepository
from codecairn.history.log import STATUS
from codecairn.paths import Guard
from codecairn.source.git import Git, Layout, failure
from codecairn.text import decoded, fence_language
from codecairn.types import Diff, DiffSummary, FileDiff, FileStatus

LARGE_DIFF_LINES = 1000
"""Above this many lines of hunks an answer is a summary."""

LARGE_DIFF_BYTES = 4 << 20
"""So that a few endless lines count as large too."""

_RAW = re.compile(rb":(\d+) (\d+) \S+ \S+ ([A-Z])\d*")
_COUNTS = re.compile(rb"(\d+|-)\t(\d+|-)\t(.*)", re.DOTALL)
_FILE_HEADER = re.compile(rb"^diff --git |^diff --cc ", re.MULTILINE)
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
    settings = git.filters_off(cancel) if sides.working else []
    counts_only = _CountsOnly(always=query.summary)
    arguments = [
        "diff", "--raw", "--numstat", *([] if query.summary else ["--patch"]), "-z", "--no-color", "--no-ext-diff",
        "--no-textconv", "--find-renames", "--ignore-submodules=dirty", "--submodule=short", "--no-indent-heuristic",
        "--diff-algorithm=myers", "--unified=3", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/",
        *([] if layout.whole else ["--relative"]), *sides.arguments,
    ]  # fmt: skip
    finished = git.run(
        *arguments, "--", *([path] if path else []), cancel=cancel, settings=settings, enough=counts_only
    )
    if finished.status != 0 and not finished.stopped_early:
        raise failure(finished)
    return _value(
        finished.output, sides.title, guard, summarised=finished.stopped_early or query.summary, asked=query.summary
    )


@dataclass(frozen=True)
class _Sides:
    title: str
    arguments: list[str]
    working: bool


def _sides(git: Git, layout: Layout, query: DiffQuery, cancel: Cancel) -> _Sides:
    commits = {
        param: git.resolve(ref, cancel, param=param, complaint="Invalid git reference")
        for param, ref in (("ref1", query.ref1), ("ref2", query.ref2))
        if ref is not None
    }
    if len(commits) < 2 and layout.bare:
        raise NotARepository(
            "This repository is bare: it has no working directory to compare", remedy="Give both ref1 and ref2."
        )
    if len(commits) == 2:
        return _Sides(
            f"{query.ref1}...{query.ref2}", ["--end-of-options", commits["ref1"], commits["ref2"]], working=False
        )
    if query.ref1 is not None:
        return _Sides(f"{query.ref1}...{_WORKING}", ["--end-of-options", commits["ref1"]], working=True)
    if query.ref2 is not None:
        return _Sides(f"{_WORKING}...{query.ref2}", ["-R", "--end-of-options", commits["ref2"]], working=True)
    return _Sides(_WORKING, [], working=True)


class _CountsOnly:
    """Stops git once the counts alone decide that the answer is a summary, or the patch has grown past all bounds."""

    def __init__(self, *, always: bool) -> None:
        self._always = always
        self._counted = False

    def __call__(self, output: bytearray) -> bool:
        if self._always:
            return False
        if len(output) > LARGE_DIFF_BYTES:
            return True
        if not self._counted and (sections := _sections(bytes(output))) is not None:
            self._counted = True
            return sum(entry.insertions + entry.deletions for entry in sections.entries) > LARGE_DIFF_LINES
        return False


@dataclass(frozen=True)
class _Entry:
    status: FileStatus
    path: str
    old_path: str | None
    old_mode: str
    new_mode: str
    insertions: int
    deletions: int
    binary: bool

    @property
    def patches(self) -> int:
        # A file that became a link (or back) is printed as one file deleted and one created.
        return 2 if self.status == "type changed" else 1


@dataclass(frozen=True)
class _Sections:
    entries: list[_Entry]
    patch: bytes


def _sections(output: bytes) -> _Sections | None:
    """The list of files with their counts, and where the patch starts; None while the counts are still coming."""
    files, at = _raw_entries(output)
    entries: list[_Entry] = []
    for status, path, old_path, old_mode, new_mode in files:
        end = output.find(b"\0", at)
        found = _COUNTS.fullmatch(output[at:end]) if end >= 0 else None
        if not found:
            return None if status != "unmerged" or end < 0 else _Sections(entries, b"")
        at = end + 1
        if not found[3]:  # a rename: both names follow
            at = output.find(b"\0", output.find(b"\0", at) + 1) + 1
        binary = found[1] == b"-"
        plus, minus = (0, 0) if binary else (int(found[1]), int(found[2]))
        entries.append(_Entry(status, path, old_path, old_mode, new_mode, plus, minus, binary))
    return _Sections(entries, output[at:].removeprefix(b"\0"))


def _raw_entries(output: bytes) -> tuple[list[tuple[FileStatus, str, str | None, str, str]], int]:
    entries: list[tuple[FileStatus, str, str | None, str, str]] = []
    at = 0
    while output[at : at + 1] == b":":
        end = output.find(b"\0", at)
        found = _RAW.fullmatch(output[at:end])
        if not found:
            break
        names_at, status = end + 1, STATUS.get(decoded(found[3]), "modified")
        end = output.find(b"\0", names_at)
        path, old_path = decoded(output[names_at:end]), None
        if status in ("renamed", "copied"):
            old_path, names_at = path, end + 1
            end = output.find(b"\0", names_at)
            path = decoded(output[names_at:end])
        at = end + 1
        entries.append((status, path, old_path, decoded(found[1]), decoded(found[2])))
    return entries, at


def _value(output: bytes, title: str, guard: Guard, *, summarised: bool, asked: bool) -> Diff:
    sections = _sections(output)
    if sections is None:
        if output.startswith(b":") and not asked:
            raise InvalidInput("The diff is too large even to count", remedy="Name a filePath, or closer refs.")
        sections = _Sections([], b"")
    hunks = [] if summarised else _hunks_of(sections)
    if sum(text.count("\n") for text in hunks) > LARGE_DIFF_LINES:
        summarised, hunks = True, []
    files, omitted = [], 0
    for number, entry in enumerate(sections.entries):
        if guard.blocks(entry.path) or (entry.old_path and guard.blocks(entry.old_path)):
            omitted += 1
            continue
        files.append(_file(entry, None if summarised or entry.binary else hunks[number]))
    notes = []
    if summarised and not asked:
        notes.append(
            f"The diff is large (over {LARGE_DIFF_LINES:,} lines): summary shown. Name a filePath to see its lines."
        )
    return Diff(
        title=title, mode="summary" if summarised else "full", files=files, omitted_files=omitted, notes=notes,
        summary=DiffSummary(
            files_changed=len(files),
            insertions=sum(file.insertions for file in files),
            deletions=sum(file.deletions for file in files),
            binary_files=sum(file.binary for file in files),
        ),
    )  # fmt: skip


def _file(entry: _Entry, hunks: str | None) -> FileDiff:
    modes = (
        (entry.old_mode, entry.new_mode)
        if entry.old_mode != entry.new_mode and entry.status == "modified"
        else (None, None)
    )
    return FileDiff(
        path=entry.path, old_path=entry.old_path, status=entry.status, insertions=entry.insertions,
        deletions=entry.deletions, binary=entry.binary, language=fence_language(entry.path), old_mode=modes[0],
        new_mode=modes[1], diff=hunks,
    )  # fmt: skip


def _hunks_of(sections: _Sections) -> list[str]:
    """The hunks of each entry. Patches come in the order of the list, so no file name has to be read back."""
    starts = [found.start() for found in _FILE_HEADER.finditer(sections.patch)]
    patches = [sections.patch[a:b] for a, b in pairwise([*starts, len(sections.patch)])]
    hunks, at = [], 0
    for entry in sections.entries:
        own = patches[at : at + entry.patches]
        at += entry.patches
        hunks.append("".join(_without_header(decoded(patch)) for patch in own))
    return hunks


def _without_header(patch: str) -> str:
    start = re.search(r"^@@", patch, re.MULTILINE)
    return patch[start.start() :] if start else ""
