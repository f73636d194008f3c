from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.doors import Door
from tests.support.indexes import LastingWorkers
from tests.support.repo import Repo
from tests.support.search import CORPUS, SHOP, Asking, Built, asking, built_from, doors_to, index

collect_ignore = ["corpus"]


@pytest.fixture(scope="session")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LastingWorkers]:
    """Workers for the whole session: starting one costs more than a small index run."""
    workers = LastingWorkers(tmp_path_factory.mktemp("workers"))
    yield workers
    workers.end()


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Built:
    """A small shop in a repository, on branch main."""
    return built_from(SHOP, tmp_path_factory.mktemp("shop"), lasting)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Built:
    """The corpus of the ranking goldens, in a repository of its own."""
    folder = tmp_path_factory.mktemp("corpus")
    shutil.copytree(CORPUS, folder / "kiosk", ignore=shutil.ignore_patterns("__pycache__"))
    repo = Repo.create(folder / "kiosk")
    repo.commit("start")
    return index(repo.path, folder / "home", lasting)


@pytest.fixture(scope="session")
def doors(shop: Built) -> Iterator[Callable[[str], Door]]:
    """A door to the shop by its name, opened once."""
    with doors_to(shop) as doors:
        yield doors


@pytest.fixture
def shopping(shop: Built) -> Iterator[Asking]:
    """A server of the shop of this test's own, and a connection to it."""
    opened = asking(shop)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def kiosk(corpus: Built) -> Iterator[Asking]:
    """A server of the corpus for the whole session."""
    opened = asking(corpus)
    yield opened
    opened.close()


@pytest.fixture
def own(tmp_path: Path, lasting: LastingWorkers) -> Iterator[Callable[..., Asking]]:
    """A project that the test may change: `own({"a.py": …})`, indexed unless told otherwise."""
    opened: list[Asking] = []

    def open_(files: dict[str, str | bytes], *, indexed: bool = True) -> Asking:
        repo = Repo.create(tmp_path / f"own{len(opened)}")
        repo.commit("start", files)
        home = tmp_path / "home"
        opened.append(asking(index(repo.path, home, lasting) if indexed else Built(repo.path.resolve(), home)))
        opened[-1].project.index._workers = lasting
        return opened[-1]

    yield open_
    for each in opened:
        each.close()
