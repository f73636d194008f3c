"""Edits one section of a Markdown file, between two marks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from codecairn.setup.splice import Splice, newline_of

_SECTION = re.compile(r"<!-- cairn -->\r?\n(.*?)<!-- /cairn -->(?:\r?\n)?", re.DOTALL)


def value_of(text: str) -> Any:
    rest = {"": _SECTION.sub("", text).strip()}
    found = _SECTION.search(text)
    return {**rest, "cairn": found[1].replace("\r\n", "\n").strip()} if found else rest


def find(text: str, keys: Sequence[str], name: str) -> int | None:
    del keys, name
    found = _SECTION.search(text)
    return found.start() if found else None


def put(text: str, keys: Sequence[str], name: str, value: str) -> Splice:
    del keys, name
    nl = newline_of(text)
    section = f"<!-- cairn -->\n{value.strip()}\n<!-- /cairn -->\n".replace("\n", nl)
    if found := _SECTION.search(text):
        return Splice(found.start(), found[0], section)
    gap = "" if not text else nl if text.endswith("\n") else nl + nl
    return Splice(len(text), "", gap + section)


def restore(text: str, keys: Sequence[str], name: str, old: str) -> str:
    del keys, name
    return _SECTION.sub(lambda _: old, text, count=1)


def cut(text: str, keys: Sequence[str], name: str, *, made: int) -> str:
    del keys, name, made
    return _SECTION.sub("", text, count=1)
