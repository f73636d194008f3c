"""get_file_outline and find_symbol for reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from codecairn.reading import (
    Fields,
    PrintContext,
    clip,
    extent,
    lines,
    more,
    name_in_file,
    one_of,
    sentence,
    share,
    state_lines,
    vendored_note,
)
from codecairn.reading.code import code_text
from codecairn.text import one_line

_WIDEST = 130
_PLAIN = frozenset({"const", "var", "field"})
_LEAST_RUN = 3
"""Constants or fields in a row that are told by their names alone, on one line."""


def print_outline(answer: Fields, reading: PrintContext) -> str:
    parts = [*_opening(answer), *state_lines(answer["metadata"])]
    parts += [f"{reading.paint(one_line(each['path']) + '/', 'path')}  {each['files']:,}" for each in answer["folders"]]
    for file in answer["files"]:
        parts += file_lines(file, reading)
    cursor = answer["next_cursor"]
    return lines(
        [*parts, f"More of {one_of(answer['total_symbols'], 'symbol')}: {reading.onward(cursor)}" if cursor else None]
    )


def _opening(answer: Fields) -> list[str]:
    if answer["total_files"] == 1 and answer["files"] and not answer["folders"]:
        return []
    without = answer["files_without_symbols"]
    bare = f", {without:,} of them without" if 0 < without < answer["total_files"] else ""
    said = f"{one_of(answer['total_symbols'], 'symbol')} in {one_of(answer['total_files'], 'file')}{bare}"
    return [f"{one_line(answer['path'])}: {said}"]


def file_lines(file: Fields, reading: PrintContext) -> Iterator[str]:
    facts = f"{file['language']}, {one_of(file['lines'], 'line')}"
    yield f"{reading.paint(one_line(file['path']), 'path')}  {facts}"
    yield from symbol_rows(file["symbols"], reading)
    if file.get("omitted_symbols"):
        yield f"      … {file['omitted_symbols']:,} more"


def symbol_rows(symbols: Sequence[Fields], reading: PrintContext, depth: int = 0) -> Iterator[str]:
    for is_plain, group in groupby(symbols, key=_is_plain):
        run = list(group)
        if is_plain and len(run) >= _LEAST_RUN:
            names = clip(", ".join(one_line(each["name"]) for each in run), _WIDEST)
            yield _place(run[0]["line_start"], run[-1]["line_end"], names, reading, depth)
            continue
        for each in run:
            yield _place(each["line_start"], each["line_end"], _declaration(each), reading, depth)
            yield from symbol_rows(each.get("children", ()), reading, depth + 1)


def _is_plain(each: Fields) -> bool:
    """Whether a symbol is told by its name: a constant, a variable, a field."""
    return each["kind"] in _PLAIN and not each.get("children")


def _place(start: int, end: int, text: str, reading: PrintContext, depth: int) -> str:
    return f"{reading.paint(f'{extent(start, end):>9}', 'dim')}  {'  ' * depth}{text}"


def _declaration(each: Fields) -> str:
    """The signature, which has the name; where there is none, kind and name."""
    name, signature = one_line(each["name"]), clip(one_line(each.get("signature", "")), _WIDEST)
    if not signature:
        return name if each["kind"] == "section" else f"{each['kind']} {name}"
    return signature if name in signature else f"{name}  {signature}"


def print_symbols(answer: Fields, reading: PrintContext) -> str:
    shown = len(answer["symbols"])
    head = share(shown + reading.offset, answer["total_symbols"], "symbol")
    blocks = [_symbol(each, reading) for each in answer["symbols"]]
    if not shown:
        head = "No symbol of this name, or near it, is indexed."
    return lines([head, *state_lines(answer["metadata"]), *blocks, more(answer, reading, shown, shown)])


def _symbol(each: Fields, reading: PrintContext) -> str:
    place = reading.paint(f"{one_line(each['path'])}:{extent(each['line_start'], each['line_end'])}", "path")
    place += vendored_note(each["path"])
    name = name_in_file(each["qualified_name"], each["path"])
    near = "" if each["match"] == "exact" else f"  ({each['match'].replace('_', ' ')})"
    head = f"{place}  {each['kind']} {reading.paint(name, 'strong')}{near}"
    if not each.get("body"):
        doc = f"  {sentence(each['doc'], 100)}" if each.get("doc") else ""
        return f"{head}\n    {clip(one_line(each['signature']), _WIDEST)}{doc}"
    return f"{head}\n{code_text(each['body'])}"
