"""Definitions as symbols: nesting from byte ranges, and from nesting their parents, kinds, paths and signatures."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from operator import sub
from typing import Any, cast

from codecairn.parse.deadline import Deadline
from codecairn.parse.definitions import RawDefinition
from codecairn.parse.facts import Kind, Symbol
from codecairn.parse.kinds import CALLABLE, TYPES
from codecairn.parse.language import Language

_LONGEST_SIGNATURE = 600
_LONGEST_HEAD = 8 * _LONGEST_SIGNATURE
_LONGEST_VALUE = 160


class Positions:
    """Which symbol is around a byte: the innermost whose extent holds it."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._parents: list[int] = []

    def add(self, start: int, end: int, parent: int) -> None:
        self._starts.append(start)
        self._ends.append(end)
        self._parents.append(parent)

    def around(self, byte: int) -> int:
        at = bisect_right(self._starts, byte) - 1
        while at >= 0 and self._ends[at] <= byte:
            at = self._parents[at] if self._parents[at] >= 0 else -1
        return at

    def all_around(self, ascending: list[int]) -> Iterator[int]:
        """Which symbol is around each of many bytes: between two edges of symbols it is the same."""
        edges = sorted({0, *self._starts, *self._ends})
        firsts = [bisect_left(ascending, edge) for edge in edges] + [len(ascending)]
        counts = map(sub, firsts[1:], firsts)
        return chain.from_iterable(map(repeat, map(self.around, edges), counts))


@dataclass
class _Open:
    node: Any
    end: int
    symbol: int
    kind: str
    path: str
    owner: str = ""


def symbols_of(
    definitions: list[RawDefinition], language: Language, source: bytes, deadline: Deadline
) -> tuple[list[Symbol], list[int], Positions]:
    """The symbols, the line on which the comment above each begins (or 0), and where each stands."""
    symbols: list[Symbol] = []
    above: list[int] = []
    positions = Positions()
    stack: list[_Open] = []
    ordinals: dict[tuple[str, str], int] = {}
    for each in definitions:
        deadline.check()
        while stack and stack[-1].end <= each.start:
            stack.pop()
        # Names of one node stand side by side, and the first has what is inside: `typedef struct a {…} b`.
        is_beside = bool(stack) and stack[-1].node == each.node
        around = stack[:-1] if is_beside else stack
        outer = around[-1] if around else None
        if each.is_scope:
            stack.append(_Open(None, each.end, outer.symbol if outer else -1, "scope", _qualify(outer, each, language)))
            continue
        kind = _kind(each, outer)
        if kind is None:
            each.is_dropped = True
            continue
        inside, in_function = (outer.symbol, outer.kind in CALLABLE) if outer else (-1, False)
        if kind == "field":
            outer = _type_around(around)
            if outer is None and around and not each.owner:
                each.owner = around[-1].owner
            if outer is None and around and not each.owner:
                each.is_dropped = True
                continue
        path = _qualify(outer, each, language)
        ordinal = ordinals.get((kind, path), 0)
        if ordinal and kind in ("var", "const", "field"):
            each.is_dropped = True
            continue
        parent = outer.symbol if outer else -1
        ordinals[kind, path] = ordinal + 1
        symbols.append(
            Symbol(
                kind=cast("Kind", kind), name=each.name, path=path, signature=_signature(each, language, source),
                doc=each.doc, start_line=each.start_line, end_line=max(each.end_line, each.start_line),
                start_byte=each.start, end_byte=each.end, name_line=each.name_line, parent=parent, ordinal=ordinal,
                returns=" ".join(each.returns.split()),
            )
        )  # fmt: skip
        above.append(each.above)
        # What a constructor does to make a field is still the constructor's doing.
        positions.add(each.start, each.start if kind == "field" and in_function else each.end, inside)
        if not is_beside:
            stack.append(_Open(each.node, each.end, len(symbols) - 1, kind, path, each.owner))
    return symbols, above, positions


