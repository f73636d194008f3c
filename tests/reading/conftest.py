from __future__ import annotations

from tests.search.conftest import lasting

__all__ = ["lasting"]
