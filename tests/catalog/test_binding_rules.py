"""Rules beside the files they bind: in read_file, context_search, diff_context, packs and prompts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codecairn.connection import Connection
from codecairn.context.prompts import prompt_text
from codecairn.tools import Call
from tests.catalog.catalogue import entry
from tests.support.doors import MemoryDoor, service
from tests.support.repo import Repo

CODE = "def moor_boat(name):\n    return name\n"


class Harbour:
    """A repository with code in two folders, its service, and one connection to it."""

    def __init__(self, path: Path) -> None:
        self.repo = Repo.create(path / "project")
        self.repo.commit("start", {"harbour/boats.py": CODE, "crane/lift.py": "def lift_cargo():\n    return 1\n"})
        self.served = service(self.repo.path, data=path / "home")
        self.door = MemoryDoor(self.served, fitted=True)

    def add(self, identity: str, **fields: Any) -> None:
        self.repo.write(f"instructions/{identity}.json", json.dumps(entry(identity, **fields)))

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.door.call(tool, arguments)
        assert not answer.is_error, answer.text
        value: dict[str, Any] = answer.value
        return value

    def rules(self, tool: str, **arguments: Any) -> list[tuple[str, bool]]:
        """The rules of an answer: id, and whether its body was told."""
        found = self.ask(tool, **arguments).get("rules", {"items": []})
        return [(each["id"], "body" in each) for each in found["items"]]


@pytest.fixture
def harbour(tmp_path: Path) -> Iterator[Harbour]:
    made = Harbour(tmp_path)
    yield made
    made.served.projects.current().close()


@pytest.mark.requirement("003/binding/read-file", "003/binding/once-a-connection")
def test_read_file_names_the_rules_of_the_file_and_tells_each_once(harbour: Harbour) -> None:
    assert "rules" not in harbour.ask("read_file", path="harbour/boats.py")
    harbour.add("must", requirement="mandatory")
    harbour.add("near", appliesTo={"globs": ["harbour/**"]})
    harbour.add("symbol", appliesTo={"globs": ["crane/**"]})
    harbour.add("advice")
    harbour.add("old", requirement="deprecated", deprecatedBy="near")
    assert harbour.rules("read_file", path="harbour/boats.py") == [("near", True), ("must", True)]
    assert harbour.rules("read_file", path="harbour/boats.py") == [("near", False), ("must", False)]
    assert harbour.rules("read_file", path="crane/lift.py") == [("symbol", True), ("must", False)]
    harbour.add("near", appliesTo={"globs": ["harbour/**"]}, body="Changed.")
    assert harbour.rules("read_file", path="harbour/boats.py") == [("near", True), ("must", False)]


@pytest.mark.requirement("003/usage_track/shown-apart")
def test_what_was_shown_is_counted_apart_from_what_was_used(harbour: Harbour) -> None:
    harbour.add("must", requirement="mandatory")
    for _ in range(3):
        harbour.ask("read_file", path="harbour/boats.py")
    item = harbour.ask("instructions_get", id="must")["item"]
    assert (item.get("usageCount"), item["shownCount"]) == (None, 1)
    assert harbour.ask("usage_track", id="must")["shownCount"] == 1
    item = harbour.ask("instructions_get", id="must")["item"]
    assert (item["usageCount"], item["shownCount"]) == (1, 1)
    assert "shownCount" not in str(harbour.ask("usage_hotset"))


@pytest.mark.requirement("003/binding/budget")
def test_rules_stay_within_the_budget_of_an_answer(harbour: Harbour) -> None:
    for number in range(30):
        harbour.add(f"must-{number:02}", requirement="mandatory", body=f"{number} " + "word " * 300)
    harbour.repo.write("harbour/long.py", "value = 'some words to fill a line of a file that is long'\n" * 2_000)
    for path in ("harbour/boats.py", "harbour/long.py"):
        value = harbour.ask("read_file", path=path)
        assert len(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) <= 8_000
        assert len(value["rules"]["items"]) == 10
        assert value["rules"]["more"] == 20
    assert value["file"]["content"].startswith("value")


@pytest.mark.requirement("003/binding/searches-diffs-and-packs")
def test_searches_diffs_and_packs_bring_the_rules_of_their_files(harbour: Harbour) -> None:
    harbour.add("near", appliesTo={"globs": ["harbour/**"]}, title="Moor well", body="Moor with two ropes.")
    harbour.add("far", appliesTo={"globs": ["crane/**"]}, title="Moor never", body="Do not moor a boat at a crane.")
    harbour.repo.commit("rules")
    harbour.repo.git("checkout", "-q", "-b", "work")
    harbour.repo.commit("change", {"harbour/boats.py": f"{CODE}\n\ndef cast_off():\n    return 2\n"})
    harbour.ask("index_codebase", path=str(harbour.repo.path))
    assert harbour.rules("diff_context", base_ref="main", head_ref="work") == [("near", True)]
    assert ("near", False) in harbour.rules("context_search", query="moor_boat", limit=1)
    pack = harbour.ask("build_context_pack", task="change moor_boat so that it moors a boat")
    told = {each["name"] for each in pack["items"] if each["kind"] == "rule"}
    assert told == {"near"}
    assert "far" not in json.dumps([pack["left_out"], pack.get("rules")])


@pytest.mark.requirement("003/binding/prompts")
def test_the_review_prompt_brings_the_rules_of_the_changed_files(harbour: Harbour) -> None:
    harbour.add("near", appliesTo={"globs": ["harbour/**"]}, title="Moor well", body="Moor with two ropes.")
    harbour.add("far", requirement="mandatory", appliesTo={"globs": ["crane/**"]}, title="Lift slowly")
    harbour.repo.commit("rules")
    harbour.repo.git("checkout", "-q", "-b", "work")
    harbour.repo.commit("change", {"harbour/boats.py": f"{CODE}\n\ndef cast_off():\n    return 2\n"})
    call = Call(harbour.served.projects, Connection("p"), harbour.served.registry, "memory")
    text = prompt_text(call, "review-branch", {"base": "main"})
    assert "Moor well" in text
    assert "Moor with two ropes." in text
    assert "Lift slowly" not in text
