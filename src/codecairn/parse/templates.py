"""The code in the markup of a page: expressions between braces or in attributes, and the components that tags name.

Each stretch of code stays at its place; the markup around it becomes blanks, and its own marks become brackets that
make it a statement to the grammar of the scripts: `:size="width"` reads `;(width)`, `@click="save"` reads `;{save}`.
What is not balanced in itself is left out, so that it cannot swallow the script below it. Names that the markup itself
declares (`v-for`, `{#each}`, slots) are left out where they are declared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

_NOT_NEWLINE = re.compile(rb"[^\n]")
_NO_MARKUP = re.compile(rb"<!--[\s\S]*?(?:-->|\Z)|<(script|style)\b[\s\S]*?(?:</\1\s*>|\Z)", re.IGNORECASE)
_PAGE = re.compile(rb"<template\b[\s\S]*</template\s*>", re.IGNORECASE)
_COMPONENT = re.compile(rb"<([A-Z][\w.]*)(?=[\s/>])")
_DIRECTIVE = re.compile(rb"(?<=\s)(v-[\w:.\-]+|[:@][\w:.\-\[\]]+)\s*=\s*([\"'])([\s\S]*?)\2")
_MUSTACHE = re.compile(rb"\{\{([\s\S]*?)\}\}")
_LOOP = re.compile(rb"[\s\S]*?\s(?:in|of)\s+")
_BLOCK_HEAD = re.compile(rb"\s*(?:#(?:if|key|await)\b|:else\s+if\b|@(?:html|render|const|debug|attach)\b|\.\.\.)")
_EACH = re.compile(rb"(\s*#each\s+)([\s\S]*?)\s+as\s")
_NO_CODE = re.compile(rb"\s*[#:/@]")
_THEN = re.compile(rb"\s(?:then|catch)\b[\s\S]*$")
_PAIRS = {ord(")"): ord("("), ord("]"): ord("["), ord("}"): ord("{")}
_QUOTES = b"\"'`"
_LONGEST = 4_000
"""Bytes of one expression."""


class _CodeStretch(NamedTuple):
    """Code, and what is written before and behind it in place of its marks."""

    start: int
    end: int
    opening: bytes
    closing: bytes


def template_code(source: bytes, kind: str) -> bytes:
    """The code in the markup of a source, blanks elsewhere, every byte and line in its place."""
    markup = _NO_MARKUP.sub(lambda match: _blank(match[0]), source)
    found = bytearray(_blank(source))
    for each in _KINDS[kind](markup):
        found[each.start : each.end] = markup[each.start : each.end]
        found[each.start - len(each.opening) : each.start] = each.opening
        found[each.end : each.end + len(each.closing)] = each.closing
    return bytes(found)


def _blank(text: bytes) -> bytes:
    return _NOT_NEWLINE.sub(b" ", text)


def _components(markup: bytes, start: int, end: int) -> Iterator[_CodeStretch]:
    for match in _COMPONENT.finditer(markup, start, end):
        closing = b"" if markup[match.end() : match.end() + 1] == b"\n" else b";"
        yield _CodeStretch(match.start(1), match.end(1), b";", closing)


def _in_attributes(markup: bytes) -> Iterator[_CodeStretch]:
    page = _PAGE.search(markup)
    if page is None:
        return
    yield from _components(markup, page.start(), page.end())
    for match in _MUSTACHE.finditer(markup, page.start(), page.end()):
        if _is_whole(match[1]):
            yield _CodeStretch(match.start(1), match.end(1), b";(", b")")
    for match in _DIRECTIVE.finditer(markup, page.start(), page.end()):
        if not match[1].startswith(b"v-slot") and _is_whole(match[3]):
            yield _directive(match)


def _directive(match: re.Match[bytes]) -> _CodeStretch:
    start, end = match.span(3)
    if match[1].startswith((b"@", b"v-on")):
        return _CodeStretch(start, end, b";{", b"}")
    declared = _LOOP.match(match[3]) if match[1] == b"v-for" else None
    return _CodeStretch(start + (declared.end() if declared else 0), end, b";(", b")")


def _in_braces(markup: bytes) -> Iterator[_CodeStretch]:
    yield from _components(markup, 0, len(markup))
    at = markup.find(b"{")
    while at >= 0:
        end = _closing(markup, at)
        stretch = _block(markup, at + 1, end) if end > 0 else None
        if stretch is not None and stretch.start < stretch.end:
            yield stretch
        at = markup.find(b"{", end if end > 0 else at + 1)


def _block(markup: bytes, start: int, end: int) -> _CodeStretch | None:
    """The code between braces, without the word that says what becomes of it."""
    body = markup[start:end]
    if (each := _EACH.match(body)) is not None:
        return _CodeStretch(start + each.start(2), start + each.end(2), b"{", b"}")
    if (head := _BLOCK_HEAD.match(body)) is not None:
        then = _THEN.search(body) if b"#await" in head[0] else None
        return _CodeStretch(start + head.end(), start + then.start() if then else end, b"{", b"}")
    return None if _NO_CODE.match(body) else _CodeStretch(start, end, b"{", b"}")


_KINDS: dict[str, Callable[[bytes], Iterator[_CodeStretch]]] = {"attributes": _in_attributes, "braces": _in_braces}


def _is_whole(code: bytes) -> bool:
    """Whether every bracket and quote in a stretch of code is closed in it."""
    return bool(code.strip()) and b"&" + b"quot;" not in code and _closing(b"{" + code + b"}", 0) == len(code) + 1


def _closing(text: bytes, opening: int) -> int:
    """Where the bracket closes that opens here, or -1."""
    opened, quote, at = list[int](), 0, opening
    while at < min(len(text), opening + _LONGEST):
        sign = text[at]
        if quote:
            at += sign == ord("\\")
            quote = 0 if sign == quote else quote
        elif sign in _QUOTES:
            quote = sign
        elif sign in b"([{":
            opened.append(sign)
        elif sign in _PAIRS and (opened.pop() != _PAIRS[sign]):
            return -1
        elif sign in _PAIRS and not opened:
            return at
        at += 1
    return -1
