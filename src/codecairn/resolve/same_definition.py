"""Definitions that are one to a reader: a declaration and its definition, an interface's member and what implements it,
the parts of a type.

A declaration is what a header or a stub says of something that is defined elsewhere. It belongs to the definition of
its name in the file of its own name, else to the only one of its signature, its folder or at all that may be seen from
outside. An implementation is a member of a type that extends or implements the interface, directly or not.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace

from codecairn.parse.kinds import CALLABLE
from codecairn.parse.language import family
from codecairn.resolve.engine import Engine
from codecairn.resolve.partial_types import parts_of
from codecairn.resolve.references import Reference, ReferenceSet, overloads_beside, references_to
from codecairn.resolve.rules import rules_of
from codecairn.resolve.values import VARIABLES, Definition
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow

Candidate = tuple[FileRow, SymbolRow]
_STATIC = re.compile(r"\bstatic\b")
_DEEPEST = 12
_MOST_IMPLEMENTATIONS = 30
"""Members of one family whose uses are gathered for one answer."""


def definition_of(candidate: Candidate) -> Definition:
    return Definition(candidate[0].id, candidate[1].number)


def group_one(engine: Engine, found: list[Candidate]) -> list[list[Candidate]]:
    """Candidates in groups of those that are one, in their order."""
    if len(found) == 1:
        return [found]
    group_of = {definition_of(each): [each] for each in found}
    for one, other in _pairs(engine, found):
        first, second = group_of[one], group_of[other]
        if first is not second:
            first += second
            group_of |= dict.fromkeys(map(definition_of, second), first)
    groups = {id(group): group for group in group_of.values()}
    order = {definition_of(each): place for place, each in enumerate(found)}
    return [sorted(group, key=lambda each: order[definition_of(each)]) for group in groups.values()]


def references_to_all(engine: Engine, targets: list[Definition], *, is_apart: bool = False) -> ReferenceSet:
    """The uses of definitions that are one; what is bound to any of them is unresolved for none."""
    founds = [references_to(engine, each, is_apart=is_apart) for each in targets[:_MOST_IMPLEMENTATIONS]]
    if len(founds) == 1:
        return founds[0]
    rows = engine.known.rows
    founds[0] = replace(founds[0], references=[*founds[0].references, *_written_again(engine, targets)])
    bound = {(rows[each.file].path, each.line, each.column): each for found in founds for each in found.references}
    unbound = {(rows[each.file].path, each.line, each.column): each for found in founds for each in found.unresolved}
    elsewhere = frozenset[tuple[int, int, int]]().union(*(each.elsewhere for each in founds))
    return replace(
        founds[0],
        references=[bound[at] for at in sorted(bound)],
        unresolved=[unbound[at] for at in sorted(unbound) if at not in bound],
        elsewhere=elsewhere - {(each.file, each.line, each.column) for each in bound.values()},
        is_whole=all(each.is_whole for each in founds),
    )


def _written_again(engine: Engine, targets: list[Definition]) -> Iterator[Reference]:
    """Where a header, or another file, says of a function that it is there."""
    for each in targets[1:]:
        row, symbol = engine.known.rows[each.file], engine.symbol(each)
        if _headers(row) and symbol.kind in CALLABLE:
            scope = engine.scope(each.file)
            column = scope.name_at(symbol) - scope.source.position(symbol.name_line, 0)
            yield Reference(each.file, symbol.name_line, column, "references", each.number, "qualified", 1.0)


def declarations(engine: Engine, definition: Definition) -> list[Definition]:
    """The definition, and where it is declared; what is declared for several, of which a build takes one, is each's."""
    row, symbol = engine.known.rows[definition.file], engine.symbol(definition)
    if not _headers(row) or symbol.kind not in CALLABLE or is_declaration(engine, (row, symbol)):
        return [definition]
    same = _namesakes(engine, (row, symbol))
    declared = [each for each in same if is_declaration(engine, each)]
    homes = [each for each in same if each not in declared and not _is_macro(each)]
    own = [each for each in declared if _home(each, homes) in ((row, symbol), None)]
    macros = [each for each in same if _is_macro(each) and each != (row, symbol)]
    return [definition, *map(definition_of, [*own, *macros])]


