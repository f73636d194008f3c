from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.conftest import workers

__all__ = ["workers"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"
