"""Where a definition begins and ends, and the doc that belongs to it."""

from __future__ import annotations

import re
from typing import Any

from codecairn.parse.deadline import Deadline
from codecairn.parse.definitions import QueryFacts, RawDefinition
from codecairn.parse.language import Language
from codecairn.parse.nodes import text_of

_LONGEST_DOC = 4000
_TAG = re.compile(r"""</?\w+(?:\s+(?:cref|name|langword|href)="([^"]*)")?[^<>]*>""")


def settle_extents(found: QueryFacts, language: Language, source: bytes, deadline: Deadline) -> list[RawDefinition]:
    """Definitions with their true extent and doc, outermost first; one per name where a name is assigned repeatedly."""
    for each in found.definitions:
        deadline.check()
        if found.itself:
            each.owner = f"{each.owner}.".removeprefix(f"{found.itself}.").rstrip(".")
        outer = each.node
        while outer.child_count and (around := outer.parent) is not None and around.type in language.data.wrappers:
            outer = around
        first = _first_attribute(outer, language)
        inside = found.docs.get(each.start)
        last = _last_part(
            each.body if each.body and each.body.start_byte >= outer.end_byte else outer, language, source
        )
        each.start, each.end = first.start_byte, last.end_byte
        each.start_line, each.end_line = first.start_point[0] + 1, _end_line(last)
        told, each.above = _doc_above(outer, language, source)
        each.doc = _clean_doc(told if inside is None else inside, language)
    found.definitions.sort(key=lambda each: (each.start, -each.end, each.name_start))
    return found.definitions


def _first_attribute(node: Any, language: Language) -> Any:
    """Where a definition begins: at what stands before it and belongs to it."""
    between = language.data.between
    while between and (above := node.prev_sibling) is not None and above.type in between:
        node = above
    return node


def join_clauses(definitions: list[RawDefinition], language: Language) -> list[RawDefinition]:
    """Clauses of one function that follow each other are one definition, told by the first of them."""
    if not language.data.clauses:
        return definitions
    kept: list[RawDefinition] = []
    last: dict[int, tuple[RawDefinition, Any]] = {}
    for each in definitions:
        parent = each.node.parent
        first, node = last.get(parent.id, (each, None)) if parent else (each, None)
        if node and (first.name, first.arity) == (each.name, each.arity) and _follows(each.node, node, language):
            first.end, first.end_line = each.end, each.end_line
            if first.is_declared:
                first.node, first.body, first.name_line = each.node, each.body, each.name_line
                first.is_declared = each.is_declared
        else:
            first = each
            kept.append(each)
        if parent:
            last[parent.id] = (first, each.node)
    return [each for each in kept if not each.is_declared]


def _follows(node: Any, earlier: Any, language: Language) -> bool:
    skipped = language.data.comments | language.data.between
    above = node.prev_named_sibling
    while above is not None and above.type in skipped and above != earlier:
        above = above.prev_named_sibling
    return bool(above == earlier)


def _last_part(node: Any, language: Language, source: bytes) -> Any:
    """What a definition ends with: an indented block may reach over comments to where the next thing begins."""
    if not source[node.end_byte - 1 : node.end_byte].isspace():
        return node
    while parts := [each for each in node.children if each.end_byte > each.start_byte]:
        kept = [each for each in parts if each.type not in language.data.comments]
        if not kept:
            break
        node = kept[-1]
    return node


def _end_line(node: Any) -> int:
    row, column = node.end_point
    return int(row) + (1 if column or row == node.start_point[0] else 0)


def _doc_above(node: Any, language: Language, source: bytes) -> tuple[str, int]:
    """The comment above a definition and the line it begins on."""
    data, lines = language.data, list[str]()
    if not data.apart and _stands_apart(node.start_byte, source, language.line_marks):
        return "", 0
    above, below_row = node.prev_sibling, node.start_point[0]
    while above is None and node.parent is not None and node.parent.start_byte == node.start_byte:
        node = node.parent  # the first of a block: what is written above it stands above the block
        above = node.prev_sibling
    if above is not None and above.type not in data.comments and above.child_count:
        last = above.child(above.child_count - 1)
        if last.type in data.comments and last.start_point[1] == node.start_point[1]:
            above = last  # or at the end of the block before it
    if above is not None and above.end_byte == node.start_byte:
        above = _last_comment(above, language)
    while above is not None and (above.type in data.comments or above.type in data.between):
        apart = 2 if not lines and data.apart and text_of(above, source).startswith(data.apart) else 1
        if above.end_point[0] + apart < below_row or (above.end_point[0] == below_row and above.end_point[1]):
            break
        if above.type in data.comments:
            if not _starts_line(above, source):
                break
            lines.append(text_of(above, source))
        below_row = above.start_point[0]
        above = above.prev_sibling
    return "\n".join(reversed(lines)), below_row + 1 if lines else 0


def _stands_apart(start: int, source: bytes, marks: tuple[bytes, ...]) -> bool:
    """Whether the line before is blank, and the one before that no comment, which may count the blank as its end."""
    end = source.rfind(b"\n", 0, start)
    above = source.rfind(b"\n", 0, end) if end > 0 else -1
    if source[above + 1 : max(end, 0)].strip():
        return False
    before = source[source.rfind(b"\n", 0, above) + 1 : above].strip() if above > 0 else b""
    return not before.startswith(marks)


def _last_comment(node: Any, language: Language) -> Any:
    """The comment that ends a block reaching to where the next thing begins, which it is the doc of; else the node."""
    inner = node
    while inner.child_count and inner.type not in language.data.comments:
        inner = next((each for each in reversed(inner.children) if each.end_byte > each.start_byte), None)
        if inner is None:
            return node
    return inner if inner.type in language.data.comments else node


def _starts_line(node: Any, source: bytes) -> bool:
    start = source.rfind(b"\n", 0, node.start_byte) + 1
    return not source[start : node.start_byte].strip()


def _clean_doc(doc: str, language: Language) -> str:
    text = doc.strip()
    if not text:
        return ""
    kept = []
    for line in text.splitlines():
        bare = line.strip()
        for marker in language.data.markers:
            if bare.startswith(marker):
                bare = bare[len(marker) :]
                break
        bare = bare.strip()
        for closer in language.data.closers:
            bare = bare.removesuffix(closer)
        kept.append(bare.rstrip())
    joined = "\n".join(kept).strip()
    if language.data.tagged:
        joined = _TAG.sub(r"\1", joined).strip()
    for quote in ('"""', "'''", '"', "'"):
        if joined.startswith(quote) and joined.endswith(quote) and len(joined) >= 2 * len(quote):
            joined = joined[len(quote) : -len(quote)].strip()
            break
    return joined[:_LONGEST_DOC]
