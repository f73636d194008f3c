"""Which definition a caller means: by a bare name, a qualified one in the notation of any language, or a place."""

from __future__ import annotations

from dataclasses import dataclass

from codecairn.errors import AmbiguousSymbol, SymbolNotFound
from codecairn.names.lookup import find_exact, worth
from codecairn.names.qualified import parts, qualified_name
from codecairn.paths import printable
from codecairn.resolve.engine import Engine
from codecairn.resolve.references import overloads_of
from codecairn.resolve.rules import rules_of
from codecairn.resolve.same_definition import Candidate, declarations, definition_of, group_one, home_of
from codecairn.resolve.values import VARIABLES, Definition

_MOST_LISTED = 50
_MOST_SAID = 5
MOST_ANSWERED = 5
"""Symbols of one name that are answered together."""


@dataclass(frozen=True)
class SymbolMeaning:
    """A symbol as a reader sees it: the definition that stands for it, and those that are one with it."""

    definition: Definition
    also: tuple[Definition, ...] = ()
    is_apart: bool = False
    """Whether one of several overloads is meant, as who names its place says."""

    @property
    def every(self) -> list[Definition]:
        return [self.definition, *self.also]


def pick_definition(engine: Engine, name: str, path: str | None = None, line: int | None = None) -> Definition:
    """The one definition that a caller means."""
    found = _groups(engine, name, path, line)
    if len({(group[0][0].id, group[0][1].path) for group in found}) == 1:  # a field and what reads it
        found = [min(found, key=lambda group: group[0][1].number)]
    if len(found) > 1:
        raise _ambiguous(name, found)
    return definition_of(found[0][0])


def meanings(engine: Engine, name: str, path: str | None = None, line: int | None = None) -> list[SymbolMeaning]:
    """What a caller may mean, the likeliest first; too many meanings are an error that lists them."""
    found = _groups(engine, name, path, line)
    if len(found) > MOST_ANSWERED:
        raise _ambiguous(name, found)
    is_apart = line is not None
    if path is not None and len(found) == len(found[0]) == 1:
        asked = definition_of(found[0][0])
        others = dict.fromkeys(
            declared for one in _overloads(engine, asked) for declared in declarations(engine, home_of(engine, one))
        )
        return [SymbolMeaning(asked, tuple(each for each in others if each != asked), is_apart)]
    return [SymbolMeaning(definition_of(first), tuple(map(definition_of, also)), is_apart) for first, *also in found]


def _overloads(engine: Engine, asked: Definition) -> list[Definition]:
    """The definition that is asked for first, and those in its file that are answered with it, where overloads are."""
    row = engine.known.rows[asked.file]
    if not rules_of(row.language).rules.headers:
        return [asked]
    same = [each for each in overloads_of(engine, asked) - {asked} if each.file == asked.file]
    return [asked, *sorted(same, key=lambda each: each.number)]


def _groups(engine: Engine, name: str, path: str | None, line: int | None) -> list[list[Candidate]]:
    """The symbols of a name, the likeliest first: the product's own before tests, what has a body before what has
    none."""
    found = find_exact(engine.definitions_named, name)
    if path is not None:
        found = [each for each in found if each[0].path == path.removeprefix("./")]
    if line is not None:
        found = _nearest(found, line)
    found = _type_or_constructor(_one_a_path(found), parts(name))
    if not found:
        place = f" at {printable(path)}" + (f":{line}" if line else "") if path else ""
        raise SymbolNotFound(f"No symbol named {printable(name)}{place}", symbol_name=printable(name))
    return group_one(engine, sorted(found, key=lambda each: worth(*each)))


def _nearest(found: list[Candidate], line: int) -> list[Candidate]:
    """The definition on a line: the one whose name stands nearest to it, innermost first."""
    around = [each for each in found if each[1].start_line <= line <= each[1].end_line]
    return sorted(around, key=lambda each: (abs(each[1].name_line - line), each[1].end_line - each[1].start_line))[:1]


def _one_a_path(found: list[Candidate]) -> list[Candidate]:
    """Overloads, a getter and its setter, an interface and the value of its name are one to whom asks by name."""
    kept: dict[tuple[int, str, bool], Candidate] = {}
    for file, symbol in found:
        is_apart = rules_of(file.language).rules.fields_apart and symbol.kind in VARIABLES
        kept.setdefault((file.id, symbol.path, is_apart), (file, symbol))
    return list(kept.values())


def _type_or_constructor(found: list[Candidate], wanted: tuple[str, ...]) -> list[Candidate]:
    """A type and what is in it by its own name, its constructor: the type is meant, unless the name is said twice."""
    numbers = {(file.id, symbol.number) for file, symbol in found}
    made = [each for each in found if (each[0].id, each[1].parent) in numbers]
    if made and wanted[-2:-1] == wanted[-1:]:
        return made
    return [each for each in found if each not in made]


def _ambiguous(name: str, found: list[list[Candidate]]) -> AmbiguousSymbol:
    firsts = [group[0] for group in found]
    listed = [
        {
            "qualified_name": qualified_name(file, symbol), "kind": symbol.kind, "path": file.path,
            "line_start": symbol.name_line,
        }
        for file, symbol in firsts[:_MOST_LISTED]
    ]  # fmt: skip
    said = [f"{each['qualified_name']} ({each['path']}:{each['line_start']})" for each in listed[:_MOST_SAID]]
    more = f" and {len(found) - _MOST_SAID} more" if len(found) > _MOST_SAID else ""
    return AmbiguousSymbol(
        f"{printable(name)} is {len(found)} symbols: {', '.join(said)}{more}",
        param="symbol_name", candidates=listed, total_candidates=len(found),
        remedy=f"Call again with a qualified name, such as {listed[0]['qualified_name']}.",
    )  # fmt: skip
