"""A version read closely: the tokens of each symbol as its grammar sees them, without comments and layout.

A symbol's row has its lines and the hash of its text; where on those lines it begins and ends is found again by that
hash, so nothing has to be extracted twice. Its tokens come from the syntax tree, brackets of the structure included:
where layout means something (Python's indentation, a line end after `return`), two texts of equal words differ here.
A symbol that holds others is told by what is its own and by references to theirs.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from itertools import accumulate
from typing import Any

from blake3 import blake3

from codecairn.diff.values import Version
from codecairn.parse.deadline import Deadline, SlowParse
from codecairn.parse.kinds import CALLABLE
from codecairn.parse.language import Language, languages
from codecairn.store.file_version import SymbolRow

Span = tuple[int, int]
Event = str | int
"""A token or a bracket of the structure; a number stands for the symbol that is written there."""

_SECONDS = 2.0
_SMALL = 32_000
"""Bytes. A shorter text is parsed at once, as it is when it is indexed."""
_WORDS = re.compile(rb"\w+|[^\w\s]")
_TREES = 2
"""Both sides of a file: symbols are read file by file."""
_MOST_EDGES = 60
"""Places on one line at which a symbol is looked for: more stand only on lines that nobody wrote."""
_OPEN, _CLOSE, _NAME = "\0(", "\0)", "\0name"
_SPACE = re.compile(r"\s+")
_ATOMIC = re.compile(r"string|char|rune|heredoc|template_literal|regex|quasi|sigil|quoted|(?:^|_)text$")
"""Types of nodes whose inner white space is content."""


class _Trees:
    """The syntax trees of the versions that were read last: a tree takes fifty times the memory of its text."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, tuple[Version, Any]] = OrderedDict()
        self._slow: dict[int, Version] = {}
        self._lock = threading.Lock()

    def of(self, version: Version, language: Language) -> Any:
        key = id(version)
        with self._lock:
            if key in self._kept or key in self._slow:
                return self._kept[key][1] if key in self._kept else None
        root = self._parse(version, language)
        with self._lock:
            self._kept[key] = (version, root)
            while len(self._kept) > _TREES:
                self._kept.popitem(last=False)
        return root

    def _parse(self, version: Version, language: Language) -> Any:
        try:
            seconds = _SECONDS if len(version.text) > _SMALL else None
            return Deadline(seconds).parse(language.parser(), language.readable(version.text))
        except SlowParse:
            self._slow[id(version)] = version
            return None


