"""Shared by the tests of files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.doors import Answer, Door

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


def value_of(answer: Answer) -> dict[str, Any]:
    assert not answer.is_error, answer.text
    return answer.value


def refusal(answer: Answer) -> dict[str, Any]:
    assert answer.is_error, answer.text
    assert answer.value["suggestion"]
    return answer.value
