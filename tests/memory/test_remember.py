"""remember and forget: what is stored, what is refused, what takes the place of what."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from codecairn import tools
from codecairn.config import Settings
from codecairn.project import Projects
from codecairn.redact import secret_in
from codecairn.store import memory
from codecairn.store.discoveries import Discoveries
from codecairn.store.memory import Memory
from tests.registry.samples import assert_conforms
from tests.support.doors import open_door, service
from tests.support.memory import HOUSE, TOKENS, refusal, value_of
from tests.support.repo import Repo
from tests.support.search import Asking
from tests.support.wait import eventually

Own = Callable[..., Asking]

COOKIES = "Refresh tokens live in httpOnly cookies, never in local storage."


def remember(asking: Asking, content: str = COOKIES, type_: str = "rule", **arguments: Any) -> dict[str, Any]:
    return value_of(asking.answer("remember", type=type_, content=content, **arguments))


def kept(asking: Asking) -> list[str]:
    return [row.content for row in asking.project.discoveries.all()]


@pytest.mark.requirement("ruling/memory/remember-required-fields")
def test_type_and_content_are_all_it_takes(own: Own) -> None:
    asked = own(HOUSE)
    found = remember(asked)
    assert found["action"] == "stored"
    assert found["discovery"].items() >= {
        "type": "rule", "content": COOKIES, "module": None, "path": None, "symbol": None, "status": None,
    }.items()  # fmt: skip
    assert found["discovery"]["session"]
    for missing in ({"type": "rule"}, {"content": COOKIES}, {"type": "hunch", "content": COOKIES}):
        assert refusal(asked.answer("remember", **missing))["error"]["code"] == "invalid_input"


@pytest.mark.parametrize("content", ["too short", "  nine ch  ", "x" * 1001, "a control \x07 character"])
def test_content_has_bounds(own: Own, content: str) -> None:
    asked = own(HOUSE, indexed=False)
    assert refusal(asked.answer("remember", type="rule", content=content))["error"]["code"] == "invalid_input"
    assert kept(asked) == []


@pytest.mark.requirement("ruling/memory/remember-binds-target")
def test_a_symbol_gives_its_file_module_and_content(own: Own) -> None:
    asked = own(HOUSE)
    found = remember(asked, "Refreshing takes a lock, or two tabs sign each other out.", symbol="TokenStore.refresh")
    assert found["discovery"].items() >= {
        "module": "auth", "path": "app/auth/tokens.py", "symbol": "app.auth.tokens.TokenStore.refresh",
        "status": "fresh", "status_reason": None,
    }.items()  # fmt: skip
    (row,) = asked.project.discoveries.all()
    assert row.stable_id is not None
    assert row.stable_id.startswith("b3:")
    assert row.content_hash is not None


@pytest.mark.requirement("ruling/memory/remember-binds-target")
def test_a_path_gives_its_module_and_content(own: Own) -> None:
    asked = own(HOUSE)
    found = remember(asked, path="./app/auth/tokens.py")
    assert (found["discovery"]["path"], found["discovery"]["module"]) == ("app/auth/tokens.py", "auth")
    assert found["discovery"]["status"] == "fresh"
    assert remember(asked, path="main.py")["discovery"]["module"] == asked.root.name
    assert (
        remember(asked, "Passwords are salted with the user's id.", module="security", path="main.py")["discovery"][
            "module"
        ]
        == "security"
    )


def test_what_is_not_there_is_refused(own: Own) -> None:
    asked = own(HOUSE)
    for wrong, code in (
        ({"symbol": "no_such_symbol"}, "symbol_not_found"),
        ({"path": "no/such.py"}, "file_not_found"),
        ({"path": "../secret"}, "invalid_input"),
        ({"path": ".env"}, "workspace_not_allowed"),
        ({"symbol": "verify_token", "path": "main.py"}, "symbol_not_found"),
    ):
        assert refusal(asked.answer("remember", type="rule", content=COOKIES, **wrong))["error"]["code"] == code
    assert kept(asked) == []


def test_a_name_of_several_symbols_is_refused_with_their_names(own: Own) -> None:
    asked = own({**HOUSE, "app/other.py": "def verify_token() -> None:\n    pass\n"})
    error = refusal(asked.answer("remember", type="rule", content=COOKIES, symbol="verify_token"))["error"]
    assert error["code"] == "ambiguous_symbol"
    assert {each["path"] for each in error["data"]["candidates"]} == {"app/other.py", "app/auth/tokens.py"}
    assert remember(asked, symbol="verify_token", path="app/other.py")["discovery"]["path"] == "app/other.py"


@pytest.mark.parametrize(
    "again",
    [
        "Refresh tokens live in httpOnly cookies, never in local storage.",
        "  refresh TOKENS live in `httpOnly` cookies — never in local storage  ",
        "Refresh tokens live in the httpOnly cookies, never in local storage.",
    ],
)
def test_saying_the_same_again_updates(own: Own, again: str) -> None:
    asked = own(HOUSE)
    first = remember(asked)
    second = remember(asked, again)
    assert second["action"] == "updated"
    assert "updated instead of stored twice" in second["message"]
    assert second["discovery"]["id"] == first["discovery"]["id"]
    assert kept(asked) == [again.strip()]


@pytest.mark.parametrize(
    "other",
    [
        "Refresh tokens live in httpOnly cookies and in local storage.",
        "Access tokens live in memory, never in local storage at all.",
        "Refresh tokens do not live in httpOnly cookies, never in local storage.",
    ],
)
def test_saying_another_thing_stores_another(own: Own, other: str) -> None:
    asked = own(HOUSE)
    remember(asked)
    assert remember(asked, other)["action"] == "stored"


def test_the_same_words_about_another_thing_are_another_discovery(own: Own) -> None:
    asked = own(HOUSE)
    remember(asked)
    assert remember(asked, symbol="TokenStore")["action"] == "stored"
    assert remember(asked, path="app/auth/tokens.py")["action"] == "stored"
    assert remember(asked, symbol="TokenStore")["action"] == "updated"
    assert len(kept(asked)) == 3


SECRETS = [
    "The deploy key is AKIAIOSFODNN7EXAMPLE for now.",
    "Use ghp_abcdefghijklmnopqrstuvwxyz0123 to clone.",
    "The database is postgres://admin:hunter2@db.example.org/main",
    "Set password=hunter2 in the test setup.",
    "Set PASSWORD = admin in the test setup.",
    'The config has api_key: "zq81kd0s2mx7"',
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
    "Send Authorization: Bearer abc123def456 with it.",
]


@pytest.mark.parametrize("content", SECRETS)
def test_a_secret_is_refused_and_not_repeated(own: Own, content: str) -> None:
    asked = own(HOUSE, indexed=False)
    answer = asked.answer("remember", type="rule", content=content)
    assert "secret" in refusal(answer)["error"]["message"]
    assert not any(word in answer.text for word in ("AKIAIOS", "ghp_abc", "hunter2", "admin", "zq81", "MIIE", "abc123"))
    assert kept(asked) == []


@pytest.mark.parametrize(
    "content",
    [
        "Auth token: always refreshed before it expires.",
        "The password: hashed with argon2 before it is stored",
        "token = refresh(token) must hold the lock",
        "Set API_KEY=${API_KEY} in the environment, see docs.",
        "Basic authentication is only for tests here.",
    ],
)
def test_a_sentence_may_speak_of_secrets(content: str) -> None:
    assert secret_in(content) is None


@pytest.mark.requirement("ruling/memory/forget-removes")
def test_forgetting_removes_one(own: Own) -> None:
    asked = own(HOUSE)
    first, _ = remember(asked), remember(asked, "Invoices are written after the order was paid.")
    gone = value_of(asked.answer("forget", id=first["discovery"]["id"]))
    assert (gone["forgotten"], gone["content"]) == (True, COOKIES)
    assert kept(asked) == ["Invoices are written after the order was paid."]
    again = refusal(asked.answer("forget", id=first["discovery"]["id"]))
    assert again["error"]["code"] == "result_not_found"


def test_both_answer_alike_at_every_door(door_name: str, gates: Any) -> None:
    door = gates(door_name)
    kept_here = door.call("remember", {"type": "issue", "content": f"A flake seen through {door_name} only."})
    assert_conforms(tools.standard().tools["remember"], kept_here)
    identity = value_of(kept_here)["discovery"]["id"]
    gone = door.call("forget", {"id": identity})
    assert_conforms(tools.standard().tools["forget"], gone)
    assert value_of(gone)["id"] == identity


def test_what_one_clone_learnt_the_other_knows(own: Own) -> None:
    asked = own(HOUSE)
    remember(asked)
    again = Discoveries(Memory(asked.project.memory._path))
    assert [row.content for row in again.all()] == [COOKIES]


def test_before_there_is_an_index_a_symbol_is_taken_at_its_word(own: Own) -> None:
    asked = own(HOUSE, indexed=False)
    found = remember(asked, symbol="TokenStore.refresh")["discovery"]
    assert (found["status"], found["symbol"]) == ("unknown", "TokenStore.refresh")
    assert "not indexed" in found["status_reason"]
    assert TOKENS in str(HOUSE["app/auth/tokens.py"])


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be deleted there")
def test_a_memory_deleted_under_a_server_keeps_what_is_said_afterwards(tmp_path: Path) -> None:
    """It went into the deleted file, was acknowledged, and was gone with the server."""
    repo = Repo.create(tmp_path / "project")
    repo.commit("start", {"a.py": "def a(): ...\n"})
    home = tmp_path / "home"
    said = {"type": "rule", "content": "Never write into a file that is gone."}
    with open_door("memory", service(repo.path, data=home)) as door:
        assert not door.call("remember", said).is_error
        shutil.rmtree(home)
        assert not door.call("remember", {**said, "content": "Said when the folder was gone."}).is_error
    again = Projects(Settings(roots=(repo.path,), data=home)).current()
    assert [row.content for row in again.discoveries.all()] == ["Said when the folder was gone."]


def test_a_memory_that_another_program_holds_locked_is_read_and_says_so(
    own: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = own(HOUSE)
    remember(asked)
    monkeypatch.setattr(memory, "_BUSY_MS", 30_000)
    held = asked.project.memory
    with closing(sqlite3.connect(held._path, isolation_level=None)) as other, ThreadPoolExecutor() as pool:
        other.execute("BEGIN EXCLUSIVE")
        waiting = pool.submit(remember, asked, "Ledgers are closed at midnight, not before.")
        eventually(lambda: held._lock.locked() or waiting.done())
        assert kept(asked) == [COOKIES]
        assert not waiting.done()
        other.execute("ROLLBACK")
        assert waiting.result()["action"] == "stored"
        other.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(memory, "_BUSY_MS", 50)
        refused = refusal(asked.answer("remember", type="rule", content="Nothing is written while it is locked."))
    assert "Call again in a moment" in refused["error"]["data"]["remedy"]
    assert len(kept(asked)) == 2
