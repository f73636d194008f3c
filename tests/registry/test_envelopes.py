"""How a value and how an error is said: five families, every door, every error of the tree."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator, ValidationError

from codecairn import errors
from codecairn.errors import CODES
from codecairn.tools.families import FAMILIES
from codecairn.tools.schema import of_output
from codecairn.types import CamelStruct
from tests.registry.samples import BUG, ERRORS, FORMS, assert_conforms, name_of, registry, schemas
from tests.support.doors import DOORS, JSON_DOORS, READING_DOORS, Answer, Door, open_door, service

SAMPLES = registry()
FAULTS = [*ERRORS, BUG]
CONTRACT_CODES = """
    invalid_input invalid_strategy invalid_max_tokens project_not_found workspace_not_registered workspace_not_allowed
    workspace_limit_exceeded index_in_progress index_not_ready sync_in_progress index_stale index_incompatible
    ref_not_indexed overlay_not_ready merge_base_failed symbol_not_found ambiguous_symbol file_not_found
    result_not_found no_edges_available internal_error
"""

Connect = Callable[..., Door]


@pytest.fixture(scope="module", params=DOORS)
def door(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with open_door(request.param, service(tmp_path_factory.mktemp("project"), registry=registry())) as opened_door:
        yield opened_door


def opened(connect: Connect, door: str, root: Path) -> Door:
    return connect(door, root, registry=registry())


def fails(door: Door, family: str, fault: str) -> Answer:
    answer = door.call(name_of(family), {"fault": fault})
    assert answer.is_error
    return answer


def remedy_of(fault: str) -> str:
    return ERRORS["CairnError" if fault == BUG else fault].way_out


def unescaped(text: str) -> str:
    return json.dumps(json.loads(text), ensure_ascii=False) if text.startswith("{") else text


@pytest.mark.requirement("ruling/output-schema/success-validates", "ruling/output-schema/special-forms-validate")
@pytest.mark.parametrize("family", FAMILIES)
def test_every_form_of_success_validates_at_every_door(door: Door, family: str) -> None:
    for form, value in FORMS.items():
        answer = door.call(name_of(family), {"form": form})
        assert not answer.is_error
        assert answer.value.items() >= plain(value).items()
        assert_conforms(SAMPLES.tools[name_of(family)], answer)


def plain(value: Any) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(value)
    return fields


@pytest.mark.requirement("ruling/output-schema/error-validates")
@pytest.mark.parametrize("family", FAMILIES)
def test_every_error_validates_at_every_door(door: Door, family: str) -> None:
    for fault in FAULTS:
        answer = fails(door, family, fault)
        if answer.value or answer.rpc_error is None:
            assert_conforms(SAMPLES.tools[name_of(family)], answer)


@pytest.mark.requirement("ruling/output-schema/object-any-of")
@pytest.mark.parametrize("family", FAMILIES)
def test_an_output_schema_is_an_object_in_any_of_its_forms(family: str) -> None:
    sample = SAMPLES.tools[name_of(family)]
    for form in (sample.output_schema, sample.short_output_schema):
        Draft202012Validator.check_schema(form)
        assert form["type"] == "object"
        assert len(form["anyOf"]) == len(FORMS) + 1


@pytest.mark.parametrize("family", FAMILIES)
def test_an_output_schema_refuses_what_is_neither_form(family: str) -> None:
    for schema in schemas(SAMPLES.tools[name_of(family)]):
        for value in ({}, {"items": ["a"]}, {"hash": "0"}, {"message": "no"}):
            assert not schema.is_valid(value)


class WithMetadata(CamelStruct, frozen=True, kw_only=True):
    metadata: dict[str, str]
    text: int


@pytest.mark.parametrize("family", FAMILIES)
def test_a_value_with_metadata_of_its_own_still_has_a_valid_schema(family: str) -> None:
    schema = of_output(WithMetadata, FAMILIES[family])
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate({"metadata": {"ref": "main"}, "text": 1})
    with pytest.raises(ValidationError):
        Draft202012Validator(schema).validate({"metadata": {"ref": 1}, "text": 1})


class RpcError(CamelStruct, frozen=True, kw_only=True):
    """Named like a part of the error form."""

    oddity: int


def test_a_value_named_like_a_part_of_the_error_form_does_not_hide_it() -> None:
    checks = Draft202012Validator(of_output(RpcError, FAMILIES["catalog"]))
    assert checks.is_valid({"oddity": 1})
    assert checks.is_valid({"error": {"code": -32603, "message": "no", "data": {}}})
    assert not checks.is_valid({"error": {"oddity": 1}})


@pytest.mark.requirement("ruling/errors/text-has-code-remedy")
@pytest.mark.parametrize("family", FAMILIES)
def test_the_text_of_an_error_names_its_code_and_its_remedy(door: Door, family: str) -> None:
    for fault in FAULTS:
        text = unescaped(fails(door, family, fault).text)
        error = ERRORS.get(fault, ERRORS["CairnError"])
        assert any(str(name) in text for name in (error.kind, error.code, error.number))
        assert remedy_of(fault) in text


@pytest.mark.requirement("ruling/errors/structured-alone-suffices")
@pytest.mark.parametrize("family", FAMILIES)
def test_the_structured_half_of_an_error_names_its_code_and_its_remedy(door: Door, family: str) -> None:
    for fault in FAULTS:
        answer = fails(door, family, fault)
        structured = json.dumps(answer.value or answer.rpc_error, ensure_ascii=False)
        error = ERRORS.get(fault, ERRORS["CairnError"])
        assert any(f'"{name}"' in structured for name in (error.kind, error.code)) or f": {error.number}" in structured
        assert remedy_of(fault) in structured


@pytest.mark.requirement("ruling/errors/family-decides-envelope")
def test_one_error_is_said_as_its_family_says_errors(tmp_path: Path, connect: Connect) -> None:
    door = opened(connect, "first", tmp_path)
    said = {family: fails(door, family, "SymbolNotFound") for family in FAMILIES}
    assert said["history"].text.startswith(
        "Error: NotFoundError\n\nDetails: the sample was told to fail\n\nSuggestion:"
    )
    assert said["files"].value["error"] == "the sample was told to fail"
    assert said["index"].rpc_error is not None
    assert said["index"].rpc_error["code"] == -32602
    assert said["catalog"].value["error"]["code"] == -32602
    assert said["refs"].value["error"]["code"] == "symbol_not_found"
    assert {family for family, answer in said.items() if answer.rpc_error} == {"index"}


@pytest.mark.requirement("ruling/errors-001/json-error-text")
@pytest.mark.parametrize("door", JSON_DOORS, indirect=True)
def test_an_error_of_the_file_tools_is_json_with_a_message(door: Door) -> None:
    answer = fails(door, "files", "NotFound")
    assert json.loads(answer.text) == answer.value
    assert answer.value["error"] == "the sample was told to fail"
    assert answer.value["place"] == "sample"


@pytest.mark.requirement("ruling/errors-001/invalid-parameters-form")
@pytest.mark.parametrize("arguments", [{"limit": 0}, {"limit": "five"}, {"form": "other"}, {"lmit": 5}])
def test_bad_arguments_of_the_file_tools_are_invalid_parameters(door: Door, arguments: dict[str, Any]) -> None:
    answer = door.call(name_of("files"), arguments)
    assert answer.is_error
    assert answer.value["error"] == "Invalid parameters"
    assert next(iter(arguments)) in answer.value["details"]


@pytest.mark.requirement("ruling/errors-001/unexpected-error-form")
def test_a_bug_in_a_file_tool_gives_error_and_tool(door: Door) -> None:
    answer = fails(door, "files", BUG)
    assert answer.value["tool"] == name_of("files")
    assert "a bug of the sample's" in answer.value["error"]


@pytest.mark.requirement("ruling/errors-002/json-rpc-error")
@pytest.mark.parametrize("door", JSON_DOORS, indirect=True)
def test_an_error_of_the_index_tools_is_a_json_rpc_error(door: Door) -> None:
    fault = fails(door, "index", "NotFound").rpc_error
    assert fault is not None
    assert fault.keys() == {"code", "message", "data"}
    assert fault["code"] == -32602
    assert fault["data"]["reason"] == "the sample was told to fail"


@pytest.mark.requirement("ruling/errors-002/stateless-is-error")
@pytest.mark.parametrize("door", READING_DOORS, indirect=True)
def test_on_later_connections_the_error_is_a_result(door: Door) -> None:
    answer = fails(door, "index", "Busy")
    assert answer.rpc_error is None
    assert answer.value["error"].keys() == {"code", "message", "data"}
    assert answer.value["error"]["code"] == -32002


@pytest.mark.requirement("ruling/errors-002/same-code-both-eras")
def test_code_message_and_data_are_the_same_in_both_eras(tmp_path: Path, connect: Connect) -> None:
    older = [opened(connect, name, tmp_path) for name in JSON_DOORS]
    later = [opened(connect, name, tmp_path) for name in READING_DOORS]
    for fault in FAULTS:
        said = [fails(door, "index", fault).value["error"] for door in later]
        assert [fails(door, "index", fault).rpc_error for door in older] == [said[0]] * len(older)
        assert said == [said[0]] * len(later)


@pytest.mark.requirement(
    "ruling/errors-002/project-not-found-32001",
    "ruling/errors-002/indexing-in-progress-32002",
    "ruling/errors-002/empty-query-32004",
)
@pytest.mark.parametrize(
    ("fault", "code"),
    [("ProjectNotFound", -32001), ("Busy", -32002), ("NotReady", -32003), ("EmptyQuery", -32004), ("Denied", -32602)],
)
def test_the_numbers_of_the_index_tools_errors(door: Door, fault: str, code: int) -> None:
    answer = fails(door, "index", fault)
    assert (answer.rpc_error or answer.value["error"])["code"] == code


@pytest.mark.requirement("ruling/errors-002/not-indexed-32003")
def test_a_missing_index_is_told_with_the_tool_that_makes_one(door: Door) -> None:
    answer = fails(door, "index", "NotReady")
    fault = answer.rpc_error or answer.value["error"]
    assert fault["code"] == -32003
    assert "index_codebase" in fault["data"]["reason"]


@pytest.mark.requirement("ruling/errors-002/invalid-params-32602", "ruling/errors-002/message-says-what-to-do")
@pytest.mark.parametrize(
    ("arguments", "param"),
    [({}, "path"), ({"path": 5}, "path"), ({"path": "relative"}, "path"), ({"path": "/x", "pth": "/y"}, "pth")],
)
def test_invalid_params_of_the_index_tools_name_param_and_reason(
    door: Door, arguments: dict[str, Any], param: str
) -> None:
    answer = door.call("sample_index_root", arguments)
    fault = answer.rpc_error or answer.value["error"]
    assert fault["code"] == -32602
    assert fault["message"].startswith("Invalid params: ")
    assert param in fault["message"]
    assert fault["data"]["remedy"] in fault["message"]
    assert fault["data"]["param"] == param
    assert fault["data"]["reason"]


@pytest.mark.requirement("ruling/errors-002/internal-error-32603")
def test_a_bug_in_an_index_tool_is_32603_with_a_reason(door: Door) -> None:
    answer = fails(door, "index", BUG)
    fault = answer.rpc_error or answer.value["error"]
    assert fault["code"] == -32603
    assert "a bug of the sample's" in fault["data"]["reason"]


@pytest.mark.requirement("ruling/errors-004/envelope-error-metadata")
def test_an_error_of_the_ref_tools_has_error_and_metadata(door: Door) -> None:
    answer = fails(door, "refs", "RefNotFound")
    assert answer.rpc_error is None
    if door.name in JSON_DOORS:
        assert json.loads(answer.text) == answer.value
    assert answer.value.keys() == {"error", "metadata"}
    assert answer.value["error"].keys() == {"code", "message", "data"}
    assert answer.value["error"]["code"] == "ref_not_indexed"
    assert answer.value["metadata"]["cruxe_protocol_version"] == "1.0"


@pytest.mark.requirement("ruling/errors-004/registry-complete")
def test_the_string_codes_are_exactly_the_contracts() -> None:
    contract = set(CONTRACT_CODES.split())
    assert len(contract) == 21
    assert contract == CODES


@pytest.mark.requirement("ruling/errors-004/remedy-in-data")
def test_every_code_carries_a_remedy(door: Door) -> None:
    said = [fails(door, "refs", fault).value["error"] for fault in FAULTS]
    assert {error["code"] for error in said} == CODES
    assert all(len(error["data"]["remedy"].split()) > 2 for error in said)


@pytest.mark.requirement("ruling/errors-004/unexpected-internal-error")
def test_a_bug_in_a_ref_tool_is_an_internal_error(door: Door) -> None:
    error = fails(door, "refs", BUG).value["error"]
    assert error["code"] == "internal_error"
    assert "a bug of the sample's" in error["message"]


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = [line.replace("│", " ").split() for line in (errors.__doc__ or "").splitlines()]
    for name, error in ERRORS.items():
        (row,) = [row for row in drawn if name in row]
        assert error.code in row
        numbers = [word for word in row if word.startswith("-32")]
        assert numbers in ([], [str(error.number)])
