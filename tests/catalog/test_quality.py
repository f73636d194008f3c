"""Doubts about entries: doubles, opposite wording, citations of what is deprecated, what nobody sees or can read."""

from __future__ import annotations

import time

import pytest

from codecairn.catalog.entries import CatalogFolder
from codecairn.catalog.quality import circles, doubts
from codecairn.store.memory import Usage
from tests.catalog.catalogue import Catalogue
from tests.catalog.test_commands import run

LONG = "Write the down step with the up step and drop a column one release after the last code that reads it"


def reasons(catalogue: Catalogue, shown: dict[str, Usage] | None = None) -> dict[str, str]:
    found = doubts(CatalogFolder(catalogue.root).current(), shown or {})
    return {each.file: each.reason for each in found}


@pytest.mark.requirement("003/doubts/near-doubles")
def test_entries_that_say_nearly_the_same_are_named(catalogue: Catalogue) -> None:
    catalogue.add("a", body=f"{LONG}.")
    catalogue.add("b", body=f"{LONG} again.")
    catalogue.add("c", body="Something else entirely that shares nothing with the two others in this catalogue.")
    assert list(reasons(catalogue)) == ["instructions/b.json"]
    assert "a.json" in reasons(catalogue)["instructions/b.json"]
    assert "% alike" in reasons(catalogue)["instructions/b.json"]


@pytest.mark.requirement("003/doubts/contradictions")
def test_opposite_wording_of_one_subject_in_one_scope_is_a_doubt(catalogue: Catalogue) -> None:
    catalogue.add("yes", requirement="mandatory", body="Always use wildcard imports in test modules.")
    catalogue.add("no", requirement="critical", body="Never use wildcard imports in test modules.")
    catalogue.add("there", requirement="critical", body="Never use wildcard imports in test modules!",
                  appliesTo={"globs": ["docs/**"]})  # fmt: skip
    catalogue.add("maybe", body="Never use wildcard imports in test modules?")
    (found,) = [each for each in reasons(catalogue).items() if "contradict" in each[1]]
    assert {"yes", "no"} == {name for name in ("yes", "no", "there", "maybe") if f"{name}.json" in str(found)}
    assert "may contradict" in found[1]
    assert "%" in found[1]


@pytest.mark.requirement("003/doubts/deprecated-cited")
def test_a_deprecated_entry_that_is_cited_is_named(catalogue: Catalogue) -> None:
    catalogue.add("new")
    catalogue.add("old", requirement="deprecated", deprecatedBy="new")
    catalogue.add("citing", body="As `old` says, (old).")
    assert reasons(catalogue) == {"instructions/citing.json": "cites old, which is deprecated; new stands for it"}


@pytest.mark.requirement("003/doubts/never-shown")
def test_entries_nobody_was_shown_are_named_once_some_were(catalogue: Catalogue) -> None:
    catalogue.add("seen")
    catalogue.add("unseen", body="Another body.")
    assert reasons(catalogue) == {}
    assert list(reasons(catalogue, {"seen": Usage(1, "")})) == ["instructions/unseen.json"]


@pytest.mark.requirement("003/doubts/too-long")
def test_an_entry_too_long_to_be_read_is_named(catalogue: Catalogue) -> None:
    catalogue.add("long", body="word " * 2_000)
    assert "too long" in reasons(catalogue)["instructions/long.json"]
    result = run(catalogue, "instructions", "check")
    assert result.exit_code == 0
    assert result.output.startswith("note: instructions/long.json: ")


@pytest.mark.requirement("003/doubts/circles")
def test_deprecations_that_lead_in_a_circle_are_faults(catalogue: Catalogue) -> None:
    catalogue.add("a", requirement="deprecated", deprecatedBy="b")
    catalogue.add("b", requirement="deprecated", deprecatedBy="c", body="2")
    catalogue.add("c", requirement="deprecated", deprecatedBy="b", body="3")
    catalogue.add("d", requirement="deprecated", deprecatedBy="e", body="4")
    catalogue.add("e", body="5")
    found = {each.file for each in circles(CatalogFolder(catalogue.root).current())}
    assert found == {f"instructions/{name}.json" for name in "abc"}
    assert run(catalogue, "instructions", "check").exit_code == 1


def test_two_thousand_entries_that_share_every_word_are_compared_in_time(catalogue: Catalogue) -> None:
    for number in range(2_000):
        catalogue.add(f"e{number}", requirement="mandatory", body=f"Always use the {LONG} number {number}.")
    catalog = CatalogFolder(catalogue.root).current()
    began = time.process_time()
    assert doubts(catalog, {})
    assert time.process_time() - began < 30
