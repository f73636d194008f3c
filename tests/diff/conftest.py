from __future__ import annotations

from tests.search.conftest import lasting, own

__all__ = ["lasting", "own"]
