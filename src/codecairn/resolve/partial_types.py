"""Types that are written in several places, each of which says so."""

from __future__ import annotations

from collections.abc import Iterator

from codecairn.parse.kinds import TYPES
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import Definition
from codecairn.store.file_version import SymbolRow


def parts_of(engine: Questions, target: Definition) -> set[Definition]:
    """The parts of a type that is written in several places, itself among them; none where it is not."""
    row, symbol, compiled = engine.known.rows[target.file], engine.symbol(target), engine.scope(target.file).compiled
    if symbol.kind not in TYPES or compiled.partial is None or compiled.partial.search(symbol.signature) is None:
        return set()
    return {
        Definition(other.id, each.number)
        for other, each in engine.definitions_named(symbol.name)
        if (other.language, other.package, each.path, each.kind)
        == (row.language, row.package, symbol.path, symbol.kind)
        and compiled.partial.search(each.signature)
    }


def heads_of(engine: Questions, type_: Definition) -> Iterator[tuple[FileScope, SymbolRow]]:
    """Where it is written what a type extends: where its file writes its path, and its parts in other files."""
    scope, symbol = engine.scope(type_.file), engine.symbol(type_)
    yield from ((scope, each) for each in scope.types.get(symbol.path, [symbol]))
    others = [each for each in parts_of(engine, type_) if each.file != type_.file]
    for each in sorted(others, key=lambda each: (engine.known.rows[each.file].path, each.number)):
        yield engine.scope(each.file), engine.symbol(each)
