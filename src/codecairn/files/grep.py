"""Searching files by a regular expression.

A search takes three steps, each as small as it can be. An engine counts the matching lines of every file; the files
are put in order and those of the wanted page are picked; only in those the engine tells where the matches are, and
only those are read for their text. So a pattern that matches everywhere costs little more than one that matches
nowhere, the order never depends on which thread was first, and the text that is shown was read through the guard and
never through a link, whatever the engine has opened.

A match is a line that matches, its column that of the first match in it.

    ripgrep   the working tree, wherever `rg` is installed
    git grep  a commit; the working tree of a repository where there is no `rg`
    RE2       whatever is left
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from typing import NamedTuple, Protocol

from codecairn.cancel import Cancel
from codecairn.file_roles import UNSEARCHED_FOLDERS
from codecairn.paths import Guard, has_control

LONGEST_LINE = 500
"""Characters that are shown of a line."""
AROUND = 2
_LEAST_S = 1.0
"""For telling where the matches are, when counting them took all the time there was."""


@dataclass(frozen=True)
class Query:
    pattern: str
    is_case_sensitive: bool
    is_wanted: Callable[[str], bool] | None = None
    """Whether a path is to be searched; None where all are."""
    name: str = ""
    """A glob that the name of every wanted file matches, where there is one."""
    is_name_all: bool = False
    """Whether that glob says all that `is_wanted` says."""
    folder: str = ""
    """Where every wanted file lies, as far as that is plain."""


class Time:
    """The time that is left for one search."""

    def __init__(self, seconds: float, cancel: Cancel) -> None:
        self._deadline = monotonic() + seconds
        self.cancel = cancel

    @property
    def left(self) -> float:
        return max(_LEAST_S, self._deadline - monotonic())

    @property
    def is_up(self) -> bool:
        self.cancel.check()
        return monotonic() > self._deadline


@dataclass(frozen=True)
class Tally:
    """The counts of an engine."""

    lines: Mapping[str, int]
    """How many lines match in each wanted file that has any."""
    searched: int
    binary: int | None = None
    """Files that are no text and were passed over, as far as the engine tells."""
    unreadable: int = 0
    is_whole: bool = True
    """Whether the engine came to the end in its time."""
    lacking: tuple[str, ...] = ()
    """Files and folders of a commit whose content is not here."""


class MatchPlace(NamedTuple):
    line: int
    column: int
    """Both from 1; a column counts bytes of the line in UTF-8, or as it is where it is in no Unicode encoding."""


class GrepEngine(Protocol):
    @property
    def name(self) -> str: ...
    def count(self, query: Query, time: Time) -> Tally: ...
    def places(self, query: Query, paths: Sequence[str], most: int, time: Time) -> Mapping[str, list[MatchPlace]]:
        """Where the first matches of these files are, `most` of each at most."""
        ...

    def texts(self, paths: Sequence[str], time: Time) -> Mapping[str, bytes]:
        """The texts of these files; those that cannot be read are missing."""
        ...


@dataclass(frozen=True)
class Match:
    file: str
    line: int
    column: int
    text: str
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    length: int = 0
    """Characters of the line, where it was too long to be shown whole."""


@dataclass(frozen=True)
class GrepResult:
    matches: list[Match]
    total: int
    tally: Tally
    unreadable: int
    """Matches of this page whose file could not be read any more."""


def search(
    engine: GrepEngine, guard: Guard, query: Query, offset: int, limit: int, time: Time, around: int | None = None
) -> GrepResult:
    """`around` is how many lines before and after a match are given."""
    tally = engine.count(query, time)
    shown = {path: count for path, count in sorted(tally.lines.items()) if _may_show(path, guard)}
    page = _page(shown, offset, limit)
    most = max((last for _, last in page.values()), default=0)
    places = engine.places(query, list(page), most, time) if page else {}
    texts = engine.texts(list(places), time) if places else {}
    matches, lost = list[Match](), 0
    for path, (first, last) in page.items():
        if path in texts:
            here = islice(places[path], first, last)
            matches += matches_in(path, texts[path], here, AROUND if around is None else around)
        else:
            lost += last - first
    return GrepResult(matches, sum(shown.values()), tally, lost)


def _may_show(path: str, guard: Guard) -> bool:
    return not (has_control(path) or is_excluded(path) or guard.blocks(path))


def is_excluded(path: str) -> bool:
    return not UNSEARCHED_FOLDERS.isdisjoint(path.split("/")[:-1])


def _page(counts: Mapping[str, int], offset: int, limit: int) -> dict[str, tuple[int, int]]:
    """The files of a page, each with its first match that is on it and the one after its last."""
    page: dict[str, tuple[int, int]] = {}
    start = 0
    for path, count in counts.items():
        first, last = max(0, offset - start), min(count, offset + limit - start)
        if first < last:
            page[path] = (first, last)
        start += count
        if start >= offset + limit:
            break
    return page


def matches_in(path: str, text: bytes, places: Iterable[MatchPlace], around: int = AROUND) -> list[Match]:
    lines = text.split(b"\n")
    if not lines[-1]:
        lines.pop()
    encoding = _encoding(text)
    return [_match(path, lines, place, encoding, around) for place in places if place.line <= len(lines)]


def _encoding(text: bytes) -> str:
    try:
        text.decode()
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _match(path: str, lines: list[bytes], place: MatchPlace, encoding: str, around: int) -> Match:
    at = place.line - 1
    line = _line(lines[at], encoding)
    column = len(lines[at][: place.column - 1].decode(encoding, "replace"))
    text = _window(line, column)
    return Match(
        path, place.line, min(column, len(line)) + 1, text,
        [_cut(_line(each, encoding)) for each in lines[max(0, at - around) : at]],
        [_cut(_line(each, encoding)) for each in lines[at + 1 : at + 1 + around]],
        len(line) if len(line) > LONGEST_LINE else 0,
    )  # fmt: skip


def _line(raw: bytes, encoding: str) -> str:
    return raw.removesuffix(b"\r").decode(encoding, "replace")


def _window(line: str, column: int) -> str:
    """A line, or the part of a long one around the match, with a mark where more of it is."""
    if len(line) <= LONGEST_LINE:
        return line
    start = max(0, min(column - LONGEST_LINE // 4, len(line) - LONGEST_LINE))
    end = start + LONGEST_LINE
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
