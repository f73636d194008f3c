from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.catalog.catalogue import WAYS, Catalogue, Client, client_of


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    """A project that is no repository and has no catalogue yet, with a data directory of its own."""
    made = Catalogue(tmp_path / "project", tmp_path / "home")
    made.root.mkdir()
    return made


@pytest.fixture
def open_client() -> Iterator[Callable[..., Client]]:
    """Clients of servers in this process, each with handles of its own: `open_client(catalogue, "bare")`."""
    with ExitStack() as stack:

        def open_(catalogue: Catalogue, way: str = "memory") -> Client:
            return stack.enter_context(client_of(way, catalogue))

        yield open_


@pytest.fixture
def client(catalogue: Catalogue, open_client: Callable[..., Client]) -> Client:
    return open_client(catalogue)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def any_client(way: str, catalogue: Catalogue, open_client: Callable[..., Client]) -> Client:
    """The same client by every way there is; a test that takes it runs once for each."""
    return open_client(catalogue, way)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that anybody may enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o755)
        yield Path(path)
