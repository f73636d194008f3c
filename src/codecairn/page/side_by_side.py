"""A unified diff as rows of two columns, before and after, with what differs within a line marked."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import NamedTuple

from markupsafe import Markup, escape

from codecairn.page.visible import make_visible

_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")


class DiffRow(NamedTuple):
    before: Markup | None
    after: Markup | None
    is_same: bool = False
    remark: str = ""
    """A line of the diff that is of neither side: what was left out, where a hunk begins."""


def rows_of(lines: Iterable[str]) -> list[DiffRow]:
    rows, gone, come = list[DiffRow](), list[str](), list[str]()
    for line in lines:
        mark, text = line[:1], line[1:]
        if mark == "-":
            gone.append(text)
        elif mark == "+":
            come.append(text)
        else:
            rows += _pair(gone, come)
            gone, come = [], []
            same = _escape_line(text)
            rows.append(DiffRow(same, same, is_same=True) if mark == " " else DiffRow(None, None, remark=line))
    return [*rows, *_pair(gone, come)]


def hunks_at(lines: Iterable[str], first: int, last: int) -> list[str]:
    """The hunks of a diff that touch some lines of the file as it is now."""
    kept, is_kept = list[str](), False
    for line in lines:
        found = _HUNK.match(line)
        if found:
            start, count = int(found[1]), int(found[2] or 1)
            is_kept = start <= last and first < start + max(count, 1)
        if is_kept:
            kept.append(line)
    return kept


def _pair(gone: list[str], come: list[str]) -> list[DiffRow]:
    """Lines that went beside lines that came: in a changed run the first of one stands for the first of the other."""
    both = [DiffRow(*_mark_difference(*each)) for each in zip(gone, come, strict=False)]
    left = [DiffRow(_escape_line(each), None) for each in gone[len(come) :]]
    right = [DiffRow(None, _escape_line(each)) for each in come[len(gone) :]]
    return [*both, *left, *right]


def _mark_difference(before: str, after: str) -> tuple[Markup, Markup]:
    head = len(posixpath.commonprefix([before, after]))
    tail = len(posixpath.commonprefix([before[head:][::-1], after[head:][::-1]]))
    if head + tail < max(len(before), len(after)) / 4:
        return _escape_line(before), _escape_line(after)
    return _mark_middle(before, head, tail), _mark_middle(after, head, tail)


def _mark_middle(text: str, head: int, tail: int) -> Markup:
    end = len(text) - tail
    middle = Markup("<ins>{}</ins>").format(_escape_line(text[head:end])) if end > head else Markup("")
    return _escape_line(text[:head]) + middle + _escape_line(text[end:])


def _escape_line(text: str) -> Markup:
    return escape(make_visible(text.rstrip("\r\n")))
