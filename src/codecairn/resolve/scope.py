"""One file as names are looked up in it: its definitions, what it imports, and the variables that hide them."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Literal, NamedTuple

from codecairn.parse.facts import Import, Site, TypeBinding
from codecairn.parse.kinds import CALLABLE, HOLDERS, TYPES
from codecairn.parse.language import languages
from codecairn.parse.name_rules import NameRules
from codecairn.resolve.rules import CompiledRules, rules_of
from codecairn.resolve.source import SourceText, Span
from codecairn.resolve.values import by_key
from codecairn.store.file_version import LinkTable, SymbolRow
from codecairn.store.view import FileRow

_CONTROL = re.compile(r"\b(?:if|for|while|switch|return|with|in|else|await|typeof|case|throw)\s*$")
_QUOTED_BEFORE = re.compile(r"([\"'])(?:[\w. |,\[\]]*[. |,\[\]])?$")
_QUOTED_AFTER = re.compile(r"(?!\w)[\w. |,\[\]]*([\"'])")
_QUOTED_WITHIN = 120
_MODULES = frozenset({"module"})
_BODY = re.compile(r"\s*(?:\??:[^={;]*?)?\s*(?:=>|\{|->)")


class Variable(NamedTuple):
    """A local name: where it is declared and how far it reaches."""

    span: Span
    position: int
    kind: Literal["block", "parameter", "generic"]


class FileScope:
    def __init__(self, row: FileRow, symbols: list[SymbolRow], links: LinkTable, text: str) -> None:
        self.row = row
        self.symbols = symbols
        self.compiled: CompiledRules = rules_of(row.language)
        self.rules: NameRules = self.compiled.rules
        language = languages().get(row.language)
        if language is not None and language.data.within:
            text = language.code(text.encode("utf-8", "replace")).decode("utf-8", "replace")
        self.source = SourceText(
            text, self.compiled.opaque, self.compiled.word, self.rules.separators, self.rules.sigils, self.rules.ends
        )
        self._links = links
        self.all_imports = links.imports
        self._variables: dict[str, list[Variable]] = {}
        self._blocks: dict[int, Span] = {}
        self._by_line: dict[frozenset[str], list[SymbolRow | None]] = {}

    @cached_property
    def separator(self) -> str:
        language = languages().get(self.row.language)
        return language.data.separator if language else "."

    @cached_property
    def _has_clauses(self) -> bool:
        """Whether the head of a function may stand in it again, for another clause."""
        language = languages().get(self.row.language)
        return language is not None and language.data.clauses

    def sites(self, name: str) -> list[Site]:
        return [site for site in self._links.sites() if site.name == name]

    def site_at(self, name: str, position: int) -> Site:
        """A name in the code as a use of it, read without the grammar."""
        line, around = self.source.line_of(position), self.symbol_at(position)
        is_clause = around is not None and around.name == name and self._has_clauses
        is_called = self.source.code.startswith("(", position + len(name)) and not is_clause
        has_receiver = self.source.has_separator_before(position)
        return Site(
            "calls" if is_called else "references", name, "()" if has_receiver else "", line,
            position - self.source.starts[line - 1], around.number if around else -1,
        )  # fmt: skip

    @cached_property
    def imports(self) -> dict[str, list[Import]]:
        """What is imported, by the name it has here."""
        return by_key(self.all_imports, lambda each: "*" if each.name == "*" else self.local_name(each))

    def imports_of(self, name: str) -> list[Import]:
        """The imports in which a name is written, whatever it is called here."""
        return [each for each in self.all_imports if name in (each.name, each.alias) or each.module.endswith(name)]

    @cached_property
    def wildcards(self) -> list[Import]:
        return self.imports.get("*", [])

    def path_from(self, position: int, names: list[str]) -> str:
        """A path as the file itself would write it that stands in a module inside the file."""
        inner = self.symbol_at(position, _MODULES)
        for _ in self.around(inner.number) if inner else ():
            if names[0] == "super":
                names = names[1:] if names[1:2] == ["super"] else ["self", *names[1:]]
        return "::".join(names)

    def passes_on(self, each: Import, name: str) -> bool:
        """Whether who imports this file has from it what it imports itself under a name."""
        return self.compiled.passed_on is None or each.exported or name in self._passed_on

    @cached_property
    def _passed_on(self) -> frozenset[str]:
        listed = self.compiled.passed_on.search(self.source.code) if self.compiled.passed_on else None
        return frozenset(self.compiled.word.findall(listed[0])) if listed else frozenset()

    def hides(self, each: Import, name: str) -> bool:
        """Whether an import of everything leaves a name out."""
        if self.compiled.hidden is None:
            return False
        left_out = self.compiled.hidden.match(self.source.code, self.source.position(each.line, 0))
        return left_out is not None and name in self.compiled.word.findall(left_out[1])

    def is_flat(self, symbol: SymbolRow) -> bool:
        """Whether a member is seen as what stands beside its type is."""
        if not self.rules.flat or symbol.parent < 0:
            return False
        parent = self.symbols[symbol.parent]
        return parent.kind == "class" or (parent.kind in TYPES and symbol.kind in ("const", "field"))

    @cached_property
    def made_wrappers(self) -> frozenset[tuple[str, ...]]:
        """How what makes a wrapper begins: it tells less of a variable than what is put into it."""
        return frozenset((each,) for each in self.rules.wrappers)

    def local_name(self, each: Import) -> str:
        if each.alias:
            return each.alias
        if each.name:
            return each.name
        if self.rules.imports == "folder":
            return _folder_name(each.module)
        return each.module.split(".")[0] if self.rules.imports == "dotted" else re.split(r"[./:\\]+", each.module)[-1]

    @cached_property
    def bindings(self) -> dict[str, list[TypeBinding]]:
        return by_key(self._links.bindings(), lambda each: each.name)

    @cached_property
    def symbols_by_name(self) -> dict[str, list[SymbolRow]]:
        return by_key(self.symbols, lambda each: each.name)

    def owner_path(self, symbol: SymbolRow) -> str:
        """The path of what a symbol is a member of; empty at the top."""
        return symbol.path[: len(symbol.path) - len(symbol.name)].rstrip(".:#/\\")

    @cached_property
    def types(self) -> dict[str, list[SymbolRow]]:
        return by_key((each for each in self.symbols if each.kind in HOLDERS), lambda each: each.path)

    @cached_property
    def supertypes(self) -> dict[int, list[Site]]:
        """What each type extends or implements."""
        heads = (site for site in self._links.sites() if site.kind in ("extends", "implements"))
        return by_key(heads, lambda site: site.symbol)

    @cached_property
    def returned(self) -> str:
        """The name that the file gives to who imports it."""
        found = self.compiled.returned.findall(self.source.code) if self.compiled.returned is not None else []
        return found[-1] if found else ""

    @cached_property
    def tests(self) -> dict[str, list[tuple[int, str]]]:
        """Tests of types, by the expression that is tested."""
        found: dict[str, list[tuple[int, str]]] = defaultdict(list)
        if self.compiled.narrowing is not None:
            for match in self.compiled.narrowing.finditer(self.source.code):
                found[match[1].replace("->", ".")].append((match.start(), match[2]))
        return found

    def may_see(self, name: str) -> bool:
        """Whether a bare name can mean anything but a variable or what is the language's own."""
        rules = self.rules
        return (
            name in self.symbols_by_name or name in self.imports or bool(self.wildcards) or rules.implicit_members
            or rules.shares != "file" or rules.flat or bool(rules.macros)
        )  # fmt: skip

    def suits(self, symbol: SymbolRow, wants: str) -> bool:
        """Whether a definition can be meant where a type, a value, or any is wanted."""
        if not self.rules.splits_types or wants == "any" or symbol.kind in ("class", "enum", "module"):
            return True
        return (symbol.kind in ("interface", "type")) == (wants == "type")

    def span(self, symbol: SymbolRow) -> Span:
        starts = self.source.starts
        end = starts[symbol.end_line] if symbol.end_line < len(starts) else len(self.source.text) + 1
        return Span(starts[symbol.start_line - 1], end)

    @cached_property
    def whole(self) -> Span:
        return Span(0, len(self.source.text) + 1)

    def around(self, symbol: int) -> list[SymbolRow]:
        """The symbol of this number and those around it, innermost first."""
        found = []
        while symbol >= 0:
            found.append(self.symbols[symbol])
            symbol = self.symbols[symbol].parent
        return found

    def symbol_at(self, position: int, kinds: frozenset[str] = CALLABLE) -> SymbolRow | None:
        line, innermost = self.source.line_of(position), self._innermost(kinds)
        return innermost[line] if line < len(innermost) else None

    def _innermost(self, kinds: frozenset[str]) -> list[SymbolRow | None]:
        """For each line the innermost symbol of some kinds around it; the first of several on the same lines."""
        if kinds not in self._by_line:
            found: list[SymbolRow | None] = [None] * (len(self.source.starts) + 1)
            outermost = sorted(self.symbols, key=lambda each: (each.start_line, -each.end_line, -each.number))
            for each in outermost:
                if each.kind in kinds:
                    found[each.start_line : each.end_line + 1] = [each] * (each.end_line + 1 - each.start_line)
            self._by_line[kinds] = found
        return self._by_line[kinds]

    # Local names.

    def variables(self, name: str) -> list[Variable]:
        if name not in self._variables:
            self._variables[name] = [*self._find_variables(name)]
        return self._variables[name]

    def _find_variables(self, name: str) -> list[Variable]:
        compiled = self.compiled
        if compiled.variable is not None and compiled.variable.match(name) is None:
            return []
        places = self.source.declarable(name)
        if not places:
            return []
        text, begins = self.source.mark(places, len(name), self.rules.reach)
        kinds: tuple[tuple[tuple[re.Pattern[str], ...], Callable[[int], Variable | None]], ...] = (
            (compiled.blocks, self._block), (compiled.parameters, self._parameter),
            (compiled.taken_apart, self._from_pattern), (compiled.expressions, self._expression),
            (compiled.generics, self._generic),
        )  # fmt: skip
        found = [declared(_origin(begins, at)) for patterns, declared in kinds for at in _positions(patterns, text)]
        fields = self._field_lines(name) if self.rules.implicit_members else ()
        return [each for each in found if each and each.span.size and self.source.line_of(each.position) not in fields]

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
        if found is None and self.rules.scopes == "functions" and (function := self.symbol_at(at)) is not None:
            return Variable(self.span(function), at, "parameter")
        return found

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
            behind = _after_space(code, closing + 1)
            if code[behind : behind + 1] == "{":  # what was read so far is the type of the result
                closing = self.source.closing(behind)
            return Variable(Span(brackets.start, closing), at, "parameter")
        opening = _after_space(code, body.end())
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
        line = self.source.line_of(at)
        ends = self.source.starts[line] if line < len(self.source.starts) else len(self.source.text)
        arrow = self.source.code.find(">", at) + 1
        opening = _after_space(self.source.code, arrow)
        if arrow and opening - at < 40 and self.source.code[opening : opening + 1] == "{":
            return Variable(Span(at, self.source.closing(opening)), at, "parameter")
        return Variable(
            Span(at - 60 if self.rules.scopes == "indent" else at, around.end if around else ends), at, "parameter"
        )

    def _generic(self, at: int) -> Variable:
        symbol = self.symbol_at(at, TYPES | CALLABLE)
        return Variable(self.span(symbol) if symbol else self.source.around(at) or self.whole, at, "generic")

    def indent(self, position: int) -> int:
        """How far the line is set in, where that tells which block it is in; 0 where brackets do."""
        if self.rules.scopes != "indent":
            return 0
        start = self.source.starts[self.source.line_of(position) - 1]
        return _after_space(self.source.code, start) - start

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

    def body(self, symbol: SymbolRow) -> Span:
        """A definition less its head: its decorators, parameters and result."""
        code, start = self.source.code, self.source.position(symbol.name_line, 0)
        opening = code.find("(", start)
        closing = self.source.closing(opening) if opening >= 0 else start
        return Span(max(code.find(":", closing), closing), self.span(symbol).end)

    def name_at(self, symbol: SymbolRow) -> int:
        """Where a definition's name stands."""
        start = self.source.position(symbol.name_line, 0)
        mark = self.rules.variable_mark
        found = self.source.word(symbol.name, start)
        if mark and (found < 0 or self.source.line_of(found) > symbol.name_line):
            found = self.source.word(mark + symbol.name, start)
        return start if found < 0 else found

    def block(self, symbol: SymbolRow) -> Span:
        """The braces a definition stands in, or the whole file."""
        if symbol.number not in self._blocks:
            found = self.source.around(self.name_at(symbol), "{") or self.whole
            self._blocks[symbol.number] = found
        return self._blocks[symbol.number]

    def is_macro(self, name: str, position: int) -> bool:
        """Whether a name is followed by what makes it a macro's, and not by an inequality."""
        code, end = self.source.code, position + len(name)
        return code.startswith(self.rules.macros, end) and not code.startswith("=", end + len(self.rules.macros))

    def is_key(self, name: str, position: int) -> bool:
        """Whether a name only labels a value here."""
        code, end = self.source.code, position + len(name)
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


def _positions(patterns: tuple[re.Pattern[str], ...], text: str) -> Iterator[int]:
    return (match.start("n") for pattern in patterns for match in pattern.finditer(text))


def _after_word(code: str, at: int) -> int:
    while at < len(code) and (code[at].isalnum() or code[at] in "_$"):
        at += 1
    return _after_space(code, at)


def _after_space(code: str, at: int) -> int:
    while at < len(code) and code[at] in " \t\r\n":
        at += 1
    return at


def _folder_name(module: str) -> str:
    """The name a path is imported under: its last part, less a version."""
    parts = module.split("/")
    name = parts[-2] if len(parts) > 1 and re.fullmatch(r"v\d+", parts[-1]) else parts[-1]
    return name.split(".")[0].removeprefix("go-")
