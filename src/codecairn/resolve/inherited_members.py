"""A member by the name of a type that has it from another: `View.dispatch` where a class above defines `dispatch`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from codecairn.cancel import Cancel
from codecairn.names.filters import Filters
from codecairn.names.lookup import Named, find
from codecairn.names.qualified import readings
from codecairn.parse.kinds import TYPES
from codecairn.resolve.engine import Engine
from codecairn.resolve.values import VARIABLES, Definition, Instance, Value
from codecairn.store.view import View

_MOST_OWNERS = 20


def find_inherited(view: View, given: str, filters: Filters, cancel: Cancel) -> list[Named]:
    """What a qualified name means that nothing is called: a member that its owner inherits, or has by its type."""
    engine, met = Engine(view, cancel), dict[tuple[int, int], Named]()
    for reading in readings(given):
        if not reading.around or not view.symbols_named(reading.name):
            continue
        for owner in _owners(view, ".".join(reading.around)):
            found = engine.budget.within(partial(_member, engine, owner, reading.name), None)
            if isinstance(found, Definition):
                met |= {(each.file.id, each.symbol.number): each for each in _overloads(engine, found)}
    return [each for each in met.values() if filters.keep(each.file, each.symbol)]


def _overloads(engine: Engine, found: Definition) -> Iterator[Named]:
    scope, symbol = engine.scope(found.file), engine.symbol(found)
    return (
        Named(scope.row, each, "inherited") for each in scope.symbols_by_name[symbol.name] if each.path == symbol.path
    )


def _owners(view: View, name: str) -> Iterator[Named]:
    for each in find(view, name, Filters(kinds=TYPES | VARIABLES))[:_MOST_OWNERS]:
        if each.match != "near":
            yield each


def _member(engine: Engine, owner: Named, name: str) -> Value | None:
    value = _value_of(engine, owner)
    return engine.members.of(value, name) if value is not None else None


def _value_of(engine: Engine, owner: Named) -> Value | None:
    definition = Definition(owner.file.id, owner.symbol.number)
    return Instance(definition) if owner.symbol.kind in TYPES else engine.types.type_of(definition)
