from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.search.conftest import lasting, own
from tests.support.context import MCP_DOORS, Request, harbour_at
from tests.support.indexes import LastingWorkers
from tests.support.search import Asking, Built, Doors, asking, doors_to

__all__ = ["lasting", "own"]


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
