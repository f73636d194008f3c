from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from codecairn import tools
from tests.support.doors import Answer, Door, open_door, service
from tests.support.index import Ask, Indexed, Open, _lend
from tests.support.indexes import LastingWorkers


@pytest.fixture(scope="session")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LastingWorkers]:
    """Workers for a whole session: starting one costs more than a tiny index run."""
    workers = LastingWorkers(tmp_path_factory.mktemp("workers"))
    yield workers
    workers.end()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The data folder of the test."""
    return tmp_path / "home"


@pytest.fixture
def indexed(home: Path, lasting: LastingWorkers) -> Iterator[Open]:
    """Open a project with a data folder of its own: `indexed(root).run()`; all are closed at the end."""
    opened: list[Indexed] = []

    def open_(root: Path, at: Path | None = None, *, own_workers: bool = False) -> Indexed:
        opened.append(Indexed(root, at or home, None if own_workers else lasting))
        return opened[-1]

    yield open_
    for each in opened:
        each.close()


@pytest.fixture
def through(home: Path, lasting: LastingWorkers) -> Iterator[Callable[[str, Path], Door]]:
    """A door by its name to a server of this root, with the data folder of the test and no upkeep of its own."""
    with ExitStack() as stack:

        def open_(name: str, root: Path) -> Door:
            served = service(root, data=home)
            project = served.projects.open(root.resolve())
            _lend(lasting, project)
            stack.callback(project.index.close)
            return stack.enter_context(open_door(name, served))

        yield open_


@pytest.fixture
def ask(through: Callable[[str, Path], Door]) -> Ask:
    """Call an index tool about a root: `ask("get_status", root)`; each root has one server for the test."""
    doors: dict[Path, Door] = {}

    def call(tool: str, root: Path, /, **arguments: Any) -> Answer:
        if root not in doors:
            doors[root] = through("memory", root)
        named = {"path": str(root)} if tools.standard().tools[tool].family == "index" else {}
        return doors[root].call(tool, {**named, **arguments})

    return call
