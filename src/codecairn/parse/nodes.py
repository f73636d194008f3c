"""Reading the nodes of a syntax tree: their text, the names in it, and where the grammar failed."""

from __future__ import annotations

from typing import Any, NamedTuple

from codecairn.parse.language import Language

_MISSING_COSTS = 40
"""Bytes. A token that should be there is none, and the line around it is read wrongly."""


class Errors(NamedTuple):
    stretches: int
    line: int
    """Of the first, or 0."""
    share: float
    """How much of the text could not be read."""


def errors_in(root: Any) -> Errors:
    """The stretches the grammar could not read; found by descending only where there is one."""
    if not root.has_error:
        return Errors(0, 0, 0.0)
    lines, lost, nodes = [], 0, [root]
    while nodes:
        node = nodes.pop()
        if node.is_error or node.is_missing:
            lines.append(node.start_point[0] + 1)
            lost += max(node.end_byte - node.start_byte, _MISSING_COSTS)
        elif node.has_error:
            nodes += node.children
    return Errors(len(lines), min(lines, default=0), min(1.0, lost / max(root.end_byte, 1)))


def text_of(node: Any, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def name_of(node: Any, source: bytes) -> str:
    """As written, less the quotes or the colon of a name given as a literal or a key."""
    return name_in(text_of(node, source))


def name_in(text: str) -> str:
    if text[:1] in "\"'`" or (text[:1] == "<" and text[1:2].isalnum()):
        return unquote(text)
    if text[-1] in ": " and text[0].isalpha():
        return text.rstrip(": ")
    return text[1:] if text[0] == ":" and text[1:2].isidentifier() else text


def path_and_name(node: Any, language: Language, source: bytes) -> tuple[str, str]:
    """What is before the last separator, and the rest, where the grammar has a whole path as one token."""
    name = name_of(node, source)
    if not language.data.paths or node.type not in language.data.paths:
        return "", name
    prefix, _, last = name.rpartition(language.data.separator)
    return prefix, last


def first_text(captures: Any, name: str, source: bytes) -> str:
    nodes = captures.get(name)
    return text_of(nodes[0], source) if nodes else ""


def unquote(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'`" else text.strip("<>")
