"""find_references and get_call_graph for reading."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from codecairn.reading import (
    Fields,
    PrintContext,
    clip,
    fit,
    lines,
    name_in_file,
    one_of,
    share,
    state_lines,
    vendored_note,
)
from codecairn.reading.code import code_line
from codecairn.text import one_line

_WIDEST = 72
_BEFORE_NAME = 24
"""Characters of a long line that are shown before the name."""
_TITLES = {
    "calls": "Calls", "extends": "Extended by", "implements": "Implemented by", "imports": "Imports",
    "references": "Mentions",
}  # fmt: skip
_ORDER = tuple(_TITLES)


def kind_order(kind: str) -> int:
    """Calls before what inherits, before imports, before mentions."""
    return _ORDER.index(kind)


def print_references(answer: Fields, reading: PrintContext) -> str:
    others = answer.get("candidates") or []
    if not others:
        opening = [_heading(answer, reading), *state_lines(answer["metadata"])]
        return lines([*opening, *_body(answer, reading, reading.room), _hint(answer, reading)])
    several = [answer, *others]
    head = f"{one_of(len(several), 'symbol')} have this name; path and line pick one"
    room = reading.room // len(several)
    parts = [line for each in several for line in (_heading(each, reading), *_body(each, reading, room))]
    return lines([head, *state_lines(answer["metadata"]), *parts, _hint(answer, reading)])


def _heading(answer: Fields, reading: PrintContext) -> str:
    symbol, shown = answer["symbol"], len(answer["references"])
    on_lines = len(set(map(_line_of, answer["references"])))
    counted = share(shown + reading.offset, answer["total_references"], "reference")
    name = name_in_file(symbol["qualified_name"], symbol["path"])
    place = f"{one_line(symbol['path'])}:{symbol['line_start']}"
    counted += f" on {one_of(on_lines, 'line')}" if on_lines < shown else ""
    said = f"{counted} to {reading.paint(name, 'strong')} ({place})"
    return "; ".join([said, *_rest_of_account(answer)])


def _rest_of_account(answer: Fields) -> Iterator[str]:
    """What is said of the uses of the name that are no references."""
    if unbound := answer["unresolved_count"]:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in (answer.get("unresolved_reasons") or {}).items())
        yield f"{one_of(unbound, 'use')} of the name could not be bound{f' ({reasons})' if reasons else ''}"
    if others := answer["elsewhere_count"]:
        yield f"{others:,} mean something else"


def _body(answer: Fields, reading: PrintContext, room: int) -> Iterator[str]:
    rows = sorted(answer["references"], key=lambda row: kind_order(row["edge_type"]))
    name = answer["symbol"]["name"]
    blocks = [_row(each, name, reading) for each in rows]
    shown = fit(blocks, room - 400 - sum(len(path) + 1 for path in {row["path"] for row in rows}))
    for kind, group in groupby(_lines_once(rows[:shown]), key=lambda row: row["edge_type"]):
        yield f"{_TITLES[kind]}:"
        yield from _by_file(list(group), name, reading)
    if shown < len(rows):
        yield f"{len(rows) - shown:,} more here: {reading.onward(reading.cursor(str(reading.offset + shown)))}"
    if answer.get("unresolved"):
        yield "Not bound to any definition:"
        yield from _by_file(answer["unresolved"], name, reading)


def _lines_once(rows: Sequence[Fields]) -> Iterator[Fields]:
    """The rows without those whose line is shown already: an import under another name mentions the symbol too."""
    seen = set()
    for row in rows:
        if _line_of(row) not in seen:
            seen.add(_line_of(row))
            yield row


def _line_of(row: Fields) -> tuple[str, int]:
    return row["path"], row["line_start"]


def _by_file(rows: Sequence[Fields], name: str, reading: PrintContext) -> Iterator[str]:
    for path, group in groupby(rows, key=lambda row: row["path"]):
        yield reading.paint(one_line(path), "path") + vendored_note(path)
        yield from (_row(each, name, reading) for each in group)


def _row(row: Fields, name: str, reading: PrintContext) -> str:
    around = row["from_symbol"]
    where = "" if around["kind"] == "module" else f"{one_line(around['name'])}: "
    why = f"  [{one_line(row['reason'])}]" if row.get("reason") else ""
    number = reading.paint(format(row["line_start"], ">5"), "dim")
    return f"{number} {where}{_line_around(name, row['context'])}{why}"


def _line_around(name: str, text: str) -> str:
    """A line that is too long from its beginning, or from shortly before the name where that would be cut off."""
    line = code_line(text)
    end = line.find(name) + len(name)
    if len(line) <= _WIDEST or end < _WIDEST:
        return code_line(line, _WIDEST)
    start = max(0, min(end - len(name) - _BEFORE_NAME, len(line) - _WIDEST))
    return f"…{code_line(line[start:], _WIDEST)}"


def _hint(answer: Fields, reading: PrintContext) -> str | None:
    if answer.get("next_cursor"):
        return f"More: {reading.onward(answer['next_cursor'])}"
    if answer["unresolved_count"] and answer.get("unresolved") is None:
        return f"The unbound uses: {reading.option('include_unresolved')}."
    return None


# The call graph.


def print_graph(graph: Fields, reading: PrintContext) -> str:
    nodes = {each["id"]: each for each in graph["nodes"]}
    first, direction = graph["nodes"][0], reading.params.get("direction", "both")
    name = reading.paint(one_line(first["qualified_name"]), "strong")
    parts = [f"{name}  {one_line(first['path'])}:{first['line_start']}", *state_lines(graph["metadata"])]
    for side, title in (("callers", "Called by:"), ("callees", "Calls:")):
        if direction in (side, "both"):
            rows = list(_Side(graph, nodes, reading, side).rows(first["id"], 1))
            parts += [title if rows else f"{title} nothing in this project{_known_of(graph)}", *rows]
    more = f"More edges: {reading.onward(graph['next_cursor'])}" if graph["next_cursor"] else None
    return lines([*parts, _unbound(graph), *_others(graph), more])


def _known_of(graph: Fields) -> str:
    return " that could be bound" if graph["unresolved_count"] else ""


def _others(graph: Fields) -> Iterator[str]:
    for each in graph.get("candidates") or ():
        yield f"Another of this name: {one_line(each['qualified_name'])}  {one_line(each['path'])}:{each['line_start']}"


def _unbound(graph: Fields) -> str | None:
    said = [
        f"{one_of(graph['unresolved_count'], 'call')} could not be bound" if graph["unresolved_count"] else "",
        f"{graph['external_count']:,} leave the project" if graph["external_count"] else "",
    ]
    return "; ".join(filter(None, said)) + "." if any(said) else None


class _Side:
    """The edges outward on one side, each symbol with its own once: where it is met again it only stands."""

    def __init__(self, graph: Fields, nodes: dict[int, Fields], reading: PrintContext, side: str) -> None:
        self._nodes, self._reading = nodes, reading
        self._near, self._far = ("to", "from") if side == "callers" else ("from", "to")
        self._outward = -1 if side == "callers" else 1
        self._edges: dict[int, list[Any]] = defaultdict(list)
        for each in graph["edges"]:
            self._edges[each[self._near]].append(each)
        self._seen = {graph["nodes"][0]["id"]}

    def rows(self, here: int, depth: int) -> Iterator[str]:
        for edge in self._edges[here]:
            other = self._nodes[edge[self._far]]
            is_known = other["id"] in self._seen
            if other["depth"] * self._outward <= 0 and not is_known:
                continue
            yield f"{'  ' * depth}{_short(other)}{' ↑' if is_known else ''}  {self._place(edge)}"
            if not is_known:
                self._seen.add(other["id"])
                yield from self.rows(other["id"], depth + 1)

    def _place(self, edge: Fields) -> str:
        numbers = ",".join(map(str, edge["lines"][:4])) + (",…" if len(edge["lines"]) > 4 else "")
        return self._reading.paint(f"{one_line(edge['path'])}:{numbers}", "dim")


def _short(node: Fields) -> str:
    """The last two parts of a qualified name: its path is shown beside it."""
    if node["kind"] == "module":
        return clip(one_line(node["qualified_name"]), 60)
    parts = one_line(node["qualified_name"]).replace("::", ".").split(".")
    return clip(".".join(parts[-2:]) if node["kind"] == "method" else parts[-1], 80)
