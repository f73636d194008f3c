from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.search.conftest import lasting
from tests.support.indexes import LastingWorkers
from tests.support.refs import Gate, gate
from tests.support.repo import Repo
from tests.support.search import Built, Doors, asking, doors_to, index

__all__ = ["lasting"]


@pytest.fixture
def opened(tmp_path: Path, lasting: LastingWorkers) -> Iterator[Callable[[Repo], Gate]]:
    """Indexes a repository and opens it."""
    made: list[Gate] = []

    def of(repo: Repo) -> Gate:
        one = Gate(repo, asking(index(repo.path, tmp_path / "home", lasting)))
        one.asking.project.index._workers = lasting
        made.append(one)
        return one

    yield of
    for each in made:
        each.asking.close()


@pytest.fixture
def at_gate(tmp_path: Path, opened: Callable[[Repo], Gate]) -> Gate:
    return opened(gate(tmp_path))


@pytest.fixture(scope="session")
def gates(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Iterator[Doors]:
    """Doors to a gate of which main and feature are indexed; no test moves anything in it."""
    folder = tmp_path_factory.mktemp("gates")
    built: Built = index(gate(folder).path, folder / "home", lasting)
    one = asking(built)
    one.project.index._workers = lasting
    assert not one.answer("index_codebase", path=str(built.root), ref="feature").is_error
    one.close()
    with doors_to(built) as doors:
        yield doors
