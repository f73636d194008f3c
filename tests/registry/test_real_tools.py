"""What holds for every tool there is, whatever it does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from codecairn import tools
from codecairn.serve import jsonrpc
from codecairn.tools import Tool
from tests.registry.samples import assert_conforms
from tests.support.doors import Door
from tests.support.repo import Repo

REAL = tools.standard()
WRITES = {"usage_track", "index_codebase", "remember", "forget"}
"""The tools that change anything, and so may not call themselves read-only."""
DESTROYS = {"forget"}

every_tool = pytest.mark.parametrize("declared", REAL.tools.values(), ids=REAL.tools.keys())


def properties(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property of a schema, nested ones and items of arrays included."""
    definitions = schema.get("$defs", {})
    waiting = list(schema.get("properties", {}).items())
    while waiting:
        name, form = waiting.pop()
        yield name, form
        inner = definitions.get(form.get("$ref", "").rsplit("/", 1)[-1], form)
        waiting += [(f"{name}.{key}", value) for key, value in inner.get("properties", {}).items()]
        waiting += [(f"{name}[]", inner["items"])] if isinstance(inner.get("items"), dict) else []


@every_tool
def test_the_input_schema_is_valid_and_closed(declared: Tool) -> None:
    Draft202012Validator.check_schema(declared.input_schema)
    assert declared.input_schema["type"] == "object"
    assert declared.input_schema["additionalProperties"] is False


@every_tool
def test_every_parameter_says_what_it_is_and_whole_numbers_have_bounds(declared: Tool) -> None:
    for name, form in properties(declared.input_schema):
        assert form.get("description") or "." in name or "[" in name, name
        assert form.keys() & {"type", "enum", "anyOf", "$ref", "const"}, name
        if form.get("type") == "integer":
            assert "minimum" in form, name
        assert form.get("type") != "null", name


def test_choices_and_ranges_are_in_the_schema() -> None:
    log = REAL.tools["git_log"].input_schema["properties"]
    assert (log["maxCount"]["minimum"], log["maxCount"]["maximum"], log["maxCount"]["default"]) == (1, 100, 10)
    assert sorted(log["format"]["enum"]) == ["json", "markdown"]
    assert REAL.tools["git_blame"].input_schema["properties"]["startLine"]["minimum"] == 1


@pytest.mark.requirement("ruling/registry/description-when-to-use")
@every_tool
def test_the_description_says_when_to_use_the_tool(declared: Tool) -> None:
    assert re.search(r"\buse it\b", declared.description, re.IGNORECASE), declared.description
    assert len(declared.description) < 400


@pytest.mark.requirement("ruling/output-schema/every-tool-has-one", "ruling/output-schema/object-any-of")
def test_every_advertised_tool_has_an_output_schema(repo: Repo, connect: Callable[..., Door]) -> None:
    advertised = jsonrpc.list_tools(REAL)
    assert len(advertised) == len(REAL.tools)
    for entry in advertised:
        Draft202012Validator.check_schema(entry["outputSchema"])
        assert entry["outputSchema"]["type"] == "object"
        assert len(entry["outputSchema"]["anyOf"]) >= 2
        Draft202012Validator.check_schema(REAL.tools[entry["name"]].output_schema)


CHARACTERS_PER_TOKEN = 4.2
"""Of the list of tools as it is sent; two public tokenisers made it 4.3."""


@pytest.mark.requirement("ruling/shown/tools-list-size")
def test_the_list_of_tools_costs_under_four_thousand_tokens() -> None:
    sent = json.dumps(jsonrpc.list_tools(REAL), separators=(",", ":"), ensure_ascii=False)
    assert len(sent) / CHARACTERS_PER_TOKEN < 4_000


def plain_arguments(declared: Tool) -> dict[str, Any]:
    """Something for each required parameter, whether or not it makes sense to the tool."""
    schema = declared.input_schema
    return {name: _something(schema["properties"][name]) for name in schema.get("required", [])}


def _something(form: dict[str, Any]) -> Any:
    if "enum" in form:
        return form["enum"][0]
    plain = {"integer": form.get("minimum", 1), "boolean": True, "array": [], "object": {}}
    return plain.get(form.get("type", ""), "a.txt")


def bad_arguments() -> dict[str, Any]:
    return {"no such parameter": 1}


@pytest.fixture
def worked(repo: Repo) -> Repo:
    repo.commit("first", {"a.txt": "one\n", "b.txt": "two\n"})
    repo.write("b.txt", "three\n")
    return repo


@pytest.mark.requirement("ruling/output-schema/success-validates", "ruling/output-schema/error-validates")
def test_what_every_tool_says_validates_at_every_door(
    door_name: str, worked: Repo, connect: Callable[..., Door]
) -> None:
    door = connect(door_name, worked.path)
    for declared in REAL.tools.values():
        answer, refused = door.call(declared.name, plain_arguments(declared)), door.call(declared.name, bad_arguments())
        assert refused.is_error
        for said in (answer, refused):
            if said.value or said.rpc_error is None:
                assert_conforms(declared, said)


@pytest.mark.requirement("ruling/registry/annotations-honest")
@every_tool
def test_annotations_agree_with_what_the_tool_does(declared: Tool, worked: Repo, connect: Callable[..., Door]) -> None:
    hints = declared.annotations
    assert hints["readOnlyHint"] is (declared.name not in WRITES)
    assert hints["openWorldHint"] is False
    assert hints["destructiveHint"] is (declared.name in DESTROYS)
    assert isinstance(hints["idempotentHint"], bool)
    if hints["readOnlyHint"]:
        before = snapshot(worked.path)
        for door in ("memory", "stdio"):
            connect(door, worked.path).call(declared.name, plain_arguments(declared))
        assert snapshot(worked.path) == before


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
