"""Code as HTML: coloured by the grammar that reads it anyway, the words of a question marked, line by line.

The leaves of the syntax tree are told apart by their types, which grammars spell much alike (`string`, `comment`,
`type_identifier`; a keyword is a leaf without a name made of letters), so every language that is indexed is coloured
and none has a rule of its own. Measured on excerpts of thirty lines: 0.24 to 0.35 ms each, where Pygments took 0.9 to
1.2 ms and would be one more package.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from codecairn.page.visible import split_odd
from codecairn.parse.deadline import Deadline, SlowParse
from codecairn.parse.language import languages
from codecairn.words import query_words, stem

_LARGEST = 400_000
"""Bytes; more is shown without colours."""
_SECONDS = 0.5
_LONGEST_LINE = 2_000
_ATOMIC = re.compile(r"comment|string|char|rune|heredoc|template_literal|regex|quoted|sigil")
_CLASSES = [
    (re.compile(r"comment"), "co"),
    (re.compile(r"string|char|rune|heredoc|template_literal|regex|quoted|sigil"), "s"),
    (re.compile(r"integer|float|number|numeric|decimal|boolean|^(?:true|false|none|null|nil)(?:_literal)?$"), "n"),
    (re.compile(r"type_identifier|primitive_type|predefined_type|builtin_type|type_name"), "t"),
]
_DEFINES = re.compile(r"definition|declaration|declarator|_item$|^(?:class|method|module)$")
_PART = re.compile(rb"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_PLAIN = re.compile(rb"[\t !#-%(-;=?-~]{0,2000}")
"""Text that HTML shows as it is: most of what stands between two colours."""
_SHORTEST_WORD = 3
Mark = Callable[[bytes], list[tuple[int, int]]]
"""Finds what is to be marked in a source: where each begins and ends."""


class _Span(NamedTuple):
    start: int
    end: int
    look: str


class CodeLine(NamedTuple):
    number: int
    html: Markup


def code_lines(text: str, language: str, first: int = 1, mark: Mark | None = None) -> list[CodeLine]:
    """The lines of a text as HTML, numbered from the first."""
    source = text.encode("utf-8", "surrogatepass")
    marks = [_Span(*span, "m") for span in mark(source)] if mark else []
    pieces = _pieces(source, _colours(source, language), marks)
    lines = [list[str]()]
    for piece, look in pieces:
        here, *following = piece.split(b"\n")
        lines[-1].append(_html(here, look))
        lines += [[_html(each, look)] for each in following]
    if len(lines) > 1 and text.endswith("\n"):
        lines.pop()
    return [CodeLine(number, Markup("".join(parts))) for number, parts in enumerate(lines, first)]  # noqa: S704


def code_line(text: str, language: str, mark: Mark | None = None) -> Markup:
    """One line, such as a reference stands on."""
    return code_lines(text.replace("\n", " "), language, 1, mark)[0].html


def mark_query(query: str) -> Mark:
    """Marks the parts of identifiers that are words of a question, in whatever form, as the index tells words apart."""
    stems = {word for word in query_words(query) if len(word) >= _SHORTEST_WORD}
    known: dict[bytes, bool] = {}

    def is_asked(part: bytes) -> bool:
        if part not in known:
            known[part] = stem(part.decode().lower()) in stems
        return known[part]

    return lambda source: [found.span() for found in _PART.finditer(source) if is_asked(found.group())]


def mark_name(name: str) -> Mark:
    """Marks a name as it is."""
    pattern = re.compile(rb"(?<!\w)" + re.escape(name.encode("utf-8", "replace")) + rb"(?!\w)")
    return lambda source: [found.span() for found in pattern.finditer(source)]


def _colours(source: bytes, language: str) -> list[_Span]:
    known = languages().get(language)
    if known is None or len(source) > _LARGEST:
        return []
    try:
        root = Deadline(_SECONDS if len(source) > 32_000 else None).parse(known.parser(), known.readable(source))
    except SlowParse:
        return []
    return list(_leaves(root))


def _leaves(root: Any) -> Iterator[_Span]:
    cursor, around = root.walk(), [""]
    while True:
        node = cursor.node
        kind = node.type
        if not (node.is_named and _is_atomic(kind)) and cursor.goto_first_child():
            around.append(kind)
            continue
        look = _look(node, kind, cursor.field_name, around[-1])
        if look:
            yield _Span(node.start_byte, node.end_byte, look)
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            around.pop()


def _look(node: Any, kind: str, field: str | None, around: str) -> str:
    if not node.is_named:
        return "k" if kind.isalpha() else ""
    found = _class_of(kind)
    if found or "identifier" not in kind:
        return found
    if field == "name" and _defines(around):
        return "d"
    return "f" if "call" in around and field in ("function", "name", "method") else ""


# Grammars have a few hundred types of nodes, and a page has thousands of nodes.


@cache
def _is_atomic(kind: str) -> bool:
    return _ATOMIC.search(kind) is not None


@cache
def _defines(kind: str) -> bool:
    return _DEFINES.search(kind) is not None


@cache
def _class_of(kind: str) -> str:
    return next((look for pattern, look in _CLASSES if pattern.search(kind)), "")


def _pieces(source: bytes, colours: list[_Span], marks: list[_Span]) -> Iterator[tuple[bytes, str]]:
    """The source cut wherever a colour or a mark begins or ends, each piece with its looks."""
    edges = sorted({0, len(source), *(edge for each in (*colours, *marks) for edge in (each.start, each.end))})
    colour, mark = _At(colours), _At(marks)
    for start, end in pairwise(edges):
        look = colour.look(start)
        yield source[start:end], f"{look} m".lstrip() if marks and mark.look(start) else look
    if not source:
        yield b"", ""


class _At:
    """The span at a place, for places that come in order."""

    def __init__(self, spans: list[_Span]) -> None:
        self._spans = iter(spans)
        self._span = next(self._spans, None)

    def look(self, place: int) -> str:
        while self._span is not None and self._span.end <= place:
            self._span = next(self._spans, None)
        return self._span.look if self._span is not None and self._span.start <= place else ""


def _html(piece: bytes, look: str) -> str:
    plain = piece.decode("ascii") if _PLAIN.fullmatch(piece) else _escape(piece)
    if not look or not plain:
        return plain
    if look.endswith("m"):
        return f'<mark class="{look[:-2]}">{plain}</mark>' if len(look) > 1 else f"<mark>{plain}</mark>"
    return f'<b class="{look}">{plain}</b>'


def _escape(piece: bytes) -> str:
    text = piece.decode("utf-8", "replace").rstrip("\r")
    if len(text) > _LONGEST_LINE:
        text = f"{text[:_LONGEST_LINE]} … {len(text) - _LONGEST_LINE:,} more characters"
    return "".join(
        f'<i class="odd">{escape(part)}</i>' if at % 2 else str(escape(part)) for at, part in enumerate(split_odd(text))
    )
