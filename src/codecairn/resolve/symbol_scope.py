"""One file's definitions and imports, by name and by place, and how names are written in its language."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property

from codecairn.parse.facts import Import, Site, TypeBinding
from codecairn.parse.kinds import CALLABLE, HOLDERS, TYPES
from codecairn.parse.language import languages
from codecairn.parse.name_rules import NameRules
from codecairn.resolve.rules import CompiledRules, rules_of
from codecairn.resolve.source import SourceText, Span
from codecairn.resolve.values import by_key
from codecairn.store.file_version import LinkTable, SymbolRow
from codecairn.store.view import FileRow

_MODULES = frozenset({"module"})


class SymbolScope:
    """The symbols, imports and types of a file."""

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
        last = found[-1] if found else ""
        return last if isinstance(last, str) else next(filter(None, last), "")

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

    def indent(self, position: int) -> int:
        """How far the line is set in, where that tells which block it is in; 0 where brackets do."""
        if self.rules.scopes != "indent":
            return 0
        start = self.source.starts[self.source.line_of(position) - 1]
        return after_space(self.source.code, start) - start

    def body(self, symbol: SymbolRow) -> Span:
        """A definition less its head: its decorators, parameters and result."""
        code, start = self.source.code, self.source.position(symbol.name_line, 0)
        opening = code.find("(", start)
        closing = self.source.closing(opening) if opening >= 0 else start
        return Span(max(code.find(":", closing), closing), self.span(symbol).end)

    def name_at(self, symbol: SymbolRow) -> int:
        """Where a definition's name stands: in the text, if its line has it once, as blanking a file takes longer."""
        start = self.source.position(symbol.name_line, 0)
        only = self.source.only_mention(symbol.name, start, self.source.position(symbol.name_line + 1, 0))
        if only >= 0:
            return only
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


def after_space(code: str, at: int) -> int:
    while at < len(code) and code[at] in " \t\r\n":
        at += 1
    return at


def _folder_name(module: str) -> str:
    """The name a path is imported under: its last part, less a version."""
    parts = module.split("/")
    name = parts[-2] if len(parts) > 1 and re.fullmatch(r"v\d+", parts[-1]) else parts[-1]
    return name.split(".")[0].removeprefix("go-")
