from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.conftest import workers
from tests.state.machines import Machine
from tests.support.indexes import LastingWorkers
from tests.support.state import shop

__all__ = ["workers"]


@pytest.fixture
def here(tmp_path: Path, workers: LastingWorkers) -> Machine:
    return shop(tmp_path / "here", workers)


@pytest.fixture
def exported(here: Machine, tmp_path: Path) -> Path:
    path = tmp_path / "state.tar.zst"
    here.export(path)
    return path


@pytest.fixture
def there(here: Machine, tmp_path: Path) -> Machine:
    """A clone on another machine, of which nothing is indexed."""
    return here.cloned(tmp_path / "there")
