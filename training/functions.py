"""The functions of a file with what their documentation tells, found by the extractor the index itself uses."""

from __future__ import annotations

import re
import textwrap
from hashlib import blake2b

from msgspec import Struct

from codecairn.parse.deadline import Deadline, SlowParse
from codecairn.parse.definitions import definitions_in, without_locals
from codecairn.parse.extents import join_clauses, settle_extents
from codecairn.parse.facts import Symbol
from codecairn.parse.kinds import CALLABLE, TYPES
from codecairn.parse.language import Language
from codecairn.parse.symbols import symbols_of
from codecairn.words import identifiers
from training.prose import told

LONGEST_CODE = 1500
SHORTEST_LINES, MOST_LINES = 3, 80
_SECONDS = 20.0
_TIMED = 60_000
"""Bytes. Asking for the time took a third of reading the smaller files."""
_DOCSTRING = re.compile(
    r"""\A((?:[^\"'#\n]|\#[^\n]*\n|\n|'[^'\n]*'|\"[^\"\n]+\")*?:[ \t]*(?:\#[^\n]*)?\n)
    \s*[rRuUbB]*(\"\"\"|'''|\"|').*?\2[ \t]*;?\n""",
    re.DOTALL | re.VERBOSE,
)
_ELIXIR_DOC = re.compile(r"^\s*@(?:doc|since|spec)\b(?:\s+~?\w?\"\"\".*?\"\"\"|[^\n]*)\n", re.DOTALL | re.MULTILINE)


class Item(Struct, frozen=True):
    name: str
    kind: str
    doc: str
    code: str


def definitions_of(language: Language, source: bytes) -> list[Symbol]:
    """The symbols alone: half of what the whole extraction takes."""
    deadline = Deadline(_SECONDS if len(source) > _TIMED else None)
    roots = [deadline.parse(language.parser(), language.readable(source))]
    found = definitions_in(language, roots, source)
    found.definitions = without_locals(found.definitions)
    definitions = join_clauses(settle_extents(found, language, source, deadline), language)
    return symbols_of(definitions, language, source, deadline)[0]


def items_of(language: Language, source: bytes) -> list[Item]:
    """The functions and the types of a file, in its order."""
    try:
        symbols = definitions_of(language, source)
    except (SlowParse, RecursionError):
        return []
    return [_item(each, language.data.name, source) for each in symbols if _is_wanted(each)]


def _is_wanted(symbol: Symbol) -> bool:
    lines = symbol.end_line - symbol.start_line + 1
    if symbol.kind in CALLABLE:
        return SHORTEST_LINES <= lines <= MOST_LINES
    return symbol.kind in TYPES and lines >= SHORTEST_LINES


def _item(symbol: Symbol, language: str, source: bytes) -> Item:
    doc = told(symbol.doc) if symbol.doc and symbol.kind in CALLABLE else ""
    return Item(symbol.name, symbol.kind, doc, code_of(symbol, language, source))


def code_of(symbol: Symbol, language: str, source: bytes) -> str:
    """A definition's text without the documentation in it, all of it as far left as it goes."""
    start = source.rfind(b"\n", 0, symbol.start_byte) + 1
    if source[start : symbol.start_byte].strip():
        start = symbol.start_byte
    end = min(symbol.end_byte, start + 6 * LONGEST_CODE)
    text = textwrap.dedent(source[start:end].decode("utf-8", "replace").replace("\r\n", "\n"))
    if language == "python" and symbol.doc:
        text = _DOCSTRING.sub(r"\1", text, count=1)
    if language == "elixir":
        text = _ELIXIR_DOC.sub("", text)
    return text[:LONGEST_CODE].rstrip()


def digest(text: str) -> int:
    """Equal for texts of the same identifiers and numbers in the same order."""
    return int.from_bytes(blake2b(" ".join(identifiers(text)).lower().encode(), digest_size=8).digest())
