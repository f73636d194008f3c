"""One file, whole: from the working tree or out of a commit.

A caller's path is judged twice. The guard judges the name; then the file is opened without trusting that judgement
(source/safe_open.py), and the guard judges the place where it really lies. In a commit nothing moves: a link there is
followed by its text, under the same rules.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

from codecairn.cancel import Cancel
from codecairn.clock import timestamp
from codecairn.errors import CairnError, Denied, InvalidInput, NotFound, Unreadable
from codecairn.parse.formats import format_of
from codecairn.parse.language import Language, language_of
from codecairn.paths import Guard
from codecairn.source.file_content import Skip, decode_text, read_inside
from codecairn.source.git import Git
from codecairn.source.git_objects import FOLDER, SUBMODULE, TreeEntry, entry_at, read_blob
from codecairn.text import decode

LARGEST = 1 << 20
_MOST_LINKS = 10
_SECRET = "the path is secret or internal and is never read"  # noqa: S105
_OUTSIDE = "the path leads outside the project root"


@dataclass(frozen=True)
class FileText:
    path: str
    text: str
    encoding: str
    size: int
    """Bytes, as they are stored."""
    modified: str

    @cached_property
    def lines(self) -> list[str]:
        """With their endings; only a line feed ends a line."""
        *whole, last = self.text.split("\n")
        return [f"{line}\n" for line in whole] + ([last] if last else [])

    @cached_property
    def grammar(self) -> Language | None:
        return language_of(self.path, self.text.encode())

    @property
    def language(self) -> str:
        return self.grammar.data.name if self.grammar else format_of(self.path)


def read_here(guard: Guard, given: str) -> FileText:
    """A file of the working tree."""
    path = guard.inside(given)
    read = read_inside(guard.root, path, LARGEST)
    if isinstance(read, Skip):
        raise _unread(path, read)
    if guard.blocks(read.found.path):
        raise _denial(path, _SECRET)
    return _file_text(path, read.bytes, datetime.fromtimestamp(read.found.mtime_ns / 1e9, UTC))


def _unread(path: str, skip: Skip) -> CairnError:
    if skip.reason == Skip.GONE:
        return NotFound("File not found", path=path)
    if skip.reason == Skip.TOO_LARGE:
        return _too_large(path, skip.size)
    if skip.reason in (Skip.OUTSIDE, Skip.LINK):
        return _denial(path, _OUTSIDE)
    if skip.reason == Skip.UNREADABLE:
        return _denial(path, "the server's user may not read it")
    if skip.reason == Skip.CHANGING:
        return CairnError("File changed while it was read", path=path, remedy="Call again.")
    return _not_text(path, skip.reason)


def _not_text(path: str, what: str) -> Unreadable:
    said = {Skip.BINARY: "Binary file", Skip.FOLDER: "Not a file but a folder"}.get(what, "Not a regular file")
    remedy = "get_file_outline lists what a folder holds." if what == Skip.FOLDER else None
    return Unreadable(said, path=path, remedy=remedy)


def _too_large(path: str, size: int) -> Unreadable:
    return Unreadable(
        "File too large", path=path, size=size, limit=LARGEST, details=f"{size:,} bytes; at most {LARGEST:,} are read",
        remedy="Search in it with grep_codebase, or find the part you need with get_file_outline.",
    )  # fmt: skip


def _denial(path: str, details: str) -> Denied:
    return Denied(f"Permission denied: {path} ({details})", path=path, details=details)


def _file_text(path: str, raw: bytes, modified: datetime) -> FileText:
    text = decode_text(raw)
    if text is None:
        raise _not_text(path, Skip.BINARY)
    return FileText(path, *text, len(raw), timestamp(modified))


# Out of a commit.


def read_at(git: Git, guard: Guard, given: str, commit: str, cancel: Cancel) -> FileText:
    """A file as a commit has it."""
    path = guard.inside(given)
    place, entry = _follow_links(git, guard, path, commit, cancel)
    if entry.mode in (FOLDER, SUBMODULE):
        raise _not_text(path, Skip.FOLDER)
    if entry.size is not None and entry.size > LARGEST:
        raise _too_large(path, entry.size)
    raw = read_blob(git, entry.id, cancel)
    return _file_text(path, raw, _last_change(git, place, commit, cancel))


def _follow_links(git: Git, guard: Guard, path: str, commit: str, cancel: Cancel) -> tuple[str, TreeEntry]:
    """Where a path leads in a commit, links followed."""
    place = path
    for _ in range(_MOST_LINKS):
        entry = entry_at(git, commit, place, cancel)
        if entry is None:
            raise NotFound("File not found", path=path, ref=commit)
        if not entry.is_link:
            return place, entry
        target = decode(read_blob(git, entry.id, cancel))
        place = posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
        if place.startswith(("/", "..")):
            raise _denial(path, _OUTSIDE)
        if guard.blocks(place):
            raise _denial(path, _SECRET)
    raise _denial(path, "its links lead nowhere")


def _last_change(git: Git, path: str, commit: str, cancel: Cancel) -> datetime:
    """When a file last changed before a commit; when the commit was made, where history is cut off or long to walk."""
    for below in (("--", path), ()):
        asked = ("log", "-1", "--format=%ct", "--no-show-signature", "--end-of-options", commit, *below)
        seconds = git.run(*asked, cancel=cancel, seconds=_PATIENCE_S).output.strip()
        if seconds.isdigit():
            return datetime.fromtimestamp(min(int(seconds), _LAST_SECOND), UTC)
    return datetime.fromtimestamp(0, UTC)


_PATIENCE_S = 0.5
"""A walk that takes longer has a commit-graph written for the next one, which takes 5 ms."""
_LAST_SECOND = 253_402_300_799
"""The last that a date can say; a commit can claim a later one."""


class LineRange(NamedTuple):
    """Lines of a file, counted from 1, the last one included."""

    first: int
    last: int


def extent_of(file: FileText, start: int | None, end: int | None) -> LineRange:
    count = len(file.lines)
    first, last = start or 1, min(end or count, count)
    if first > max(count, 1) or (end is not None and end < first):
        raise InvalidInput(
            f"Invalid line range: {first}-{end or ''}", param="startLine", path=file.path, lines=count,
            remedy=f"Lines count from 1 to {count}; startLine may not lie behind endLine.",
        )  # fmt: skip
    return LineRange(first, last)


def number_lines(lines: list[str], first: int) -> str:
    """Each line behind its number and a tab."""
    width = len(str(first + len(lines)))
    return "".join(f"{number:>{width}}\t{line}" for number, line in enumerate(lines, first))
