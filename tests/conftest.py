from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.support.doors import DOORS, Door, open_door, service
from tests.support.page import find_chromium
from tests.support.repo import Repo
from tests.support.soak import SOAK

hypothesis.settings.register_profile("tenth", max_examples=100, deadline=None, derandomize=True)
hypothesis.settings.register_profile("soak", max_examples=1000, deadline=None)
hypothesis.settings.load_profile("soak" if SOAK else "tenth")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if find_chromium() is None:
        terminalreporter.write_line("No Chromium was found: no page was tried in a browser (apt-get install chromium).")


@pytest.fixture(autouse=True)
def _only_our_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test depends on the user's git configuration, home or project."""
    for name in ("CAIRN_ROOT", "CLAUDE_PROJECT_DIR", "CAIRN_TOKEN", "CAIRN_BLOCK", "CAIRN_GIT_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path_factory.getbasetemp() / "home"))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """An empty repository; `repo.commit("message", {"file": "content"})` fills it."""
    return Repo.create(tmp_path / "repo")


@pytest.fixture
def trials() -> Callable[[int], int]:
    """How many of a long trial to run: all in a soak, a tenth otherwise."""
    return lambda whole: whole if SOAK else max(1, whole // 10)


@pytest.fixture
def seeded() -> random.Random:
    seed = random.SystemRandom().randrange(2**32) if SOAK else 20250101
    print(f"seed {seed}")  # shown with a failure, so that it can be run again
    return random.Random(seed)


@pytest.fixture
def connect() -> Iterator[Callable[..., Door]]:
    """Open doors by name: `connect("stdio", root)`; all are closed at the end of the test."""
    with ExitStack() as stack:

        def open_(name: str, root: Path | None, **settings: Any) -> Door:
            return stack.enter_context(open_door(name, service(root, **settings)))

        yield open_


@pytest.fixture(params=DOORS)
def door_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)
