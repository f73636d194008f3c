"""read_file for reading: the text as it is; of a file longer than the page its outline first, then what fits."""

from __future__ import annotations

from collections.abc import Iterator

from codecairn.reading import Fields, PrintContext, fit, lines, one_of, state_lines
from codecairn.reading.code import code_line
from codecairn.reading.outline import symbol_rows
from codecairn.reading.rules import rule_lines
from codecairn.text import one_line

_BESIDE_OUTLINE = 2_500
"""Characters of a long file's text beside its outline, which tells what to read next."""
_LEAST_SHARE = 0.5
"""Of a page, at least, before it ends where a symbol ends."""


def print_file(answer: Fields, reading: PrintContext) -> str:
    file = answer["file"]
    text = _lines_of(file["content"])
    first = file.get("startLine") or 1
    outline = list(_outline(answer, reading))
    head = [_heading(answer, reading), *state_lines(answer["metadata"]), *rule_lines(answer.get("rules"))]
    room = reading.room - sum(len(line) + 1 for line in (*head, *outline)) - 200
    beside = list(_dependencies(answer, reading))
    room -= sum(len(line) + 1 for line in beside)
    room = min(room, _BESIDE_OUTLINE) if outline else room
    shown = page_length(text, room, first, answer.get("outline") or [])
    left = len(text) - shown
    more = f"Lines {first}-{first + shown - 1}; {left:,} more: startLine {first + shown}" if left else None
    return lines([*head, *outline, *map(code_line, text[:shown]), more, *beside])


def page_length(text: list[str], room: int, first: int, outline: list[Fields]) -> int:
    """How many of the lines fit, one at least; a page that is cut ends before a symbol rather than inside it."""
    count = fit(text, room)
    if count == len(text):
        return count
    starts = [each["line_start"] - first for each in _flat(outline)]
    whole = max((start for start in starts if start <= count), default=0)
    return whole if whole >= count * _LEAST_SHARE else count


def _flat(outline: list[Fields]) -> Iterator[Fields]:
    for each in outline:
        yield each
        yield from _flat(each.get("children", []))


def _lines_of(content: str) -> list[str]:
    text = content.split("\n")
    return text if text[-1] else text[:-1]


def _heading(answer: Fields, reading: PrintContext) -> str:
    file, about = answer["file"], answer["metadata"]
    facts = [file["language"], one_of(file["lines"], "line"), file.get("encoding"), about.get("commit", "")[:12]]
    return f"{reading.paint(one_line(file['path']), 'path')}  {', '.join(filter(None, facts))}"


def _outline(answer: Fields, reading: PrintContext) -> Iterator[str]:
    if answer.get("outline"):
        yield "Outline (members of classes: get_file_outline):"
        yield from symbol_rows(answer["outline"], reading)
        yield ""


def _dependencies(answer: Fields, reading: PrintContext) -> Iterator[str]:
    for each in answer["dependencies"]:
        why = f"  {one_line(each['omitted'])}" if each.get("omitted") else ""
        yield f"imports {reading.paint(one_line(each['path']), 'path')}{why}"
    for name in ("external", "unresolved"):
        if answer.get(name):
            yield f"{name}: {', '.join(map(one_line, answer[name]))}"
