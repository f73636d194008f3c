"""Texts that are no code: Markdown and reStructuredText by their headings, any other by blocks between blank lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from codecairn.parse.chunks import LONGEST_REMAINDER
from codecairn.parse.facts import Chunk, FileFacts
from codecairn.parse.formats import documents
from codecairn.parse.lines import SourceLines

_SHORTEST = 40
"""Lines a block is filled up to before a blank line ends it."""


class Heading(NamedTuple):
    line: int
    last: int
    """Its last line: the underline, where it has one."""
    level: int
    title: str


def extract_text(path: str, source: bytes) -> FileFacts:
    """The chunks of a document, each with the headings it stands under, outermost first."""
    language = _format(path, source)
    text = SourceLines(source)
    lines = [line.rstrip() for line in source.decode("utf-8", "replace").split("\n")][: text.count]
    headings = {"markdown": _markdown_headings, "rst": _rst_headings}.get(language, lambda _: iter(()))(lines)
    parts = [
        (Chunk(start, end, -1), title)
        for first, last, title in _sections(list(headings), lines)
        for start, end in _blocks(first, last, lines)
    ]
    return FileFacts(
        language=language, package="", symbols=[], sites=[], imports=[], bindings=[],
        chunks=[chunk for chunk, _ in parts], lines=text.count, error_nodes=0, titles=[title for _, title in parts],
    )  # fmt: skip


def _format(path: str, source: bytes) -> str:
    ending = PurePosixPath(path).suffix[1:].lower()
    if ending in ("txt", "") and _DIRECTIVE.search(source):
        return "rst"
    return next((name for name, each in documents().items() if ending in each.extensions), "text")


_DIRECTIVE = re.compile(rb"^\.\. (?:[a-zA-Z][\w:-]*::|_[^:\n]+:)", re.MULTILINE)
"""What reStructuredText is known by where a file is only called text."""


def _sections(headings: list[Heading], lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """First and last line of each section, and its title; a heading with nothing under it is read with the next."""
    start, title = 1, ""
    path: list[Heading] = []
    for each in headings:
        is_bare = bool(path) and path[-1].level < each.level and not any(lines[path[-1].last : each.line - 1])
        if start < each.line and not is_bare:
            yield start, each.line - 1, title
            start = each.line
        path = [outer for outer in path if outer.level < each.level] + [each]
        title = " > ".join(outer.title for outer in path if outer.title)
    if start <= len(lines):
        yield start, len(lines), title


def _blocks(first: int, last: int, lines: list[str]) -> Iterator[tuple[int, int]]:
    while last - first + 1 > LONGEST_REMAINDER:
        window = range(first + LONGEST_REMAINDER, first + _SHORTEST, -1)
        cut = next((line for line in window if not lines[line - 2]), first + LONGEST_REMAINDER)
        yield first, cut - 1
        first = cut
    yield first, last


_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?")
_SETEXT = re.compile(r" {0,3}(=+|-+)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_NO_PARAGRAPH = re.compile(r" {4}|\t| {0,3}(?:[>|]|[-*+][ \t]|\d+[.)][ \t]|#{1,6}(?:[ \t]|$)|<!?/?[a-zA-Z-])")


def _markdown_headings(lines: list[str]) -> Iterator[Heading]:
    fence = ""
    paragraph = 0
    """The first line of the paragraph that a heading's underline would end, or 0."""
    for number, line in enumerate(lines[_front_matter(lines) :], _front_matter(lines) + 1):
        found = _FENCE.fullmatch(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence, paragraph = found[1], 0
        elif atx := _ATX.fullmatch(line):
            paragraph = 0
            yield Heading(number, number, len(atx[1]), _plain(atx[2] or ""))
        elif paragraph and (underline := _SETEXT.fullmatch(line)):
            title = " ".join(lines[paragraph - 1 : number - 1])
            yield Heading(paragraph, number, 1 if underline[1][0] == "=" else 2, _plain(title))
            paragraph = 0
        elif not line or (not paragraph and _NO_PARAGRAPH.match(line)):
            paragraph = 0
        else:
            paragraph = paragraph or number


def _front_matter(lines: list[str]) -> int:
    """How many lines of settings stand before the text, between two lines of dashes."""
    if not lines or lines[0] != "---":
        return 0
    return next((number for number, line in enumerate(lines[1:], 2) if line in ("---", "...")), 0)


_LONGEST_TITLE = 1_000
"""Characters of a heading that are looked at: the time goes with their square where brackets stay open."""


def _plain(title: str) -> str:
    """A title without the marks of links, code and emphasis."""
    text = re.sub(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", title[:_LONGEST_TITLE])
    return " ".join(re.sub(r"[`*]+|<[^>]*>|\{#[^}]*\}", "", text).split())


_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*")


def _rst_headings(lines: list[str]) -> Iterator[Heading]:
    """Titles are underlined, or between two lines; which character means which level, the text tells by its order."""
    styles: list[tuple[str, bool]] = []
    for number, line in enumerate(lines, 1):
        if number < 2 or not _ADORNMENT.fullmatch(line):
            continue
        title = lines[number - 2]
        before = lines[number - 3] if number > 2 else ""
        is_over = bool(_ADORNMENT.fullmatch(before)) and before == line
        is_title = bool(title.strip()) and not _ADORNMENT.fullmatch(title) and len(line) >= min(len(title.strip()), 4)
        if not is_title or (not is_over and (before or title[:1].isspace())):
            continue
        style = (line[0], is_over)
        if style not in styles:
            styles.append(style)
        yield Heading(number - 1 - is_over, number, styles.index(style) + 1, " ".join(title.replace("`", "").split()))
