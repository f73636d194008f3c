from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.search.conftest import lasting, own
from tests.support.indexes import LastingWorkers
from tests.support.search import Asking, Built, Doors, asking, built_from, doors_to
from tests.support.symbols import YARD

__all__ = ["lasting", "own"]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Built:
    """A yard of several languages, in a repository on branch main."""
    return built_from(YARD, tmp_path_factory.mktemp("yard"), lasting)


@pytest.fixture(scope="session")
def yard(built: Built) -> Iterator[Asking]:
    opened = asking(built)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def gates(built: Built) -> Iterator[Doors]:
    """A door to the yard by its name, opened once."""
    with doors_to(built) as doors:
        yield doors
