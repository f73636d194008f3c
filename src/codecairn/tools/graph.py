"""Calls around a symbol: who calls it, what it calls, and so on outward."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from codecairn.budget import characters
from codecairn.errors import NoEdgesAvailable
from codecairn.names.qualified import module_of, qualified_name
from codecairn.reading.references import print_graph
from codecairn.resolve.calls import Calls, Direction, Edge, Node, Walk
from codecairn.resolve.engine import Engine
from codecairn.resolve.pick import meanings
from codecairn.resolve.values import Definition
from codecairn.store.view import View
from codecairn.tools import Call, tool
from codecairn.tools.cursor import Cursor, offset_of
from codecairn.tools.inquiry import Inquiry, Ref, Workspace, inquire, project_of
from codecairn.tools.references import NOT_ALL, ReferredSymbol, describe_symbol, weigh
from codecairn.tools.suggestions import suggest_names
from codecairn.tools.symbol_fields import symbol_fields
from codecairn.tools.symbols import SymbolName, check_name

_ROW = 110
"""Characters of an edge or of a node, beside its names."""
_AROUND_ROWS = 2_000
_ORDINARY = 60


class GraphNode(Struct, frozen=True, kw_only=True):
    id: int
    depth: int
    name: str
    qualified_name: str
    kind: str
    path: str
    line_start: int
    source_layer: str


class GraphEdge(Struct, frozen=True, kw_only=True, rename={"caller": "from", "callee": "to"}):
    caller: int
    callee: int
    path: str
    lines: list[int]
    confidence: float
    resolver: str


class CallGraph(Struct, frozen=True, kw_only=True):
    symbol: ReferredSymbol
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    unresolved_count: int
    external_count: int
    metadata: dict[str, Any]
    next_cursor: str | None = None
    candidates: list[ReferredSymbol] | None = None
    """The other symbols of a bare name, where it has several: `symbol` is the likeliest."""


@tool(family="refs", reading=print_graph)
def get_call_graph(
    call: Call,
    *,
    symbol_name: SymbolName,
    direction: Annotated[Direction, Meta(description="Which side")] = "both",
    depth: Annotated[int, Meta(ge=1, le=5, description="Calls away")] = 2,
    limit: Annotated[int, Meta(ge=1, le=300, description="Most edges")] = _ORDINARY,
    cursor: Cursor = None,
    workspace: Workspace = None,
    ref: Ref = None,
) -> CallGraph:
    """Who calls a function and what it calls, up to `depth` calls away. Use it to see what a change reaches."""
    inquiry = inquire(call, project_of(call, workspace), ref)
    check_name(symbol_name)
    offset = offset_of(cursor)

    def answer(view: View) -> CallGraph:
        engine = Engine(view, call.cancel)
        with suggest_names(view, symbol_name):
            (root, _), *others = weigh(engine, meanings(engine, symbol_name))
        walk = Walk()
        edges = Calls(engine).walk(root, direction, depth, walk)
        graph = _graph(engine, root, walk, *_page(engine, edges, offset, limit), inquiry)
        return structs.replace(graph, candidates=[describe_symbol(engine, each) for each, _ in others] or None)

    return inquiry.require(answer, NoEdgesAvailable)


def _page(engine: Engine, edges: Iterator[Edge], offset: int, limit: int) -> tuple[list[Edge], int | None]:
    """The edges an answer has room for with the nodes they bring along, and where the next ones begin."""
    room = characters(asked=limit > _ORDINARY) - _AROUND_ROWS
    page, met = list[Edge](), set[Node]()
    for edge in islice(edges, offset, None):
        new = {edge.caller, edge.callee} - met
        room -= _ROW + sum(_ROW + 2 * len(_full_name(engine, each)) for each in new)
        if len(page) == limit or (room < 0 and page):
            return page, offset + len(page)
        page.append(edge)
        met |= new
    return page, None


def _graph(
    engine: Engine, root: Definition, walk: Walk, page: list[Edge], after: int | None, inquiry: Inquiry
) -> CallGraph:
    first = next(iter(walk.depths))
    met = dict.fromkeys([first, *(each for edge in page for each in (edge.caller, edge.callee))])
    ids = {node: number for number, node in enumerate(sorted(met, key=lambda each: abs(walk.depths[each])))}
    return CallGraph(
        symbol=describe_symbol(engine, root),
        nodes=[_node(engine, node, number, walk.depths[node]) for node, number in ids.items()],
        edges=[
            GraphEdge(
                caller=ids[each.caller], callee=ids[each.callee], path=engine.scope(each.file).row.path,
                lines=list(each.lines), confidence=each.confidence, resolver=each.resolver,
            )
            for each in page
        ],
        unresolved_count=walk.unbound.unresolved, external_count=walk.unbound.external,
        metadata=inquiry.metadata(
            () if walk.is_whole else [NOT_ALL], is_cut=after is not None, is_whole=walk.is_whole
        ),
        next_cursor=None if after is None else str(after),
    )  # fmt: skip


def _node(engine: Engine, node: Node, number: int, depth: int) -> GraphNode:
    scope = engine.scope(node.file)
    symbol = scope.symbols[node.number] if node.number >= 0 else None
    named = symbol_fields(scope.row, symbol)
    return GraphNode(
        id=number, depth=depth, name=named["name"], qualified_name=_full_name(engine, node), kind=named["kind"],
        path=scope.row.path, line_start=symbol.name_line if symbol else 1,
        source_layer=engine.view.source_layer(scope.row.path, node.file),
    )  # fmt: skip


def _full_name(engine: Engine, node: Node) -> str:
    scope = engine.scope(node.file)
    if node.number < 0:
        return module_of(scope.row) or scope.row.path
    return qualified_name(scope.row, scope.symbols[node.number])
