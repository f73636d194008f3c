"""Every clause of the contract has an id; every id has a test; every test's id exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

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


def claimed() -> set[str]:
    """The ids that tests carry, read from their source so that a test deselected today still counts."""
    marks = (mark for path in TESTS.rglob("test_*.py") for mark in _MARK.findall(path.read_text(encoding="utf-8")))
    return {identity for mark in marks for identity in re.findall(r"""["']([^"']+)["']""", mark)}


def test_ids_are_well_formed_and_texts_say_something() -> None:
    for identity, text in manifest().items():
        assert _ID.fullmatch(identity), identity
        assert len(text.split()) >= 3, identity


def test_every_clause_has_a_test() -> None:
    assert sorted(manifest().keys() - claimed()) == []


def test_every_id_on_a_test_is_a_clause() -> None:
    assert sorted(claimed() - manifest().keys()) == []


@pytest.mark.parametrize("family", ["000", "001", "002", "003", "004", "ruling"])
def test_each_family_is_in_the_manifest(family: str) -> None:
    assert any(identity.startswith(f"{family}/") for identity in manifest())
