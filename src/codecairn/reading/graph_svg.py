"""A call graph as a drawing: callers to the left of the symbol, what it calls to the right, a column a call away.

Within a column nodes are put where the nodes they are joined to have their mean, a few times over from either side, and
then as close to that mean as their neighbours let them: few lines cross, and most are short.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from codecairn.text import one_line

_LETTER, _SMALL_LETTER = 7.9, 6.1
"""Widths in a monospaced font of 13 and of 10 pixels: no font has to be asked."""
_MOST_LETTERS = 44
_HEIGHT, _GAP, _BETWEEN = 42, 16, 96
_MARGIN, _HEADING, _PICTURE_HEADING = 32, 96, 40
_SWEEPS = 6
_SURE = 0.9

_KINDS = {"class": "of-type", "struct": "of-type", "interface": "of-type", "module": "of-module", "field": "of-field"}
_STYLE = """\
text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}
.name{font-size:13px;fill:#1f2328;font-weight:600}.place{font-size:10px;fill:#656d76}
.title{font-size:17px;fill:#1f2328;font-weight:600}.said{font-size:12px;fill:#656d76}
.column{font-size:11px;fill:#656d76;text-anchor:middle}.line{font-size:10px;fill:#656d76;paint-order:stroke;stroke:#fff;stroke-width:3px}
.box{fill:#f6f8fa;stroke:#d0d7de}.root{fill:#ddf4ff;stroke:#0969da;stroke-width:1.6}
.edge{fill:none;stroke:#8c959f;stroke-width:1.3}.back{stroke:#bc4c00}.guess{stroke-dasharray:5 4}
.end{fill:#8c959f}.endback{fill:#bc4c00}.kind{fill:#0969da}.of-type{fill:#1a7f37}.of-module{fill:#6e7781}.of-field{fill:#bc4c00}"""


@dataclass
class _Box:
    node: dict[str, Any]
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0

    @property
    def middle(self) -> float:
        return self.y + _HEIGHT / 2

    @property
    def title(self) -> str:
        """The name with the one around it: the whole is too long for a box, the name alone too little."""
        name = self.node["qualified_name"].replace("::", ".").replace("#", ".").rpartition("/")[2]
        return _shorten(".".join(name.split(".")[-2:]))

    @property
    def place(self) -> str:
        return _shorten(f"{self.node['path']}:{self.node['line_start']}", from_left=True)


def draw_svg(graph: dict[str, Any]) -> str:
    """The drawing as a file of its own, with its colours, its title and how complete it is."""
    drawing = _Drawing(graph, _HEADING)
    title, said = graph["symbol"]["qualified_name"], _label(graph)
    width = max(drawing.width, _MARGIN * 2 + 1.35 * _LETTER * len(title), _MARGIN * 2 + 0.95 * _LETTER * len(said))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {_size(width, drawing.height)}>', f"<style>{_STYLE}</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text class="title" x="{_MARGIN}" y="34">{_escape(title)}</text>',
        f'<text class="said" x="{_MARGIN}" y="54">{_escape(said)}</text>', *drawing.parts(), "</svg>\n",
    ])  # fmt: skip


def draw_picture(graph: dict[str, Any], address_of: Callable[[dict[str, Any]], str]) -> str:
    """The drawing as a part of a page: coloured by its style sheet, each box a link to the address of its node."""
    drawing = _Drawing(graph, _PICTURE_HEADING)
    label = quoteattr(one_line(f"Calls around {graph['symbol']['qualified_name']}: {_label(graph)}"))
    size = _size(drawing.width, drawing.height)
    return "\n".join([
        f'<svg class="graph" role="group" aria-label={label} {size}>', *drawing.parts(address_of), "</svg>"
    ])  # fmt: skip


class _Drawing:
    """Boxes and lines in their places, below a heading of some height."""

    def __init__(self, graph: dict[str, Any], top: int) -> None:
        self.boxes = {each["id"]: _Box(each) for each in graph["nodes"]}
        self.edges = [(self.boxes[each["from"]], self.boxes[each["to"]], each) for each in graph["edges"]]
        self.columns = _order(self.boxes, self.edges)
        self.top = top
        _place(self.columns, self.edges, top)
        self.width = max(box.x + box.width for box in self.boxes.values()) + _MARGIN
        self.height = max(box.y for box in self.boxes.values()) + _HEIGHT + _MARGIN

    def parts(self, address_of: Callable[[dict[str, Any]], str] | None = None) -> Iterator[str]:
        yield from (_arrow(name) for name in ("end", "endback"))
        yield from _headings(self.columns, self.top)
        yield from (_edge(*each) for each in self.edges)
        for box in self.boxes.values():
            drawn = _box(box)
            yield f"<a href={quoteattr(address_of(box.node))}>{drawn}</a>" if address_of else drawn
        yield from _lines(self.edges)


def _size(width: float, height: float) -> str:
    return f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'


_Edges = Sequence[tuple[_Box, _Box, dict[str, Any]]]
_Columns = dict[int, list[_Box]]


def _escape(text: str) -> str:
    """Names of a hostile repository are text like any other, and none turns the letters around it."""
    return escape("\n".join(one_line(line) for line in text.split("\n")))


def _shorten(text: str, *, from_left: bool = False) -> str:
    if len(text) <= _MOST_LETTERS:
        return text
    return "…" + text[1 - _MOST_LETTERS :] if from_left else text[: _MOST_LETTERS - 1] + "…"


def _label(graph: dict[str, Any]) -> str:
    calls = sum(len(each["lines"]) for each in graph["edges"])
    more = "" if graph["next_cursor"] is None else ", more were left out"
    return (
        f"{calls} calls shown{more}; {graph['unresolved_count']} could not be bound, "
        f"{graph['external_count']} leave the project"
    )


# Where things stand.


def _order(boxes: dict[int, _Box], edges: _Edges) -> _Columns:
    columns: _Columns = defaultdict(list)
    for box in boxes.values():
        columns[box.node["depth"]].append(box)
    columns = {depth: columns[depth] for depth in sorted(columns)}
    joined = _join(edges)
    for sweep in range(_SWEEPS):
        for column in list(columns.values())[:: -1 if sweep % 2 else 1]:
            _rank(column)
            means = {id(box): _mean([other.y for other in joined[id(box)]], box.y) for box in column}
            column.sort(key=lambda box: means[id(box)])
            _rank(column)
    return columns


def _rank(column: list[_Box]) -> None:
    """While the order is sought, a place is one in a column of height one."""
    for at, box in enumerate(column):
        box.y = (at + 0.5) / len(column)


def _join(edges: _Edges) -> dict[int, list[_Box]]:
    joined: dict[int, list[_Box]] = defaultdict(list)
    for caller, callee, _ in edges:
        if caller.node["depth"] != callee.node["depth"]:
            joined[id(caller)].append(callee)
            joined[id(callee)].append(caller)
    return joined


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _place(columns: _Columns, edges: _Edges, top: int) -> None:
    x, tallest = float(_MARGIN), max(map(len, columns.values())) * (_HEIGHT + _GAP) - _GAP
    for column in columns.values():
        width = max(max(len(box.title) * _LETTER, len(box.place) * _SMALL_LETTER) for box in column) + 24
        start = top + (tallest - len(column) * (_HEIGHT + _GAP) + _GAP) / 2
        for at, box in enumerate(column):
            box.x, box.y, box.width = x, start + at * (_HEIGHT + _GAP), width
        x += width + _BETWEEN
    joined = _join(edges)
    for sweep in range(_SWEEPS):
        for column in list(columns.values())[:: -1 if sweep % 2 else 1]:
            _settle(column, joined, top, tallest)


def _settle(column: list[_Box], joined: dict[int, list[_Box]], heading: float, tallest: float) -> None:
    """Each as near to the mean of its neighbours as those above and below it let it."""
    step = _HEIGHT + _GAP
    wanted = [_mean([other.y for other in joined[id(box)]], box.y) for box in column]
    top, bottom = float(heading), heading + tallest - _HEIGHT
    for at, box in enumerate(column):
        box.y = max(wanted[at], top + at * step, column[at - 1].y + step if at else top)
    for at in range(len(column) - 1, -1, -1):
        least = column[at + 1].y - step if at + 1 < len(column) else bottom
        column[at].y = min(column[at].y, least)


# What is drawn.


_NEAR_COLUMNS = {-1: "calls it", 0: "", 1: "it calls"}


def _headings(columns: _Columns, top: int) -> Iterator[str]:
    for depth, column in columns.items():
        said = _NEAR_COLUMNS.get(depth, f"{abs(depth)} calls away")
        centre = column[0].x + column[0].width / 2
        yield f'<text class="column" x="{centre:.1f}" y="{top - 14}">{said}</text>'


def _arrow(name: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path class="{name}" d="M0 0.5 L8 4 L0 7.5 z"/></marker>'
    )


def _edge(caller: _Box, callee: _Box, edge: dict[str, Any]) -> str:
    is_back = caller.x >= callee.x
    kinds = "edge" + (" back" if is_back else "") + (" guess" if edge["confidence"] < _SURE else "")
    told = f"{caller.node['qualified_name']} calls {callee.node['qualified_name']}\n{_sites(edge)} ({edge['resolver']})"
    arrow = "endback" if is_back else "end"
    path = _path(caller, callee)
    return f'<path class="{kinds}" marker-end="url(#{arrow})" d="{path}"><title>{_escape(told)}</title></path>'


def _path(caller: _Box, callee: _Box) -> str:
    """Rightwards from side to side; backwards, or within a column, around the right side of both."""
    start, end = caller.x + caller.width, callee.x
    if caller.x < callee.x:
        bend = (end - start) / 2
        return _curve((start, caller.middle), start + bend, end - bend, (end, callee.middle))
    right, is_itself = callee.x + callee.width, callee is caller
    reach = max(start, right) + (26 if is_itself else 44)
    return _curve((start, caller.middle + 8), reach, reach, (right, callee.middle + (-8 if is_itself else 8)))


def _curve(start: tuple[float, float], first: float, second: float, end: tuple[float, float]) -> str:
    """Level at both ends; `first` and `second` are how far it goes on so."""
    (x, y), (to_x, to_y) = start, end
    return f"M{x:.1f} {y:.1f} C{first:.1f} {y:.1f} {second:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"


def _sites(edge: dict[str, Any]) -> str:
    return f"{edge['path']}:{', '.join(map(str, edge['lines']))}"


def _box(box: _Box) -> str:
    node = box.node
    look = "root" if node["depth"] == 0 else "box"
    kind = _KINDS.get(node["kind"], "kind")
    told = f"{node['kind']} {node['qualified_name']}\n{node['path']}:{node['line_start']}"
    return (
        f'<g transform="translate({box.x:.1f} {box.y:.1f})"><title>{_escape(told)}</title>'
        f'<rect class="{look}" width="{box.width:.1f}" height="{_HEIGHT}" rx="6"/>'
        f'<rect width="4" height="{_HEIGHT - 12}" x="5" y="6" rx="2" class="{kind}"/>'
        f'<text class="name" x="16" y="18">{_escape(box.title)}</text>'
        f'<text class="place" x="16" y="33">{_escape(box.place)}</text></g>'
    )


def _lines(edges: _Edges) -> Iterator[str]:
    """The lines of the calls, once a box, beside the one that is farther out."""
    told = set[int]()
    for caller, callee, edge in edges:
        is_caller = caller.node["depth"] < 0
        outer = caller if is_caller else callee
        if caller.x < callee.x and id(outer) not in told:
            told.add(id(outer))
            lines = ", ".join(map(str, edge["lines"][:2])) + (" …" if len(edge["lines"]) > 2 else "")
            x = outer.x + outer.width + 6 if is_caller else outer.x - 12
            anchor = "start" if is_caller else "end"
            yield f'<text class="line" text-anchor="{anchor}" x="{x:.1f}" y="{outer.middle - 5:.1f}">{lines}</text>'
