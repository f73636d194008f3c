"""What the micro-cases ask of the engine: a project made of a few texts, and what a name at a place in it means."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from codecairn.cancel import Cancel
from codecairn.config import Settings
from codecairn.index.run import Options
from codecairn.parse.facts import Site
from codecairn.project import Project
from codecairn.resolve.engine import Engine
from codecairn.resolve.values import Definition
from codecairn.store.file_version import SymbolRow, link_table
from codecairn.store.view import FileRow, open_view

Outcome = Literal["right", "invented", "unbound", "missed", "outside"]
Place = tuple[str, int]


@contextmanager
def resolving(files: dict[str, str]) -> Iterator[Engine]:
    with tempfile.TemporaryDirectory(prefix="cairn-cases-") as folder:
        root = Path(folder).resolve() / "case"
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8", newline="")
        project = Project(root, Settings(data=Path(folder) / "data"))
        try:
            project.index.index(Options(), force=False, cancel=Cancel())
            opened = project.index.open_index()
            assert opened is not None
            with open_view(opened.store, opened.lexical, str(root), project.guard.blocks) as view:
                assert view is not None
                yield Engine(view, Cancel())
        finally:
            project.index.close()


@dataclass(frozen=True)
class Use:
    """The name at a column of a line; the column may be anywhere in it, or behind its end."""

    path: str
    line: int
    column: int


def meaning(engine: Engine, use: Use) -> tuple[Definition | None, Outcome, str]:
    """The definition of a name, else how the engine puts it that there is none, and the name."""
    row = next((each for each in engine.known.rows.values() if each.path == use.path), None)
    if row is None:
        return None, "missed", ""
    if (site := _site(engine, row, use)) is not None:
        bound = engine.bind(engine.scope(row.id), site)
        return bound.definition, "missed" if bound.is_known else "unbound", site.name
    name = word(engine.scope(row.id).source.line(use.line), use.column)
    own = defined(engine, row, use.line, {name})
    return (Definition(row.id, own.number) if own else None), "missed", name


def _site(engine: Engine, row: FileRow, use: Use) -> Site | None:
    sites = link_table(engine.view.links(row.id)).sites()
    near = [each for each in sites if each.line == use.line and 0 <= use.column - each.column <= len(each.name)]
    return max(near, key=lambda each: each.column, default=None)


def word(line: str, column: int) -> str:
    return next((each[0] for each in re.finditer(r"[\w$]+", line) if each.start() <= column <= each.end()), "")


def defined(engine: Engine, row: FileRow, line: int, names: set[str]) -> SymbolRow | None:
    symbols = engine.scope(row.id).symbols
    return next((each for each in symbols if each.name_line == line and each.name in names), None)


def place_of(engine: Engine, definition: Definition) -> Place:
    return engine.scope(definition.file).row.path, engine.symbol(definition).name_line


def same(engine: Engine, found: Definition | None) -> list[Definition]:
    """A definition and those that are one with it: a name that is assigned again is one symbol."""
    if found is None:
        return []
    symbol = engine.symbol(found)
    named = engine.scope(found.file).symbols_by_name[symbol.name]
    alike = (each for each in named if each.path == symbol.path and each.kind == symbol.kind)
    return [Definition(found.file, each.number) for each in alike]


def judged(found: object | None, otherwise: Outcome, *, is_right: bool, is_indexed: bool) -> Outcome:
    if found is not None:
        return "right" if is_right else "invented"
    return otherwise if is_indexed else "outside"
