"""Commits, newest first, each with the files it changed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from codecairn.cancel import Cancel
from codecairn.errors import InvalidInput, NotFound
from codecairn.history import dates
from codecairn.history.log_gaps import read_log
from codecairn.paths import Guard, has_control, printable
from codecairn.source.git import Git, Layout
from codecairn.source.git_settings import SHORT_DIGITS
from codecairn.source.refs import resolve
from codecairn.text import decode
from codecairn.types import Commit, CommitFileChange, CommitList, FileStatus

_FIELDS_AFTER_HASH = 7
_CURSOR = re.compile(r"([0-9a-f]{40,64})\+(\d{1,9})")

STATUS: dict[str, FileStatus] = {
    "A": "added", "M": "modified", "D": "deleted", "R": "renamed", "C": "copied", "T": "type changed", "U": "unmerged",
}  # fmt: skip


@dataclass(frozen=True)
class LogQuery:
    path: str | None = None
    since: str | None = None
    until: str | None = None
    author: str | None = None
    ref: str | None = None
    count: int = 10
    cursor: str | None = None


def log(git: Git, guard: Guard, query: LogQuery, cancel: Cancel) -> CommitList:
    path = guard.inside(query.path, param="filePath") if query.path is not None else None
    if query.author is not None and _is_unusable(query.author):
        reason = "not a usable name or email"
        raise InvalidInput(f"Invalid author: {printable(query.author)}", param="author", reason=reason)
    layout = git.layout(cancel)
    bounds = _bounds(git, query, cancel)
    if bounds is None:
        return CommitList(commits=[], count=0, offset=0, notes=["The repository has no commits yet."])
    notes = ["History is shallow: commits beyond the clone's boundary are not here."] if layout.shallow else []
    walk = _plain if path is None or git.is_folder(path) else _follow
    commits, gaps = walk(git, layout, guard, query, bounds, path or "", cancel)
    notes += gaps
    if not commits and path is not None and bounds.skip == 0:
        _refuse_unknown_path(git, path, bounds.tip, cancel)
    shown = commits[: query.count]
    following = cursor_at(bounds.tip, bounds.skip + len(shown)) if len(commits) > query.count else None
    return CommitList(
        commits=shown, count=len(shown), tip=bounds.tip, offset=bounds.skip, notes=notes, next_cursor=following
    )


def cursor_at(tip: str, offset: int) -> str:
    """Names the commit the list started from, so that paging holds still while the branch moves on."""
    return f"{tip}+{offset}"


@dataclass(frozen=True)
class _Bounds:
    tip: str
    revisions: list[str]
    since: int | None
    until: int | None
    skip: int


def _bounds(git: Git, query: LogQuery, cancel: Cancel) -> _Bounds | None:
    """Where the walk starts and what it leaves out; None if there is no commit to start from."""

    def commit(ref: str, param: str) -> str:
        return resolve(git, ref, cancel, param=param, complaint="Invalid commit reference")

    start, param, skip = query.ref, "ref", 0
    until = _date(query.until, "until", dates.until)
    since = _date(query.since, "since", dates.since)
    if query.until is not None and until is None:
        if start is not None:
            raise InvalidInput(
                "until names a commit to start from, and so does ref", param="until", remedy="Give one of the two."
            )
        start, param = query.until, "until"
    excluded = ["^" + commit(query.since, "since")] if query.since is not None and since is None else []
    if query.cursor is not None:
        found = _CURSOR.fullmatch(query.cursor)
        if not found:
            raise InvalidInput("Invalid cursor: it is not one that git_log returned", param="cursor")
        start, param, skip = found[1], "cursor", int(found[2])
    tip = commit(start, param) if start is not None else git.head(cancel)
    return _Bounds(tip, [tip, *excluded], since, until, skip) if tip else None


def _date(text: str | None, param: str, read: Callable[[str], int | None]) -> int | None:
    if text is None:
        return None
    if _is_unusable(text):
        raise InvalidInput(f"Invalid commit reference: {printable(text)}", param=param, reason="not a usable value")
    return read(text)


def _is_unusable(text: str) -> bool:
    return text.startswith("-") or has_control(text) or not text.strip()


Walk = tuple[list[Commit], list[str]]
"""The commits of one page and one more if there is one, and what could not be told for want of objects."""


def _plain(git: Git, layout: Layout, guard: Guard, query: LogQuery, bounds: _Bounds, path: str, cancel: Cancel) -> Walk:
    """All filtering is git's."""
    options = [
        "--no-relative" if layout.whole else "--relative",
        "--diff-merges=first-parent",
        *_seconds("--since", bounds.since),
        *_seconds("--until", bounds.until),
        # A name is not a pattern: `J. Doe <j+git@doe.org>` must find exactly that.
        *(["--fixed-strings", "--regexp-ignore-case", f"--author={query.author}"] if query.author else []),
        f"--skip={bounds.skip}",
        # One more than asked tells whether there is more without counting all of history.
        f"--max-count={query.count + 1}",
    ]
    pathspec = [path] if path else [] if layout.whole else ["."]
    output, gaps = read_log(git, [*options, "--end-of-options", *bounds.revisions, "--", *pathspec], cancel)
    return [record.commit for record in _records(output, guard)], gaps


