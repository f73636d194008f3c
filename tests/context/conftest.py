from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.search.conftest import Asking, Built, Doors, asking, doors_to, index, lasting, own
from tests.support.indexes import LastingWorkers
from tests.support.repo import Repo

__all__ = ["lasting", "own"]

MCP_DOORS = ("stdio", "modern", "http")
"""Those that speak MCP: resources and prompts are the protocol's."""

BERTHS = '''\
"""Where ships lie, and for how long."""

from harbour.tides.table import high_water

FREE = "free"


class Berth:
    """A place for one ship."""

    def __init__(self, number: int, depth: float) -> None:
        self.number = number
        self.depth = depth

    def takes(self, draught: float) -> bool:
        """Whether a ship of this draught may lie here at low water."""
        return draught < self.depth

    def mooring_fee(self, hours: int) -> int:
        """What lying here costs, in cents."""
        return mooring_fee(hours, self.depth)


def mooring_fee(hours: int, depth: float) -> int:
    """The fee for lying at a berth so long, in cents: deep berths cost more."""
    return round(hours * 100 * depth)


def assign_berth(ship: str, draught: float, berths: list[Berth]) -> Berth | None:
    """The shallowest berth that takes the ship at the next high water."""
    high_water(ship)
    fitting = [berth for berth in berths if berth.takes(draught)]
    return min(fitting, key=lambda berth: berth.depth, default=None)
'''

HARBOUR: dict[str, str | bytes] = {
    "README.md": "# Harbour\n\n![badge](x.svg)\n\nHarbour books berths for ships and reckons what they owe.\n",
    "pyproject.toml": """\
[project]
name = "harbour"
requires-python = ">=3.11"
dependencies = ["click>=8", "tides[extra]~=2.0"]

[project.scripts]
harbour = "harbour.cli:main"
""",
    "Makefile": "test:\n\tpytest\n\nlint:\n\truff\n",
    "harbour/__init__.py": "",
    "harbour/__main__.py": "from harbour.cli import main\n\nmain()\n",
    "harbour/cli.py": """\
from harbour.berths.berth import Berth, assign_berth


def main() -> None:
    print(assign_berth("Argo", 3.0, [Berth(1, 4.0)]))
""",
    "harbour/berths/__init__.py": '"""Berths and who lies at them."""\n',
    "harbour/berths/berth.py": BERTHS,
    "harbour/berths/bill.py": """\
from harbour.berths.berth import mooring_fee


def bill(ship: str, hours: int) -> str:
    cents = mooring_fee(hours, 4.0)
    return f"{ship} owes {cents}"
""",
    "harbour/tides/__init__.py": "",
    "harbour/tides/table.py": """\
# Copyright 2025 The harbour authors

# High and low water, from tables.


def high_water(ship: str) -> int:
    return len(ship)
""",
    "harbour/tides/log.py": """\
from harbour.tides.table import high_water


def log(ship: str) -> list[str]:
    height = high_water(ship)
    lines = [ship]
    for hour in range(height):
        lines.append(str(hour))
    lines.sort()
    return lines
""",
    "docs/berths.md": "# Berths\n\n## Fees\n\nThe mooring fee grows with the depth of the berth.\n",
    "tests/test_berth.py": """\
from harbour.berths.berth import Berth, mooring_fee


def test_a_deep_berth_takes_a_deep_ship() -> None:
    assert Berth(1, 9.0).takes(8.0)


def test_the_mooring_fee_grows_with_depth() -> None:
    assert mooring_fee(1, 2.0) < mooring_fee(1, 3.0)
""",
    "tests/berths/test_other.py": "def test_nothing() -> None:\n    pass\n",
    "instructions/fees.json": json.dumps(
        {
            "id": "fees-in-cents", "title": "Mooring fees are whole cents", "body": "Never use floats for money.",
            "priority": 5, "audience": "all", "requirement": "mandatory", "categories": ["berths"],
            "schemaVersion": "1", "createdAt": "2025-01-01T00:00:00Z", "updatedAt": "2025-01-01T00:00:00Z",
        }
    ),
    "instructions/naming.json": json.dumps(
        {
            "id": "naming", "title": "Names of pull requests", "body": "Say what changes.", "priority": 50,
            "audience": "all", "requirement": "optional", "categories": ["process"], "schemaVersion": "1",
            "createdAt": "2025-01-01T00:00:00Z", "updatedAt": "2025-01-01T00:00:00Z",
        }
    ),
}  # fmt: skip


def harbour_at(folder: Path, workers: LastingWorkers) -> Built:
    """The harbour, with three commits of which two changed the berths."""
    repo = Repo.create(folder / "harbour")
    repo.commit("start", HARBOUR)
    repo.commit("berths: deeper", {"harbour/berths/berth.py": BERTHS + "\n\nDEEPEST = 12.0\n"})
    repo.commit("berths: shallower", {"harbour/berths/berth.py": BERTHS})
    return index(repo.path, folder / "home", workers)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Built:
    return harbour_at(tmp_path_factory.mktemp("harbour"), lasting)


@pytest.fixture(scope="session")
def gates(built: Built) -> Iterator[Doors]:
    """A door to the harbour by its name, opened once."""
    with doors_to(built) as doors:
        yield doors


@pytest.fixture
def harbour(built: Built) -> Iterator[Asking]:
    """A server of the harbour, and a connection to it."""
    opened = asking(built)
    yield opened
    opened.close()


Request = Callable[..., dict[str, Any]]


@pytest.fixture(params=MCP_DOORS)
def door(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ask(gates: Doors, door: str) -> Request:
    """Ask an MCP method of the harbour's server; what comes back is the result, or the error."""

    def asked(method: str, **params: Any) -> dict[str, Any]:
        answer = gates(door).request(method, params)  # type: ignore[attr-defined]
        told: dict[str, Any] = answer.get("result") or answer["error"]
        return told

    return asked


def text_of(result: dict[str, Any]) -> str:
    """The Markdown of a resource that was read."""
    (contents,) = result["contents"]
    assert contents["mimeType"] == "text/markdown"
    text: str = contents["text"]
    return text
