"""Policy gates: counts of entries, compared with a number."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from tests.catalog.catalogue import WAYS, Catalogue, Client


def gate(name: str = "g", **changes: Any) -> dict[str, Any]:
    return {"id": name, "type": "count", "where": {}, "op": ">=", "value": 1, "severity": "error", **changes}


WRONG: list[dict[str, Any]] = [
    {"op": "~"}, {"type": "sum"}, {"severity": "fatal"}, {"value": "1"}, {"value": 10**30}, {"id": ""}, {"extra": 1},
    {"where": {"requirement": "must"}}, {"where": {"priority": 1}}, {"where": []},
]  # fmt: skip


@pytest.fixture(autouse=True)
def three_entries(catalogue: Catalogue) -> None:
    catalogue.add("a", requirement="mandatory", priority=10, categories=["Security"])
    catalogue.add("b", requirement="mandatory", priority=50, categories=["style"])
    catalogue.add("c", requirement="optional", priority=51, categories=["style", "security"])


@pytest.mark.requirement(
    "003/gates_evaluate/result-fields", "003/gates_evaluate/gate-fields", "003/gates_evaluate/summary-failed-gates",
    "003/gates_evaluate/not-configured-form",
)  # fmt: skip
def test_gates_are_reported_and_the_failed_ones_counted(any_client: Client, catalogue: Catalogue) -> None:
    assert any_client.ask("gates/evaluate") == {"notConfigured": True}
    catalogue.gates(
        gate("passes"),
        gate("fails", op=">", value=3, description="More rules"),
        gate("warns", op="<", value=3, severity="warn"),
        gate("warns-too", op="==", value=0, severity="warn"),
    )
    report = any_client.ask("gates/evaluate")
    assert report.keys() == {"generatedAt", "results", "summary"}
    assert datetime.fromisoformat(report["generatedAt"]).utcoffset() is not None
    assert report["results"][0] == {
        "id": "passes", "passed": True, "count": 3, "op": ">=", "value": 1, "severity": "error",
    }  # fmt: skip
    assert report["results"][1]["description"] == "More rules"
    assert [result["passed"] for result in report["results"]] == [True, False, False, False]
    assert report["summary"] == {"errors": 1, "warnings": 2, "total": 4}
    (catalogue.folder / "gates.json").unlink()
    assert any_client.ask("gates/evaluate") == {"notConfigured": True}


@pytest.mark.requirement("003/gates_evaluate/bare-and-tool-names")
def test_every_way_of_asking_evaluates_the_same(catalogue: Catalogue, open_client: Callable[..., Client]) -> None:
    catalogue.gates(gate(), gate("h", op="<"))
    reports = [open_client(catalogue, way).ask("gates/evaluate") for way in WAYS]
    assert all({**report, "generatedAt": ""} == {**reports[0], "generatedAt": ""} for report in reports)


@pytest.mark.requirement(
    "003/gates_evaluate/where-requirement", "003/gates_evaluate/where-priority-gt", "003/gates_evaluate/where-category"
)
@pytest.mark.parametrize(
    ("where", "count"),
    [
        ({}, 3), ({"requirement": "mandatory"}, 2), ({"requirement": "critical"}, 0), ({"priorityGt": 50}, 1),
        ({"priorityGt": 49}, 2), ({"category": "SECURITY "}, 2), ({"category": "secur"}, 0),
        ({"requirement": "mandatory", "category": "style", "priorityGt": 10}, 1),
    ],
)  # fmt: skip
def test_a_gate_counts_the_entries_that_meet_all_its_conditions(
    client: Client, catalogue: Catalogue, where: dict[str, Any], count: int
) -> None:
    catalogue.gates(gate(where=where))
    assert client.ask("gates/evaluate")["results"][0]["count"] == count


@pytest.mark.requirement("003/gates_evaluate/op-values")
@pytest.mark.parametrize(
    ("op", "passing"),
    [(">=", [2, 3]), (">", [2]), ("<=", [3, 4]), ("<", [4]), ("==", [3]), ("!=", [2, 4])],
)
def test_an_operator_compares_the_count_with_the_value(
    client: Client, catalogue: Catalogue, op: str, passing: list[int]
) -> None:
    catalogue.gates(*(gate(str(value), op=op, value=value) for value in (2, 3, 4)))
    results = client.ask("gates/evaluate")["results"]
    assert [result["value"] for result in results if result["passed"]] == passing


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{}", '{"gates": {}}', '{"gates": [], "more": 1}', b"\xff",
        *(json.dumps({"gates": [gate(**wrong)]}) for wrong in WRONG),
    ],
)  # fmt: skip
def test_bad_gates_are_an_error_that_names_the_file(client: Client, catalogue: Catalogue, content: str | bytes) -> None:
    catalogue.write("gates.json", content)
    refused = client.refused("gates/evaluate")
    assert (refused["code"], refused["data"]["file"]) == (-32603, "instructions/gates.json")
    assert refused["data"]["message"]
    (problem,) = client.ask("health/check")["problems"]
    assert problem.startswith("instructions/gates.json: ")
    assert client.ask("instructions/list")["count"] == 3