class SymbolTokens:
    def __init__(self, version: Version, trees: _Trees) -> None:
        self.version = version
        self._trees = trees
        self._source = version.text
        self._own: dict[int, list[Event]] = {}
        self._words: dict[int, list[str]] = {}

    @cached_property
    def _language(self) -> Language | None:
        return languages().get(self.version.language)

    def _root(self) -> Any:
        """The root of the syntax tree; None where there is no grammar, or it takes too long."""
        return self._trees.of(self.version, self._language) if self._language is not None else None

    @cached_property
    def _line_starts(self) -> list[int]:
        starts, at = [0], self._source.find(b"\n")
        while at >= 0:
            starts.append(at + 1)
            at = self._source.find(b"\n", at + 1)
        return [*starts, len(self._source) + 1]

    @cached_property
    def spans(self) -> list[Span]:
        return [self._span(number) for number in range(len(self.version.symbols))]

    def _span(self, number: int) -> Span:
        row = self.version.symbols[number]
        first, last = self._line(row.start_line), self._line(row.end_line)
        start = first[1] - len(self._source[first[0] : first[1]].lstrip())
        end = last[0] + len(self._source[last[0] : last[1]].rstrip())
        if self._is_text(row, start, end):
            return start, end
        heads = [first[0] + each.start() for each in self._edges(first)]
        tails = [last[0] + each.end() for each in reversed(self._edges(last))]
        found = ((one, two) for one in heads for two in tails if one < two and self._is_text(row, one, two))
        return next(found, (first[0], last[1]))

    def _is_text(self, row: SymbolRow, start: int, end: int) -> bool:
        return blake3(self._source[start:end]).digest(16) == row.content_hash

    def _line(self, line: int) -> Span:
        starts = self._line_starts
        line = min(max(line, 1), len(starts) - 1)
        return starts[line - 1], starts[line] - 1

    def _edges(self, line: Span) -> list[re.Match[bytes]]:
        found = list(_WORDS.finditer(self._source[line[0] : line[1]]))
        return found if len(found) <= _MOST_EDGES else found[: _MOST_EDGES // 2] + found[-_MOST_EDGES // 2 :]

    @cached_property
    def _inside(self) -> dict[int, list[int]]:
        """The symbols written directly inside each; what a function does to a field is the function's own doing."""
        inside: dict[int, list[int]] = {}
        stack: list[int] = []
        for number in sorted(range(len(self.spans)), key=lambda each: (self.spans[each][0], -self.spans[each][1])):
            start, end = self.spans[number]
            while stack and (self.spans[stack[-1]][1] <= start or self.spans[stack[-1]] == (start, end)):
                stack.pop()
            around = stack[-1] if stack else -1
            kind = self.version.symbols[number].kind
            if around >= 0 and kind == "field" and self.version.symbols[around].kind in CALLABLE:
                continue
            if around >= 0:
                inside.setdefault(around, []).append(number)
            stack.append(number)
        return inside

    def inside(self, number: int) -> list[int]:
        return self._inside.get(number, [])

    def own(self, number: int) -> list[Event]:
        """A symbol's tokens in order, each symbol inside it as one number."""
        if number not in self._own:
            self._own[number] = list(self._events(number))
        return self._own[number]

    def words(self, number: int) -> list[str]:
        """All tokens of a symbol and of what is inside it, without the structure; where it is named, a mark."""
        if number not in self._words:
            name, words = self.version.symbols[number].name, list[str]()
            for event in self.own(number):
                if isinstance(event, int):
                    words += self.words(event)
                elif not event.startswith("\0"):
                    words.append(event)
            if name in words:
                words[words.index(name)] = _NAME
            self._words[number] = words
        return self._words[number]

    def outside_signature(self, number: int) -> list[Event]:
        """A symbol's tokens but for those that its signature is made of."""
        events = self.own(number)
        texts = [_SPACE.sub("", self._flat(each)) for each in events]
        signature = _SPACE.sub("", self.version.symbols[number].signature.removesuffix("…"))
        start = "".join(texts).find(signature)
        if start < 0:
            return events
        stop, ends = start + len(signature), accumulate(map(len, texts))
        return [
            event
            for event, text, end in zip(events, texts, ends, strict=True)
            if not (start <= end - len(text) < stop or start < end < stop)
        ]

    def _flat(self, event: Event) -> str:
        if isinstance(event, int):
            start, end = self.spans[event]
            return self._source[start:end].decode("utf-8", "replace")
        return "" if event.startswith("\0") else event

    def _events(self, number: int) -> Iterator[Event]:
        start, end = self.spans[number]
        root = self._root()
        if root is None:
            yield self._source[start:end].decode("utf-8", "replace")
            return
        inner, comments = self.inside(number), self._language.data.comments if self._language else frozenset()
        starts = [self.spans[each][0] for each in inner]
        at = start
        waiting: list[Any] = [root.descendant_for_byte_range(start, end) or root]
        while waiting:
            node = waiting.pop()
            if node is None:
                yield _CLOSE
                continue
            first, last, type_ = node.start_byte, node.end_byte, node.type
            if last <= at or first >= end:
                continue
            if first < start or last > end:
                waiting += reversed(node.children)
                continue
            child = bisect_right(starts, first) - 1 if starts else -1
            is_inside = child >= 0 and last <= self.spans[inner[child]][1]
            is_comment = type_ in comments and node.is_named
            if not (is_inside or is_comment or _is_atomic(type_)) and node.child_count:
                yield _OPEN + type_
                waiting.append(None)
                waiting += reversed(node.children)
                continue
            if at < first:
                yield from self._gap(at, first)
            if is_inside:
                yield inner[child]
                last = self.spans[inner[child]][1]
            elif not is_comment:
                yield self._source[max(first, at) : last].decode("utf-8", "replace")
            at = last
        yield from self._gap(at, end)

    def _gap(self, start: int, end: int) -> Iterator[str]:
        """The text between two nodes, where it is more than layout."""
        if text := self._source[start:end].strip():
            yield text.decode("utf-8", "replace")


@cache
def _is_atomic(type_: str) -> bool:
    return _ATOMIC.search(type_) is not None


class TokenTable:
    """The tokens of versions, each read once until all are forgotten: they take twenty times the memory of a text."""

    def __init__(self) -> None:
        self._read: dict[int, SymbolTokens] = {}
        self._trees = _Trees()

    def of(self, version: Version) -> SymbolTokens:
        read = self._read  # another thread may forget it
        if id(version) not in read:
            read[id(version)] = SymbolTokens(version, self._trees)
        return read[id(version)]

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """Forget everything at the end of a block."""
        try:
            yield
        finally:
            self._read, self._trees = {}, _Trees()


def is_copy(before: SymbolTokens, old: int, after: SymbolTokens, new: int) -> bool:
    """Whether one symbol is the other but for comments, layout and its name: where the old one has its name the new
    one may have its own."""
    names = before.version.symbols[old].name, after.version.symbols[new].name
    return are_alike(before, before.own(old), after, after.own(new), names)


def are_alike(
    before: SymbolTokens, left: list[Event], after: SymbolTokens, right: list[Event], names: tuple[str, str] = ("", "")
) -> bool:
    """Whether tokens are the same; `names` are one and the other where they are not."""
    if len(left) != len(right):
        return False
    for one, two in zip(left, right, strict=True):
        if isinstance(one, int) and isinstance(two, int):
            same = before.version.symbols[one].content_hash == after.version.symbols[two].content_hash
            if not (same or are_alike(before, before.own(one), after, after.own(two), names)):
                return False
        elif one != two and (one, two) != names:
            return False
    return True
