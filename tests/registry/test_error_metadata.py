"""An error says how the project stands that the call was about, whenever it was raised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from codecairn import tools
from codecairn.config import Settings
from codecairn.project import Projects
from codecairn.serve import Service
from tests.support.doors import DOORS, Door, open_door
from tests.support.repo import Repo

OF_FAMILY = {name: each for name, each in tools.standard().tools.items() if each.family == "refs"}


@dataclass(frozen=True)
class Pair:
    """A project that is served and indexed on branch main, one that is indexed on branch topic, one that is not."""

    door: Door
    served: Path
    second: Path
    unknown: Path


@pytest.fixture(scope="module", params=DOORS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    served, second = Repo.create(folder / "served"), Repo.create(folder / "second")
    for repo in (served, second):
        repo.commit("start", {"a.py": "def a():\n    return 1\n"})
    second.git("switch", "--quiet", "--create", "topic")
    unknown = Repo.create(folder / "unknown")
    unknown.commit("start", {"a.py": "x = 1\n"})
    settings = Settings(roots=(served.path, second.path, unknown.path), data=folder / "home")
    opened = Service(tools.standard(), Projects(settings))
    with open_door(request.param, opened) as door:
        for repo in (served, second):
            assert not door.call("index_codebase", {"path": str(repo.path)}).is_error
        yield Pair(door, served.path, second.path, unknown.path)


def metadata(pair: Pair, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = pair.door.call(tool, arguments)
    assert answer.is_error, answer.text
    said: dict[str, Any] = answer.value["metadata"]
    return said


def standing(said: dict[str, Any]) -> tuple[str, str, str]:
    return said["indexing_status"], said["freshness_status"], said["ref"]


HEALTHY = ("ready", "fresh", "main")


@pytest.mark.requirement("ruling/metadata/error-says-the-projects-own")
@pytest.mark.parametrize("tool", OF_FAMILY)
def test_an_unknown_argument_is_refused_with_the_metadata_of_the_project(pair: Pair, tool: str) -> None:
    assert standing(metadata(pair, tool, nonsense=1)) == HEALTHY


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("find_symbol", {"symbol_name": "a", "limit": 0}), ("find_symbol", {"symbol_name": "a", "cursor": "7"}),
        ("find_references", {"symbol_name": "a", "line": 3}), ("find_references", {"symbol_name": "nowhere"}),
        ("build_context_pack", {"task": "  "}), ("build_context_pack", {"task": "x", "max_tokens": -1}),
        ("diff_context", {"path_filter": "["}), ("diff_context", {"base_ref": "never-was"}),
        ("get_file_outline", {"path": "../x"}), ("switch_ref", {"ref": "never-was"}), ("forget", {"id": "none"}),
        ("remember", {"type": "rule", "content": "short"}), ("find_symbol", {"symbol_name": "a", "ref": "never-was"}),
        ("find_symbol", {"symbol_name": "a", "ref": 7}), ("find_symbol", {"symbol_name": "a", "workspace": 7}),
        ("list_refs", {"workspace": "relative/path"}), ("list_refs", {"workspace": "/"}),
    ],
)  # fmt: skip
def test_an_error_of_any_argument_says_how_the_served_project_stands(
    pair: Pair, tool: str, arguments: dict[str, Any]
) -> None:
    assert standing(metadata(pair, tool, **arguments)) == HEALTHY


def test_an_error_about_another_project_says_how_that_one_stands(pair: Pair) -> None:
    said = metadata(pair, "find_symbol", symbol_name="a", limit=0, workspace=str(pair.second))
    assert (said["indexing_status"], said["ref"]) == ("ready", "topic")
    unknown = metadata(pair, "find_symbol", symbol_name="a", limit=0, workspace=str(pair.unknown))
    assert standing(unknown) == ("not_indexed", "stale", "main")


def test_arguments_that_are_no_object_are_refused_with_the_metadata_of_the_project(pair: Pair) -> None:
    answer = pair.door.call("list_refs", {"workspace": {"nested": [1]}})
    assert standing(answer.value["metadata"]) == HEALTHY
