from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.search.conftest import Asking, Built, Doors, asking, built_from, doors_to, lasting, own
from tests.support.doors import Answer, Door
from tests.support.indexes import LastingWorkers
from tests.support.repo import Repo

__all__ = ["lasting", "own"]

Connect = Callable[..., Door]

SHED: dict[str, str | bytes] = {
    ".gitignore": "*.log\nsecret-notes/\n",
    "README.md": "# Shed\n\nWhere tools hang.\n",
    "pyproject.toml": "[project]\nname = 'shed'\n",
    "main.py": "from shed.tools import Saw\n\nprint(Saw().cut())\n",
    "shed/__init__.py": "",
    "shed/tools.py": """\
import json
import os.path
from . import wood
from .missing import nothing
from shed.wood import Plank


class Saw:
    def cut(self) -> Plank:
        return Plank(json.dumps({}), os.path.sep)
""",
    "shed/wood.py": "class Plank:\n    def __init__(self, *grain: str) -> None:\n        self.grain = grain\n",
    "shed/broken.py": "from shed.wood import (Plank\n\ndef cut(:\n    pass\n",
    "shed/late.py": "import shed.wood\n\n\ndef cut():\n" + "    x = 1\n" * 60 + "    y = = 2\n",
    "tests/test_saw.py": "from shed.tools import Saw\n\n\ndef test_saw() -> None:\n    assert Saw().cut()\n",
    "web/index.ts": "import { Nail } from './nail';\nimport React from 'react';\n\nexport const nail = new Nail();\n",
    "web/nail.ts": "export class Nail {}\n",
}


@pytest.fixture(scope="session")
def shed(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Built:
    """A small project in a repository, indexed once."""
    return built_from(SHED, tmp_path_factory.mktemp("shed"), lasting)


@pytest.fixture(scope="session")
def doors(shed: Built) -> Iterator[Doors]:
    with doors_to(shed) as opened:
        yield opened


@pytest.fixture
def visit(shed: Built) -> Iterator[Asking]:
    """A connection of this test's own to the shed."""
    opened = asking(shed)
    yield opened
    opened.close()


@pytest.fixture
def plain(repo: Repo, connect: Connect) -> Callable[..., Answer]:
    """Call a tool on the test's own repository, in this process."""
    opened: dict[Path, Door] = {}

    def call(tool: str, **arguments: Any) -> Answer:
        if repo.path not in opened:
            opened[repo.path] = connect("memory", repo.path)
        return opened[repo.path].call(tool, arguments)

    return call


def value_of(answer: Answer) -> dict[str, Any]:
    assert not answer.is_error, answer.text
    return answer.value


def refusal(answer: Answer) -> dict[str, Any]:
    assert answer.is_error, answer.text
    assert answer.value["suggestion"]
    return answer.value
