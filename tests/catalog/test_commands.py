"""cairn instructions check, cairn gates and cairn schemas: what a continuous build runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from codecairn.cli import main
from tests.catalog.catalogue import REGISTRY, Catalogue, sha256
from tests.catalog.test_gates import gate


def run(catalogue: Catalogue, *arguments: str) -> Result:
    return CliRunner().invoke(
        main, [*arguments, "--root", str(catalogue.root)], env={"CAIRN_HOME": str(catalogue.home)}
    )


def findings(catalogue: Catalogue) -> list[str]:
    """What `check` prints about files; it must exit 1 exactly if there is something."""
    result = run(catalogue, "instructions", "check")
    *found, summary = result.output.splitlines()
    assert result.exit_code == (1 if found else 0)
    assert f", {len(found)} finding" in summary
    return found


def test_a_sound_catalogue_passes_the_check(catalogue: Catalogue) -> None:
    assert findings(catalogue) == []
    catalogue.add("a", sourceHash=sha256("Body of a."))
    catalogue.add("old", requirement="deprecated", deprecatedBy="a")
    catalogue.gates(gate())
    catalogue.rules({"id": "r", "pattern": "a"})
    assert findings(catalogue) == []


def test_the_check_finds_every_kind_of_fault(catalogue: Catalogue) -> None:
    catalogue.add("first", body="same")
    catalogue.write("bad.json", "{")
    catalogue.add("a", priority=0)
    catalogue.add("drifted", sourceHash="0" * 64)
    catalogue.add("dangling", requirement="deprecated", deprecatedBy="nobody")
    catalogue.add("first", file="twice.json")
    catalogue.add("same-body", body="same")
    catalogue.write("gates.json", "[]")
    catalogue.rules({"id": "r", "pattern": "("})
    found = {line.partition(": ")[0]: line.partition(": ")[2] for line in findings(catalogue)}
    assert sorted(found) == sorted(
        [
            "docs/PROMPT-CRITERIA.json",
            *(
                f"instructions/{name}.json"
                for name in ("a", "bad", "dangling", "drifted", "gates", "same-body", "twice")
            ),
        ]
    )
    assert "sourceHash" in found["instructions/drifted.json"]
    assert "'nobody'" in found["instructions/dangling.json"]
    assert "first.json" in found["instructions/twice.json"]
    assert "first.json" in found["instructions/same-body.json"]


def test_the_check_reports_a_folder_that_may_not_be_read(catalogue: Catalogue) -> None:
    catalogue.folder.symlink_to("/usr")
    (line,) = findings(catalogue)
    assert line.startswith("instructions/: ")


@pytest.mark.parametrize(
    ("failing", "status"), [([], 0), (["warn"], 0), (["error"], 1), (["warn", "error"], 1)], ids=str
)
def test_gates_exit_1_where_a_gate_of_severity_error_fails(
    catalogue: Catalogue, failing: list[str], status: int
) -> None:
    catalogue.add("a")
    failed = [gate(f"no-rules-{severity}", op="==", value=0, severity=severity) for severity in failing]
    catalogue.gates(gate("some-rules", description="There are rules"), *failed)
    result = run(catalogue, "gates")
    assert result.exit_code == status
    passed, *others, summary = result.output.splitlines()
    assert passed.split()[:5] == ["some-rules", "1", ">=", "1", "pass"]
    assert passed.endswith("There are rules")
    assert [f"FAIL ({severity})" in line for severity, line in zip(failing, others, strict=True)] == [True] * len(
        failing
    )
    assert summary == (f"{1 + len(failing)} gates: {failing.count('error')} errors, {failing.count('warn')} warnings")


def test_gates_exit_0_where_none_are_configured_and_2_where_they_are_bad(catalogue: Catalogue) -> None:
    assert run(catalogue, "gates").exit_code == 0
    catalogue.write("gates.json", "{}")
    result = run(catalogue, "gates")
    assert result.exit_code == 2
    assert "instructions/gates.json" in result.output


def test_the_schema_of_every_answer_is_printed(catalogue: Catalogue) -> None:
    printed = json.loads(CliRunner().invoke(main, ["schemas"]).output)
    for method, declared in REGISTRY.methods.items():
        assert printed[declared.name]["output"] == declared.output_schema, method
        Draft202012Validator.check_schema(printed[declared.name]["output"])
    one = json.loads(CliRunner().invoke(main, ["schemas", "instructions/get"]).output)
    assert list(one) == ["instructions_get"]


def test_the_commands_run_as_a_build_runs_them(catalogue: Catalogue) -> None:
    catalogue.add("a", priority=0)
    command = [sys.executable, "-m", "codecairn", "instructions", "check"]
    done = subprocess.run(command, cwd=catalogue.root, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("instructions/a.json: priority: ")
    assert done.stderr == ""


def test_the_examples_of_the_manual_load_and_answer_as_it_says(catalogue: Catalogue) -> None:
    manual = (Path(__file__).parents[2] / "docs" / "instructions.md").read_text(encoding="utf-8")
    an_entry, gates, criteria = re.findall(r"^```json\n(.*?)^```", manual, re.DOTALL | re.MULTILINE)
    catalogue.write("migrations-reversible.json", an_entry)
    catalogue.write("gates.json", gates)
    catalogue.criteria(criteria.encode())
    assert findings(catalogue) == []
    assert run(catalogue, "gates").output in manual
    for tool, arguments in re.findall(r"^\$ cairn call (\w+) '(.*)'$", manual, re.MULTILINE):
        said = re.sub(r"^(hash: [0-9a-f]{8})[0-9a-f]*", r"\1…", run(catalogue, "call", tool, arguments).output)
        assert said in manual, said