def _type_around(stack: list[_Open]) -> _Open | None:
    """A field belongs to the type around it, even where a constructor is what declares it."""
    if stack and stack[-1].kind in ("var", "const", "field"):
        return stack[-1]  # an object or a table
    return next((each for each in reversed(stack) if each.kind in TYPES or each.kind in ("scope", "module")), None)


def _kind(each: RawDefinition, outer: _Open | None) -> str | None:
    around = outer.kind if outer else ""
    if each.kind in ("var", "const") and around in CALLABLE:
        return None
    if each.kind == "function" and ((each.owner and not each.is_static) or around == "scope" or around in TYPES):
        return "method"
    if each.kind == "var" and (around in TYPES or around == "scope"):
        return "field"
    return each.kind


def _qualify(outer: _Open | None, each: RawDefinition, language: Language) -> str:
    data = language.data
    around = data.separator.join(part for part in (outer.path if outer else "", each.owner) if part)
    if not around or not each.name:
        return around or each.name
    in_type = bool(each.owner) or (outer is not None and (outer.kind in TYPES or outer.kind == "scope"))
    separator = data.separator
    if each.is_static:
        separator = data.static_separator or separator
    elif each.kind == "method" or (each.kind == "function" and in_type):
        separator = data.member_separator or separator
    return f"{around}{separator}{each.name}"


def _signature(each: RawDefinition, language: Language, source: bytes) -> str:
    start, stop = each.node.start_byte, each.node.end_byte
    end = each.body_start if each.body_start is not None and each.body_start > start else stop
    text = _without(language, each.node, source, min(end, start + _LONGEST_HEAD))
    if language.data.heads:
        text = _heads(each.node, language, source) + text
    if start < end < each.name_start:
        text += "{…}" + source[each.body.end_byte : stop].decode("utf-8", "replace")
    if each.body_start is None:
        text = text.split("\n\n", 1)[0]
    flat = (
        " ".join(text.split()).rstrip(" {:=;\\").removesuffix("=>").removesuffix(" do").removesuffix(" where").rstrip()
    )
    longest = _LONGEST_VALUE if each.kind in ("var", "const", "field") else _LONGEST_SIGNATURE
    return flat if len(flat) <= longest else flat[:longest] + "…"


def _heads(node: Any, language: Language, source: bytes) -> str:
    head = node
    while head.parent is not None and head.parent.type in language.data.heads:
        head = head.parent
    return source[head.start_byte : node.start_byte].decode("utf-8", "replace")


_COMMENT = re.compile(rb"#|//|/\*|--|\{-|<!")
"""How comments begin, in any language here: a head without these has none."""


def _without(language: Language, node: Any, source: bytes, end: int) -> str:
    """The node's text up to `end`, less its comments and its own attributes."""
    start, data = node.start_byte, language.data
    if not data.between and _COMMENT.search(source, start, end) is None:
        return source[start:end].decode("utf-8", "replace")
    kept = []
    for child in _left_out(node, data.comments | data.between, data.comments, end):
        kept.append(source[start : child.start_byte])
        start = child.end_byte
    return b"".join([*kept, source[start:end]]).decode("utf-8", "replace")


def _left_out(node: Any, types: frozenset[str], deeper: frozenset[str], end: int) -> Iterator[Any]:
    """Attributes stand among the node's children or first among its modifiers, comments anywhere."""
    waiting: list[tuple[Any, frozenset[str] | None]] = [(node, types)]
    while waiting:
        around, sought = waiting.pop()
        if sought is None:
            yield around
            continue
        inner: list[tuple[Any, frozenset[str] | None]] = []
        for number, child in enumerate(around.children):
            if child.start_byte >= end:
                break
            if child.type in sought and child.is_named:
                inner.append((child, None))
            elif child.child_count and number == 0 and sought is not deeper:
                inner.append((child, sought))
            elif child.child_count and child.start_point[0] != child.end_point[0]:
                inner.append((child, deeper))
        waiting += reversed(inner)
