"""A cursor goes on with the query it was given for, and with no other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from codecairn import tools
from codecairn.config import Settings
from codecairn.project import Projects
from codecairn.serve import Service
from tests.catalog.catalogue import entry
from tests.support.doors import DOORS, Answer, Door, open_door, service
from tests.support.pages import bent_to, place_of
from tests.support.repo import Repo

MODULES: dict[str, str | bytes] = {
    f"m{number:02}.py": f"from core import target\n\n\ndef helper_{number:02}():\n    return target()\n"
    for number in range(12)
}
FILES = {**MODULES, "core.py": "def target():\n    return 1\n\n\ndef other():\n    return target()\n"}


@dataclass(frozen=True)
class Town:
    """A project and a second one of the same content, both indexed, with a branch."""

    door: Door
    root: Path
    twin: Path


def build(folder: Path) -> Path:
    repo = Repo.create(folder)
    repo.commit("start", FILES)
    rules = {f"instructions/r{number}.json": json.dumps(entry(f"r{number}")) for number in range(4)}
    repo.commit(
        "rules", {**rules, "m00.py": "from core import target\n\n\ndef helper_00():\n    return target() + 1\n"}
    )
    repo.git("switch", "--quiet", "--create", "side")
    repo.commit("side", {f"n{number}.py": f"def extra_{number}():\n    return target()\n" for number in range(5)})
    return folder


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("town")
    root, twin = build(folder / "one"), build(folder / "two")
    served = Service(tools.standard(), Projects(Settings(roots=(root, twin), data=folder / "home")))
    with open_door("memory", served) as door:
        for each in (root, twin):
            assert not door.call("index_codebase", {"path": str(each)}).is_error
        yield Town(door, root, twin)


def queries(town: Town) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Each tool that pages: a query with more than a page of answers, and what makes another query of it."""
    here = {"workspace": str(town.root)}
    return {
        "search_code": ({"path": str(town.root), "query": "helper", "limit": 2}, {"query": "target"}),
        "find_references": ({"symbol_name": "target", "limit": 2, **here}, {"kind": "calls"}),
        "get_call_graph": ({"symbol_name": "target", "limit": 2, **here}, {"depth": 1}),
        "find_symbol": ({"symbol_name": "helper", "limit": 2, **here}, {"symbol_name": "extra"}),
        "get_file_outline": ({"path": ".", "limit": 2, **here}, {"path": "core.py"}),
        "diff_context": ({"limit": 2, **here}, {"path_filter": "n1.py"}),
        "grep_codebase": ({"pattern": "target", "limit": 2}, {"caseSensitive": True}),
        "git_log": ({"maxCount": 1, "format": "json"}, {"author": "nobody"}),
        "instructions_list": ({"limit": 2}, {"category": "general"}),
        "instructions_search": ({"q": "title", "limit": 2}, {"q": "body"}),
    }


PAGING = [name for name, each in tools.standard().tools.items() if "cursor" in each.params.__struct_fields__]
every_paging_tool = pytest.mark.parametrize("tool", sorted({*PAGING} - {"git_diff"}))


def following(answer: Answer) -> str:
    assert not answer.is_error, answer.text
    cursor: str = answer.value.get("next_cursor") or answer.value["nextCursor"]
    return cursor


def fault(answer: Answer) -> dict[str, Any]:
    assert answer.is_error, answer.text
    said = answer.value.get("error")
    return said if isinstance(said, dict) else answer.value


def test_every_tool_that_pages_is_tried(town: Town) -> None:
    assert {*PAGING} - {"git_diff"} == set(queries(town))


@pytest.mark.requirement("ruling/shown/cursor-bound-to-query")
@every_paging_tool
def test_a_cursor_of_another_query_is_refused(town: Town, tool: str) -> None:
    asked, otherwise = queries(town)[tool]
    cursor = following(town.door.call(tool, asked))
    assert not town.door.call(tool, {**asked, "cursor": cursor}).is_error
    refused = fault(town.door.call(tool, {**asked, **otherwise, "cursor": cursor}))
    assert "another query" in str(refused)
    assert "cursor" in str(refused)
    assert fault(town.door.call(tool, {**asked, "cursor": "2"}))


@every_paging_tool
def test_a_cursor_of_another_tool_is_refused(town: Town, tool: str) -> None:
    asked = queries(town)
    cursor = following(town.door.call(tool, asked[tool][0]))
    for other in asked.keys() - {tool}:
        assert "another query" in str(fault(town.door.call(other, {**asked[other][0], "cursor": cursor}))), other


@every_paging_tool
def test_a_page_may_be_longer_than_the_one_before(town: Town, tool: str) -> None:
    asked, _ = queries(town)[tool]
    cursor = following(town.door.call(tool, asked))
    count = "maxCount" if "maxCount" in asked else "limit"
    assert not town.door.call(tool, {**asked, count: 90, "cursor": cursor}).is_error


@every_paging_tool
@pytest.mark.parametrize("place", ["", "x", "-1", "1.5", "٣", "9" * 10, "1" * 190, " 1", "\0"])
def test_a_cursor_that_was_bent_is_refused(town: Town, tool: str, place: str) -> None:
    asked, _ = queries(town)[tool]
    bent = bent_to(following(town.door.call(tool, asked)), place)
    assert fault(town.door.call(tool, {**asked, "cursor": bent}))


