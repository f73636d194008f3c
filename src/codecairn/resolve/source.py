"""A file's text as resolution reads it: with strings and comments blanked out, its brackets paired, and the expression
before a dot taken apart. One character for each byte, so that a site's column is a position here."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import Literal, NamedTuple

from codecairn.resolve.brackets import (
    OPENS,
    back_over_space,
    closing_angle,
    closing_bracket,
    opening_bracket,
    separator_before,
    split,
    trait_start,
)

_BRACKET = re.compile(r"[()\[\]{}]")
_NOT_NEWLINE = re.compile(r"[^\n]")
_FARTHEST = 4000
"""Bytes of an expression that are read back from a member."""
MARK = "\xff"
"""Stands in no text that is read as UTF-8, byte by byte; a letter to regular expressions."""
_BETWEEN = "\n\1;=;:\1\n"
_AFTER = 120
"""Bytes after a word in which it is seen whether it is declared there."""
_USED = frozenset({".", "(", "["})
"""What follows a word at once where it is used, in every language whose declarations are looked for."""
_PLAIN_WITHIN = 120
_PLAIN = re.compile(r"(?<![\w$.)\]\"'`#])(@?)((?:super\(\)|[A-Za-z_$][\w$]*)(?:\.[A-Za-z_$][\w$]*)*)\.$")
"""A plain path before a dot, which is read off the text without blanking the rest of it."""
_PART = re.compile(r"\(\)|[\w$]+")


class ExpressionStep(NamedTuple):
    """One step of an expression: a name, a call, an index, a literal, or an expression in brackets of its own."""

    kind: Literal["name", "call", "index", "literal", "group"]
    text: str
    start: int


class Span(NamedTuple):
    start: int
    end: int

    def holds(self, position: int) -> bool:
        return self.start <= position < self.end

    @property
    def size(self) -> int:
        return self.end - self.start


class SourceText:
    def __init__(
        self, text: str, opaque: re.Pattern[str], words: re.Pattern[str], separators: tuple[str, ...], sigils: str,
        ends: str = "",
    ) -> None:  # fmt: skip
        self.text = text if text.isascii() else text.encode("utf-8", "replace").decode("latin-1")
        self._opaque = opaque
        self._word = words
        self._separators = separators
        self._sigils = sigils
        self._joints = "?!" + "".join(each for each in separators if each in ".:")
        self._ends = ends

    @cached_property
    def starts(self) -> array[int]:
        return array("i", accumulate((len(line) + 1 for line in self.text.split("\n")[:-1]), initial=0))

    @cached_property
    def code(self) -> str:
        """The text with what is inside strings and comments blanked; quotes stay."""
        return self._opaque.sub(_blank_inside, self.text)

    @cached_property
    def _pairs(self) -> tuple[array[int], array[int], array[int]]:
        """Where brackets open, where each closes, and which one is around each."""
        opens, closes, around, stack = array("i"), array("i"), array("i"), list[int]()
        code, end = self.code, len(self.code)
        for match in _BRACKET.finditer(code):
            bracket, at = match[0], match.start()
            if bracket in OPENS:
                around.append(stack[-1] if stack else -1)
                stack.append(len(opens))
                opens.append(at)
                closes.append(end)
            else:
                while stack and OPENS[code[opens[stack[-1]]]] != bracket:
                    stack.pop()
                if stack:
                    closes[stack.pop()] = at
        return opens, closes, around

    def position(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column if line <= len(self.starts) else len(self.text)

    def line_of(self, position: int) -> int:
        return bisect_right(self.starts, position)

    def line(self, number: int) -> str:
        """A line as it is written."""
        if not 0 < number <= len(self.starts):
            return ""
        end = self.starts[number] - 1 if number < len(self.starts) else len(self.text)
        return self.text[self.starts[number - 1] : end].encode("latin-1").decode("utf-8", "replace").rstrip("\r")

    def around(self, position: int, brackets: str = "([{") -> Span | None:
        """The innermost brackets of a kind around a position: from the opening one to the closing one."""
        opens, closes, outer = self._pairs
        at = bisect_right(opens, position - 1) - 1
        while at >= 0 and (closes[at] < position or self.code[opens[at]] not in brackets):
            at = outer[at]
        return Span(opens[at], closes[at]) if at >= 0 else None

    def closing(self, opening: int) -> int:
        opens, closes, _ = self._pairs
        at = bisect_right(opens, opening) - 1
        return closes[at] if at >= 0 and opens[at] == opening else len(self.code)

    # Words.

    def word(self, name: str, start: int = 0) -> int:
        """Where a whole word first stands at or after a position, or -1."""
        at = self.code.find(name, start)
        while at >= 0 and not self._is_whole(self.code, at, at + len(name)):
            at = self.code.find(name, at + 1)
        return at

    def words(self, name: str) -> list[int]:
        found, at = list[int](), self.word(name) if name else -1
        while at >= 0:
            found.append(at)
            at = self.word(name, at + len(name))
        return found

    def mentions(self, name: str) -> list[int]:
        """Where a whole word stands in the text, comments and strings included."""
        found, at = list[int](), self.text.find(name)
        while at >= 0:
            if self._is_whole(self.text, at, at + len(name)):
                found.append(at)
            at = self.text.find(name, at + len(name))
        return found

    def only_mention(self, name: str, start: int, end: int) -> int:
        """Where a whole word stands in a stretch of the text, where that is one place; else -1."""
        at = self.text.find(name, start, end)
        is_one = at >= 0 and self.text.find(name, at + 1, end) < 0
        return at if is_one and self._is_whole(self.text, at, at + len(name)) else -1

    def _is_whole(self, text: str, start: int, end: int) -> bool:
        if not _is_whole(text, start, end):
            return False
        is_longer = text[end : end + 1] in tuple(self._ends) and text[end + 1 : end + 2] != "="
        return not is_longer and text[start - 1 : start] not in tuple(self._ends.replace("!", "").replace("?", ""))

    def is_code(self, name: str, at: int) -> bool:
        """Whether a name that stands here is code, or in the code that a string holds: `"${name}"`."""
        if self.code.startswith(name, at):
            return True
        start = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", at)
        parts = _INTERPOLATED.finditer(self.text, start, end if end >= 0 else len(self.text))
        return any(part.start() < at < part.end() and not self._is_quoted(part.start(), at) for part in parts)

    def _is_quoted(self, start: int, at: int) -> bool:
        """Whether a string that begins between two places of a line is still open at the second."""
        return self.text.count('"', start, at) % 2 == 1

    def declarable(self, name: str) -> list[int]:
        """Where a whole word stands and may be declared: not as a member, nor with its own member, call or index."""
        size, code = len(name), self.code
        return [
            at
            for at in self.words(name)
            if code[at + size : at + size + 1] not in _USED
            and (code[at - 1 : at] != "." or code[at - 2 : at - 1] == ".")
        ]

    def mark(self, places: list[int], length: int, reach: int) -> tuple[str, list[tuple[int, int]]]:
        """The stretches around some words, the words replaced by a mark that no text has, joined by what no pattern
        reaches across; and for each where it begins there and here."""
        stretches, begins, joined = list[str](), list[tuple[int, int]](), 0
        windows = [[max(0, places[0] - reach), places[0] + length + _AFTER]]
        for at in places[1:]:
            if at - reach <= windows[-1][1]:
                windows[-1][1] = at + length + _AFTER
            else:
                windows.append([at - reach, at + length + _AFTER])
        for near, end in windows:
            start = self.code.rfind("\n", 0, near) + 1
            text = self.code[start:end]
            for at in places:
                if start <= at < end:
                    text = text[: at - start] + MARK * length + text[at - start + length :]
            stretches.append(text)
            begins.append((joined, start))
            joined += len(text) + len(_BETWEEN)
        return _BETWEEN.join(stretches), begins

    # Expressions.

    def has_separator_before(self, position: int) -> bool:
        return separator_before(self.code, position, self._separators) >= 0

    def receiver(self, position: int) -> list[ExpressionStep]:
        """What stands before the dot (or arrow, or colons) before a name, taken apart; empty where nothing does."""
        if (plain := self._plain_before(position)) is not None:
            return [
                ExpressionStep(
                    "name" if part[0] != "()" else "call", part[0].strip("()"), plain.start(2) + part.start()
                )
                for part in _PART.finditer(plain[2])
            ]
        text = self.code if self.code[position : position + 1] == self.text[position : position + 1] else self.text
        at = separator_before(text, position, self._separators)
        if at < 0:
            return []
        return self.steps(text, self._start(text, at), at)

    def _plain_before(self, position: int) -> re.Match[str] | None:
        plain = _PLAIN.search(self.text, max(0, position - _PLAIN_WITHIN), position)
        is_usable = plain is not None and "." in self._separators and not (plain[1] and "@" in self._sigils)
        return plain if is_usable else None

    def _start(self, text: str, end: int) -> int:
        """Where the expression begins that ends here."""
        at, limit = end, max(0, end - _FARTHEST)
        while at > limit:
            at = back_over_space(text, at) if text[at - 1] in " \t\r\n" else at
            before = text[at - 1] if at else ""
            if before in ")]}" or (before == ">" and text[at - 2] != "-" and text[at - 2] != "="):
                opening = opening_bracket(text, at - 1, limit)
                if opening < 0 or (before in "}" and opening >= 0):
                    return at
                at = opening - 2 if before == ">" and text.endswith("::", 0, opening) else opening
                if before == ")" and not self._goes_on(text, at):
                    return at
                continue
            if before in "\"'`":
                return text.rfind(before, 0, at - 1) if text.rfind(before, 0, at - 1) >= 0 else at
            if before in "!?" and at < end:
                at -= 1
                continue
            word = self._word_before(text, at)
            if word == at:
                return at
            at = word
            further = separator_before(text, at, self._separators)
            if further < 0:
                return at
            at = further
        return at

    def _goes_on(self, text: str, opening: int) -> bool:
        """Whether the bracket that opens here belongs to a name before it, as a call's does."""
        before = text[opening - 1] if opening else ""
        if before == "" or before in ")]>!?":
            return before != ""
        start = self._word_before(text, opening)
        return start < opening and (
            text[start:opening] not in _BARE or separator_before(text, start, self._separators) >= 0
        )

    def _word_before(self, text: str, end: int) -> int:
        at = end
        while at and (text[at - 1].isalnum() or text[at - 1] in "_$" or text[at - 1] in self._sigils):
            at -= 1
        return at

    def word_start(self, end: int) -> int:
        """Where the word begins that ends here, with what may stand before it."""
        return self._word_before(self.code, end)

    def steps(self, text: str, start: int, end: int) -> list[ExpressionStep]:
        """An expression from here to there as a chain; empty where it is more than one."""
        steps, at = list[ExpressionStep](), start
        while at < end:
            here = text[at]
            if here in " \t\r\n?!*&~":
                at += 1
            elif text.startswith(("->", "::"), at):
                at += 2
            elif here in ".:" and here in self._separators:
                at += 1
            elif here in "([{":
                closing = closing_bracket(text, at, end)
                kind: Literal["call", "index", "group"] = "index" if here == "[" else "call" if steps else "group"
                steps.append(ExpressionStep(kind, text[at + 1 : closing], at))
                at = closing + 1
            elif here == "<" and steps:
                at = closing_angle(text, at, end) + 1
            elif here == "<" and "::" in self._separators:
                closing = closing_angle(text, at, end)
                steps = self.steps(text, trait_start(text, at + 1, closing), closing)
                at = closing + 1 if steps else end
            elif here in "\"'`":
                closing = text.find(here, at + 1, end)
                steps.append(ExpressionStep("literal", here, at))
                at = closing + 1 if closing > 0 else end
            elif (match := self._word.match(text, at, end)) is not None:
                at = match.end()
                if self._is_name(text, match, start, end):
                    steps.append(ExpressionStep("name", match[0], match.start()))
            else:
                return []
        return steps

    def after_angle(self, opening: int) -> int:
        """Behind the type arguments that open here."""
        return closing_angle(self.code, opening, min(len(self.code), opening + _FARTHEST)) + 1

    def _is_name(self, text: str, word: re.Match[str], start: int, end: int) -> bool:
        """Whether a word is a name, and not one that only stands before an expression."""
        if word[0] not in _BARE or word.end() >= end or text[word.end()] in ".:?[-":
            return True
        return separator_before(text, word.start(), self._separators) >= start

    def arguments(self, start: int) -> list[str]:
        """The type arguments in the angle or square brackets that open here."""
        at = start
        while self.code[at : at + 1] in (" ", "\t", "\n", "\r"):
            at += 1
        if self.code[at : at + 1] not in ("<", "["):
            return []
        end = min(len(self.code), at + _FARTHEST)
        closing = closing_angle(self.code, at, end) if self.code[at] == "<" else closing_bracket(self.code, at, end)
        return split(self.text[at + 1 : closing], ",")

    def expression(self, start: int) -> list[ExpressionStep]:
        """The chain that begins here, where nothing else follows in its statement."""
        at, code = start, self.code
        end = min(len(code), start + _FARTHEST)
        borrowed = _BORROWED.match(code, at, end)
        begin = at = borrowed.end() if borrowed is not None else at
        while at < end:
            here = code[at]
            if here in "([":
                at = closing_bracket(code, at, end) + 1
            elif here == "<" and (angle := closing_angle(code, at, end)) < end and code[angle + 1 : angle + 2] == "(":
                at = angle + 1
            elif (match := self._word.match(code, at, end)) is not None:
                at = match.end()
                if match[0] in _BARE and code[match.start() - 1] in " \t\r\n(":
                    while at < end and code[at] in " \t":
                        at += 1
            elif here in self._joints or code.startswith(("->", "::"), at):
                at += 1 if here in self._joints else 2
            elif here in "\"'`":
                closing = code.find(here, at + 1, end)
                at = closing + 1 if closing > 0 else end
            elif here in " \t\r\n" and (more := _CONTINUED.match(code, at)) is not None:
                at = more.end() - 1
            else:
                break
        rest = _REST.match(code, at)
        return self.steps(code, begin, at) if rest is None or rest[0] == "" or rest[1] else []


