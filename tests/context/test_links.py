"""Linked projects: made on the command line, searched along through the doors, never followed further."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from codecairn.cli import main
from codecairn.config import Settings
from codecairn.links import linked_projects
from codecairn.project import Projects
from tests.support.doors import DOORS, Door, open_door, service
from tests.support.indexes import LastingWorkers
from tests.support.repo import Repo
from tests.support.search import index

Run = Callable[..., Result]


class Town:
    """Projects side by side, each with a function of its own, with one data directory."""

    def __init__(self, folder: Path, workers: LastingWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.home, self._workers = folder.resolve(), folder.resolve() / "home", workers
        monkeypatch.setenv("CAIRN_HOME", str(self.home))

    def project(self, name: str) -> Path:
        repo = Repo.create(self.folder / name)
        word = name.rpartition("/")[2]
        repo.commit("start", {f"{word}.py": f'def ferry_of_{word}() -> str:\n    """The ferry of {word}."""\n'})
        return index(repo.path, self.home, self._workers).root

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments))

    def link(self, here: Path, there: Path, *options: str) -> Result:
        made = self.run("link", str(there), "--root", str(here), "--no-index", *options)
        assert made.exit_code == 0, made.output
        return made


@pytest.fixture
def town(tmp_path: Path, lasting: LastingWorkers, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town(tmp_path, lasting, monkeypatch)


@pytest.fixture
def opened(town: Town) -> Iterator[Callable[..., Door]]:
    with ExitStack() as stack:

        def of(name: str, root: Path, **settings: Any) -> Door:
            served = service(root, data=town.home, **settings)
            stack.callback(served.projects.open(root).index.close)
            return stack.enter_context(open_door(name, served))

        yield of


def found(door: Door, scope: str = "all_linked") -> tuple[dict[str, set[str]], list[str]]:
    """The names that a search for ferries finds, by project, and its warnings."""
    answer = door.call("context_search", {"query": "the ferry", "limit": 20, "projectScope": scope})
    assert not answer.is_error, answer.text
    names: dict[str, set[str]] = {}
    for each in answer.value["results"]:
        if each["source"] == "code":
            names.setdefault(each["project"], set()).add(each["path"])
    return names, answer.value["metadata"].get("warnings", [])


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.requirement("ruling/links/link-adds-project", "000/context_search/project-scope-all-linked")
def test_a_linked_project_is_searched_along(town: Town, opened: Callable[..., Door], name: str) -> None:
    north, south = town.project("north"), town.project("south")
    town.link(north, south)
    # Over HTTP, and where roots are given, both must be among them.
    with open_door(name, _both(town, north, south)) as door:
        assert found(door) == ({"north": {"north.py"}, "south": {"south.py"}}, [])
        assert found(door, "current") == ({"north": {"north.py"}}, [])


def _both(town: Town, *roots: Path) -> Any:
    served = service(None, data=town.home)
    served.projects = Projects(Settings(roots=roots, data=town.home))
    return served


def test_a_link_goes_by_the_name_it_was_given(town: Town) -> None:
    north, south = town.project("north"), town.project("south")
    town.link(north, south, "--name", "the other bank")
    with open_door("memory", _both(town, north, south)) as door:
        assert found(door)[0].keys() == {"north", "the other bank"}


def test_projects_of_one_folder_name_are_told_apart(town: Town) -> None:
    here, one, other = town.project("x/app"), town.project("y/app"), town.project("z/app")
    town.link(here, one)
    town.link(here, other)
    with open_door("memory", _both(town, here, one, other)) as door:
        assert found(door)[0].keys() == {"app", "y/app", "z/app"}


@pytest.mark.requirement("ruling/links/at-most-ten")
def test_an_eleventh_link_is_refused(town: Town) -> None:
    here = town.project("here")
    for number in range(10):
        (town.folder / f"p{number}").mkdir()
        town.link(here, town.folder / f"p{number}")
    (town.folder / "p10").mkdir()
    refused = town.run("link", str(town.folder / "p10"), "--root", str(here), "--no-index")
    assert refused.exit_code == 1
    assert "10 projects are linked already. Unlink one first" in refused.output
    town.link(here, town.folder / "p3", "--name", "renamed")  # one that is linked may still be renamed
    assert town.run("unlink", "p4", "--root", str(here)).exit_code == 0
    town.link(here, town.folder / "p10")
    listed = json.loads(town.run("links", "--root", str(here), "--json").output)
    assert [each["name"] for each in listed] == ["p0", "p1", "p2", "renamed", "p5", "p6", "p7", "p8", "p9", "p10"]


@pytest.mark.requirement("ruling/links/depth-one")
def test_what_a_linked_project_links_to_is_not_searched(town: Town) -> None:
    first, second, third = town.project("first"), town.project("second"), town.project("third")
    town.link(first, second)
    town.link(second, third)
    with open_door("memory", _both(town, first, second, third)) as door:
        assert found(door)[0].keys() == {"first", "second"}


@pytest.mark.requirement("ruling/links/cycles-harmless")
def test_projects_that_link_each_other_are_each_searched_once(town: Town) -> None:
    north, south = town.project("north"), town.project("south")
    town.link(north, south)
    town.link(south, north)
    with open_door("memory", _both(town, north, south)) as door:
        answer = door.call("context_search", {"query": "the ferry", "limit": 20, "projectScope": "all_linked"})
        paths = [(each["project"], each["path"]) for each in answer.value["results"] if each["source"] == "code"]
        assert sorted(paths) == [("north", "north.py"), ("south", "south.py")]


@pytest.mark.requirement("ruling/links/missing-skipped-warned")
def test_a_linked_project_that_is_gone_is_skipped_and_said(town: Town, opened: Callable[..., Door]) -> None:
    north, south, east = town.project("north"), town.project("south"), town.project("east")
    town.link(north, south)
    town.link(north, east)
    shutil.rmtree(south)
    with open_door("memory", _both(town, north, town.folder)) as door:
        names, (warning,) = found(door)
    assert names.keys() == {"north", "east"}
    assert "south" in warning
    assert "skipped" in warning
    listed = town.run("links", "--root", str(north))
    assert "south" in listed.output
    assert town.run("unlink", str(south), "--root", str(north)).exit_code == 0


def test_a_linked_project_that_is_not_indexed_is_left_out_and_said(town: Town) -> None:
    north = town.project("north")
    Repo.create(town.folder / "raw").commit("start", {"a.py": "def ferry() -> None:\n    pass\n"})
    town.link(north, town.folder / "raw")
    with open_door("memory", _both(town, north, town.folder)) as door:
        names, warnings = found(door)
    assert names.keys() == {"north"}
    assert [each for each in warnings if "raw is not indexed" in each]


def test_nothing_linked_is_said(town: Town, opened: Callable[..., Door]) -> None:
    assert found(opened("memory", town.project("alone")))[1] == ["No projects are linked to this one."]


def test_over_http_a_project_outside_the_allowed_roots_is_skipped(town: Town, opened: Callable[..., Door]) -> None:
    """And nothing is said of where it lies, or whether it is there at all."""
    north, south = town.project("north"), town.project("south")
    town.link(north, south)
    for is_there in (True, False):
        door = opened("http", north, local=False)
        names, (warning,) = found(door)
        assert names.keys() == {"north"}
        assert warning == "Linked project south was skipped: outside the roots this server may show"
        if is_there:
            shutil.rmtree(south)


@pytest.mark.parametrize("there", ["/", "~", "missing", "here"])
def test_what_may_not_be_a_project_is_not_linked(town: Town, there: str) -> None:
    here = town.project("here")
    path = {"~": str(Path.home()), "missing": str(town.folder / "missing"), "here": str(here)}.get(there, there)
    Path.home().mkdir(exist_ok=True)
    refused = town.run("link", path, "--root", str(here))
    assert refused.exit_code == 1
    assert refused.output.startswith("Error: ")
    assert json.loads(town.run("links", "--root", str(here), "--json").output) == []


def test_what_holds_no_code_is_not_linked_unless_told_so(town: Town) -> None:
    here = town.project("here")
    (town.folder / "empty").mkdir()
    assert town.run("link", str(town.folder / "empty"), "--root", str(here)).exit_code == 1
    assert json.loads(town.run("links", "--root", str(here), "--json").output) == []


@pytest.mark.parametrize("name", ["", "   ", "a\nb", "x" * 101, "here", "taken"])
def test_a_bad_or_taken_name_is_refused(town: Town, name: str) -> None:
    here, other = town.project("here"), town.project("other")
    (town.folder / "taken").mkdir()
    town.link(here, town.folder / "taken")
    refused = town.run("link", str(other), "--root", str(here), "--name", name, "--no-index")
    assert refused.exit_code == 1
    assert len(linked_projects(*_opened(town, here)).projects) == 1


def _opened(town: Town, root: Path) -> Any:
    projects = Projects(Settings(data=town.home))
    return projects.open(root), projects


def test_unlinking_what_is_not_linked_suggests_what_is(town: Town) -> None:
    here, other = town.project("here"), town.project("harbour")
    town.link(here, other)
    refused = town.run("unlink", "harbor", "--root", str(here))
    assert refused.exit_code == 1
    assert "Did you mean harbour?" in refused.output


@pytest.mark.parametrize("given", ["~nobody-of-this-name/x", "x" * 5000, "../.."])
def test_unlinking_what_is_no_path_at_all_is_only_refused(town: Town, given: str) -> None:
    refused = town.run("unlink", given, "--root", str(town.project("here")))
    assert refused.exit_code == 1
    assert refused.output.startswith("Error: Not linked: ")


def test_links_outlive_the_process_and_the_index(town: Town) -> None:
    here, other = town.project("here"), town.project("other")
    town.link(here, other)
    shutil.rmtree(town.home / "indexes")
    assert [each.root for each in linked_projects(*_opened(town, here)).projects] == [other]
