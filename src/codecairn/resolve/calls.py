"""Who calls a definition and what it calls, as far as the sites can be bound; what cannot is counted, never guessed.

A graph is walked breadth first from one definition, outward on either side, so that what is near comes before what is
far and a walk may stop anywhere. A definition is met once a side: what leads back to it is an edge and no new walk.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple

from codecairn.file_roles import is_product
from codecairn.parse.facts import Site
from codecairn.parse.kinds import CALLABLE, TYPES
from codecairn.resolve.engine import Engine
from codecairn.resolve.references import CONFIDENCE, Reference
from codecairn.resolve.same_definition import declarations, home_of, references_to_all
from codecairn.resolve.values import Definition, Resolver, by_key
from codecairn.store.file_version import SymbolRow, link_table

Direction = Literal["callers", "callees", "both"]
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__", "constructor", "initialize", "init", "__construct"})
_MODULE = -1


class Node(NamedTuple):
    """A definition, its overloads included; a file, for what stands in none."""

    file: int
    number: int


class Edge(NamedTuple):
    caller: Node
    callee: Node
    file: int
    """Of the call, which is the caller's."""
    lines: tuple[int, ...]
    resolver: Resolver
    confidence: float


@dataclass
class Unbound:
    """Calls that are no edges: of the name, but not certainly of the definition; and such as leave the project."""

    unresolved: int = 0
    external: int = 0


@dataclass
class Walk:
    """How far each node is from the first, callers below zero, and what was met on the way."""

    depths: dict[Node, int] = field(default_factory=dict)
    unbound: Unbound = field(default_factory=Unbound)
    is_whole: bool = True
    """False where the budget ended before all that was asked for was walked."""


_Ask = Callable[[Node, Unbound], list[Edge]]


class Calls:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.symbol = engine.symbol
        self._home = cache(lambda definition: home_of(engine, definition))
        self._sites = cache(lambda file: _calls_by_symbol(link_table(engine.view.links(file)).sites()))

    def walk(self, root: Definition, direction: Direction, depth: int, walk: Walk) -> Iterator[Edge]:
        """The edges around a definition, the nearest first, each once; of both sides in turn, so that neither fills an
        answer alone."""
        first, seen = self.node(root), set[tuple[Node, Node, Resolver]]()
        walk.depths[first] = 0
        sides: list[Iterator[Edge]] = []
        if direction != "callees":
            sides.append(self._side(first, -1, self.callers, depth, walk))
        if direction != "callers":
            sides.append(self._side(first, 1, self.callees, depth, walk))
        for edge in _in_turn(sides):
            if (edge.caller, edge.callee, edge.resolver) not in seen:
                seen.add((edge.caller, edge.callee, edge.resolver))
                yield edge

    def _side(self, first: Node, step: int, ask: _Ask, depth: int, walk: Walk) -> Iterator[Edge]:
        waiting, met = deque([(first, 0)]), {first}
        while waiting and not self._engine.budget.is_spent:
            self._engine.cancel.check()
            here, far = waiting.popleft()
            for edge in ask(here, walk.unbound):
                other = edge.caller if step < 0 else edge.callee
                walk.depths.setdefault(other, (far + 1) * step)
                yield edge
                if other not in met and far + 1 < depth:
                    waiting.append((other, far + 1))
                met.add(other)
        walk.is_whole = walk.is_whole and not waiting and not self._engine.budget.unreached

    def node(self, definition: Definition) -> Node:
        """The first of the overloads that a definition is one of, and not where it is only declared."""
        definition = self._home(definition)
        symbol = self.symbol(definition)
        same = self._engine.scope(definition.file).symbols_by_name[symbol.name]
        return Node(definition.file, next(each.number for each in same if each.path == symbol.path))

    def callers(self, node: Node, unbound: Unbound) -> list[Edge]:
        if node.number == _MODULE:
            return []
        found = references_to_all(self._engine, self._callable_names(node))
        unbound.unresolved += sum(site.kind == "calls" for site in found.unresolved)
        calls = [site for site in found.references if site.kind == "calls"]
        calls.sort(key=lambda each: self._is_beside(each.file))
        return _edges((self._around(each), node, each.file, each.line, each.resolver) for each in calls)

    def _callable_names(self, node: Node) -> list[Definition]:
        """A constructor is called by its type's name too."""
        symbols = self._engine.scope(node.file).symbols
        own = symbols[node.number]
        is_made = own.parent >= 0 and _constructs(own, symbols[own.parent])
        named = [Definition(node.file, each) for each in ((node.number, own.parent) if is_made else (node.number,))]
        return [each for name in named for each in declarations(self._engine, name)]

    def callees(self, node: Node, unbound: Unbound) -> list[Edge]:
        scope = self._engine.scope(node.file)
        found = list[tuple[Node, Node, int, int, Resolver]]()
        for number in self._inside(node):
            for site in self._sites(node.file).get(number, ()):
                bound = self._engine.bind(scope, site)
                if bound.definition is not None:
                    found.append((node, self.node(bound.definition), node.file, site.line, bound.resolver))
                elif bound.is_known:
                    unbound.external += 1
                else:
                    unbound.unresolved += 1
        return _edges(found)

    def _is_beside(self, file: int) -> bool:
        """Whether it is no part of the product: what tests and examples call comes after what the product does."""
        row = self._engine.known.rows[file]
        return not is_product(row.path, row.language)

    def _around(self, each: Reference) -> Node:
        return Node(each.file, _MODULE) if each.symbol < 0 else self.node(Definition(each.file, each.symbol))

    def _inside(self, node: Node) -> list[int]:
        """The symbols whose calls are a node's: its overloads and what is in them that is no function of its own; of a
        type what making one runs."""
        if node.number == _MODULE:
            return [_MODULE]
        symbols = self._engine.scope(node.file).symbols
        own = symbols[node.number]
        inside = {each.number for each in symbols if each.path == own.path and each.name == own.name}
        for each in symbols:
            if each.parent in inside and (each.kind not in CALLABLE | TYPES or _constructs(each, own)):
                inside.add(each.number)
        return sorted(inside)


def _in_turn(sides: list[Iterator[Edge]]) -> Iterator[Edge]:
    while sides:
        for side in tuple(sides):
            edge = next(side, None)
            if edge is None:
                sides.remove(side)
            else:
                yield edge


def _constructs(each: SymbolRow, own: SymbolRow) -> bool:
    return own.kind in TYPES and each.kind in CALLABLE and (each.name in _CONSTRUCTORS or each.name == own.name)


def _calls_by_symbol(sites: list[Site]) -> dict[int, list[Site]]:
    return by_key((site for site in sites if site.kind == "calls"), lambda site: site.symbol)


def _edges(calls: Iterable[tuple[Node, Node, int, int, Resolver]]) -> list[Edge]:
    """One edge for all calls of one definition from another that were bound in one way."""
    lines: dict[tuple[Node, Node, int, Resolver], Counter[int]] = {}
    for caller, callee, file, line, resolver in calls:
        lines.setdefault((caller, callee, file, resolver), Counter())[line] += 1
    return [
        Edge(caller, callee, file, tuple(sorted(at)), resolver, CONFIDENCE[resolver])
        for (caller, callee, file, resolver), at in lines.items()
    ]
