"""The head of a rule file between two lines of `---`: keys with words, lists and yes or no, as rule files have them.

    globs: *.ts, src/**/*.{js,jsx}      one text; commas outside braces part it where a list is asked for
    paths: ["a", 'b']                   a list in brackets
    paths:                              a list of lines
      - "src/**"
    alwaysApply: true

That is the part of YAML that the tools document. Unquoted patterns that begin with `*` are read as they are meant,
which YAML itself would refuse. Every line is looked at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_KEY = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")

FrontMatter = Mapping[str, list[str]]


def split_front_matter(text: str) -> tuple[FrontMatter, str, int]:
    """The keys of a head, the text behind it, and how many lines the head has; without a head all of it is text."""
    if not text.startswith("---\n"):
        return {}, text, 0
    end = text.find("\n---\n", 3)
    if end < 0 and text.endswith("\n---"):
        end = len(text) - 4
    if end < 0:
        return {}, text, 0
    return _keys(text[4 : end + 1]), text[end + 5 :], text.count("\n", 0, end) + 2


def patterns(values: list[str]) -> list[str]:
    """The patterns that a key lists: each value parted at the commas that stand outside braces."""
    return [part for value in values for each in _parted(value) if (part := _bare(each))]


def is_true(values: list[str]) -> bool:
    return [each.lower() for each in values] == ["true"]


def _keys(head: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in head.split("\n"):
        if key := _KEY.fullmatch(line):
            current = found[key[1]] = list(_values(key[2] or ""))
        elif item := _ITEM.fullmatch(line):
            current.extend(_values(item[1]))
    return found


def _values(text: str) -> Iterator[str]:
    bare = text.strip()
    if bare.startswith("[") and bare.endswith("]"):
        yield from filter(None, map(_bare, _parted(bare[1:-1])))
    elif bare:
        yield _bare(bare)


def _bare(text: str) -> str:
    """Without the quotes around it, or the remark behind it."""
    bare = text.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'":
        return bare[1:-1]
    return re.split(r"[ \t]#", bare, maxsplit=1)[0].rstrip()


def _parted(text: str) -> Iterator[str]:
    depth = start = 0
    for place, character in enumerate(text):
        depth += (character == "{") - (character == "}" and depth > 0)
        if character == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    yield text[start:]
