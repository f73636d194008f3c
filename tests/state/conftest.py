from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.conftest import workers
from tests.state.machines import Machine
from tests.support.indexes import LastingWorkers
from tests.support.repo import Repo

__all__ = ["workers"]

BASKET = "def weigh(item):\n    return item.grams\n"
TILL = "from basket import weigh\n\n\ndef ring(items):\n    return sum(weigh(each) for each in items)\n"


def shop(place: Path, workers: LastingWorkers) -> Machine:
    """A repository with two branches, both indexed."""
    repo = Repo.create(place / "shop")
    repo.commit("first", {"basket.py": BASKET, "till.py": TILL})
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit(
        "a discount", {"discount.py": "from till import ring\n\n\ndef halve(items):\n    return ring(items) / 2\n"}
    )
    repo.git("checkout", "--quiet", "main")
    machine = Machine(repo, place / "home", workers)
    machine.index()
    machine.index("feature")
    return machine


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
