from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest

from codecairn.types import Blame
from tests.support.doors import Answer, Door


class Ask(Protocol):
    def __call__(self, tool: str, root: Path | None = None, /, **arguments: Any) -> Answer: ...


@pytest.fixture
def ask(tmp_path: Path, connect: Callable[..., Door]) -> Ask:
    """Call a git tool over the stdio door as a client of the first protocol version, which gets the Markdown as drawn:
    `ask("git_log", maxCount=1)`; about `repo` unless a root is given."""
    doors: dict[Path, Door] = {}

    def call(tool: str, root: Path | None = None, /, **arguments: Any) -> Answer:
        served = root or tmp_path / "repo"
        if served not in doors:
            doors[served] = connect("first", served)
        return doors[served].call(tool, arguments)

    return call


def blame_of(answer: Answer) -> Blame:
    """The value of a git_blame, as the server had it."""
    return msgspec.convert(answer.value, Blame)
