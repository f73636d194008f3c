"""Methods that others override, in the languages where a method says so: who calls one through a type above calls it,
and where it is overridden is one of its uses, as the languages' own servers have it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from codecairn.resolve.engine import Engine
from codecairn.resolve.values import Definition


def is_virtual(engine: Engine, method: Definition) -> bool:
    virtual, symbol = engine.scope(method.file).compiled.virtual, engine.symbol(method)
    return virtual is not None and symbol.parent >= 0 and virtual.search(symbol.signature) is not None


def overridden(engine: Engine, method: Definition) -> set[Definition]:
    """What a method overrides, in all the types above its own."""
    if not is_virtual(engine, method):
        return set()
    symbol = engine.symbol(method)
    owner = Definition(method.file, symbol.parent)
    above = engine.budget.within(partial(_above, engine, owner, symbol.name), list[Definition]())
    return {each for each in above if is_virtual(engine, each)}


def overriding(engine: Engine, method: Definition) -> Iterator[Definition]:
    """Where the types below a method's own declare and define it again."""
    symbol = engine.symbol(method)
    named = engine.definitions_named(symbol.name) if is_virtual(engine, method) else []
    paths = set[str]()
    for row, each in named:
        if each.parent >= 0 and method in overridden(engine, Definition(row.id, each.number)):
            paths.add(each.path)
    yield from (Definition(row.id, each.number) for row, each in named if each.path in paths)


def _above(engine: Engine, owner: Definition, name: str) -> list[Definition]:
    owned = (engine.members.own_member(each, name) for each in engine.members.lineage(owner).above)
    return [each for each in owned if each is not None]
