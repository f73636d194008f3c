from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.search.conftest import lasting, own
from tests.support.indexes import LastingWorkers
from tests.support.memory import HOUSE
from tests.support.search import Asking, Built, Doors, asking, built_from, doors_to

__all__ = ["lasting", "own"]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Built:
    """A house of several languages, in a repository on branch main; for tests that only ask."""
    return built_from(HOUSE, tmp_path_factory.mktemp("house"), lasting)


@pytest.fixture(scope="session")
def gates(built: Built) -> Iterator[Doors]:
    """A door to the house by its name, opened once."""
    with doors_to(built) as doors:
        yield doors


@pytest.fixture
def house(built: Built) -> Iterator[Asking]:
    """A server of the house, and a connection to it."""
    opened = asking(built)
    yield opened
    opened.close()