def _is_whole(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() or before in ("_", "$") or after.isalnum() or after in ("_", "$"))


_BARE = frozenset({
    "await", "new", "return", "in", "not", "and", "or", "if", "else", "is", "typeof", "async", "throw", "case", "of",
    "go", "defer", "range", "try", "void", "delete", "assert", "raise", "from", "using",
})  # fmt: skip
"""Words that may stand before an expression and are no part of it."""
_BORROWED = re.compile(r"(?:[ \t*]|&(?:mut\b(?!\s*[.(]))?)*")
_INTERPOLATED = re.compile(r"\$\{[^}\n]{1,200}\}|#\{[^}\n]{1,200}\}|\\\([^)\n]{1,200}\)")
_CONTINUED = re.compile(r"\s*\??(?:\.(?!\.)|->)")
_REST = re.compile(r"[ \t]*(\n|\r|;|,|\)|\]|\}|:|\{|//|#|$|or\b|if\b|else\b|\|\||\?\?|as\b|!=|==|$)|[ \t]*\S")


def _blank_inside(match: re.Match[str]) -> str:
    if match.lastgroup == "inside":
        text, (start, end), at = match[0], match.span("inside"), match.start()
        return f"{text[: start - at]}{_blank(text[start - at : end - at])}{text[end - at :]}"
    text = match[0]
    if text[-1] in "\"'`" and len(text) > 1 and text[0] not in "/#-":
        return f"{text[0]}{_blank(text[1:-1])}{text[-1]}"
    return _blank(text)


def _blank(text: str) -> str:
    return _NOT_NEWLINE.sub(" ", text) if "\n" in text else " " * len(text)