def home_of(engine: Engine, definition: Definition) -> Definition:
    """The definition that a declaration announces; itself where it is none, or nothing tells which."""
    row, symbol = engine.known.rows[definition.file], engine.symbol(definition)
    if not _headers(row) or symbol.kind not in CALLABLE or not is_declaration(engine, (row, symbol)):
        return definition
    same = _namesakes(engine, (row, symbol))
    homes = [each for each in same if not is_declaration(engine, each) and not _is_macro(each)]
    found = _home((row, symbol), homes)
    return definition if found is None else definition_of(found)


def is_declaration(engine: Engine, candidate: Candidate) -> bool:
    file, symbol = candidate
    if file.path.endswith(rules_of(file.language).rules.stubs):
        return True
    is_header = file.path.endswith(_headers(file))
    if not _headers(file) or symbol.kind not in (CALLABLE | VARIABLES if is_header else CALLABLE):
        return False
    if _is_macro(candidate):
        return False
    scope = engine.scope(file.id)
    span = scope.span(symbol)
    return "{" not in scope.source.code[span.start : span.end]


def _is_macro(candidate: Candidate) -> bool:
    """A macro of a function's name, which calls it, or stands for it where a build has none."""
    return candidate[1].signature.startswith("#")


def _namesakes(engine: Engine, candidate: Candidate) -> list[Candidate]:
    symbol = candidate[1]
    return [
        each for each in engine.definitions_named(symbol.name)
        if _headers(each[0]) and (each[1].kind, each[1].path) == (symbol.kind, symbol.path)
    ]  # fmt: skip


def _pairs(engine: Engine, found: list[Candidate]) -> Iterator[tuple[Definition, Definition]]:
    declared = [each for each in found if is_declaration(engine, each)]
    homes = [each for each in found if each not in declared and not _is_macro(each)]
    for each in (each for each in found if _is_macro(each) and len(homes) == 1):
        yield definition_of(homes[0]), definition_of(each)
    for each in declared:
        if (defined := _home(each, homes)) is not None:
            yield definition_of(defined), definition_of(each)
    known = {definition_of(each) for each in found}
    for each in found:
        asked = definition_of(each)
        yield from ((asked, part) for part in (parts_of(engine, asked) | overloads_beside(engine, asked)) & known)
        for above in _interfaces(engine, each):
            if above in known and above != definition_of(each):
                yield above, definition_of(each)


def _home(declared: Candidate, homes: list[Candidate]) -> Candidate | None:
    """The definition that a declaration means, by the first sign that leaves one."""
    file, symbol = declared
    same = [each for each in homes if each[1].path == symbol.path and _are_akin(file, each[0])]
    stem, folder = _stem(file.path), posixpath.dirname(file.path)
    beside = [each for each in same if (_stem(each[0].path), posixpath.dirname(each[0].path)) == (stem, folder)]
    seen = [each for each in same if not _STATIC.search(each[1].signature)]
    alike = [each for each in seen if _plain(each[1].signature) == _plain(symbol.signature)]
    near = [each for each in alike if posixpath.dirname(each[0].path) == folder]
    return next((each[0] for each in (beside, alike, near, seen) if len(each) == 1), None)


def _are_akin(one: FileRow, other: FileRow) -> bool:
    return family(one.language) == family(other.language)


def _headers(file: FileRow) -> tuple[str, ...]:
    return rules_of(file.language).rules.headers


def _stem(path: str) -> str:
    return posixpath.basename(path).partition(".")[0]


def _plain(signature: str) -> str:
    return re.sub(r"\s+|\b(?:extern|inline)\b", "", signature)


def _interfaces(engine: Engine, candidate: Candidate) -> Iterator[Definition]:
    """Members of the candidate's name in the interfaces that its type is made for."""
    file, symbol = candidate
    if symbol.parent < 0 or symbol.kind not in ("method", "field"):
        return
    waiting, seen = [Definition(file.id, symbol.parent)], set[Definition]()
    while waiting and len(seen) < _DEEPEST:
        for each in engine.members.supers(waiting.pop()):
            if each is not None and each not in seen:
                seen.add(each)
                waiting.append(each)
                member = engine.members.own_member(each, symbol.name) if _is_interface(engine, each) else None
                if member is not None:
                    yield member


def _is_interface(engine: Engine, definition: Definition) -> bool:
    symbol = engine.symbol(definition)
    if symbol.kind in ("interface", "trait"):
        return True
    scope = engine.scope(definition.file)
    return any(site.name in scope.rules.abstract for site in scope.supertypes.get(symbol.number, ()))
