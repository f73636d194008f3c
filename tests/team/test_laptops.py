"""A fresh clone takes its index from the team server, and does without it where it must."""

from __future__ import annotations

import logging
import socket
from pathlib import Path
from typing import Any

import pytest

from codecairn.config import TeamAccess
from tests.support.doors import MemoryDoor, service
from tests.support.repo import Repo
from tests.support.team import Team

FILES: dict[str, str | bytes] = {
    "app.py": "def greet(name):\n    return f'hello {name}'\n",
    "use.py": "from app import greet\n\n\ndef main():\n    return greet('you')\n",
}


@pytest.fixture
def laptop(team: Team, tmp_path: Path) -> Repo:
    """A clone by somebody who works at another machine."""
    repo = team.repository("org/greeter", FILES)
    team.work("worker")
    team.start_node("node")
    team.await_ready()
    repo.git("clone", "--quiet", str(repo.path), str(tmp_path / "laptop"))
    return Repo(tmp_path / "laptop")


def door(laptop: Repo, url: str, token: str) -> MemoryDoor:
    return MemoryDoor(service(laptop.path, data=laptop.path.parent / "laptop-home", team=TeamAccess(url, token)))


def index(asked: MemoryDoor, laptop: Repo) -> dict[str, Any]:
    answer = asked.call("index_codebase", {"path": str(laptop.path)})
    assert not answer.is_error, answer
    statistics: dict[str, Any] = answer.value["statistics"]
    return statistics


def test_a_fresh_clone_parses_nothing(team: Team, laptop: Repo, caplog: pytest.LogCaptureFixture) -> None:
    asked = door(laptop, f"http://127.0.0.1:{team.door('').port}", team.token("ada", "org/*", role="reader"))
    with caplog.at_level(logging.INFO, "codecairn.index"):
        assert index(asked, laptop)["files_indexed"] == 0
    assert "taken from the team server" in caplog.text
    assert ", 0 files read" in caplog.text
    uses = asked.call("find_references", {"symbol_name": "greet"})
    assert [row["path"] for row in uses.value["references"]] == ["use.py", "use.py"]


def test_local_changes_lie_over_what_was_taken(team: Team, laptop: Repo) -> None:
    laptop.write("app.py", "def welcome(name):\n    return name\n")
    laptop.write("fresh.py", "def unheard_of():\n    return 1\n")
    asked = door(laptop, f"http://127.0.0.1:{team.door('').port}", team.token())
    index(asked, laptop)
    for name in ("welcome", "unheard_of"):
        assert not asked.call("find_symbol", {"symbol_name": name}).is_error
    assert asked.call("find_symbol", {"symbol_name": "welcome"}).value["metadata"]["freshness_status"] == "fresh"


@pytest.mark.parametrize("trouble", ["away", "no token", "other rights", "nonsense"])
def test_without_the_team_server_everything_is_indexed_here(team: Team, laptop: Repo, trouble: str) -> None:
    url, token = f"http://127.0.0.1:{team.door('').port}", team.token("eve", "other/*")
    if trouble == "away":
        with socket.create_server(("127.0.0.1", 0)) as closed:
            url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    elif trouble == "nonsense":
        url = "no url at all"
    asked = door(laptop, url, "" if trouble == "no token" else token)
    assert index(asked, laptop)["files_indexed"] == len(FILES)
    assert not asked.call("find_symbol", {"symbol_name": "greet"}).is_error


def test_an_older_archive_is_given_at_once_and_is_not_wrong(team: Team, laptop: Repo) -> None:
    token = team.token()
    ask = team.door(token)
    assert ask.ask("GET", "/state?project=org/greeter", None, {"accept": "*/*"})[0] == 200
    team.repos["org/greeter"].commit("a push", {"late.py": "def latecomer():\n    return 1\n"})
    team.add("org/greeter")
    team.work("worker")
    team.await_ready()
    laptop.git("pull", "--quiet")
    asked = door(laptop, f"http://127.0.0.1:{ask.port}", token)
    index(asked, laptop)
    assert not asked.call("find_symbol", {"symbol_name": "latecomer"}).is_error
