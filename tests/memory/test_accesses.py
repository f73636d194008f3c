"""What reading a file leaves behind: a count and a moment, which the next search is told by."""

from __future__ import annotations

import pytest

from tests.support.doors import DOORS
from tests.support.memory import value_of
from tests.support.search import Doors


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.requirement("001/read_file/access-counted")
def test_a_file_that_was_read_is_counted(gates: Doors, name: str) -> None:
    door = gates(name)

    def accesses() -> tuple[int, float | None]:
        found = value_of(door.call("context_search", {"query": "hash_password", "limit": 1}))["results"][0]
        assert found["path"] == "app/auth/passwords.py"
        return found["accessesThisWeek"], found["lastAccessed"]

    before, _ = accesses()
    for _ in range(2):
        value_of(door.call("read_file", {"path": "app/auth/passwords.py"}))
    after, last = accesses()
    assert after == before + 2
    assert last is not None
    assert last < 60
