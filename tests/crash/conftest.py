from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.scene import Scene
from tests.support.indexes import LastingWorkers


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LastingWorkers]:
    pool = LastingWorkers(tmp_path_factory.mktemp("workers"), most=1)
    yield pool
    pool.end()


@pytest.fixture
def scene(tmp_path: Path, workers: LastingWorkers, seeded: random.Random) -> Scene:
    return Scene(tmp_path, workers, seeded).begin()
