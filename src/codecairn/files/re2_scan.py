"""RE2 as an engine, for a folder that is no repository on a machine without ripgrep: linear in time like ripgrep, and a
tenth of its speed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from codecairn.errors import InvalidPattern
from codecairn.files.grep import MatchPlace, Query, Tally, Time, is_excluded
from codecairn.files.ripgrep import LARGEST_SHOWN, texts_here
from codecairn.paths import Guard
from codecairn.source.file_content import Skip, read_text
from codecairn.source.file_listing import list_files
from codecairn.source.git import Git

_MEMORY = 64 << 20


@dataclass
class Scan:
    git: Git
    guard: Guard
    name: str = "RE2"

    def count(self, query: Query, time: Time) -> Tally:
        expression = _compile(query.pattern, query.is_case_sensitive)
        lines: dict[str, int] = {}
        searched = binary = unreadable = 0
        for path in self._list_paths(query, time):
            if time.is_up:
                return Tally(lines, searched, binary, unreadable, is_whole=False)
            content = read_text(self.guard.root, path, LARGEST_SHOWN)
            if isinstance(content, Skip):
                binary, unreadable = binary + _is_binary(content), unreadable + (not _is_binary(content))
                continue
            searched += 1
            if count := sum(1 for _ in _places(expression, content.text)):
                lines[path] = count
        return Tally(lines, searched, binary, unreadable)

    def _list_paths(self, query: Query, time: Time) -> Iterator[str]:
        for found in list_files(self.guard.root, self.git, self.guard, time.cancel, vendor=True).files:
            if not is_excluded(found.path) and (query.is_wanted is None or query.is_wanted(found.path)):
                yield found.path

    def places(self, query: Query, paths: Sequence[str], most: int, time: Time) -> Mapping[str, list[MatchPlace]]:
        del most
        expression = _compile(query.pattern, query.is_case_sensitive)
        return {path: list(_places(expression, text)) for path, text in self.texts(paths, time).items()}

    def texts(self, paths: Sequence[str], time: Time) -> Mapping[str, bytes]:
        return texts_here(self.guard.root, paths, time)


def _is_binary(skip: Skip) -> bool:
    return skip.reason == Skip.BINARY


@lru_cache(1)  # RE2 may take all of _MEMORY for one
def _compile(pattern: str, is_case_sensitive: bool) -> Any:
    import re2  # noqa: PLC0415 - 15 ms, and most machines have ripgrep or git

    options = re2.Options()
    options.log_errors, options.never_nl, options.max_mem = False, True, _MEMORY
    options.case_sensitive = is_case_sensitive
    try:
        return re2.compile(f"(?m:{pattern})".encode(), options)
    except (re2.error, ValueError) as error:
        said = error.args[0] if error.args else error
        details = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise InvalidPattern("Invalid regex pattern", pattern=pattern, details=details) from error


def _places(expression: Any, text: bytes) -> Iterator[MatchPlace]:
    """The first match of each line that has one."""
    plain = text.replace(b"\r\n", b"\n")
    at, line, counted = 0, 1, 0
    while at <= len(plain) and (found := expression.search(plain, at)):
        start = found.start()
        if start == len(plain) and (not plain or plain.endswith(b"\n")):
            return
        line, counted = line + plain.count(b"\n", counted, start), start
        head = plain.rfind(b"\n", 0, start) + 1
        yield MatchPlace(line, start - head + 1)
        end = plain.find(b"\n", start)
        if end < 0:
            return
        at = end + 1
