"""Which definition a caller means: by a bare name, a qualified one in the notation of any language, or a place."""

from __future__ import annotations

import re

from codecairn.errors import AmbiguousSymbol, SymbolNotFound
from codecairn.paths import printable
from codecairn.rank.filters import qualified_name
from codecairn.resolve.engine import Engine
from codecairn.resolve.values import Definition
from codecairn.store.version import SymbolRow
from codecairn.store.view import FileRow

_JOINTS = re.compile(r"[.:#/\\]+|->")
_MOST_LISTED = 50

Candidate = tuple[FileRow, SymbolRow]


def picked(engine: Engine, name: str, path: str | None = None, line: int | None = None) -> Definition:
    wanted = _parts(name)
    found = [each for each in engine.named(wanted[-1]) if _is_named(each, wanted)] if wanted else []
    if path is not None:
        found = [each for each in found if each[0].path == path.removeprefix("./")]
    if line is not None:
        found = _nearest(found, line)
    found = _type_or_constructor(_one_a_path(found), wanted)
    if not found:
        place = f" at {printable(path)}" + (f":{line}" if line else "") if path else ""
        raise SymbolNotFound(f"No symbol named {printable(name)}{place}", symbol_name=printable(name))
    if len(found) > 1:
        raise _ambiguous(name, found)
    return Definition(found[0][0].id, found[0][1].number)


def _parts(name: str) -> list[str]:
    return [part for part in _JOINTS.split(name.strip().removesuffix("()")) if part]


def _is_named(candidate: Candidate, wanted: list[str]) -> bool:
    """Whether the parts end the symbol's qualified name, or its path after its file's."""
    file, symbol = candidate
    own = _parts(symbol.path)
    places = (_parts(qualified_name(file, symbol)), _parts(file.path) + own, _parts(file.path)[:-1] + own)
    return any(place[-len(wanted) :] == wanted for place in places)


def _nearest(found: list[Candidate], line: int) -> list[Candidate]:
    """The definition on a line: the one whose name stands nearest to it, innermost first."""
    around = [each for each in found if each[1].start_line <= line <= each[1].end_line]
    return sorted(around, key=lambda each: (abs(each[1].name_line - line), each[1].end_line - each[1].start_line))[:1]


def _one_a_path(found: list[Candidate]) -> list[Candidate]:
    """Overloads, a getter and its setter, an interface and the value of its name are one to whom asks by name."""
    kept: dict[tuple[int, str], Candidate] = {}
    for file, symbol in found:
        kept.setdefault((file.id, symbol.path), (file, symbol))
    return list(kept.values())


def _type_or_constructor(found: list[Candidate], wanted: list[str]) -> list[Candidate]:
    """A type and what is in it by its own name, its constructor: the type is meant, unless the name is said twice."""
    numbers = {(file.id, symbol.number) for file, symbol in found}
    made = [each for each in found if (each[0].id, each[1].parent) in numbers]
    if made and wanted[-2:-1] == wanted[-1:]:
        return made
    return [each for each in found if each not in made]


def _ambiguous(name: str, found: list[Candidate]) -> AmbiguousSymbol:
    listed = sorted(
        (
            {
                "qualified_name": qualified_name(file, symbol), "kind": symbol.kind, "path": file.path,
                "line_start": symbol.name_line,
            }
            for file, symbol in found
        ),
        key=lambda each: (str(each["qualified_name"]), str(each["path"])),
    )  # fmt: skip
    names = ", ".join(str(each["qualified_name"]) for each in listed[:5])
    return AmbiguousSymbol(
        f"{printable(name)} is {len(found)} symbols: {names}{' …' if len(found) > 5 else ''}",
        param="symbol_name", candidates=listed[:_MOST_LISTED], total_candidates=len(found),
        remedy="Call again with one of the qualified names in candidates, or with its path and line.",
    )  # fmt: skip
