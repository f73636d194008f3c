"""Shared by the tests of state."""

from __future__ import annotations

from pathlib import Path

from tests.state.machines import Machine
from tests.support.indexes import LastingWorkers
from tests.support.repo import Repo

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
