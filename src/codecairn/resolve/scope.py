"""One file as names are looked up in it: its definitions and imports (symbol_scope.py), and the variables that hide
them."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Literal, NamedTuple

from codecairn.parse.kinds import CALLABLE, TYPES
from codecairn.resolve.rules import DeclaringPattern
from codecairn.resolve.source import Span
from codecairn.resolve.symbol_scope import SymbolScope, after_space
from codecairn.store.file_version import LinkTable, SymbolRow
from codecairn.store.view import FileRow

_CONTROL = re.compile(r"\b(?:if|for|while|switch|return|with|in|else|await|typeof|case|throw)\s*$")
_QUOTED_BEFORE = re.compile(r"([\"'])(?:[\w. |,\[\]]*[. |,\[\]])?$")
_QUOTED_AFTER = re.compile(r"(?!\w)[\w. |,\[\]]*([\"'])")
_QUOTED_WITHIN = 120
_USED_AS_VALUE = (".", "(", ")", "[", "]", ",", ";")
"""What follows a name that is used, and never one that labels a value."""
_ANONYMOUS = re.compile(
    r"\b(?:new|object\s*:)\s+([A-Z][\w.]*)(?:[<\[][^{};]*[>\]])?\s*(?:\([^{};]*\))?\s*(?:with\s[^{};]*)?$"
)
_MAKES = re.compile(r"\b(?:new\s|object\s*:)")
_HEAD_WITHIN = 200
_AFTER_WITHIN = 2_000
"""Bytes behind a name in which the rest of its declaration stands, on however many lines."""
_BODY = re.compile(
    r"\s*(?:(?:throws\s+[\w.]+(?:\s*,\s*[\w.]+)*|const|noexcept|override|final|async|throws|rethrows)\b\s*)*"
    r"(?:\??:[^={;]*?)?\s*(?:where\b[^={;]*?)?(?:=>|\{|->)"
)
"""What may stand between parameters and a body. No two parts in a row may both take spaces: with those of a deep
indentation a search that fails took a tenth of a second."""


class Variable(NamedTuple):
    """A local name: where it is declared and how far it reaches."""

    span: Span
    position: int
    kind: Literal["block", "parameter", "generic"]


class FileScope(SymbolScope):
    def __init__(self, row: FileRow, symbols: list[SymbolRow], links: LinkTable, text: str) -> None:
        super().__init__(row, symbols, links, text)
        self._variables: dict[str, list[Variable]] = {}
        self._heads: dict[int, re.Match[str] | None] = {}

    def variables(self, name: str) -> list[Variable]:
        if name not in self._variables:
            self._variables[name] = [*self._find_variables(name)]
        return self._variables[name]

    def _find_variables(self, name: str) -> list[Variable]:
        compiled = self.compiled
        if compiled.variable is not None and compiled.variable.match(name) is None:
            return []
        places = self.source.declarable(name)
        found: list[Variable | None] = [*self._with_more(name)] if compiled.arrays or compiled.made else []
        if not places and not found:
            return []
        kinds: tuple[tuple[tuple[DeclaringPattern, ...], Callable[[int], Variable | None]], ...] = (
            (compiled.blocks, self._block), (compiled.parameters, self._parameter),
            (compiled.taken_apart, self._from_pattern), (compiled.expressions, self._expression),
            (compiled.generics, self._generic),
        )  # fmt: skip
        found += [
            declared(at)
            for patterns, declared in kinds
            for pattern in patterns
            for at in self._declarations(pattern, places, len(name))
        ]
        fields = self._field_lines(name) if self.rules.implicit_members else ()
        return [each for each in found if each and each.span.size and self.source.line_of(each.position) not in fields]

    def _with_more(self, name: str) -> Iterator[Variable]:
        """The variables whose size or arguments stand right behind their name, where most names are used."""
        places = self.source.words(name)
        for pattern in self.compiled.arrays:
            yield from map(self._block, self._declarations(pattern, places, len(name)))
        for pattern in self.compiled.made:
            yield from (self._block(at) for at in self._declarations(pattern, places, len(name)) if self._is_inside(at))

    def _is_inside(self, at: int) -> bool:
        """Whether a place is in the body of a function."""
        function = self.symbol_at(at)
        return function is not None and 0 <= self.source.code.find("{", self.name_at(function)) < at

    def _declarations(self, pattern: DeclaringPattern, places: list[int], length: int) -> Iterator[int]:
        """Those of some places of a word where an expression has it declared."""
        code = self.source.code
        near = [at for at in places if pattern.after.match(code, at + length, at + length + _AFTER_WITHIN)]
        text, begins = self.source.mark(near, length, self.rules.reach) if near else ("", [])
        return (_origin(begins, match.start("n")) for match in pattern.whole.finditer(text))

    @cached_property
    def makes_types(self) -> bool:
        """Whether a type may be extended where it is made, somewhere in the file."""
        return _MAKES.search(self.source.text) is not None

    def before_brace(self, brace: int) -> re.Match[str] | None:
        """What is extended where it is made, in the body that opens here: `new Type { … }`."""
        if brace not in self._heads:
            self._heads[brace] = _ANONYMOUS.search(self.source.code, max(0, brace - _HEAD_WITHIN), brace)
        return self._heads[brace]

    def _field_lines(self, name: str) -> set[int]:
        """Where a type declares fields of a name: as a variable does, and they are none."""
        return {
            each.name_line
            for each in self.symbols_by_name.get(name, ())
            if each.kind not in CALLABLE | TYPES and each.parent >= 0 and self.symbols[each.parent].kind in TYPES
        }

    def _block(self, at: int) -> Variable:
        if self.rules.scopes == "functions":
            around = self.symbol_at(at)
            is_seen = self.compiled.called is not None or self.rules.variable_mark or self.rules.returned
            outside = self.whole if is_seen else Span(at, at)
            return Variable(self.span(around) if around else outside, at, "block")
        if self.rules.scopes == "braces":
            return Variable(self.source.around(at, "{") or self.whole, at, "block")
        brackets = self.source.around(at)
        before = self.source.code[max(0, at - 200) : at]
        if brackets is not None and "for" in before[-80:].split():
            return Variable(brackets, at, "block")
        if brackets is not None and not self.source.code.startswith(":=", _after_word(self.source.code, at)):
            return Variable(Span(at, at), at, "block")
        function = self.symbol_at(at, CALLABLE | TYPES)
        if function is None:
            return Variable(self.whole, at, "block")
        if function.kind in TYPES:
            return Variable(Span(at, at), at, "block")
        return Variable(self.body(function), at, "block")

    def _parameter(self, at: int) -> Variable | None:
        code, brackets = self.source.code, self.source.around(at, "([{")
        if brackets is None or code[brackets.start] != "(":
            return None
        before = code[max(0, brackets.start - 300) : brackets.start]
        if self.compiled.head is not None:
            if not self.compiled.head.search(before):
                return None
        elif _CONTROL.search(before):
            return None
        if self.rules.scopes == "indent":
            function = self.symbol_at(at)
            return Variable(self.body(function), at, "parameter") if function else None
        found = self._with_body(at, brackets)
        function = self.symbol_at(at) if found is None else None
        if function is not None and self.rules.scopes == "functions":
            return Variable(self.span(function), at, "parameter")
        if function is not None and self._is_head(function, brackets):
            return Variable(brackets, at, "parameter")
        return found

    def _is_head(self, function: SymbolRow, brackets: Span) -> bool:
        """Whether brackets are those of a function's parameters: it may have no body that they reach into."""
        name = self.name_at(function) + len(function.name)
        return name <= brackets.start and not self.source.code[name : brackets.start].strip()

    def _from_pattern(self, at: int) -> Variable | None:
        brackets = self.source.around(at)
        while brackets is not None and self.source.code[brackets.start] in "{[":
            inner, brackets = brackets, self.source.around(brackets.start)
            if brackets is not None and self.source.code[brackets.start] == "(":
                before = self.source.code[brackets.start : inner.start].rstrip()
                is_body = _BODY.match(self.source.code, brackets.end + 1) is not None
                found = self._with_body(at, brackets) if is_body and before.endswith(("(", ",")) else None
                return (
                    found
                    if found and not _CONTROL.search(self.source.code[max(0, brackets.start - 20) : brackets.start])
                    else None
                )
        return None

    def _with_body(self, at: int, brackets: Span) -> Variable | None:
        code = self.source.code
        typed = code[_after_word(code, at) :][:3].lstrip(" ?").startswith(":")
        if self.rules.bare_results:
            opening = self._body_brace(brackets.end)
            return (
                Variable(Span(brackets.start, self.source.closing(opening)), at, "parameter") if opening > 0 else None
            )
        body = _BODY.match(code, brackets.end + 1)
        if body is None:
            return Variable(brackets, at, "parameter") if typed else None
        if body[0].endswith("{"):
            closing = self.source.closing(body.end() - 1)
            behind = after_space(code, closing + 1)
            if code[behind : behind + 1] == "{":  # what was read so far is the type of the result
                closing = self.source.closing(behind)
            return Variable(Span(brackets.start, closing), at, "parameter")
        opening = after_space(code, body.end())
        if code[opening : opening + 1] in ("{", "("):
            return Variable(Span(brackets.start, self.source.closing(opening)), at, "parameter")
        around = self.source.around(brackets.start) or self.whole
        return Variable(Span(brackets.start, around.end), at, "parameter")

    def _body_brace(self, after: int) -> int:
        """The brace that opens a body, behind results in brackets and types with braces of their own."""
        code, opening = self.source.code, self.source.code.find("{", after)
        while opening > 0:
            around = self.source.around(opening, "([")
            if around is not None and around.start > after:
                opening = code.find("{", around.end)
            elif re.search(r"\b(?:interface|struct)\s*$", code[max(0, opening - 20) : opening]):
                opening = code.find("{", self.source.closing(opening))
            else:
                break
        return opening

    def _expression(self, at: int) -> Variable:
        around = self.source.around(at)
        if around is not None and self.source.code.endswith(
            ("|", "|&", "|&&"), 0, around.start
        ):  # parts of a parameter
            around = self.source.around(around.start)
        line = self.source.line_of(at)
        ends = self.source.starts[line] if line < len(self.source.starts) else len(self.source.text)
        arrow = self.source.code.find(">", at) + 1
        opening = after_space(self.source.code, arrow)
        if arrow and opening - at < 40 and self.source.code[opening : opening + 1] == "{":
            return Variable(Span(at, self.source.closing(opening)), at, "parameter")
        return Variable(
            Span(at - 60 if self.rules.scopes == "indent" else at, around.end if around else ends), at, "parameter"
        )

    def _generic(self, at: int) -> Variable:
        symbol = self.symbol_at(at, TYPES | CALLABLE)
        return Variable(self.span(symbol) if symbol else self.source.around(at) or self.whole, at, "generic")

    def quoted_positions(self, name: str) -> Iterator[int]:
        """Where a name stands in a string that is a type."""
        text, at = self.source.text, self.source.text.find(name)
        while at >= 0:
            opening = _QUOTED_BEFORE.search(text, max(0, at - _QUOTED_WITHIN), at)
            if opening is not None and self._is_type_text(opening, at + len(name)):
                yield at
            at = text.find(name, at + len(name))

    def _is_type_text(self, opening: re.Match[str], end: int) -> bool:
        text, before = self.source.text, self.source.text[max(0, opening.start() - _QUOTED_WITHIN) : opening.start()]
        after = _QUOTED_AFTER.match(text, end)
        return after is not None and after[1] == opening[1] and self.compiled.before_quoted.search(before) is not None

    def declares(self, position: int) -> bool:
        """Whether the word before a name makes it a definition."""
        pattern = self.compiled.declares
        return pattern is not None and pattern.search(self.source.code, max(0, position - 20), position) is not None

    def is_macro(self, name: str, position: int) -> bool:
        """Whether a name is followed by what makes it a macro's, and not by an inequality."""
        code, end = self.source.code, position + len(name)
        return code.startswith(self.rules.macros, end) and not code.startswith("=", end + len(self.rules.macros))

    def is_key(self, name: str, position: int) -> bool:
        """Whether a name only labels a value here."""
        end = position + len(name)
        if self.source.text.startswith(_USED_AS_VALUE, end):  # most uses, and no need to blank the file's strings
            return False
        code = self.source.code
        if self.compiled.keys.match(code, end) is None:
            return False
        brackets = self.source.around(position)
        if brackets is None or code[brackets.start] not in self.rules.key_brackets:
            return False
        before = code[max(0, position - 200) : position].rstrip()
        return before.endswith((",", "{", "(", ";")) or "\n" in code[len(before) + max(0, position - 200) : position]


def _origin(begins: list[tuple[int, int]], at: int) -> int:
    joined, start = begins[bisect_right(begins, (at, sys.maxsize)) - 1]
    return start + at - joined


def _after_word(code: str, at: int) -> int:
    while at < len(code) and (code[at].isalnum() or code[at] in "_$"):
        at += 1
    return after_space(code, at)
