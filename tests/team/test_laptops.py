"""A fresh clone takes its index from the team server, and does without it where it must."""

from __future__ import annotations

import logging
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from codecairn import config
from codecairn.cli import main
from codecairn.config import TeamAccess
from codecairn.tools.team_answers import ask_team
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


FIRST_QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("find_symbol", {"symbol_name": "greet"}),
    ("find_references", {"symbol_name": "greet"}),
    ("search_code", {"query": "greet somebody by name"}),
    ("get_call_graph", {"symbol_name": "main"}),
]


def timeless(value: Any) -> Any:
    """A value without what differs from run to run, and without how the index stands."""
    if isinstance(value, dict):
        kept = {name: each for name, each in value.items() if name not in ("metadata", "search_duration_ms", "message")}
        return {name: timeless(each) for name, each in kept.items()}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def test_the_first_answers_are_the_team_servers_and_say_so(team: Team, laptop: Repo) -> None:
    access = TeamAccess(f"http://127.0.0.1:{team.door('').port}", team.token("ada", "org/*", role="reader"))
    served = service(laptop.path, data=laptop.path.parent / "laptop-home", team=access)
    served.registry.elsewhere = ask_team
    asked = MemoryDoor(served)
    early = [asked.call(tool, given) for tool, given in FIRST_QUESTIONS]
    for answer in early:
        assert not answer.is_error, answer
        assert "Answered by the team server from org/greeter" in answer.value["metadata"]["warnings"][0]
        assert answer.value["metadata"]["freshness_status"] == "syncing"
    index(asked, laptop)
    for (tool, given), before in zip(FIRST_QUESTIONS, early, strict=True):
        after = asked.call(tool, given)
        assert "warnings" not in after.value["metadata"]
        assert timeless(after.value) == timeless(before.value), tool


def test_a_commit_that_is_not_published_is_answered_here_alone(team: Team, laptop: Repo) -> None:
    laptop.commit("of my own", {"app.py": "def welcome(name):\n    return name\n"})
    access = TeamAccess(f"http://127.0.0.1:{team.door('').port}", team.token("ada", "org/*"))
    served = service(laptop.path, data=laptop.path.parent / "laptop-home", team=access)
    served.registry.elsewhere = ask_team
    asked = MemoryDoor(served)
    assert asked.call("find_symbol", {"symbol_name": "greet"}).is_error
    index(asked, laptop)
    assert not asked.call("find_symbol", {"symbol_name": "welcome"}).is_error


def test_versions_of_a_branch_come_by_key_and_are_not_parsed(
    team: Team, laptop: Repo, caplog: pytest.LogCaptureFixture
) -> None:
    """A branch that the server has, of which the laptop learns after it took the archive."""
    asked = door(laptop, f"http://127.0.0.1:{team.door('').port}", team.token("ada", "org/*", role="reader"))
    index(asked, laptop)
    forge, many = team.repos["org/greeter"], {f"part{n}.py": f"def part_{n}():\n    return {n}\n" for n in range(40)}
    forge.git("checkout", "--quiet", "-b", "feature")
    forge.commit("many", dict(many))
    forge.git("checkout", "--quiet", "main")
    team.add("org/greeter", ("feature",))
    team.work("worker")
    team.await_ready()
    laptop.git("fetch", "--quiet")
    laptop.git("checkout", "--quiet", "feature")
    laptop.write("part7.py", "def part_seven():\n    return 7\n")
    with caplog.at_level(logging.INFO, "codecairn.index"):
        assert index(asked, laptop)["files_indexed"] == 1
    assert "39 of 40 file versions came from the team server" in caplog.text
    assert not asked.call("find_symbol", {"symbol_name": "part_39"}).is_error
    assert not asked.call("find_symbol", {"symbol_name": "part_seven"}).is_error


def test_versions_of_a_repository_that_may_not_be_read_are_not_given(team: Team, laptop: Repo, tmp_path: Path) -> None:
    many: dict[str, str | bytes] = {f"part{n}.py": f"def part_{n}():\n    return {n}\n" for n in range(40)}
    secret = team.repository("hidden/parts", many)
    team.work("worker")
    team.await_ready()
    secret.git("clone", "--quiet", str(secret.path), str(tmp_path / "copy"))
    copy = Repo(tmp_path / "copy")
    for who, globs, parsed in (("eve", "org/*", 40), ("ada", "**", 0)):
        home = tmp_path / who
        access = TeamAccess(f"http://127.0.0.1:{team.door('').port}", team.token(who, globs))
        copy.git("remote", "set-url", "origin", "https://example.org/another/name.git")
        assert index(MemoryDoor(service(copy.path, data=home, team=access)), copy)["files_indexed"] == parsed


def test_setup_keeps_the_team_for_every_project(
    team: Team, laptop: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, home = f"http://127.0.0.1:{team.door('').port}", tmp_path / "user"
    home.mkdir()
    for name, value in {"HOME": home, "CODEX_HOME": home / "codex", "CAIRN_HOME": home / "data"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("CAIRN_TEAM_TOKEN", "cairn_nobody")
    monkeypatch.chdir(laptop.path)
    asked = ["setup", "--yes", "--no-index", "--client", "codex", "--team", url]
    assert CliRunner().invoke(main, asked).exit_code == 1
    assert not (home / "data" / "team.json").exists()
    token = team.token("ada")
    monkeypatch.setenv("CAIRN_TEAM_TOKEN", token)
    assert f"{url} answers" in CliRunner().invoke(main, asked).output
    kept = home / "data" / "team.json"
    assert kept.stat().st_mode & 0o077 == 0 or os.name == "nt"
    monkeypatch.delenv("CAIRN_TEAM_TOKEN")
    assert config.team_access(config.load()) == TeamAccess(url, token)
    monkeypatch.setenv("CAIRN_TEAM", "off")
    assert config.team_access(config.load()) == TeamAccess()
    assert CliRunner().invoke(main, ["setup", "--remove", "--yes"]).exit_code == 0
    assert not kept.exists()


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
