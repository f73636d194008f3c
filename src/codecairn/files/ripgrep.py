"""ripgrep as an engine: the working tree, its ignore files respected, no configuration but ours.

Counts are asked for with a zero for every file without a match: what has a line was searched, and what ripgrep says it
searched beyond that were binary files. A glob of the caller's is never handed over as `--glob`, which would search what
.gitignore leaves out: the name's part goes as a file type, which does not, and the rest is judged by us. Places are
asked for with every line cut to nothing, so that a line of 100 MB costs twenty bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codecairn import config
from codecairn.errors import CairnError, InvalidPattern
from codecairn.files.grep import EXCLUDED, Place, Query, Tally, Time
from codecairn.paths import BLOCKED_NAMES, BLOCKED_PATTERNS, Guard
from codecairn.source import process
from codecairn.source.content import Skip, read_text
from codecairn.source.process import Finished

_LARGEST_SHOWN = 1 << 26
"""Bytes of a file whose lines are shown; larger ones are searched and counted."""
_COUNT = re.compile(rb"\./([^\0]*)\0(\d+)\r?\n")
_PLACE = re.compile(rb"\./([^\0]*)\0(\d+):(\d+):[^\n]*\n")
_SEARCHED = re.compile(rb"^(\d+) files searched", re.MULTILINE)
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
        finished = self._counted(query, time)
        if not self.backtracks and _is_refused(finished) and any(each in finished.complaint for each in _NEEDS_MORE):
            self.backtracks = True
            again = self._counted(query, time)
            finished = finished if "PCRE2 is not available" in again.complaint else again
        if _is_refused(finished):
            raise _explained(query, finished)
        return _tally(query, finished)

    def _counted(self, query: Query, time: Time) -> Finished:
        walking = ["--hidden", "--no-ignore-dot", *self._left_out(), *_named(query)]
        if not self.is_repository:
            walking += ["--no-require-git", "--no-ignore-parent"]
        return self._run(["--count", "--include-zero", "--stats", *walking], query, ["./"], time)

    def _left_out(self) -> Iterator[str]:
        for folder in EXCLUDED:
            yield f"--glob=!{folder}/"
        for pattern in (*sorted(BLOCKED_NAMES), *BLOCKED_PATTERNS, *self.guard.extra):
            yield f"--iglob=!{pattern}"

    def places(self, query: Query, paths: Sequence[str], most: int, time: Time) -> Mapping[str, list[Place]]:
        telling = ["--line-number", "--column", "--with-filename", "--max-columns=1", f"--max-count={most}"]
        finished = self._run(telling, query, [f"./{path}" for path in paths], time)
        found: dict[str, list[Place]] = {}
        for path, line, column in _PLACE.findall(finished.output):
            found.setdefault(path.decode("utf-8", "replace"), []).append(Place(int(line), int(column)))
        return found

    def texts(self, paths: Sequence[str], time: Time) -> Mapping[str, bytes]:
        return texts_here(self.root, paths, time)

    def _run(self, options: list[str], query: Query, below: list[str], time: Time) -> Finished:
        pattern = ["--case-sensitive" if query.is_case_sensitive else "--ignore-case", f"--regexp={query.pattern}"]
        engine = ["--pcre2"] if self.backtracks else []
        try:
            return process.run(
                [self.program, *_COMMON, *options, *engine, *pattern, "--", *below], folder=self.root,
                environment=config.child_environment(), timeout=time.left, cancel=time.cancel, partial=True,
            )  # fmt: skip
        except OSError as error:
            raise CairnError(f"ripgrep could not be started: {error.strerror or error}") from error


def texts_here(root: Path, paths: Sequence[str], time: Time) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in paths:
        time.cancel.check()
        content = read_text(root, path, _LARGEST_SHOWN)
        if not isinstance(content, Skip):
            found[path] = content.text
    return found


def _named(query: Query) -> list[str]:
    return [f"--type-add=wanted:{query.name}", "--type=wanted"] if query.name else []


def _is_refused(finished: Finished) -> bool:
    """Whether nothing was searched at all: a search that was, says how much, or was stopped in it."""
    return finished.status == 2 and not finished.timed_out and _SEARCHED.search(finished.output) is None


def _tally(query: Query, finished: Finished) -> Tally:
    rows = _COUNT.findall(finished.output)
    told = _SEARCHED.search(finished.output)
    if query.is_wanted is not None and not query.is_name_all:
        rows = [row for row in rows if query.is_wanted(row[0].decode("utf-8", "replace"))]
        told = None
    lines = {path.decode("utf-8", "replace"): int(count) for path, count in rows if count != b"0"}
    unreadable = sum(line.startswith("rg: ./") for line in finished.complaint.splitlines())
    binary = int(told[1]) - len(rows) if told else None
    return Tally(lines, len(rows), binary, unreadable, not finished.timed_out)


def _explained(query: Query, finished: Finished) -> CairnError:
    said = _REASON.search(finished.complaint)
    details = " ".join((said[1] if said else finished.complaint.removeprefix("rg: ")).split())
    return InvalidPattern("Invalid regex pattern", pattern=query.pattern, details=details[:500])
