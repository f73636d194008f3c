"""Commits, newest first, each with the files it changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from codecairn.cancel import Cancel
from codecairn.errors import InvalidInput, NotFound
from codecairn.history import dates
from codecairn.paths import Guard, has_control, printable
from codecairn.source.git import Git, Layout, failure
from codecairn.source.process import Finished
from codecairn.text import decoded
from codecairn.types import Commit, CommitList, FileChange, FileStatus

# Every field ends in NUL, the one byte that no message, name or path can hold.
_FORMAT = "--format=tformat:%x00%H%x00%P%x00%aN%x00%aE%x00%aI%x00%B%x00"
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
    layout = git.layout(cancel)
    bounds = _bounds(git, query, cancel)
    if bounds is None:
        return CommitList(commits=[], count=0, offset=0, notes=["The repository has no commits yet."])
    # One more than asked tells whether there is more without counting all of history.
    asked = [*bounds.options, f"--skip={bounds.skip}", f"--max-count={query.count + 1}", *_author(query.author)]
    notes = ["History is shallow: commits beyond the clone's boundary are not here."] if layout.shallow else []
    scope = _scope(git, layout, path)
    finished = git.run(*_command(asked, bounds.revisions, scope), cancel=cancel)
    if finished.status != 0 and _lacks_blobs(finished):
        notes.append("Partial clone: renames appear as a deletion and an addition.")
        finished = git.run(*_command([*asked, "--no-renames"], bounds.revisions, scope), cancel=cancel)
    if finished.status != 0:
        raise failure(finished)
    commits = _commits(finished.output, layout.short, guard)
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
    excluded: list[str]
    options: list[str]
    skip: int

    @property
    def revisions(self) -> list[str]:
        return [self.tip, *self.excluded]


def _bounds(git: Git, query: LogQuery, cancel: Cancel) -> _Bounds | None:
    """Where the walk starts and what it leaves out; None if there is no commit to start from."""

    def commit(ref: str, param: str) -> str:
        return git.resolve(ref, cancel, param=param, complaint="Invalid commit reference")

    options: list[str] = []
    excluded: list[str] = []
    start, param, skip = query.ref, "ref", 0
    if query.until is not None:
        if (moment := _date(query.until, "until", dates.until)) is not None:
            options.append(f"--until={moment}")
        else:
            start, param = query.until, "until"
    if query.since is not None:
        if (moment := _date(query.since, "since", dates.since)) is not None:
            options.append(f"--since={moment}")
        else:
            excluded = ["^" + commit(query.since, "since")]
    if query.cursor is not None:
        found = _CURSOR.fullmatch(query.cursor)
        if not found:
            raise InvalidInput("Invalid cursor: it is not one that git_log returned", param="cursor")
        start, param, skip = found[1], "cursor", int(found[2])
    tip = commit(start, param) if start is not None else git.head(cancel)
    return _Bounds(tip, excluded, options, skip) if tip else None


def _date(text: str, param: str, read: Callable[[str], str | None]) -> str | None:
    if text.startswith("-") or has_control(text) or not text.strip():
        raise InvalidInput(f"Invalid commit reference: {printable(text)}", param=param, reason="not a usable value")
    return read(text)


def _author(author: str | None) -> list[str]:
    if author is None:
        return []
    if author.startswith("-") or has_control(author) or not author.strip():
        raise InvalidInput(f"Invalid author: {printable(author)}", param="author", reason="not a usable name or email")
    # A name is not a pattern: `J. Doe <j+git@doe.org>` must find exactly that.
    return ["--fixed-strings", "--regexp-ignore-case", f"--author={author}"]


@dataclass(frozen=True)
class _Scope:
    options: list[str]
    pathspec: list[str]


def _scope(git: Git, layout: Layout, path: str | None) -> _Scope:
    relative = [] if layout.whole else ["--relative"]
    if path is None:
        return _Scope(relative, [] if layout.whole else ["."])
    # --follow sees one file through its renames; for a folder git cannot.
    follow = [] if (git.root / path).is_dir() else ["--follow"]
    return _Scope([*relative, *follow], [path])


def _command(asked: list[str], revisions: list[str], scope: _Scope) -> list[str]:
    return [
        "log", "-z", "--no-color", "--no-decorate", "--no-show-signature", "--no-ext-diff", "--no-textconv",
        "--encoding=UTF-8", "--find-renames", "--name-status", "--diff-merges=first-parent",
        "--ignore-submodules=dirty", _FORMAT, *scope.options, *asked, "--end-of-options", *revisions,
        "--", *scope.pathspec,
    ]  # fmt: skip


def _lacks_blobs(finished: Finished) -> bool:
    return "promisor" in finished.complaint or "lazy fetching disabled" in finished.complaint


def _commits(output: bytes, short: int, guard: Guard) -> list[Commit]:
    tokens, commits = iter(output.split(b"\0")), []
    for token in tokens:
        if not token.strip():
            continue
        hash_ = decoded(token).strip()
        parents, author, email, date, message = map(decoded, islice(tokens, 5))
        subject, _, body = message.strip().partition("\n")
        files = _changes(tokens)
        visible = [change for change in files if not _hides(guard, change)]
        commits.append(
            Commit(
                hash=hash_, short_hash=hash_[:short], author=author, email=email, date=date, message=subject,
                body=body.strip(), parents=parents.split(), files=visible, omitted_files=len(files) - len(visible),
            )
        )  # fmt: skip
    return commits


def _changes(tokens: Iterator[bytes]) -> list[FileChange]:
    """Status and path tokens, up to the empty one that ends a commit; an empty one stands before them too."""
    changes: list[FileChange] = []
    next(tokens, None)
    while mark := decoded(next(tokens, b"")).strip():
        status, first = STATUS.get(mark[0], "modified"), decoded(next(tokens))
        if status in ("renamed", "copied"):
            changes.append(FileChange(path=decoded(next(tokens)), status=status, old_path=first))
        else:
            changes.append(FileChange(path=first, status=status))
    return changes


def _hides(guard: Guard, change: FileChange) -> bool:
    return guard.blocks(change.path) or bool(change.old_path and guard.blocks(change.old_path))


def _refuse_unknown_path(git: Git, path: str, tip: str, cancel: Cancel) -> None:
    """An empty answer is for filters that matched nothing; a path that history never had is an error."""
    if git.run("rev-list", "--max-count=1", tip, "--", path, cancel=cancel).output.strip():
        return
    if git.run("ls-files", "-z", "--", path, cancel=cancel).output:
        return
    raise NotFound(f"File not found in git history: {path}", path=path)
