"""The order of the layers: read from the source and held to `layers.toml`."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support.layers import RANKS, TABLE, circles, imports, member_of, module_of, modules, sources, tree

PERMITTED = {(each["importer"], each["imported"]) for each in TABLE.get("exception", [])}
KNOWN_CIRCLES = [sorted(each["modules"]) for each in TABLE.get("circle", [])]


def test_every_module_stands_in_a_layer() -> None:
    assert [module for module in modules() if member_of(module) is None] == []


def test_every_member_of_the_table_stands_once_and_has_a_module() -> None:
    listed = [member for layer in TABLE["layer"] for member in layer["members"]]
    assert sorted(listed) == sorted(RANKS)
    assert sorted(RANKS.keys() - {member_of(module) for module in modules()}) == []


def rank(module: str) -> int:
    return RANKS[member_of(module) or ""]


@pytest.mark.parametrize("module", modules())
def test_nothing_imports_upward(module: str) -> None:
    upward = [name for name in imports()[module] if rank(name) > rank(module) and (module, name) not in PERMITTED]
    assert upward == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    found = circles(imports())
    assert [each for each in found if each not in KNOWN_CIRCLES] == []
    assert [each for each in KNOWN_CIRCLES if each not in found] == [], "no circle any more: take it off the list"


def test_no_members_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = defaultdict(set)
    for module, names in imports().items():
        here = member_of(module) or ""
        graph[here] |= {member_of(name) or "" for name in names if (module, name) not in PERMITTED} - {here}
    assert circles(graph) == []


def test_a_permitted_import_is_still_there() -> None:
    assert [(module, name) for module, name in PERMITTED if name not in imports().get(module, ())] == []


@pytest.mark.parametrize("path", sources(), ids=module_of)
def test_imports_name_the_module_they_mean(path: Path) -> None:
    relative = [node.lineno for node in ast.walk(tree(path)) if isinstance(node, ast.ImportFrom) and node.level]
    assert relative == []


def test_a_circle_is_found_through_any_number_of_modules() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"e"}}) == [["a", "b", "c"], ["e"]]
