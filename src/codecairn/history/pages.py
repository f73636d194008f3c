"""The part of a value that fits a number of characters, and where the rest begins.

An answer has one budget, in its text and in its value alike. The values of history are cut here, measured as JSON;
their Markdown has fewer characters than that, so it needs no cut of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate
from pathlib import PurePosixPath
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from codecairn.history.log import cursor_at
from codecairn.types import Blame, BlameCommit, BlameLine, Commit, CommitList, Diff, FileDiff, FolderChange

_LONGEST_NAME = 200
_LONGEST_SUBJECT = 500
_LONGEST_LINE = 1_000
_LONGEST_BODY = 600
_SHORTEST_BODY = 60
_SHARE_OF_BODIES = 0.15
_MOST_FOLDERS = 12
_SHARE_OF_FOLDERS = 0.25

# How many files and characters of body each commit may show, tried in turn: ten commits with a part of each say more
# than three whole ones.
_DETAILS = ((500, 8_000), (100, 3_000), (40, 1_500), (20, 800), (12, 500), (8, 300), (5, 200), (3, 120), (1, 0))


_AnyCommit = TypeVar("_AnyCommit", BlameCommit, Commit)


def size(value: Any) -> int:
    """Characters of a value as JSON."""
    return len(json.dumps(msgspec.to_builtins(value), ensure_ascii=False))


def shorten(text: str, most: int) -> str:
    """Text of about `most` characters that says how much it lacks."""
    if len(text) <= most:
        return text
    return f"{text[:most].rstrip()}… ({len(text) - most:,} characters more)"


def _fitting(values: Iterable[Any], room: int) -> int:
    """How many of the leading values fit."""
    return sum(1 for total in accumulate(size(each) + 2 for each in values) if total <= room)


def blame_page(value: Blame, room: int) -> Blame:
    """The leading lines that fit with the commits that wrote them, then what fits of those commits' bodies."""
    commits = {each.hash: _short_commit(each, _LONGEST_BODY) for each in value.commits}
    left = room - size(replace(value, lines=[], commits=[], next_start_line=value.end_line))
    lines = _leading_lines(value.lines, commits, int(left * (1 - _SHARE_OF_BODIES)))
    wrote = Counter(line.hash for line in lines)
    shown = [replace(commit, body="") for hash_, commit in commits.items() if hash_ in wrote]
    left -= size(lines) + size(shown)
    bodies = _bodies(sorted(shown, key=lambda each: -wrote[each.hash]), commits, left)
    end = lines[-1].line if lines else value.end_line
    return replace(
        value, lines=lines, end_line=end, commits=[replace(each, body=bodies.get(each.hash, "")) for each in shown],
        next_start_line=end + 1 if end < value.end_line else value.next_start_line,
    )  # fmt: skip


def _short_commit(commit: _AnyCommit, body: int) -> _AnyCommit:
    return replace(
        commit, author=shorten(commit.author, _LONGEST_NAME), email=shorten(commit.email, _LONGEST_NAME),
        message=shorten(commit.message, _LONGEST_SUBJECT), body=shorten(commit.body, body) if body else "",
    )  # fmt: skip


def _leading_lines(lines: list[BlameLine], commits: dict[str, BlameCommit], room: int) -> list[BlameLine]:
    """One at least."""
    fitting: list[BlameLine] = []
    counted: set[str] = set()
    for line in lines:
        short = replace(line, author=shorten(line.author, _LONGEST_NAME), content=shorten(line.content, _LONGEST_LINE))
        room -= size(short) + 2
        if line.hash in commits and line.hash not in counted:
            room -= size(replace(commits[line.hash], body="")) + 2
            counted.add(line.hash)
        if room < 0 and fitting:
            break
        fitting.append(short)
    return fitting


