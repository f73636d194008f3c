"""Which projects a server keeps up with their files: the served one, and those that were indexed and asked about."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from codecairn import tools
from codecairn.config import Settings
from codecairn.project import Projects
from codecairn.serve import Service, upkeep
from codecairn.serve.upkeep import Upkeep
from codecairn.store.writer_lock import WriterLock
from tests.doors.test_http_process import announced
from tests.support.doors import Answer, Door, HttpDoor, LineDoor, open_door
from tests.support.index import PYTHON, Indexed, Open, fill
from tests.support.repo import Repo
from tests.support.wait import eventually
from tests.support.wire import ServerProcess


class Client:
    """What is asked about a root through a door."""

    def __init__(self, door: Door) -> None:
        self.door = door

    def call(self, tool: str, root: Path, **arguments: Any) -> Answer:
        key = "path" if tools.standard().tools[tool].family == "index" else "workspace"
        return self.door.call(tool, {key: str(root), **arguments})

    def metadata(self, tool: str, root: Path, **arguments: Any) -> dict[str, Any]:
        answer = self.call(tool, root, **arguments)
        assert not answer.is_error, answer.text
        said: dict[str, Any] = answer.value["metadata"]
        return said

    def freshness(self, root: Path) -> str:
        return str(self.metadata("get_status", root)["freshness_status"])

    def has(self, root: Path, name: str) -> bool:
        """Whether a fresh answer shows the symbol; one that calls itself fresh and does not is wrong."""
        answer = self.call("search_code", root, query=name, search_mode="keyword")
        shown = name in {each["symbol"]["name"] for each in answer.value["results"] if each["symbol"]}
        return shown and answer.value["metadata"]["freshness_status"] == "fresh"


@pytest.fixture
def served(repo: Repo) -> Repo:
    repo.commit("start", {"a.py": PYTHON})
    return repo


@pytest.fixture
def others(tmp_path: Path) -> list[Path]:
    """Folders without git."""
    return [fill(tmp_path / f"other{number}", {"b.py": f"def other{number}(): ...\n"}) for number in range(4)]


@pytest.fixture(params=["stdio", "http"])
def client(
    request: pytest.FixtureRequest, served: Repo, others: list[Path], home: Path, tmp_path: Path
) -> Iterator[Client]:
    """Of a server as users start it."""
    if request.param == "stdio":
        with ServerProcess(folder=served.path, CAIRN_HOME=str(home)) as server:
            yield Client(LineDoor("stdio", server))
        return
    roots = [word for each in (served.path, tmp_path) for word in ("--root", str(each))]
    with ServerProcess("--http", "127.0.0.1:0", *roots, folder=served.path, CAIRN_HOME=str(home)) as server:
        yield Client(HttpDoor(announced(server)))


@pytest.mark.requirement("ruling/metadata/other-projects-kept", "ruling/metadata/ended-run-believed")
def test_another_project_is_kept_up_from_the_call_that_indexes_it(client: Client, others: list[Path]) -> None:
    root = others[0]
    assert client.metadata("index_codebase", root)["freshness_status"] == "fresh"
    for tool in ("get_status", "list_refs"):
        said = client.metadata(tool, root)
        assert (said["freshness_status"], said["indexing_status"]) == ("fresh", "ready"), tool
    (root / "b.py").write_text("def edited(): ...\n")
    assert client.freshness(root) == "syncing"
    eventually(lambda: client.has(root, "edited"))


@pytest.mark.requirement("ruling/metadata/ended-run-believed")
def test_a_run_of_the_served_project_is_believed_when_it_has_ended(client: Client, served: Repo) -> None:
    for options in ({}, {"include_tests": False}, {"force_reindex": True}):
        client.metadata("index_codebase", served.path, **options)
        for tool in ("list_refs", "get_status"):
            said = client.metadata(tool, served.path)
            assert (said["freshness_status"], said["indexing_status"]) == ("fresh", "ready"), (tool, options)


@pytest.mark.requirement("ruling/metadata/ended-run-believed")
def test_a_run_of_a_ref_is_believed_where_nothing_else_is_indexed(client: Client, served: Repo, tmp_path: Path) -> None:
    del served
    other = Repo.create(tmp_path / "branches")
    other.commit("start", {"a.py": PYTHON})
    other.git("branch", "topic")
    assert not client.call("index_codebase", other.path, ref="topic").is_error
    listed = client.call("list_refs", other.path)
    assert {each["ref"] for each in listed.value["refs"]} == {"main", "topic"}


@pytest.mark.requirement("ruling/metadata/asking-indexes-nothing")
def test_asking_about_a_folder_does_not_index_it(client: Client, others: list[Path], home: Path) -> None:
    for tool in ("get_status", "list_refs", "search_code"):
        client.call(tool, others[0], **({"query": "other0"} if tool == "search_code" else {}))
    assert client.call("get_status", others[0]).value["indexed"] is False
    client.metadata("index_codebase", others[1])
    indexed = {each.parent.name for each in (home / "indexes").glob("*/current")}
    assert len(indexed) == 2, "the served project and the one that was indexed"


def test_a_project_indexed_before_the_server_started_is_kept_too(
    client: Client, others: list[Path], indexed: Open
) -> None:
    earlier = indexed(others[2])
    earlier.run()
    earlier.close()
    (others[2] / "b.py").write_text("def since(): ...\n")
    eventually(lambda: client.has(others[2], "since"))


@pytest.fixture
def within(served: Repo, home: Path) -> Iterator[Callable[[], Client]]:
    """A server in this process, so that its bounds can be set."""
    with ExitStack() as stack:

        def open_() -> Client:
            projects = Projects(Settings(working_dir=served.path, data=home))
            kept = Upkeep(projects, watch=True)
            stack.callback(kept.close)
            return Client(stack.enter_context(open_door("stdio", Service(tools.standard(), projects, kept))))

        yield open_


@pytest.mark.requirement("ruling/metadata/most-kept-said")
def test_one_more_project_than_are_kept_is_looked_at_each_time_and_said(
    within: Callable[[], Client], others: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "MOST_KEPT", 2)
    client = within()
    for root in others[:2]:
        assert "warnings" not in client.metadata("index_codebase", root)
    said = client.metadata("index_codebase", others[2])
    assert said["freshness_status"] == "fresh"
    assert any("2 projects are kept up" in each for each in said["warnings"])
    (others[2] / "b.py").write_text("def edited(): ...\n")
    assert client.freshness(others[2]) == "stale"
    client.metadata("index_codebase", others[2])
    assert client.has(others[2], "edited")


def test_the_project_not_asked_about_for_longest_makes_room(
    within: Callable[[], Client], others: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "MOST_KEPT", 2)
    monkeypatch.setattr(upkeep, "_IDLE_S", 0.0)
    client = within()
    for root in others[:3]:
        assert "warnings" not in client.metadata("index_codebase", root)
    eventually(lambda: _watchers() <= 3)
    for number in range(3):
        for root in others[:3]:
            (root / "b.py").write_text(f"def again{number}(): ...\n")
            eventually(lambda root=root, number=number: client.has(root, f"again{number}"))  # type: ignore[misc]
    eventually(lambda: _watchers() <= 3)


def _watchers() -> int:
    return sum(each.name == "cairn-watch" for each in threading.enumerate())


def test_a_project_that_is_closed_is_no_longer_watched(indexed: Open, others: list[Path]) -> None:
    project = indexed(others[0])
    with project.kept() as keeper:
        project.close()
        assert keeper.is_closed
        assert project.project.index.keeping is None


# What a keeper does not miss.


@pytest.fixture
def kept(served: Repo, indexed: Open) -> Iterator[Indexed]:
    project = indexed(served.path)
    with project.kept():
        yield project


def test_an_edit_while_another_process_writes_is_seen_when_it_is_done(served: Repo, kept: Indexed) -> None:
    with WriterLock(kept.project.index.folder / "lock").holding("indexing") as had:
        assert had
        served.write("a.py", "def meanwhile(): ...\n")
        assert kept.stands().freshness == "syncing"
    assert kept.settled()
    assert kept.names() == {"meanwhile"}


def test_an_index_that_another_process_put_in_its_place_is_brought_up_to_date(kept: Indexed) -> None:
    opened = kept.project.index.open_index()
    assert opened is not None
    with opened.store.writing() as database:
        database.execute("DELETE FROM manifest")
        database.execute("DELETE FROM layer")
    eventually(lambda: kept.stands().freshness == "fresh")
    assert kept.names() == {"greet"}


def test_a_head_that_moved_unseen_is_noticed_by_the_first_who_asks(
    served: Repo, kept: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    from codecairn.source import inotify

    monkeypatch.setattr(inotify.FolderEvents, "_git_paths", lambda _self, _event: iter(()))
    served.commit("nothing in it")
    eventually(lambda: kept.stands().freshness == "fresh")


def test_rules_above_a_project_in_a_subfolder_are_heeded(served: Repo, indexed: Open) -> None:
    served.commit("more", {"sub/kept.py": "def kept(): ...\n"})
    served.write("sub/loose.py", "def loose(): ...\n")
    project = indexed(served.path / "sub")
    with project.kept():
        assert project.names() == {"kept", "loose"}
        served.write(".gitignore", "loose.py\n")
        assert project.stands().freshness == "syncing"
        assert project.settled()
        assert project.names() == {"kept"}


def test_the_users_own_rules_are_heeded(
    served: Repo, indexed: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    served.write("loose.py", "def loose(): ...\n")
    project = indexed(served.path)
    with project.kept():
        assert project.names() == {"greet", "loose"}
        fill(tmp_path / "settings/git", {"ignore": "loose.py\n"})
        assert project.stands().freshness == "syncing"
        assert project.settled()
        assert project.names() == {"greet"}


def test_a_folder_that_is_ignored_no_longer_is_watched(served: Repo, kept: Indexed) -> None:
    served.write(".gitignore", "out/\n")
    assert kept.settled()
    served.write("out/made.py", "def made(): ...\n")
    assert kept.settled()
    served.write(".gitignore", "")
    assert kept.settled()
    assert "made" in kept.names()
    served.write("out/made.py", "def edited(): ...\n")
    assert kept.settled()
    assert "edited" in kept.names()


def test_a_folder_that_becomes_a_repository_of_its_own_is_let_go(served: Repo, kept: Indexed) -> None:
    served.write("inner/x.py", "def inner(): ...\n")
    assert kept.settled()
    assert "inner" in kept.names()
    Repo.create(served.path / "inner")
    assert kept.settled()
    assert "inner" not in kept.names()


def test_vendored_code_of_a_plain_folder_is_watched_where_it_is_indexed(tmp_path: Path, indexed: Open) -> None:
    root = fill(tmp_path / "plain", {"a.py": PYTHON, "vendor/v.py": "def theirs(): ...\n"})
    project = indexed(root)
    project.run(vendor=True)
    with project.kept():
        (root / "vendor/v.py").write_text("def changed(): ...\n")
        assert project.settled()
        assert project.names() == {"greet", "changed"}


def test_a_folder_that_becomes_a_repository_is_one_from_then_on(tmp_path: Path, indexed: Open) -> None:
    root = fill(tmp_path / "plain", {"a.py": PYTHON})
    project = indexed(root)
    with project.kept():
        assert project.settled().ref == "live"
        repo = Repo.create(root)
        repo.write("out/b.py", "def out(): ...\n")
        repo.write(".gitignore", "out/\n")
        repo.commit("start")
        assert project.settled().ref == "main"
        assert project.names() == {"greet"}
        repo.commit("second", {"c.py": "def second(): ...\n"})
        assert project.settled()
        assert project.names() == {"greet", "second"}
