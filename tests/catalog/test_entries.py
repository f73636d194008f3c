"""What a file of the catalogue must hold, and what of it is computed instead."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.catalog.catalogue import Catalogue, Client, aggregate, entry, sha256

WEIGHTS = {"mandatory": 50, "critical": 60, "recommended": 20, "optional": 5, "deprecated": -30}
REQUIRED = [name for name in entry() if name != "sourceHash"]


def problems(client: Client) -> list[str]:
    listed: list[str] = client.ask("health/check").get("problems", [])
    return listed


def loads(client: Client, catalogue: Catalogue, **changes: Any) -> bool:
    """Whether the one file of the catalogue loads when changed so; if not, it must be named as a problem."""
    catalogue.add("a", **changes)
    loaded: bool = client.ask("instructions/list")["count"] == 1
    assert loaded != any(each.startswith("instructions/a.json: ") for each in problems(client))
    return loaded


def get(client: Client, identity: str = "a") -> dict[str, Any]:
    item: dict[str, Any] = client.ask("instructions/get", id=identity)["item"]
    return item


@pytest.mark.requirement("003/catalogue/strict-schema")
@pytest.mark.parametrize("missing", REQUIRED)
def test_a_file_without_a_field_is_not_loaded(client: Client, catalogue: Catalogue, missing: str) -> None:
    catalogue.write("a.json", json.dumps(entry("a", **{missing: ...})))
    assert client.ask("instructions/list")["count"] == 0
    (problem,) = problems(client)
    assert problem.startswith("instructions/a.json: ")
    assert missing in problem


@pytest.mark.requirement("003/catalogue/strict-schema")
@pytest.mark.parametrize(
    "changes",
    [
        {"colour": "red"}, {"title": 5}, {"title": ""}, {"body": ""}, {"body": ["a"]}, {"id": ""}, {"id": "a|b"},
        {"id": "a\nb"}, {"id": "x" * 201}, {"categories": "general"}, {"categories": [1]}, {"priority": "5"},
        {"priority": True}, {"createdAt": "yesterday"}, {"updatedAt": "2025-13-01T00:00:00Z"}, {"createdAt": 17356},
        {"schemaVersion": 1}, {"sourceHash": "abc"}, {"deprecatedBy": "a"}, {"usage_count": 5},
    ],
)  # fmt: skip
def test_a_file_with_a_mistyped_or_unknown_field_is_not_loaded(
    client: Client, catalogue: Catalogue, changes: dict[str, Any]
) -> None:
    assert not loads(client, catalogue, **changes)


@pytest.mark.requirement("003/catalogue/priority-bounds")
def test_priority_lies_in_1_to_100(client: Client, catalogue: Catalogue) -> None:
    assert [n for n in (-1, 0, 1, 50, 100, 101, 1.5) if loads(client, catalogue, priority=n)] == [1, 50, 100]


@pytest.mark.requirement("003/catalogue/audience-values")
def test_audience_is_one_of_three(client: Client, catalogue: Catalogue) -> None:
    given = ("individual", "group", "all", "All", "everyone", "", None)
    assert [each for each in given if loads(client, catalogue, audience=each)] == ["individual", "group", "all"]


@pytest.mark.requirement("003/catalogue/requirement-values", "003/catalogue/risk-score-formula")
def test_requirement_is_one_of_five_and_weighs_in_the_risk(client: Client, catalogue: Catalogue) -> None:
    for requirement, weight in WEIGHTS.items():
        for priority in (1, 40, 100):
            assert loads(client, catalogue, requirement=requirement, priority=priority, deprecatedBy="b")
            assert get(client)["riskScore"] == 100 - priority + weight
    assert not any(loads(client, catalogue, requirement=each) for each in ("must", "Mandatory", "", None))


@pytest.mark.requirement("003/catalogue/deprecated-needs-successor")
def test_a_deprecated_entry_names_its_successor(client: Client, catalogue: Catalogue) -> None:
    assert not loads(client, catalogue, requirement="deprecated")
    assert loads(client, catalogue, requirement="deprecated", deprecatedBy="b")
    assert get(client)["deprecatedBy"] == "b"


@pytest.mark.requirement("003/catalogue/categories-normalised")
def test_categories_are_lowercased_sorted_and_unique(client: Client, catalogue: Catalogue) -> None:
    assert loads(client, catalogue, categories=["Web", " api", "WEB", "API ", "  "])
    assert get(client)["categories"] == ["api", "web"]


@pytest.mark.requirement("003/catalogue/computed-fields-ignored")
def test_what_is_computed_is_ignored_in_a_file(client: Client, catalogue: Catalogue) -> None:
    computed = {"riskScore": 1, "usageCount": 99, "lastUsedAt": "2001-01-01T00:00:00Z"}
    assert loads(client, catalogue, **computed)
    assert get(client) == entry("a", sourceHash=sha256("Body of a."), riskScore=70)
    assert loads(client, catalogue, riskScore="high", usageCount=None, lastUsedAt=[[]])


def test_an_answer_saved_as_a_file_is_an_entry(client: Client, catalogue: Catalogue) -> None:
    catalogue.add("a", rationale="why", source="AGENTS.md#A")
    client.ask("usage/track", id="a")
    item = get(client)
    catalogue.write("a.json", json.dumps(item))
    assert get(client) == item
    assert client.ask("integrity/verify")["issueCount"] == 0


@pytest.mark.requirement("003/catalogue/body-newlines-normalised", "003/catalogue/source-hash-sha256")
@pytest.mark.parametrize("body", ["one\r\ntwo\rthree\nfour", "one\ntwo\rthree\r\nfour"])
def test_a_body_is_returned_and_hashed_with_one_kind_of_line_end(
    client: Client, catalogue: Catalogue, body: str
) -> None:
    catalogue.add("a", body=body)
    item = get(client)
    assert item["body"] == "one\ntwo\nthree\nfour"
    assert item["sourceHash"] == sha256("one\ntwo\nthree\nfour")


@pytest.mark.parametrize(
    ("written", "returned"),
    [
        ("2025-01-01T10:00:00.000Z", "2025-01-01T10:00:00.000Z"),
        ("2025-01-01T10:00:00+02:00", "2025-01-01T08:00:00.000Z"),
        ("2025-01-01T10:00:00", "2025-01-01T10:00:00.000Z"),
        ("2025-01-01", "2025-01-01T00:00:00.000Z"),
    ],
)
def test_timestamps_are_returned_in_utc(client: Client, catalogue: Catalogue, written: str, returned: str) -> None:
    assert loads(client, catalogue, createdAt=written)
    assert get(client)["createdAt"] == returned


@pytest.mark.requirement("003/catalogue/one-file-per-entry", "003/catalogue/aggregate-hash")
def test_each_json_file_is_one_entry_but_for_the_gates(client: Client, catalogue: Catalogue) -> None:
    catalogue.add("b", file="zz.json")
    catalogue.add("a", file="whatever name.json")
    catalogue.gates()
    for other in ("README.md", "c.yaml", "d.json.bak", ".e.json", ".#a.json"):
        catalogue.write(other, json.dumps(entry(other)))
    nested = catalogue.folder / "nested"
    nested.mkdir()
    (nested / "f.json").write_text(json.dumps(entry("f")))
    listed = client.ask("instructions/list")
    assert [item["id"] for item in listed["items"]] == ["a", "b"]
    assert listed["hash"] == aggregate({"a": "Body of a.", "b": "Body of b."})
    assert problems(client) == []


@pytest.mark.requirement("003/catalogue/bad-file-reported")
def test_a_bad_file_is_reported_and_hides_no_other(any_client: Client, catalogue: Catalogue) -> None:
    catalogue.add("good")
    catalogue.write("broken.json", '{"id": "broken"')
    catalogue.write("empty.json", "")
    catalogue.write("list.json", "[]")
    catalogue.write("binary.json", b'{"id": "\xff"}')
    catalogue.write("deep.json", '{"usageCount": ' + "[" * 100_000 + "]" * 100_000 + "}")
    catalogue.write("huge.json", json.dumps(entry("huge", body="x" * (1 << 20))))
    catalogue.write("surrogate.json", '{"id": "\\ud800"}')
    catalogue.add("bad-type", priority="high")
    listed = any_client.ask("instructions/list")
    assert [item["id"] for item in listed["items"]] == ["good"]
    names = [each.partition(": ")[0] for each in problems(any_client)]
    bad = ("bad-type", "binary", "broken", "deep", "empty", "huge", "list", "surrogate")
    assert names == [f"instructions/{name}.json" for name in bad]
    assert all(each.partition(": ")[2] for each in problems(any_client))


def test_many_problems_are_counted_instead_of_filling_the_answer(client: Client, catalogue: Catalogue) -> None:
    for number in range(30):
        catalogue.write(f"{number:02}.json", "{}")
    listed = problems(client)
    assert len(listed) == 21
    assert listed[-1].startswith("10 more")


def test_a_message_about_a_file_is_fit_to_be_sent_whatever_the_file_holds(client: Client, catalogue: Catalogue) -> None:
    catalogue.write("long.json", json.dumps({**entry("a"), "x" * 100_000: 1}))
    catalogue.write("control.json", json.dumps({**entry("a"), "\x1b[31m\n": 1}))
    (catalogue.folder / b"name-\xff\n.json".decode("utf-8", "surrogateescape")).write_text("{}")
    listed = problems(client)
    assert len(listed) == 3
    assert all(len(each) < 300 and each.isprintable() for each in listed)


def test_the_second_file_with_an_id_is_a_problem_and_names_the_first(client: Client, catalogue: Catalogue) -> None:
    catalogue.add("a", file="one.json", body="first")
    catalogue.add("a", file="two.json", body="second")
    assert get(client)["body"] == "first"
    (problem,) = problems(client)
    assert problem.startswith("instructions/two.json: ")
    assert "instructions/one.json" in problem
    (catalogue.folder / "one.json").unlink()
    assert get(client)["body"] == "second"
    assert problems(client) == []


def test_ids_that_differ_in_case_are_two_entries(client: Client, catalogue: Catalogue) -> None:
    catalogue.add("Rule", file="1.json", body="upper")
    catalogue.add("rule", file="2.json", body="lower")
    assert (get(client, "Rule")["body"], get(client, "rule")["body"]) == ("upper", "lower")
    client.ask("usage/track", id="Rule")
    assert [each["id"] for each in client.ask("usage/hotset")["items"]] == ["Rule"]


def test_a_byte_order_mark_is_no_part_of_a_file(client: Client, catalogue: Catalogue) -> None:
    mark = b"\xef\xbb\xbf"
    catalogue.write("a.json", mark + json.dumps(entry("a")).encode())
    catalogue.write("gates.json", mark + b'{"gates": []}')
    catalogue.criteria(mark + b'{"version": 1, "categories": []}')
    assert get(client)["id"] == "a"
    assert client.ask("gates/evaluate")["results"] == []
    assert client.ask("prompt/review", prompt="make it better")["issues"] == []


@pytest.mark.requirement("003/catalogue/reloads-on-change")
def test_a_file_added_changed_or_removed_shows_in_the_next_call(any_client: Client, catalogue: Catalogue) -> None:
    assert any_client.ask("instructions/list")["count"] == 0
    path = catalogue.add("a")
    before = any_client.ask("instructions/list")
    assert before["count"] == 1
    for number in range(20):
        path.write_text(json.dumps(entry("a", body=f"body {number:02}")))
        assert get(any_client)["body"] == f"body {number:02}"
        assert any_client.ask("instructions/search", q=f"BODY {number:02}")["count"] == 1
    assert any_client.ask("instructions/list")["hash"] != before["hash"]
    path.unlink()
    assert any_client.ask("instructions/list")["count"] == 0


def test_the_catalogue_is_loaded_by_the_first_call_that_needs_it(
    catalogue: Catalogue, open_client: Callable[..., Client]
) -> None:
    client = open_client(catalogue)
    catalogue.add("a")
    assert get(client)["id"] == "a"
