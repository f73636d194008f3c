"""ripgrep as an engine: the working tree, its ignore files respected, no configuration but ours.

How many files are text is known from counts with a zero for every file without a match: what has a line was searched,
and what ripgrep says it opened beyond that was binary. The zeros cost a third of a search, so they are asked for again
only when another number of files was opened than the last time.

A glob of the caller's is never handed over as `--glob`, which would search what .gitignore leaves out: the name's part
goes as a file type, the folders beside its fixed beginning are left out one by one, and the rest is judged by us.
Places are asked for with every line cut to nothing, so that a line of 100 MB costs twenty bytes.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from codecairn import config
from codecairn.cache import Cache
from codecairn.errors import CairnError, InvalidPattern, TooManyFiles
from codecairn.file_roles import UNSEARCHED_FOLDERS
from codecairn.files.grep import MatchPlace, Query, Tally, Time
from codecairn.paths import BLOCKED_NAMES, BLOCKED_PATTERNS, Guard, has_control
from codecairn.source import process
from codecairn.source.file_content import Skip, read_text
from codecairn.source.process import Finished

LARGEST_SHOWN = 1 << 26
"""Bytes of a file whose lines are shown; larger ones are searched and counted."""
_COUNT = re.compile(rb"\./([^\0]*)\0(\d+)\r?\n")
_PLACE = re.compile(rb"\./([^\0]*)\0(\d+):(\d+):[^\n]*\n")
_SEARCHED = re.compile(rb"^(\d+) files searched", re.MULTILINE)
_LONGEST_STATISTICS = 1_000
_GLOB_MARK = re.compile(r"[*?\[\]{}\\!]")
_MOST_BESIDE = 200
_binary: Cache[tuple[str, str], tuple[int, int]] = Cache("grep.text_files", 1_000_000, lambda _: 800)
"""How many files were opened of a project, of those of a name, the last time that it was told which are text; and how
many were not."""
_REASON = re.compile(r"^error: (.+?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
_NEEDS_MORE = ("look-around", "backreferences are not supported")
_COMMON = ("--no-config", "--no-heading", "--color=never", "--null", "--crlf")


@dataclass
class Ripgrep:
    program: str
    root: Path
    guard: Guard
    is_repository: bool
    backtracks: bool = False
    """Whether the pattern needs PCRE2: looking around, or back at what was matched."""

    @property
    def name(self) -> str:
        return "ripgrep (PCRE2)" if self.backtracks else "ripgrep"

    def count(self, query: Query, time: Time) -> Tally:
        key = (str(self.root), query.name)
        judged = query.is_wanted is not None and not query.is_name_all
        known = None if judged else _binary.get(key)
        finished = self._count_lines(query, time, zeros=known is None)
        if known is not None and known[0] == _files_opened(finished):
            return _tally(finished, searched=known[0] - known[1], binary=known[1])
        if known is not None and not finished.timed_out:
            finished = self._count_lines(query, time, zeros=True)
        rows, opened = _COUNT.findall(finished.output), _files_opened(finished)
        if judged and query.is_wanted is not None:
            kept = [row for row in rows if query.is_wanted(row[0].decode("utf-8", "replace"))]
            return _tally(finished, searched=len(kept), binary=None, rows=kept)
        if opened is not None:
            _binary.put(key, (opened, opened - len(rows)))
        return _tally(finished, searched=len(rows), binary=None if opened is None else opened - len(rows))

    def _count_lines(self, query: Query, time: Time, *, zeros: bool) -> Finished:
        finished = self._walk(query, time, zeros=zeros)
        if not self.backtracks and _is_refused(finished) and any(each in finished.complaint for each in _NEEDS_MORE):
            self.backtracks = True
            again = self._walk(query, time, zeros=zeros)
            finished = finished if "PCRE2 is not available" in again.complaint else again
        if _is_refused(finished):
            raise _error_of(query, finished)
        return finished

    def _walk(self, query: Query, time: Time, *, zeros: bool) -> Finished:
        walking = [
            "--hidden",
            "--no-ignore-dot",
            *self._exclusions(),
            *self._beside(query.folder),
            *_type_options(query),
        ]
        if not self.is_repository:
            walking += ["--no-require-git", "--no-ignore-parent"]
        return self._run(["--count", *(["--include-zero"] if zeros else []), "--stats", *walking], query, ["./"], time)

    def _beside(self, folder: str) -> Iterator[str]:
        """The folders beside those that lead to this one."""
        above = ""
        for part in folder.split("/") if folder else ():
            try:
                names = [each.name for each in os.scandir(self.root / above) if each.is_dir(follow_symlinks=False)]
            except OSError:
                return
            for name in names if len(names) <= _MOST_BESIDE else ():
                if name != part and not has_control(name):
                    yield f"--glob=!/{_GLOB_MARK.sub(_escape, above + name)}/"
            above += f"{part}/"

    def _exclusions(self) -> Iterator[str]:
        for folder in sorted(UNSEARCHED_FOLDERS):
            yield f"--glob=!{folder}/"
        for pattern in (*sorted(BLOCKED_NAMES), *BLOCKED_PATTERNS, *self.guard.extra):
            yield f"--iglob=!{pattern}"

    def places(self, query: Query, paths: Sequence[str], most: int, time: Time) -> Mapping[str, list[MatchPlace]]:
        telling = ["--line-number", "--column", "--with-filename", "--max-columns=1", f"--max-count={most}"]
        finished = self._run(telling, query, [f"./{path}" for path in paths], time)
        found: dict[str, list[MatchPlace]] = {}
        for path, line, column in _PLACE.findall(finished.output):
            found.setdefault(path.decode("utf-8", "replace"), []).append(MatchPlace(int(line), int(column)))
        return found

    def texts(self, paths: Sequence[str], time: Time) -> Mapping[str, bytes]:
        return texts_here(self.root, paths, time)

    def _run(self, options: list[str], query: Query, below: list[str], time: Time) -> Finished:
        pattern = ["--case-sensitive" if query.is_case_sensitive else "--ignore-case", f"--regexp={query.pattern}"]
        engine = ["--pcre2"] if self.backtracks else []
        try:
            with TemporaryFile() as spool:
                return process.run(
                    [self.program, *_COMMON, *options, *engine, *pattern, "--", *below], folder=self.root, spool=spool,
                    environment=config.child_environment(), timeout=time.left, cancel=time.cancel, partial=True,
                )  # fmt: skip
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise TooManyFiles("ripgrep could not be started: too many files are open") from error
            raise CairnError(f"ripgrep could not be started: {error.strerror or error}") from error


def texts_here(root: Path, paths: Sequence[str], time: Time) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in paths:
        time.cancel.check()
        content = read_text(root, path, LARGEST_SHOWN)
        if not isinstance(content, Skip):
            found[path] = content.text
    return found


def _type_options(query: Query) -> list[str]:
    return [f"--type-add=wanted:{query.name}", "--type=wanted"] if query.name else []


def _is_refused(finished: Finished) -> bool:
    """Whether nothing was searched at all: a search that was, says how much, or was stopped in it."""
    return finished.status == 2 and not finished.timed_out and _files_opened(finished) is None


def _files_opened(finished: Finished) -> int | None:
    """How many files ripgrep says at its end that it searched, binary ones included."""
    told = _SEARCHED.search(finished.output[-_LONGEST_STATISTICS:])
    return int(told[1]) if told else None


def _tally(
    finished: Finished, *, searched: int, binary: int | None, rows: list[tuple[bytes, bytes]] | None = None
) -> Tally:
    rows = _COUNT.findall(finished.output) if rows is None else rows
    lines = {path.decode("utf-8", "replace"): int(count) for path, count in rows if count != b"0"}
    unreadable = sum(line.startswith("rg: ./") for line in finished.complaint.splitlines())
    return Tally(lines, searched, binary, unreadable, not finished.timed_out)


def _escape(mark: re.Match[str]) -> str:
    return f"[{mark[0]}]" if mark[0] != "\\" else "\\\\"


def _error_of(query: Query, finished: Finished) -> CairnError:
    said = _REASON.search(finished.complaint)
    details = " ".join((said[1] if said else finished.complaint.removeprefix("rg: ")).split())
    details = details.partition(" Consider enabling")[0]  # advice about options that a caller does not have
    return InvalidPattern("Invalid regex pattern", pattern=query.pattern, details=details[:500])
