"""Edits one entry of a JSON file in place. Comments, commas at the end, order, indentation and line ends stay.

A file is parsed into nodes that know where they stand in the text. An entry is added by one splice behind the last
member of its object, so that the same splice undone gives the same bytes. What the objects on the way lack is added
with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from codecairn.setup.splice import NotEditable, Splice, newline_of

_TRIVIA = re.compile(r"(?:[ \t\r\n]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SAME_LINE_COMMENT = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*(?=[\r\n]))")
_INDENTED_FIRST = re.compile(r"\{[ \t]*\r?\n(?:[ \t]*//[^\n]*\n)*([ \t]+)\"")
_BOM = "\ufeff"


@dataclass
class _Member:
    name: str
    start: int
    node: _Node
    comma: int | None = None
    """Where the comma behind it stands."""


@dataclass
class _Node:
    start: int
    end: int = 0
    value: Any = None
    members: list[_Member] | None = None
    """Those of an object that was looked into."""
    trailing_commas: int = 0

    def find(self, name: str) -> _Member | None:
        """The last of that name, as parsers take it."""
        return next((each for each in reversed(self.members or []) if each.name == name), None)


@dataclass
class _Parser:
    text: str
    decoder: json.JSONDecoder = field(default_factory=json.JSONDecoder)

    def document(self) -> _Node | None:
        """The root, or None where there is nothing but white space and comments."""
        start = self._skip(len(_BOM) if self.text.startswith(_BOM) else 0)
        if start == len(self.text):
            return None
        node = self.object(start) if self.text[start] == "{" else self._node(start)
        if (end := self._skip(node.end)) != len(self.text):
            raise self._wrong(end)
        return node

    def _skip(self, at: int) -> int:
        found = _TRIVIA.match(self.text, at)
        return found.end() if found else at

    def _node(self, at: int) -> _Node:
        """A value; what is plain JSON is left to the decoder, which is fifty times as fast."""
        try:
            value, end = self.decoder.raw_decode(self.text, at)
        except ValueError as error:
            opening = self.text[at : at + 1]
            if opening not in ("{", "["):
                raise self._wrong(at) from error
            return self.object(at) if opening == "{" else self._array(at)
        return _Node(at, end, value)

    def object(self, start: int) -> _Node:
        members: list[_Member] = []
        node = _Node(start, value={}, members=members)
        at = self._skip(start + 1)
        while self.text[at : at + 1] != "}":
            name = self._node(at)
            if not isinstance(name.value, str):
                raise self._wrong(at)
            at = self._skip(name.end)
            if self.text[at : at + 1] != ":":
                raise self._wrong(at)
            member = _Member(name.value, name.start, self._node(self._skip(at + 1)))
            members.append(member)
            node.value[member.name] = member.node.value
            node.trailing_commas += member.node.trailing_commas
            at = self._skip(member.node.end)
            if self.text[at : at + 1] == ",":
                member.comma = at
                at = self._skip(at + 1)
                node.trailing_commas += self.text[at : at + 1] == "}"
            elif self.text[at : at + 1] != "}":
                raise self._wrong(at)
        node.end = at + 1
        return node

    def _array(self, start: int) -> _Node:
        node = _Node(start, value=[])
        at = self._skip(start + 1)
        while self.text[at : at + 1] != "]":
            item = self._node(at)
            node.value.append(item.value)
            node.trailing_commas += item.trailing_commas
            at = self._skip(item.end)
            if self.text[at : at + 1] == ",":
                at = self._skip(at + 1)
                node.trailing_commas += self.text[at : at + 1] == "]"
            elif self.text[at : at + 1] != "]":
                raise self._wrong(at)
        node.end = at + 1
        return node

    def _wrong(self, at: int) -> NotEditable:
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        return NotEditable(f"line {line}, column {column} is no JSON")


def _parse(text: str) -> _Node | None:
    try:
        return _Parser(text).document()
    except RecursionError as error:
        raise NotEditable("it is nested too deep") from error


def value_of(text: str) -> Any:
    root = _parse(text)
    return {} if root is None else root.value


def trailing_commas(text: str) -> int:
    """Commas at the end of an object or a list: not every parser takes them."""
    root = _parse(text)
    return root.trailing_commas if root else 0


def find(text: str, keys: Sequence[str], name: str) -> int | None:
    member = _descend(text, keys, name)[1]
    return member.start if member else None


def put(text: str, keys: Sequence[str], name: str, value: Any) -> Splice:
    root = _parse(text)
    if root is None:
        nl = newline_of(text)
        start = nl if text.strip(_BOM) and not text.endswith("\n") else ""
        return Splice(len(text), "", start + _render(_nest(keys, {name: value}), "  ", "", nl) + nl)
    node = root
    for depth, key in enumerate(keys):
        node = _object(text, node, keys[:depth])
        member = node.find(key)
        if member is None:
            return _add(text, root, node, key, _nest(keys[depth + 1 :], {name: value}))
        node = member.node
    node = _object(text, node, keys)
    existing = node.find(name)
    if existing is None:
        return _add(text, root, node, name, value)
    shown = _render(value, _unit(text), _line_indent(text, existing.start), newline_of(text))
    if "\n" not in text[existing.node.start : existing.node.end] and "\n" not in text[root.start : root.end]:
        shown = json.dumps(value, ensure_ascii=False)
    return Splice(existing.node.start, text[existing.node.start : existing.node.end], shown)


def restore(text: str, keys: Sequence[str], name: str, old: str) -> str:
    """The text with the value of our entry as it once was."""
    member = _descend(text, keys, name)[1]
    return text if member is None else text[: member.node.start] + old + text[member.node.end :]


def cut(text: str, keys: Sequence[str], name: str, *, made: int) -> str:
    """The text without our entry, nor the `made` innermost objects around it where nothing else is in them."""
    path = [*keys, name]
    for depth in range(len(keys), len(keys) - made - 1, -1):
        holder, member = _descend(text, path[:depth], path[depth])
        if member is None or (depth < len(keys) and member.node.value):
            return text
        text = _without(text, holder, member)
    return text


def _descend(text: str, keys: Sequence[str], name: str) -> tuple[_Node, _Member | None]:
    node = _parse(text) or _Node(0, members=[])
    for key in keys:
        member = node.find(key)
        if member is None or not isinstance(member.node.value, dict):
            return node, None
        node = _object(text, member.node, keys)
    return node, node.find(name)


def _nest(keys: Sequence[str], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def _object(text: str, node: _Node, keys: Sequence[str]) -> _Node:
    """The node with its members."""
    if node.members is None and isinstance(node.value, dict):
        return _Parser(text).object(node.start)
    if node.members is None:
        raise NotEditable(f"{'.'.join(keys) or 'the whole'} is no object")
    return node


def _add(text: str, root: _Node, node: _Node, name: str, value: Any) -> Splice:
    members = node.members or []
    nl, unit = newline_of(text), _unit(text)
    if members and "\n" not in text[root.start : root.end]:
        indent, gap, shown = "", " ", json.dumps({name: value}, ensure_ascii=False)[1:-1]
    else:
        own_line = bool(members) and "\n" in text[node.start : members[-1].start]
        base = _line_indent(text, node.start)
        indent = _line_indent(text, members[-1].start) if own_line else base + unit
        gap = nl + indent
        shown = f"{json.dumps(name)}: {_render(value, unit, indent, nl)}"
    if not members:
        return _fill(text, node, gap + shown, nl + _line_indent(text, node.start))
    last = members[-1]
    at = last.node.end if last.comma is None else last.comma + 1
    comment = _SAME_LINE_COMMENT.match(text, at)
    beside = comment[0] if comment and comment.end() < node.end else ""
    if last.comma is None:
        return Splice(at, beside, f",{beside}{gap}{shown}")
    return Splice(at + len(beside), "", f"{gap}{shown},")


def _fill(text: str, node: _Node, entry: str, close: str) -> Splice:
    """The only entry of an object that may hold comments."""
    inner = text[node.start + 1 : node.end - 1]
    body = inner.rstrip(" \t\r\n")
    tail = inner[len(body) :]
    if body and "\n" in tail:
        return Splice(node.start + 1 + len(body), "", entry)
    return Splice(node.start + 1 + len(body), tail, entry + close)


def _without(text: str, holder: _Node, member: _Member) -> str:
    members = holder.members or []
    place = members.index(member)
    start, end = member.start, member.node.end
    while text[start - 1 : start] in (" ", "\t"):
        start -= 1
    if text[start - 1 : start] == "\n":
        start -= 2 if text[start - 2 : start] == "\r\n" else 1
    if member.comma is not None:
        return text[:start] + text[member.comma + 1 :]
    if len(members) == 1:  # white space that only we had need of
        tail = _TRIVIA.match(text, end)
        rest = text[end : holder.end - 1] if tail is None or text[end : tail.end()].strip() else ""
        return text[:start] + rest + text[holder.end - 1 :]
    comma = members[place - 1].comma
    assert comma is not None
    return text[:comma] + text[comma + 1 : start] + text[end:]


def _render(value: Any, unit: str, indent: str, nl: str) -> str:
    """Objects a line a member, lists on one line."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = indent + unit
    rows = [f"{inner}{json.dumps(name)}: {_render(each, unit, inner, nl)}" for name, each in value.items()]
    return "{" + nl + f",{nl}".join(rows) + nl + indent + "}"


def _unit(text: str) -> str:
    """One step of indentation, as the first member of the root has it."""
    found = _INDENTED_FIRST.search(text)
    return found[1] if found else "  "


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip(_BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]
