"""Sessions: what is noted of a connection's calls, when one ends, and what it may cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codecairn.connection import Connection
from codecairn.memory.sessions import IDLE_S, Sessions, topics
from codecairn.project import Project
from codecairn.store.memory import Memory
from codecairn.store.sessions import DAY_S, SessionRow, SessionStore
from tests.support.doors import HttpDoor, http_request, http_server, line_client, service
from tests.support.indexes import LastingWorkers
from tests.support.memory import HOUSE, value_of
from tests.support.search import Asking, Built, built_from

Own = Callable[..., Asking]
LATER = 4e9


def outline(asking: Asking, path: str) -> None:
    value_of(asking.answer("get_file_outline", path=path))


def sessions(asking: Asking) -> Sessions:
    return asking.served.registry.sessions


def test_a_session_has_what_was_called_opened_and_asked(own: Own) -> None:
    asked = own(HOUSE)
    outline(asked, "app/auth/tokens.py")
    outline(asked, "./app/auth/passwords.py")
    outline(asked, "app/auth/tokens.py")
    outline(asked, "app")
    value_of(asked.answer("search_code", path=str(asked.root), query="refresh token"))
    value_of(asked.answer("find_symbol", symbol_name="verify_token"))
    asked.answer("get_file_outline", path="no/such.py")
    asked.answer("health_check")
    row = sessions(asked).current(asked.connection, asked.project)
    assert row is not None
    assert row.tools == {"get_file_outline": 4, "search_code": 1, "find_symbol": 1}
    assert list(row.files.items()) == [("app/auth/passwords.py", 1), ("app/auth/tokens.py", 2)]
    assert row.queries == ["refresh token", "verify_token"]
    assert topics(row, 3) == ["token", "auth", "refresh"]
    assert row.ended is None
    assert asked.project.sessions.recent() == [row]


def test_no_secret_of_a_query_is_kept(own: Own) -> None:
    asked = own(HOUSE)
    value_of(asked.answer("search_code", path=str(asked.root), query="where is AKIAIOSFODNN7EXAMPLE used"))
    row = sessions(asked).current(asked.connection, asked.project)
    assert row is not None
    assert row.queries == ["where is AKIA… used"]


@pytest.mark.requirement("ruling/sessions/end-after-idle")
def test_half_an_hour_of_nothing_ends_a_session(own: Own) -> None:
    asked = own(HOUSE)
    for moment in (LATER, LATER + IDLE_S - 1, LATER + 2 * IDLE_S):
        sessions(asked).clock = lambda moment=moment: moment  # type: ignore[misc]
        outline(asked, "main.py")
    later, earlier = sessions(asked).recent(asked.project)
    assert (earlier.active, earlier.ended) == (LATER + IDLE_S - 1, LATER + 2 * IDLE_S - 1)
    assert (later.began, later.ended, later.files) == (LATER + 2 * IDLE_S, None, {"main.py": 1})
    sessions(asked).clock = lambda: LATER + 3 * IDLE_S + 1
    assert sessions(asked).current(asked.connection, asked.project) is None
    assert all(row.ended is not None for row in sessions(asked).recent(asked.project))


def test_connections_have_sessions_of_their_own(own: Own) -> None:
    asked = own(HOUSE)
    outline(asked, "main.py")
    other = asked.another_connection()
    outline(other, "docs/auth.md")
    ids = {sessions(asked).id_of(each.connection, asked.project) for each in (asked, other)}
    assert len(ids) == 2
    assert {row.id for row in sessions(asked).recent(asked.project)} == ids


@pytest.fixture
def own_house(tmp_path: Path, lasting: LastingWorkers) -> Built:
    return built_from(HOUSE, tmp_path, lasting)


def kept(built: Built) -> list[SessionRow]:
    """What another process finds."""
    from codecairn.config import Settings

    return Project(built.root, Settings(data=built.home)).sessions.recent()


@pytest.mark.requirement("ruling/sessions/open-close-with-connection")
def test_a_session_ends_with_its_stdio_connection(own_house: Built) -> None:
    served = service(own_house.root, data=own_house.home)
    with line_client(served) as client:
        client.initialize()
        client.request("tools/call", {"name": "get_file_outline", "arguments": {"path": "main.py"}})
        served.registry.sessions.settle()
        (row,) = kept(own_house)
        assert (row.files, row.ended) == ({"main.py": 1}, None)
    (row,) = kept(own_house)
    assert row.ended is not None
    assert row.began <= row.active <= row.ended
    served.projects.open(own_house.root).index.close()


@pytest.mark.requirement("ruling/sessions/open-close-with-connection")
def test_a_session_ends_with_its_http_session_and_with_the_server(own_house: Built) -> None:
    served = service(own_house.root, data=own_house.home)
    with http_server(served) as port:
        first, second = HttpDoor(port), HttpDoor(port)
        for door, path in ((first, "main.py"), (second, "docs/auth.md")):
            assert not door.call("get_file_outline", {"path": path}).is_error
        assert http_request(port, "DELETE", "/mcp", **first.headers()).status == 200
        ended = {next(iter(row.files)): row.ended for row in kept(own_house)}
        assert ended["main.py"] is not None
        assert ended["docs/auth.md"] is None
    assert all(row.ended is not None for row in kept(own_house))
    served.projects.open(own_house.root).index.close()


def test_accesses_are_counted_for_a_week_and_dropped_after_a_month(tmp_path: Path) -> None:
    store = SessionStore(Memory(tmp_path / "memory.db"))
    row = SessionRow(id="s", began=0, active=0, ended=None, tools={}, files={}, queries=[])
    from codecairn.store.sessions import Access

    days = (0, 6.9, 7.1, 29)
    store.save([row], [Access("a.py", LATER - day * DAY_S, "read_file", "s") for day in days], LATER)
    assert store.accesses(LATER)["a.py"] == (LATER, 2)
    assert store.accesses(LATER + DAY_S)["a.py"].this_week == 1
    store.save([], [], LATER + 31 * DAY_S)
    assert store.accesses(LATER + 31 * DAY_S) == {}


def test_a_memory_that_cannot_be_used_fails_no_call(tmp_path: Path, lasting: LastingWorkers) -> None:
    built = built_from(HOUSE, tmp_path, lasting)
    blocked = tmp_path / "home" / "projects"
    blocked.write_text("a file where the folder should be", encoding="utf-8")
    served = service(built.root, data=built.home)
    asked = Asking(served, built.root, Connection("memory"))
    outline(asked, "main.py")
    served.registry.sessions.settle()
    outline(asked, "main.py")
    asked.close()


def test_commands_leave_no_session(own: Own) -> None:
    asked = own(HOUSE)
    from codecairn.tools import Call

    registry = asked.served.registry
    call = Call(asked.served.projects, Connection("cli"), registry, "cli")
    registry.call(registry.tools["get_file_outline"], call, {"path": "main.py"})
    registry.sessions.settle()
    assert asked.project.sessions.recent() == []


def test_noting_a_call_writes_nothing_before_the_answer(own: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call only queues: what writes is the settling, a second later or when somebody asks."""
    asked = own(HOUSE)
    saved: list[Any] = []
    monkeypatch.setattr(Sessions, "_settle_later", lambda _: None)
    monkeypatch.setattr(SessionStore, "save", lambda *arguments: saved.append(arguments))
    for _ in range(5):
        outline(asked, "main.py")
    assert saved == []
    sessions(asked).settle()
    assert len(saved) == 1


def test_a_session_as_it_is_kept_is_json(own: Own) -> None:
    asked = own(HOUSE)
    outline(asked, "main.py")
    sessions(asked).settle()
    with asked.project.memory.reading() as database:
        ((tools, files, queries),) = database.execute("SELECT tools, files, queries FROM session").fetchall()
    assert [json.loads(each) for each in (tools, files, queries)] == [{"get_file_outline": 1}, {"main.py": 1}, []]
