"""Every clause of the contract has an id; every id has a test, or is listed as not built; every test's id exists.

`not_built.toml` may only shrink: its ceilings are the exact lengths of its lists, so a new entry shows twice in a
review, and a clause of a tool that is in the registry cannot be listed at all. Where such a clause is about a part of
the product that does not exist yet, it is listed under that part in `[waiting]`, and no longer than until then.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codecairn import tools
from codecairn.cli import COMMANDS

HERE = Path(__file__).parent
TESTS = HERE.parent
_ID = re.compile(r"[a-z0-9]+/[a-z0-9_-]+/[a-z0-9]+(?:-[a-z0-9]+)*")
_MARK = re.compile(r"""@?(?:pytest\.mark\.)?requirement\(\s*((?:["'][^"']+["'],?\s*)+)\)""")


def manifest() -> dict[str, str]:
    clauses: dict[str, str] = {}
    for path in sorted((HERE / "manifest").glob("*.toml")):
        for subject, entries in tomllib.loads(path.read_text(encoding="utf-8")).items():
            for name, text in entries.items():
                identity = f"{subject}/{name}"
                assert identity not in clauses, f"{identity} stands twice"
                clauses[identity] = text
    return clauses


PARTS: dict[str, Callable[[], bool]] = {
    "memory": lambda: "remember" in tools.standard().tools,
    "refs": lambda: "list_refs" in tools.standard().tools,
    "links": lambda: "link" in COMMANDS,
}
"""Whether a part of the product exists, for those that a clause of a built tool may wait for."""


def listed() -> dict[str, dict[str, Any]]:
    """What `not_built.toml` says of each family."""
    return {family: entry for family, entry in _table().items() if family != "waiting"}


def waiting() -> dict[str, list[str]]:
    """For each part that is not there, the clauses of built tools that are about it."""
    parts: dict[str, list[str]] = _table().get("waiting", {})
    return parts


def _table() -> dict[str, Any]:
    return tomllib.loads((HERE / "not_built.toml").read_text(encoding="utf-8"))


def not_built() -> dict[str, list[str]]:
    return {family: entry["ids"] for family, entry in listed().items()}


def pending() -> set[str]:
    return {identity for ids in (*not_built().values(), *waiting().values()) for identity in ids}


def claimed() -> set[str]:
    """The ids that tests carry, read from their source so that a test deselected today still counts."""
    marks = (mark for path in TESTS.rglob("test_*.py") for mark in _MARK.findall(path.read_text(encoding="utf-8")))
    return {identity for mark in marks for identity in re.findall(r"""["']([^"']+)["']""", mark)}


def test_ids_are_well_formed_and_texts_say_something() -> None:
    for identity, text in manifest().items():
        assert _ID.fullmatch(identity), identity
        assert len(text.split()) >= 3, identity


def test_every_built_clause_has_a_test() -> None:
    assert sorted(manifest().keys() - pending() - claimed()) == []


def test_every_id_on_a_test_is_a_clause() -> None:
    assert sorted(claimed() - manifest().keys()) == []


def test_what_is_not_built_has_no_test_and_exists() -> None:
    assert sorted(pending() - manifest().keys()) == []
    assert sorted(pending() & claimed()) == []


def test_the_list_of_what_is_not_built_only_shrinks() -> None:
    held_up = [identity for ids in waiting().values() for identity in ids]
    for family, entry in listed().items():
        count = len(entry["ids"]) + sum(identity.startswith(f"{family}/") for identity in held_up)
        assert count == entry["ceiling"], f"{family}: lower the ceiling with the list, never raise it"


def test_a_clause_waits_for_a_part_that_is_not_there() -> None:
    assert waiting().keys() <= PARTS.keys()
    assert [part for part in waiting() if PARTS[part]()] == [], "built: its clauses need their tests now"


def test_only_clauses_of_built_tools_wait() -> None:
    built = set(tools.standard().tools)
    assert [i for ids in waiting().values() for i in ids if i.split("/")[1] not in built] == []


def test_a_tool_in_the_registry_has_no_clause_left_unbuilt() -> None:
    built = set(tools.standard().tools)
    left = [i for ids in not_built().values() for i in ids if i.split("/")[1] in built]
    assert left == []


@pytest.mark.parametrize("family", ["000", "001", "002", "003", "004", "ruling"])
def test_each_family_is_in_the_manifest(family: str) -> None:
    assert any(identity.startswith(f"{family}/") for identity in manifest())