def _follow(
    git: Git, layout: Layout, guard: Guard, query: LogQuery, bounds: _Bounds, path: str, cancel: Cancel
) -> Walk:
    """One file through its renames. git notices a rename only in a commit that it shows, and counts --skip before it
    looks at files; so it is asked for everything from the newest commit on, until a page is full. Merges are passed
    over: what one brought in looks like a new file, and git would follow that to whatever resembles it. Names are
    asked for whole, as --relative cuts the start off a name from outside the folder."""
    wanted = bounds.skip + query.count + 1
    folder = decode(os.fsencode(layout.prefix))

    def choose(output: bytes) -> list[_Record]:
        return [each for each in _records(output, guard, folder) if _matches(each, query, bounds)]

    options = [*_seconds("--since", bounds.since), "--no-relative", "--diff-merges=off", "--follow"]
    asked = [*options, "--end-of-options", *bounds.revisions, "--", path]
    output, gaps = read_log(git, asked, cancel, _Filled(wanted, choose))
    return [record.commit for record in choose(output)][bounds.skip : wanted], gaps


class _Filled:
    """Whether enough has come; looked at when it may have, then each time a quarter more has come, so that reading
    it stays cheap. git hands over each commit as it finds it, and may search a second for the next."""

    def __init__(self, wanted: int, choose: Callable[[bytes], list[_Record]]) -> None:
        self._wanted = wanted
        self._choose = choose
        self._next_look = wanted * (_FIELDS_AFTER_HASH + 2)

    def __call__(self, output: bytearray) -> bool:
        fields = output.count(b"\0")
        if fields < self._next_look:
            return False
        self._next_look = fields + max(_FIELDS_AFTER_HASH + 2, fields // 4)
        return len(self._choose(bytes(output))) >= self._wanted


def _matches(record: _Record, query: LogQuery, bounds: _Bounds) -> bool:
    who = f"{record.commit.author} <{record.commit.email}>".casefold()
    return (
        (query.author is None or query.author.casefold() in who)
        and (bounds.until is None or record.committed <= bounds.until)
        and not record.outside
    )


def _seconds(option: str, moment: int | None) -> list[str]:
    return [] if moment is None else [f"{option}=@{moment} +0000"]


@dataclass(frozen=True)
class _Record:
    commit: Commit
    committed: int
    outside: bool
    """Whether all it changed lies outside the folder asked about."""


def _records(output: bytes, guard: Guard, folder: str = "") -> Iterator[_Record]:
    """Each commit printed, with names seen from `folder`; the last may be cut off, where git was stopped."""
    tokens = iter(decode(output).split("\0"))
    for token in tokens:
        if not token.strip():
            continue
        fields = list(islice(tokens, _FIELDS_AFTER_HASH))
        if len(fields) < _FIELDS_AFTER_HASH:
            return
        changes = _changes(tokens)
        inside = [_from_folder(folder, each) for each in changes if each.path.startswith(folder)] if folder else changes
        commit = _commit(token.strip(), fields, inside, guard)
        yield _Record(commit, int(fields[4] or 0), outside=bool(changes) and not inside)


def _from_folder(folder: str, change: CommitFileChange) -> CommitFileChange:
    path, old_path = change.path.removeprefix(folder), change.old_path
    if old_path is not None and not old_path.startswith(folder):
        # It did not move within the folder: it came.
        return CommitFileChange(path=path, status="added")
    return CommitFileChange(path=path, status=change.status, old_path=old_path and old_path.removeprefix(folder))


def _commit(hash_: str, fields: list[str], files: list[CommitFileChange], guard: Guard) -> Commit:
    parents, author, email, date, _, subject, body = fields
    visible = [change for change in files if not hides(guard, change.path, change.old_path)]
    return Commit(
        hash=hash_, short_hash=hash_[:SHORT_DIGITS], author=author, email=email, date=date, message=subject,
        body=body.strip(), parents=parents.split(), files=visible, files_changed=len(visible),
        omitted_files=len(files) - len(visible),
    )  # fmt: skip


def _changes(tokens: Iterator[str]) -> list[CommitFileChange]:
    """Status and path tokens, up to the empty one that ends a commit; an empty one stands before them too."""
    changes: list[CommitFileChange] = []
    next(tokens, None)
    while mark := next(tokens, "").strip():
        status, first = STATUS.get(mark[0], "modified"), next(tokens, "")
        if status in ("renamed", "copied"):
            changes.append(CommitFileChange(path=next(tokens, ""), status=status, old_path=first))
        else:
            changes.append(CommitFileChange(path=first, status=status))
    return changes


def hides(guard: Guard, path: str, old_path: str | None) -> bool:
    """Whether a change may not be shown, under either of its names."""
    return guard.blocks(path) or bool(old_path and guard.blocks(old_path))


def _refuse_unknown_path(git: Git, path: str, tip: str, cancel: Cancel) -> None:
    """An empty answer is for filters that matched nothing; a path that history never had is an error."""
    asked = ("rev-list", "--max-count=1", tip, "--", path), ("ls-files", "-z", "--", path)
    if not any(git.ask(*each, cancel=cancel) for each in asked):
        raise NotFound(f"File not found in git history: {path}", path=path)