def test_a_cursor_of_another_project_is_refused(town: Town) -> None:
    for tool, (asked, _) in queries(town).items():
        named = "path" if tool == "search_code" else "workspace"
        if named in asked:
            cursor = following(town.door.call(tool, asked))
            elsewhere = town.door.call(tool, {**asked, named: str(town.twin), "cursor": cursor})
            assert "another query" in str(fault(elsewhere)), tool


def test_a_cursor_of_another_ref_is_refused(town: Town) -> None:
    for tool, (asked, _) in queries(town).items():
        if "ref" in tools.standard().tools[tool].params.__struct_fields__:
            cursor = following(town.door.call(tool, asked))
            assert "another query" in str(fault(town.door.call(tool, {**asked, "ref": "HEAD~1", "cursor": cursor})))


def test_a_ref_that_the_connection_switched_to_is_another_query(town: Town) -> None:
    asked = queries(town)["find_symbol"][0]
    cursor = following(town.door.call("find_symbol", asked))
    assert not town.door.call("switch_ref", {"ref": "main", "workspace": str(town.root)}).is_error
    try:
        assert "another query" in str(fault(town.door.call("find_symbol", {**asked, "cursor": cursor})))
    finally:
        town.door.call("switch_ref", {"ref": "live", "workspace": str(town.root)})
    assert not town.door.call("find_symbol", {**asked, "cursor": cursor}).is_error


def test_the_project_may_be_named_or_left_out(town: Town) -> None:
    asked = queries(town)["find_symbol"][0]
    cursor = following(town.door.call("find_symbol", asked))
    unnamed = {name: value for name, value in asked.items() if name != "workspace"}
    assert not town.door.call("find_symbol", {**unnamed, "cursor": cursor}).is_error


@pytest.mark.parametrize("door_name", DOORS)
def test_a_cursor_holds_on_every_door_and_after_the_server_is_gone(town: Town, door_name: str) -> None:
    asked = queries(town)["grep_codebase"][0]
    cursor = following(town.door.call("grep_codebase", asked))
    served = service(town.root, data=town.root.parent / "home")
    with open_door(door_name, served) as door:
        page = door.call("grep_codebase", {**asked, "cursor": cursor})
        assert not page.is_error, page.text
        assert fault(door.call("grep_codebase", {**asked, "pattern": "helper", "cursor": cursor}))


def test_a_cut_diff_goes_on_with_its_own_query_alone(tmp_path: Path) -> None:
    repo = Repo.create(tmp_path / "wide")
    repo.commit("none")
    repo.commit("many", {f"{number:03}-{'n' * 90}.txt": f"{'content ' * 10}\n" for number in range(300)})
    with open_door("memory", service(repo.path)) as door:
        asked = {"ref1": "HEAD~1", "ref2": "HEAD"}
        shown = re.search(r"cursor: `([^`]+)`", door.call("git_diff", asked).text)
        assert shown
        assert not door.call("git_diff", {**asked, "cursor": shown[1]}).is_error
        assert "another query" in door.call("git_diff", {**asked, "summary": True, "cursor": shown[1]}).text


def test_the_json_text_of_a_cut_log_names_a_cursor_that_git_log_takes(tmp_path: Path) -> None:
    repo = Repo.create(tmp_path / "wordy")
    for number in range(10):
        repo.commit(f"commit {number}\n\n{'word ' * 1_000}", {"a.txt": f"{number}\n"})
    with open_door("memory", service(repo.path)) as door:
        first = json.loads(door.call("git_log", {"format": "json", "maxCount": 4}).text)
        assert len(first["commits"]) == 4
        rest = door.call("git_log", {"format": "json", "maxCount": 10, "cursor": first["nextCursor"]})
        assert not rest.is_error, rest.text
        hashes = [each["hash"] for each in first["commits"] + rest.value["commits"]]
        assert len(hashes) == len(set(hashes)) == 10


@pytest.mark.requirement("ruling/shown/cursor-of-changed-list-said")
def test_a_page_of_a_list_that_has_changed_says_so(tmp_path: Path) -> None:
    root = build(tmp_path / "moving")
    with open_door("memory", service(root, data=tmp_path / "home")) as door:
        door.call("index_codebase", {"path": str(root)})
        asked = {"symbol_name": "helper", "limit": 2}
        cursor = following(door.call("find_symbol", asked))
        same = door.call("find_symbol", {**asked, "cursor": cursor}).value["metadata"]
        assert "changed since the page before" not in str(same)
        (root / "m50.py").write_text("def helper_50():\n    return 1\n")
        door.call("index_codebase", {"path": str(root)})
        page = door.call("find_symbol", {**asked, "cursor": cursor})
        assert "changed since the page before" in str(page.value["metadata"]["warnings"])
        assert place_of(following(page)) == "4"


def test_a_search_page_after_reading_a_file_says_so_only_where_the_order_is_another(tmp_path: Path) -> None:
    root = build(tmp_path / "read")
    with open_door("memory", service(root, data=tmp_path / "home")) as door:
        door.call("index_codebase", {"path": str(root)})
        asked = {"path": str(root), "query": "helper", "limit": 2}
        cursor = following(door.call("search_code", asked))
        before = door.call("search_code", {**asked, "limit": 100}).value["results"]
        assert not door.call("read_file", {"path": "m09.py"}).is_error
        after = door.call("search_code", {**asked, "limit": 100}).value["results"]
        page = door.call("search_code", {**asked, "cursor": cursor})
        assert [each["file"]["path"] for each in before] != [each["file"]["path"] for each in after]
        assert "changed since the page before" in str(page.value["metadata"]["warnings"])
