"""remember and forget for reading."""

from __future__ import annotations

from codecairn.reading import Fields, PrintContext, lines, state_lines
from codecairn.text import one_line


def print_remembered(answer: Fields, reading: PrintContext) -> str:
    del reading
    return lines([one_line(answer["message"]), *state_lines(answer["metadata"])])


def print_forgotten(answer: Fields, reading: PrintContext) -> str:
    del reading
    return f"Forgotten: {answer['id']}: {one_line(answer['content'], 200)}"
