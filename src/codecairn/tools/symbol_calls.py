"""The callers of a changed symbol: how many there are, and the nearest by name."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import NamedTuple

from codecairn.cancel import Cancel
from codecairn.diff.values import SymbolPlace
from codecairn.file_roles import is_test
from codecairn.parse.kinds import CALLABLE
from codecairn.resolve.engine import Engine
from codecairn.resolve.same_definition import declarations, references_to_all
from codecairn.resolve.values import Definition
from codecairn.store.view import View
from codecairn.tools.references import symbol_around

_NEAREST = 5
"""Callers that are named."""


class SymbolCalls(NamedTuple):
    total: int
    unbound: int
    nearest: list[str]


CountedCalls = tuple[list[SymbolCalls | None], bool]
"""The calls of each symbol, and whether all were counted."""


def count_calls(view: View, places: Sequence[SymbolPlace | None], cancel: Cancel) -> CountedCalls:
    """The calls of each symbol; None where the symbol is not there, cannot be called, or was not counted."""
    engine = Engine(view, cancel)
    found = (_definition(view, place) if place is not None else None for place in places)
    counts = [_calls(engine, each) if each is not None else None for each in found]
    return counts, not engine.budget.unreached


def _definition(view: View, place: SymbolPlace) -> Definition | None:
    row, file = place.symbol, view.file_at(place.version.path)
    if file is None or row.kind not in CALLABLE:
        return None
    same = (each for each in view.symbols(file.id) if (each.kind, each.path) == (row.kind, row.path))
    number = next((each.number for each in same if each.ordinal == row.ordinal), None)
    return None if number is None else Definition(file.id, number)


def _calls(engine: Engine, target: Definition) -> SymbolCalls | None:
    if engine.budget.is_spent:
        engine.budget.unreached += 1
        return None
    found = references_to_all(engine, declarations(engine, target))
    if not found.is_whole:
        return None
    here = engine.scope(target.file).row.path
    calls = [each for each in found.references if each.kind == "calls"]
    ordered = sorted(calls, key=lambda each: _distance(engine.scope(each.file).row.path, here))
    names = dict.fromkeys(symbol_around(engine, each.file, each.symbol).qualified_name for each in ordered)
    unbound = sum(each.kind == "calls" for each in found.unresolved)
    return SymbolCalls(len(calls), unbound, list(names)[:_NEAREST])


def _distance(path: str, here: str) -> tuple[bool, int, str]:
    """Code before tests, and what shares more of the path first."""
    shared = len(posixpath.commonpath([path, here]).split("/")) if "/" in path and "/" in here else 0
    return is_test(path), -shared - (path == here), path
