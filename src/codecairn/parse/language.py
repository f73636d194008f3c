"""Languages, each one TOML file in `languages/`; no other file names one.

    name          the language, as answers spell it; `title` as people write it, `aliases` other names they give it
    like          another language: what is not said here is as there, but for how it is known (`title`, `aliases`,
                  `filenames`, `shebangs`, `shared`), and the queries here come before those there
    family        languages of one family see each other's names
    extensions    file endings without the dot; `filenames` whole names; `shebangs` interpreters
    fences        what a code fence calls it where that is not the name, by ending
    test_files    globs of the files that test others; `entry_files` of those a program starts in. A glob is of the
                  file's name, or of the end of its path where it has a slash
    [shared]      endings that are another language's unless the text matches the expression given here
    grammar       "python_module:function" of the tree-sitter grammar
    separator     what joins the parts of a qualified name; `member_separator` before a method, `static_separator`
                  before a definition with @static, where they differ
    wrappers      node types that belong to the definition they hold (decorators, `export`, `template<…>`); `heads`
                  those of them whose own text is part of the signature (`template<…>`)
    between       node types between a doc comment and its definition (attributes): in its extent, not its signature
    comments      node types of comments; a run of them directly above a definition is its doc
    markers       comment markers to take off a doc, longest first; `closers` those that end a comment
    tagged        true where docs are written in XML: its tags are taken off, what they refer to is kept
    apart         how a comment begins that is a doc even with a blank line below it
    sigils        what a name may begin with besides a letter
    paths         node types that spell a whole path: its last part is the name
    clauses       true where one function is written as several definitions in a row: they are one symbol
    [module]      how a path is a module: `separator`, `index` (stems that stand for their folder), `roots` (leading
                  folders left out), `source` (the folder under a package's own that its files lie in: what is before
                  the two is left out), `dash` (what a dash is written as), `unit` ("file", "folder" where a whole
                  folder is one module, "top" where the first folder is, or "none" where files take no part in names)
    definitions   a tree-sitter query, see below
    references    a tree-sitter query
    noise         expressions whose groups the grammar cannot read (attribute macros): it is given blanks instead
    within        an expression whose group is the only code in a file of another form (the script blocks of a page):
                  the rest is blank to the grammar, but for the code in its markup where `template` says how that is
                  written ("attributes" or "braces", see templates.py)
    embedded      a tree-sitter query for @embedded: bracketed stretches the grammar leaves as bare tokens (the items
                  handed to a macro), read once more as code of their own

In `definitions` a pattern captures the whole definition as @function, @method, @class, @struct, @interface, @trait,
@enum, @type, @const, @var, @field or @module, its name as @name, and may capture @body (the signature ends there, or
leaves it out where the name comes after; one that stands after the definition ends it), @returns, and @owner (the type
a method belongs to, where it stands outside it; several are joined). A container that is no symbol of its own but names
what it holds (`impl T`, `extension T`) is @scope with @name, or without where it only makes what it holds members (an
anonymous type); with @body its name refers to a type, and what that extends or implements is told before. Where two
patterns capture one name (or one binding) the pattern written first wins; a name that an earlier @import pattern brings
in is no definition. Further patterns: @package (where the unit is a folder it names only files at the top; several in
one match are joined; with @scope it is one block of it, and a file with blocks of several packages has them as scopes);
@import with @module (several in one match are joined) and optionally @imported, @alias, @wildcard, @exported, where
`(#set! imported "default")` or `(#set! alias "default")` says what no node spells, and without @module the file exports
a name of its own under another; @binding with @of (its type) or @made (what constructs it); @documented with @doc where
the doc stands inside; @local, a stretch without a name whose variables are no symbols (an anonymous function, a loop);
@itself, an owner that stands for the module and is no part of names. A definition may also capture @prototype (it is
none where the file has the function itself), @static (it belongs to its owner itself, not to instances) and @parameters
(whose count tells apart the clauses of different functions), or @declared (no function, only the types of the one whose
first clause follows).

In `references` the name node itself is captured: @calls, @imports, @implements, @extends or @references. A node
captured twice is what comes first in that list; names of definitions are left out. @applied is a call where a bracket
follows the name, among bare tokens; @ignored is no reference at all.

`[resolve]` holds the rules by which a name is bound to its definition; name_rules.py describes its keys.
"""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from codecairn.parse.name_rules import NameRules

if TYPE_CHECKING:
    from codecairn.parse.facts_query import FactsQuery


class ModuleRule(Struct, frozen=True, forbid_unknown_fields=True):
    separator: str = "."
    index: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    source: str = ""
    dash: str = "-"
    unit: Literal["file", "folder", "top", "none"] = "file"


