from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.search.conftest import lasting, own
from tests.support.doors import Answer, Door
from tests.support.files import SHED, Connect
from tests.support.indexes import LastingWorkers
from tests.support.repo import Repo
from tests.support.search import Asking, Built, Doors, asking, built_from, doors_to

__all__ = ["lasting", "own"]


@pytest.fixture(scope="session")
def shed(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Built:
    """A small project in a repository, indexed once."""
    return built_from(SHED, tmp_path_factory.mktemp("shed"), lasting)


@pytest.fixture(scope="session")
def doors(shed: Built) -> Iterator[Doors]:
    with doors_to(shed) as opened:
        yield opened


@pytest.fixture
def visit(shed: Built) -> Iterator[Asking]:
    """A connection of this test's own to the shed."""
    opened = asking(shed)
    yield opened
    opened.close()


@pytest.fixture
def plain(repo: Repo, connect: Connect) -> Callable[..., Answer]:
    """Call a tool on the test's own repository, in this process."""
    opened: dict[Path, Door] = {}

    def call(tool: str, **arguments: Any) -> Answer:
        if repo.path not in opened:
            opened[repo.path] = connect("memory", repo.path)
        return opened[repo.path].call(tool, arguments)

    return call
