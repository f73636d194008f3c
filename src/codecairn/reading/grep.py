"""grep_codebase for reading: grouped by file, a line a match, the page filled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from codecairn.reading import Fields, PrintContext, fit, lines, more, one_of, share
from codecairn.reading.code import code_line
from codecairn.text import one_line

_WIDEST = 170


def print_grep(answer: Fields, reading: PrintContext) -> str:
    matches, total = answer["matches"], answer["totalMatches"]
    searched = one_of(answer["filesSearched"], "file")
    if not matches:
        return lines([answer.get("message") or f"No match in {searched}.", *_losses(answer)])
    rows = [_row(each, reading) for each in matches]
    paths = sum(len(path) + 1 for path in {each["file"] for each in matches})
    shown = fit(rows, reading.room - paths - 300)
    head = f"{share(reading.offset + shown, total, 'match', 'matches')} in {searched}"
    parts = [head, *_losses(answer)]
    for path, group in groupby(zip(matches[:shown], rows, strict=False), key=lambda pair: pair[0]["file"]):
        parts += [reading.paint(one_line(path), "path"), *(row for _, row in group)]
    return lines([*parts, more(answer, reading, shown, len(matches))])


def _losses(answer: Fields) -> Iterator[str]:
    if answer.get("incomplete") and answer.get("message") and answer["matches"]:
        yield f"! {answer['message']}"
    if answer.get("unreadableFiles"):
        yield f"! {one_of(answer['unreadableFiles'], 'file')} could not be read."


def _row(each: Fields, reading: PrintContext) -> str:
    context = each["context"]
    if not reading.params.get("context"):
        return f"{reading.paint(format(each['line'], '>5'), 'dim')}: {code_line(each['text'].strip(), _WIDEST)}"
    first = each["line"] - len(context["before"])
    texts = enumerate([*context["before"], each["text"], *context["after"]], first)
    return "\n".join(_line(number, text, reading, is_match=number == each["line"]) for number, text in texts)


def _line(number: int, text: str, reading: PrintContext, *, is_match: bool) -> str:
    return f"{reading.paint(format(number, '>5'), 'dim')}{':' if is_match else '-'} {code_line(text, _WIDEST)}".rstrip()