def _bodies(shown: Iterable[BlameCommit], commits: dict[str, BlameCommit], room: int) -> dict[str, str]:
    bodies: dict[str, str] = {}
    for commit in shown:
        body = commits[commit.hash].body
        cost = size(body) + len(', "body": ')
        if body and cost > room >= _SHORTEST_BODY * 2:
            body = shorten(body, room // 2)
            cost = size(body) + len(', "body": ')
        if body and cost <= room:
            bodies[commit.hash] = body
            room -= cost
    return bodies


def commit_page(value: CommitList, room: int) -> CommitList:
    """Every commit, in as much detail as fits all of them; if none does, the leading commits in the least."""
    left = room - size(replace(value, commits=[], next_cursor=value.next_cursor or cursor_at("0" * 40, 10**6)))
    for files, body in _DETAILS:
        commits = [replace(_short_commit(commit, body), files=commit.files[:files]) for commit in value.commits]
        if size(commits) <= left:
            return replace(value, commits=commits)
    fitting = max(1, _fitting(commits, left))
    following = cursor_at(value.tip or "", value.offset + fitting) if fitting < len(commits) else value.next_cursor
    return replace(value, commits=commits[:fitting], count=fitting, next_cursor=following)


def diff_page(value: Diff, cursor: str | None, room: int) -> Diff:
    """From the cursor on: its file as far as that fits, then those that fit whole."""
    file, _, cut = (cursor or "0").partition(".")  # the line is there where the text was cut within a file
    start, line = int(file), int(cut or 0)
    following = value.files[start:]
    if line and following:
        uncut = "".join(f"{each}\n" for each in _hunk_lines(following[0])[line:])
        following = [replace(following[0], diff=uncut), *following[1:]]
    folders = _folders(value.files, int(room * _SHARE_OF_FOLDERS)) if value.mode == "summary" and not start else []
    left = room - size(replace(value, files=[], next_cursor="0" * 20))
    if size(following) > left:
        value = replace(value, folders=folders)
        left -= size(folders)
    if not following:
        return replace(value, files=[])
    first, *others = following
    fitting = _leading_hunks(first, left)
    shown, lines = len(_hunk_lines(fitting)), len(_hunk_lines(first))
    if shown < lines:
        return replace(
            value, files=[fitting], files_left=len(others), lines_left=lines - shown,
            next_cursor=f"{start}.{line + shown}",
        )  # fmt: skip
    following = [fitting, *others]
    count = max(1, _fitting(following, left))
    rest = len(following) - count
    return replace(
        value, files=following[:count], files_left=rest, next_cursor=str(start + count) if rest else None
    )  # fmt: skip


def _hunk_lines(file: FileDiff) -> list[str]:
    return file.diff.removesuffix("\n").split("\n") if file.diff else []


def _leading_hunks(file: FileDiff, room: int) -> FileDiff:
    """The file itself if it fits; else as many lines of it as do, and one at least."""
    if size(file) <= room:
        return file
    left = room - size(replace(file, diff=""))
    lines = [shorten(line, _LONGEST_LINE) for line in _hunk_lines(file)]
    count = max(1, sum(1 for total in accumulate(size(line) for line in lines) if total <= left))
    return replace(file, diff="".join(f"{line}\n" for line in lines[:count]))


def _folders(files: list[FileDiff], room: int) -> list[FolderChange]:
    """The most changed folders, two levels deep."""
    gathered: dict[str, list[FileDiff]] = {}
    for file in files:
        parents = PurePosixPath(file.path).parts[:-1]
        gathered.setdefault("/".join(parents[:2]) or ".", []).append(file)
    changes = [
        FolderChange(
            path=path, files=len(group), insertions=sum(each.insertions for each in group),
            deletions=sum(each.deletions for each in group),
        )
        for path, group in gathered.items()
    ]  # fmt: skip
    ranked = sorted(changes, key=lambda each: (-each.insertions - each.deletions, each.path))[:_MOST_FOLDERS]
    return ranked[: _fitting(ranked, room)]
