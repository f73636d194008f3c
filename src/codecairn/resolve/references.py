"""Every reference to one definition in a view, and the sites that share its name and could not be bound."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from codecairn.parse.facts import EdgeKind, Import, Site
from codecairn.parse.kinds import CALLABLE, TYPES
from codecairn.parse.language import family
from codecairn.resolve.engine import Engine
from codecairn.resolve.made_values import makes_value
from codecairn.resolve.name_uses import uses_of
from codecairn.resolve.overloads import Overloads
from codecairn.resolve.overriding import overridden, overriding
from codecairn.resolve.partial_types import parts_of
from codecairn.resolve.questions import BoundSite
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import Definition, Instance, Resolver, Value

CONFIDENCE: dict[Resolver, float] = {
    "same_file": 0.99, "import": 0.99, "qualified": 0.98, "receiver_type": 0.95, "unique_name": 0.6,
}  # fmt: skip


@dataclass(frozen=True)
class Reference:
    file: int
    line: int
    column: int
    kind: EdgeKind
    symbol: int
    """The innermost definition around it, or -1."""
    resolver: Resolver
    confidence: float


@dataclass(frozen=True)
class Unresolved:
    file: int
    line: int
    column: int
    kind: EdgeKind
    symbol: int
    reason: str
    """`budget` where the question ended before it; else what is not known of it."""


_Place = TypeVar("_Place", Reference, Unresolved)


@dataclass(frozen=True)
class ReferenceSet:
    """The account of a name: each place where it stands in code is in one of the three."""

    references: list[Reference]
    unresolved: list[Unresolved]
    elsewhere: frozenset[tuple[int, int, int]]
    """Where it means something else: file, line and column."""
    is_whole: bool
    """Whether the budget reached everything that may refer to the target."""


def references_to(engine: Engine, target: Definition, *, is_apart: bool = False) -> ReferenceSet:
    """The uses of a definition and those that are one with it; with `is_apart`, of the one of its overloads alone, as
    far as the arguments of a call tell."""
    before = engine.budget.unreached
    overloads = Overloads(engine, target) if is_apart else None
    group = _group(engine, target)
    merged, made = _namesakes(engine, target), engine.members.constructed_type(target)
    names = _names(engine, target, group)
    maker = {engine.symbol(made).name} - names if made is not None else set[str]()
    references: list[Reference] = []
    unresolved: list[Unresolved] = []
    elsewhere = set[tuple[int, int, int]]()
    for file, site, bound in _sites(engine, target, names | maker):
        is_import = site.kind == "imports" and bound.definition in merged
        is_made = made is not None and bound.definition == made and makes_value(engine.scope(file), site)
        is_meant = bound.definition in group or is_import or is_made
        if is_meant and overloads and overloads.excludes(file, site):
            elsewhere.add((file, site.line, site.column))
        elif is_meant:
            references.append(
                Reference(
                    file, site.line, site.column, site.kind, site.symbol, bound.resolver, CONFIDENCE[bound.resolver]
                )
            )
        elif bound.definition is None and not bound.is_known and site.name not in maker:
            unresolved.append(Unresolved(file, site.line, site.column, site.kind, site.symbol, bound.reason))
        elif site.name not in maker:
            elsewhere.add((file, site.line, site.column))
    references += _declarations(engine, target, group if not overloads else {target})
    references += _assignments(engine, target, group)
    references += _overriding(engine, target, group)
    references += _quoted_references(engine, target, group)
    is_whole = engine.budget.unreached == before
    return ReferenceSet(
        _in_order(engine, references), _in_order(engine, unresolved), frozenset(elsewhere), is_whole
    )  # fmt: skip


def _in_order(engine: Engine, places: list[_Place]) -> list[_Place]:
    """By path and position, each place once."""
    rows = engine.known.rows
    at = {(rows[each.file].path, each.line, each.column): each for each in reversed(places)}
    return [at[place] for place in sorted(at)]


def _sites(engine: Engine, target: Definition, names: set[str]) -> Iterator[tuple[int, Site, BoundSite]]:
    language = engine.known.rows[target.file].language
    for name in sorted(names):
        yield from uses_of(engine, name, language).sites


def _group(engine: Engine, target: Definition) -> set[Definition]:
    """The definitions that are one with the target: its overloads, its setter, what it overrides where that counts."""
    group = overloads_of(engine, target)
    group |= {above for each in group for above in overridden(engine, each)}
    scope, symbol = engine.scope(target.file), engine.symbol(target)
    if not scope.rules.overrides_are_one or symbol.kind not in ("method", "field") or symbol.parent < 0:
        return group
    if symbol.name in scope.rules.constructors:
        return group
    return group | _family(engine, target)


def overloads_of(engine: Engine, target: Definition) -> set[Definition]:
    scope, symbol = engine.scope(target.file), engine.symbol(target)
    block = scope.block(symbol) if scope.rules.scopes == "braces" and symbol.parent < 0 else None
    return (
        {
            Definition(target.file, each.number)
            for each in scope.symbols_by_name[symbol.name]
            if each.path == symbol.path
            and _is_one(scope, each.kind, symbol.kind)
            and (block is None or scope.block(each) == block)
        }
        | {target}
        | parts_of(engine, target)
        | overloads_beside(engine, target)
    )


def overloads_beside(engine: Engine, target: Definition) -> set[Definition]:
    """Functions of one path in other files, where any file may add to a namespace: overloads, specialisations, and
    where each is declared or defined. One program has no two others of a path that a header names; a path that is no
    more than a name is one in the headers of one folder alone."""
    row, symbol, rules = engine.known.rows[target.file], engine.symbol(target), engine.scope(target.file).rules
    if not rules.namespaces or rules.closed or symbol.kind not in CALLABLE:
        return set()
    same = [
        (other, each) for other, each in engine.definitions_named(symbol.name)
        if (each.path, each.kind) == (symbol.path, symbol.kind)
        and family(other.language) == family(row.language)
        and not each.signature.startswith(("#", "static "))
    ]  # fmt: skip
    headers, folder = [each for each in same if each[0].path.endswith(rules.headers)], posixpath.dirname(row.path)
    if symbol.path == symbol.name:
        is_header = row.path.endswith(rules.headers)
        same = [each for each in headers if is_header and posixpath.dirname(each[0].path) == folder]
    found = (Definition(other.id, each.number) for other, each in same) if headers else ()
    return {each for each in found if each == target or _is_shared(engine, each)}


def _is_shared(engine: Engine, function: Definition) -> bool:
    """Whether a function stands in a header, or outside of the type that it is defined for."""
    scope, parent = engine.scope(function.file), engine.symbol(function).parent
    return scope.row.path.endswith(scope.rules.headers) or parent < 0 or scope.symbols[parent].kind not in TYPES


def _namesakes(engine: Engine, target: Definition) -> set[Definition]:
    """Whatever an import of the name brings along with the target: a type and a value may share it."""
    scope, symbol = engine.scope(target.file), engine.symbol(target)
    return {
        Definition(target.file, each.number) for each in scope.symbols_by_name[symbol.name] if each.path == symbol.path
    }


def _family(engine: Engine, target: Definition) -> set[Definition]:
    """Members of the same name up and down the types."""
    name, kind, rules = engine.symbol(target).name, engine.symbol(target).kind, engine.scope(target.file).rules
    related: dict[Definition, set[Definition]] = defaultdict(set)
    for row, symbol in engine.definitions_named(name):
        if symbol.parent >= 0 and symbol.kind in ((kind,) if rules.fields_apart else ("method", "field")):
            here = Definition(row.id, symbol.number)
            above = engine.budget.within(
                partial(_above, engine, Definition(row.id, symbol.parent), name), list[Definition]()
            )
            related[here].update(above)
            for each in above:
                related[each].add(here)
    family, waiting = {target}, [target]
    while waiting:
        new = related[waiting.pop()] - family
        family |= new
        waiting += new
    return family


def _above(engine: Engine, owner: Definition, name: str) -> list[Definition]:
    owned = (engine.members.own_member(each, name) for each in engine.members.lineage(owner).above)
    return [each for each in owned if each is not None]


def _is_one(scope: FileScope, one: str, other: str) -> bool:
    if one == other:
        return True
    if scope.rules.splits_types and "interface" in (one, other):
        return {one, other} <= {"interface", "class"}
    return not scope.rules.fields_apart and {one, other} <= {"function", "method", "field"}


def _names(engine: Engine, target: Definition, group: set[Definition]) -> set[str]:
    """The names a definition goes by: its own, and those that imports give it."""
    symbol, language = engine.symbol(target), engine.known.rows[target.file].language
    names, waiting = {symbol.name}, [symbol.name]
    if (ending := engine.scope(target.file).rules.attribute) and symbol.name.endswith(ending):
        names.add(symbol.name.removesuffix(ending))
    while waiting:
        for file, each in uses_of(engine, waiting.pop(), language).renamed:
            if each.alias not in names and each.alias != "default":
                value = engine.budget.within(partial(_import_value, engine, file, each), None)
                if isinstance(value, Definition) and value in group:
                    names.add(each.alias)
                    waiting.append(each.alias)
    return names


def _import_value(engine: Engine, file: int, each: Import) -> Value | None:
    return engine.members.import_value(engine.scope(file), each)


def _quoted_references(engine: Engine, target: Definition, group: set[Definition]) -> Iterator[Reference]:
    """Types written as strings, in the languages that have them."""
    symbol, home = engine.symbol(target), engine.scope(target.file)
    if symbol.kind not in TYPES or not home.rules.quoted:
        return
    importing = uses_of(engine, symbol.name, home.row.language).importing
    for file in {*importing, *(each.file for each in group)}:
        if engine.known.rows[file].language == home.row.language:
            for at in engine.budget.within(partial(_quoting, engine, file, symbol.name, group), list[int]()):
                scope = engine.scope(file)
                around, line = scope.symbol_at(at), scope.source.line_of(at)
                column, number = at - scope.source.starts[line - 1], around.number if around else -1
                resolver: Resolver = "same_file" if scope is home else "import"
                yield Reference(file, line, column, "references", number, resolver, CONFIDENCE[resolver])


def _quoting(engine: Engine, file: int, name: str, group: set[Definition]) -> list[int]:
    """Where a file has a name in a string that is a type and means one of a group."""
    scope, found = engine.scope(file), list[int]()
    for at in scope.quoted_positions(name):
        engine.budget.step()
        if not scope.source.receiver(at) and engine.names.lookup(scope, name, at)[0] in group:
            found.append(at)
    return found


def _assignments(engine: Engine, target: Definition, group: set[Definition]) -> Iterator[Reference]:
    """Fields of types below that are assignments to the target."""
    name, are_apart = engine.symbol(target).name, engine.scope(target.file).rules.fields_apart
    for row, symbol in engine.definitions_named(name):
        if symbol.kind != "field" or symbol.parent < 0 or are_apart:
            continue
        owner = engine.budget.within(
            partial(engine.members.of, Instance(Definition(row.id, symbol.parent)), name), None
        )
        if owner in group and Definition(row.id, symbol.number) not in group:
            yield Reference(
                row.id, symbol.name_line, 0, "references", symbol.parent, "receiver_type", CONFIDENCE["receiver_type"]
            )


def _overriding(engine: Engine, target: Definition, group: set[Definition]) -> Iterator[Reference]:
    """Where types below declare and define the target again."""
    for each in overriding(engine, target):
        if each not in group:
            line, confidence = engine.symbol(each).name_line, CONFIDENCE["receiver_type"]
            yield Reference(each.file, line, 0, "references", each.number, "receiver_type", confidence)


def _declarations(engine: Engine, target: Definition, group: set[Definition]) -> Iterator[Reference]:
    for each in sorted(group - {target}, key=lambda each: (each.file, each.number)):
        symbol = engine.symbol(each)
        yield Reference(each.file, symbol.name_line, 0, "references", each.number, "same_file", 1.0)
