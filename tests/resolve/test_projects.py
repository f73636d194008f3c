"""References in small projects, one for each language.

Each file under `projects/` is one project: `=== path` begins a file of it. At the end of a line, `<< name, …` says
that the line refers to these definitions, `!! name, …` that a use of the name there cannot be bound, and `~~ name, …`
that it is known to mean something else. What is marked must be found and nothing else, for every definition that has a
mark.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from codecairn.cancel import Cancel
from codecairn.config import Settings
from codecairn.index.run import Options
from codecairn.project import Project
from codecairn.resolve.engine import Engine
from codecairn.resolve.pick import pick_definition
from codecairn.resolve.references import ReferenceSet, references_to
from codecairn.store.view import open_view

PROJECTS = sorted((Path(__file__).parent / "projects").glob("*.txt"))
MARK = re.compile(r"\s*(<<|!!|~~) ([^<!~]+?)\s*$")

Places = dict[str, set[tuple[str, int]]]


@dataclass
class Marked:
    """A project's files without their marks, and the places that are marked, by definition."""

    files: dict[str, str] = field(default_factory=dict)
    bound: Places = field(default_factory=lambda: defaultdict(set))
    unbound: Places = field(default_factory=lambda: defaultdict(set))
    elsewhere: Places = field(default_factory=lambda: defaultdict(set))


def read(path: Path) -> Marked:
    marked = Marked()
    for part in path.read_text(encoding="utf-8").split("=== ")[1:]:
        name, _, text = part.partition("\n")
        lines = []
        for number, line in enumerate(text.split("\n"), 1):
            if mark := MARK.search(line):
                places = {"<<": marked.bound, "!!": marked.unbound, "~~": marked.elsewhere}[mark[1]]
                for target in mark[2].split(", "):
                    places[target].add((name, number))
            lines.append(MARK.sub("", line))
        marked.files[name] = "\n".join(lines)
    return marked


@contextmanager
def resolving(root: Path, home: Path, files: dict[str, str]) -> Iterator[Engine]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    project = Project(root.resolve(), Settings(data=home))
    try:
        project.index.index(Options(), force=False, cancel=Cancel())
        opened = project.index.open_index()
        assert opened is not None
        with open_view(opened.store, opened.lexical, str(project.root), project.guard.blocks) as view:
            assert view is not None
            yield Engine(view, Cancel())
    finally:
        project.index.close()


def lines(engine: Engine, found: ReferenceSet) -> set[tuple[str, int]]:
    return {(engine.scope(each.file).row.path, each.line) for each in found.references}


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.stem)
def test_what_is_marked_is_found_and_nothing_else(path: Path, tmp_path: Path) -> None:
    marked = read(path)
    with resolving(tmp_path / "project", tmp_path / "home", marked.files) as engine:
        for target, places in marked.bound.items():
            found = references_to(engine, pick_definition(engine, target))
            assert lines(engine, found) == places, target


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.stem)
def test_what_cannot_be_bound_is_listed_apart(path: Path, tmp_path: Path) -> None:
    marked = read(path)
    with resolving(tmp_path / "project", tmp_path / "home", marked.files) as engine:
        for target, places in marked.unbound.items():
            found = references_to(engine, pick_definition(engine, target))
            listed = {(engine.scope(each.file).row.path, each.line) for each in found.unresolved}
            assert places <= listed, target
            assert not places & lines(engine, found), target


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.stem)
def test_what_means_something_else_is_said_to(path: Path, tmp_path: Path) -> None:
    marked = read(path)
    with resolving(tmp_path / "project", tmp_path / "home", marked.files) as engine:
        for target, places in marked.elsewhere.items():
            found = references_to(engine, pick_definition(engine, target))
            assert places <= {(engine.scope(file).row.path, line) for file, line, _ in found.elsewhere}, target