class Extraction(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys that decide on the facts of a file."""

    name: str
    extensions: tuple[str, ...]
    grammar: str
    definitions: str
    references: str
    noise: tuple[str, ...] = ()
    within: str = ""
    template: Literal["", "attributes", "braces"] = ""
    embedded: str = ""
    separator: str = "."
    member_separator: str = ""
    static_separator: str = ""
    clauses: bool = False
    paths: frozenset[str] = frozenset()
    filenames: tuple[str, ...] = ()
    shebangs: tuple[str, ...] = ()
    shared: dict[str, str] = {}
    wrappers: frozenset[str] = frozenset()
    heads: frozenset[str] = frozenset()
    between: frozenset[str] = frozenset()
    comments: frozenset[str] = frozenset({"comment"})
    markers: tuple[str, ...] = ()
    closers: tuple[str, ...] = ("*/",)
    tagged: bool = False
    apart: tuple[str, ...] = ()
    sigils: str = "$@"
    module: ModuleRule = ModuleRule()


class LanguageData(Extraction, frozen=True, forbid_unknown_fields=True):
    title: str = ""
    aliases: tuple[str, ...] = ()
    family: str = ""
    fences: dict[str, str] = {}
    test_files: tuple[str, ...] = ()
    entry_files: tuple[str, ...] = ()
    resolve: NameRules = NameRules()


_NOT_NEWLINE = re.compile(rb"[^\n]")


class Language:
    """A language's data with its grammar loaded and its queries compiled, on first use."""

    def __init__(self, data: LanguageData) -> None:
        self.data = data

    @cached_property
    def _grammar(self) -> Any:
        from tree_sitter import Language as Grammar  # noqa: PLC0415 - only workers parse

        module, _, function = self.data.grammar.partition(":")
        return Grammar(getattr(importlib.import_module(module), function or "language")())

    def parser(self) -> Any:
        """A parser of the caller's own: two threads in one end the process, and to make one takes a microsecond.

        Queries are shared: one that is made is never changed, each use of it has a cursor of its own.
        """
        from tree_sitter import Parser  # noqa: PLC0415

        return Parser(self._grammar)

    def _query(self, text: str) -> Any:
        from tree_sitter import Query  # noqa: PLC0415

        return Query(self._grammar, text)

    @cached_property
    def definitions(self) -> FactsQuery:
        return self._facts_query(self.data.definitions)

    @cached_property
    def facts(self) -> FactsQuery:
        """Definitions and references."""
        return self._facts_query(self.data.definitions, self.data.references)

    def _facts_query(self, definitions: str, references: str = "") -> FactsQuery:
        from codecairn.parse.facts_query import FactsQuery  # noqa: PLC0415 - only workers parse

        text = f"{definitions}\n{references}"
        return FactsQuery(self._query(text), text.encode(), len(definitions.encode()))

    @cached_property
    def embedded_query(self) -> Any:
        return self._query(self.data.embedded) if self.data.embedded else None

    @cached_property
    def line_marks(self) -> tuple[bytes, ...]:
        """How a line of comment may begin."""
        return tuple(marker.encode() for marker in self.data.markers)

    @cached_property
    def _noise(self) -> list[re.Pattern[bytes]]:
        return [re.compile(each.encode(), re.VERBOSE) for each in self.data.noise]

    @cached_property
    def _within(self) -> re.Pattern[bytes]:
        return re.compile(self.data.within.encode(), re.VERBOSE | re.IGNORECASE)

    def code(self, source: bytes) -> bytes:
        """The source with blanks for what is no code of the language, every byte and line in its place."""
        if not self.data.within:
            return source
        from codecairn.parse.templates import template_code  # noqa: PLC0415 - for pages alone

        kind = self.data.template
        around = template_code(source, kind) if kind else _NOT_NEWLINE.sub(b" ", source)
        parts, end = list[bytes](), 0
        for match in self._within.finditer(source):
            parts += around[end : match.start(1)], match[1]
            end = match.end(1)
        return b"".join([*parts, around[end:]])

    def readable(self, source: bytes) -> bytes:
        """The source as the grammar is to read it, every byte in its place."""
        source = self.code(source)
        spans = [
            match.span(match.lastindex)
            for expression in self._noise
            for match in expression.finditer(source)
            if match.lastindex is not None
        ]
        if not spans:
            return source
        blanked = bytearray(source)
        for start, end in spans:
            blanked[start:end] = b" " * (end - start)
        return bytes(blanked)

    def parser_within(self, node: Any) -> Any:
        """A parser of what a node's brackets hold, with positions as in the file."""
        from tree_sitter import Parser, Range  # noqa: PLC0415

        (first, left), (last, right) = node.start_point, node.end_point
        # Plain tuples: a Range made of Points (tree-sitter 0.26.0) frees them while they are in use.
        part = Range((first, left + 1), (last, right - 1), node.start_byte + 1, node.end_byte - 1)
        return Parser(self._grammar, included_ranges=[part])

    def module_path(self, path: str, package: str) -> str:
        """The module a file is, as its language writes it."""
        rule = self.data.module
        if package and (rule.unit != "folder" or "/" not in path):
            return package
        if rule.unit == "none":
            return ""
        parts = list(PurePosixPath(path).with_suffix("").parts)
        if rule.unit == "folder" or (parts and parts[-1] in rule.index):
            parts = parts[:-1]
        if rule.source in parts:
            at = parts.index(rule.source)
            parts = parts[max(at - 1, 0) : at] + parts[at + 1 :]
        for root in rule.roots:
            if parts and parts[0] == root:
                parts = parts[1:]
                break
        if rule.unit == "top":
            parts = parts[:-1][:1]
        return rule.separator.join(parts).replace("-", rule.dash)


msgspec.json.Decoder(LanguageData)  # takes the type apart here and now: two threads that did so at once would crash


class _Languages(Mapping[str, Language]):
    """Languages by name, each taken apart when it is first asked for: a search shows one or two of them."""

    def __getitem__(self, name: str) -> Language:
        return _language(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_texts())

    def __len__(self) -> int:
        return len(_texts())

    def __contains__(self, name: object) -> bool:
        return name in _texts()


_LANGUAGES = _Languages()


def languages() -> Mapping[str, Language]:
    return _LANGUAGES


def globs_of(key: Literal["test_files", "entry_files"]) -> Iterator[str]:
    """What every language says under a key, without taking the rest of it apart."""
    stated = re.compile(rf"^{key} = \[(?:.*\]$|\n(?: .*\n)*\]$)", re.MULTILINE)
    for text in _texts().values():
        for statement in stated.findall(text):
            yield from tomllib.loads(statement)[key]


@cache
def _texts() -> dict[str, str]:
    files = sorted(Path(__file__).with_name("languages").glob("*.toml"))
    return {file.stem: file.read_text(encoding="utf-8") for file in files}


@cache
def _language(name: str) -> Language:
    return Language(msgspec.convert(_whole(_table(name)), LanguageData))


@cache
def _table(name: str) -> dict[str, Any]:
    table = tomllib.loads(_texts()[name])
    if model := table.get("resolve", {}).pop("like", None):
        table["resolve"] = _table(model)["resolve"] | table["resolve"]
    return table


def _whole(table: dict[str, Any]) -> dict[str, Any]:
    if "like" not in table:
        return table
    model = {key: value for key, value in _table(table["like"]).items() if key not in _ITS_OWN}
    queries = {each: table.get(each, "") + model[each] for each in ("definitions", "references")}
    return {key: value for key, value in (model | table | queries).items() if key != "like"}


_ITS_OWN = frozenset({"title", "aliases", "filenames", "shebangs", "shared"})


@cache
def _by(key: Literal["extensions", "filenames", "shebangs"]) -> dict[str, str]:
    """The languages' names by what their files are known by."""
    return {claim: name for name, each in languages().items() for claim in getattr(each.data, key)}


@cache
def _by_text() -> dict[str, list[tuple[str, re.Pattern[bytes]]]]:
    claims: dict[str, list[tuple[str, re.Pattern[bytes]]]] = {}
    for name, each in languages().items():
        for ending, expression in each.data.shared.items():
            claims.setdefault(ending, []).append((name, re.compile(expression.encode(), re.MULTILINE | re.VERBOSE)))
    return claims


def language_of(path: str, head: bytes = b"") -> Language | None:
    """By the file's name, its ending, its text where two languages share an ending, or the program it names first."""
    name = path.rpartition("/")[2] or PurePosixPath(path).name
    ending = name.rsplit(".", 1)[-1] if "." in name else ""
    found = next((each for each, expression in _by_text().get(ending, ()) if expression.search(head)), None)
    found = found or _by("filenames").get(name) or _by("extensions").get(ending)
    if found is None and head.startswith(b"#!"):
        words = head.split(b"\n", 1)[0][2:].decode("utf-8", "replace").replace("/", " ").split()
        programs = [word.rstrip("0123456789.") for word in words if word != "env" and not word.startswith("-")]
        found = next(filter(None, map(_by("shebangs").get, reversed(programs))), None)
    return languages()[found] if found else None


def family(name: str) -> str:
    """The family of a language by its name; it is its own where it says none."""
    language = languages().get(name)
    return (language.data.family if language else "") or name
