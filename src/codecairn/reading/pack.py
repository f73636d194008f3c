"""build_context_pack for reading: a section an item."""

from __future__ import annotations

from collections.abc import Iterator

from codecairn.reading import Fields, PrintContext, extent, fit, lines, one_of, state_lines
from codecairn.reading.code import code_text
from codecairn.reading.rules import rule_lines
from codecairn.text import one_line

_TITLES = {
    "definition": "Definition", "caller": "Caller", "test": "Test", "doc": "Document", "discovery": "Discovery",
    "rule": "Rule",
}  # fmt: skip
_NAMED = 5
"""Of the things left out of each kind, named."""


def print_pack(pack: Fields, reading: PrintContext) -> str:
    head = f"{one_of(len(pack['items']), 'item')}, about {pack['tokens']:,} of {pack['max_tokens']:,} tokens"
    blocks = [_section(each, reading) for each in pack["items"]]
    rules = list(rule_lines(pack.get("rules")))
    shown = fit(blocks, reading.room - 600 - sum(map(len, rules)))
    parts = [head, *state_lines(pack["metadata"]), *rules, *blocks[:shown], *_left_out(pack)]
    if shown < len(blocks):
        parts.append(f"{len(blocks) - shown:,} more items had no room here.")
    return lines(parts)


def _section(item: Fields, reading: PrintContext) -> str:
    where = f":{extent(item['line_start'], item['line_end'])}" if item["line_start"] else ""
    place = f"  {one_line(item['path'])}{where}" if item["path"] else ""
    title = reading.paint(f"{_TITLES[item['kind']]}: {one_line(item['name'])}", "strong")
    why = reading.paint(f"({one_line(item['why'])})", "dim")
    return f"## {title}{place}  {why}\n{code_text(item['content'])}"


def _left_out(pack: Fields) -> Iterator[str]:
    for each in pack["left_out"]:
        named = f": {', '.join(map(_place_once, each['best'][:_NAMED]))}" if each["best"] else ""
        yield f"Left out: {one_of(each['count'], each['kind'])}{named}"


def _place_once(best: str) -> str:
    """`name (path:line)`, without the name where the path begins with it."""
    name, _, place = one_line(best).rpartition(" (")
    return place.removesuffix(")") if name and place.startswith(f"{name}:") else one_line(best)
