"""Edits one table of a TOML file in place. Our table is appended; everything else keeps its bytes.

Only the lines that begin a table are looked for; `tomllib` says what the text means, before and after.
"""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from codecairn.setup.splice import NotEditable, Splice, newline_of

_HEADER = re.compile(
    r"""[ \t]*\[\[?((?:[^\[\]#"'\n]|"(?:\\.|[^"\\\n])*"|'[^'\n]*')+)\]\]?[ \t]*(?:\#[^\n]*)?\r?$""", re.MULTILINE
)
_TOKEN = re.compile(r'"""|\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]|\n')
_NAME = re.compile(r'\s*(?:"((?:\\.|[^"\\])*)"|\'([^\']*)\'|([\w-]+))\s*(?:\.|$)')
_BOM = "\ufeff"


def value_of(text: str) -> Any:
    try:
        return tomllib.loads(text.removeprefix(_BOM).replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise NotEditable(f"it is no TOML: {error}") from error


def find(text: str, keys: Sequence[str], name: str) -> int | None:
    span = _span(text, (*keys, name))
    return span[0] if span else None


def put(text: str, keys: Sequence[str], name: str, value: Any) -> Splice:
    path, nl = (*keys, name), newline_of(text)
    table = _render(path, value, nl)
    span = _span(text, path)
    if span is None and _holds(value_of(text), path):
        raise NotEditable(f"{'.'.join(path)} is not written as a table of its own")
    if span is not None:
        start, end = span
        ending = nl if text[start:end].endswith("\n") else ""
        return Splice(start, text[start:end], table.removesuffix(nl) + ending)
    gap = "" if not text.strip(_BOM) else nl if text.endswith("\n") else nl + nl
    return Splice(len(text), "", gap + table)


def restore(text: str, keys: Sequence[str], name: str, old: str) -> str:
    span = _span(text, (*keys, name))
    return text if span is None else text[: span[0]] + old + text[span[1] :]


def cut(text: str, keys: Sequence[str], name: str, *, made: int) -> str:
    """The text without our table and the empty line that was put before it."""
    del made
    span = _span(text, (*keys, name))
    if span is None:
        return text
    before, after = text[: span[0]], text[span[1] :]
    nl = newline_of(text)
    return before.removesuffix(nl) + after if before.endswith(nl + nl) else before + after


def _span(text: str, path: tuple[str, ...]) -> tuple[int, int] | None:
    """Where a table and the tables inside it stand; what is written in two places is left alone."""
    spans: list[tuple[int, int]] = []
    headers = [*_headers(text), (len(text), ())]
    for (start, header), (end, _) in itertools.pairwise(headers):
        if header[: len(path)] == path:
            if spans and spans[-1][1] != start:
                raise NotEditable(f"{'.'.join(path)} is written in two places")
            spans.append((start, end))
    if not spans:
        return None
    start, end = spans[0][0], spans[-1][1]
    lines = text[start:end].splitlines(keepends=True)
    while not lines[-1].strip() or lines[-1].lstrip().startswith("#"):  # they belong to what follows
        lines.pop()
    return start, start + len("".join(lines))


def _headers(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The tables of a text by where they begin: headers at the start of a line, outside of strings and lists."""
    at = len(_BOM) if text.startswith(_BOM) else 0
    while at < len(text):
        if header := _HEADER.match(text, at):
            yield at, _names(header[1])
            at = header.end()
        at = _statement_end(text, at)


def _statement_end(text: str, at: int) -> int:
    depth = 0
    while token := _TOKEN.search(text, at):
        at, found = token.end(), token[0]
        if found in ('"""', "'''"):
            at = _string_end(text, at, found)
        elif found == "\n" and depth == 0:
            return at
        else:
            depth += (found in "[{") - (found in "]}")
    return len(text)


def _string_end(text: str, at: int, quote: str) -> int:
    while True:
        end = text.find(quote, at)
        if end < 0:
            return len(text)
        if quote == "'''" or (len(text[at:end]) - len(text[at:end].rstrip("\\"))) % 2 == 0:
            return end + 3
        at = end + 1


def _names(header: str) -> tuple[str, ...]:
    names, at = [], 0
    while at < len(header) and (found := _NAME.match(header, at)):
        names.append(found[1] if found[1] is not None else found[2] if found[2] is not None else found[3])
        at = found.end()
    return tuple(names)


def _holds(value: Any, path: tuple[str, ...]) -> bool:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True


def _render(path: tuple[str, ...], value: dict[str, Any], nl: str) -> str:
    rows = [f"[{'.'.join(path)}]", *(f"{name} = {_scalar(each)}" for name, each in value.items())]
    return nl.join(rows) + nl


def _scalar(value: Any) -> str:
    """JSON writes strings, booleans, numbers and lists of them as TOML does."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
