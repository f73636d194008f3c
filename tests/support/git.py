"""Shared by the tests of git."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest

from codecairn.types import Blame
from tests.support.doors import Answer

posix = pytest.mark.skipif(os.name == "nt", reason="a shell script stands for git")
FailOnce = Callable[[str, str], Path]


class Ask(Protocol):
    def __call__(self, tool: str, root: Path | None = None, /, **arguments: Any) -> Answer: ...


def blame_of(answer: Answer) -> Blame:
    """The value of a git_blame, as the server had it."""
    return msgspec.convert(answer.value, Blame)
