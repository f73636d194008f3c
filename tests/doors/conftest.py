from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest

from codecairn.serve import Service
from tests.support.doors import http_server, line_client, service
from tests.support.repo import Repo
from tests.support.samples import GATES, sampled_registry
from tests.support.wait import SlowGit
from tests.support.wire import LineClient

MODERN = "2026-07-28"


@pytest.fixture(autouse=True)
def _closed_gates() -> Iterator[None]:
    """No test finds another's gates, and no call is left waiting at one."""
    GATES.clear()
    yield
    for gate in GATES.values():
        gate.release.set()


@pytest.fixture
def enter() -> Iterator[Callable[[AbstractContextManager[Any]], Any]]:
    with ExitStack() as stack:
        yield stack.enter_context


@pytest.fixture
def served(repo: Repo) -> Service:
    """A service over an empty repository, with the sample tools."""
    return service(repo.path, sampled_registry())


@pytest.fixture
def client(served: Service) -> Iterator[LineClient]:
    """A fresh connection to the stdio door: nothing has been said on it yet."""
    with line_client(served) as connected:
        yield connected


@pytest.fixture
def port(repo: Repo) -> Iterator[int]:
    """A loopback HTTP server with the sample tools."""
    with http_server(service(repo.path, sampled_registry(), local=False)) as opened:
        yield opened


@pytest.fixture
def slow_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlowGit:
    """From now on `git` never ends."""
    slow = SlowGit(tmp_path / "slow")
    monkeypatch.setenv("PATH", slow.path)
    return slow
