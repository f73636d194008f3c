"""Arguments are accepted exactly when the advertised input schema accepts them.

Three leniencies: null for an optional parameter means it was not given, a name that can only mean one parameter is that
one, and 10.0 is a whole number (as JSON Schema has
it too). One bound is the tool's own to enforce, because its contract fixes the words of the refusal.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from codecairn import tools
from codecairn.errors import InvalidInput
from codecairn.paths import printable
from codecairn.tools import Tool, schema
from tests.registry.samples import SAMPLES

CHECKED_BY_THE_TOOL = {"startLine", "endLine", "max_tokens"}
DECLARED = [*tools.standard().tools.values(), *SAMPLES]

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def fitting(form: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that mostly meet a schema, and now and then just miss it."""
    if "$ref" in form:
        form = definitions[form["$ref"].rsplit("/", 1)[1]]
    if "anyOf" in form:
        return st.one_of([fitting(each, definitions) for each in form["anyOf"]])
    if "enum" in form:
        return st.sampled_from(form["enum"])
    return _fitting_type(form, definitions)


def _fitting_type(form: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[Any]:
    match form.get("type"):
        case "integer":
            low, high = form.get("minimum", 0), form.get("maximum", 1000)
            return st.integers(low - 1, high + 1) | st.integers(low - 1, high + 1).map(float)
        case "number":
            return st.floats(-1, 2)
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(fitting(form.get("items", {}), definitions), max_size=3)
        case "object" if "properties" in form:
            return objects(form, definitions)
        case "object":
            return st.dictionaries(st.text(max_size=5), junk, max_size=3)
        case "string" if "pattern" in form:
            return st.text(max_size=20) | st.from_regex(form["pattern"])
        case "string":
            return st.text(max_size=20)
    return junk


def objects(form: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    known = {name: fitting(each, definitions) | junk for name, each in form["properties"].items()}
    mostly_right = {name: fitting(each, definitions) for name, each in form["properties"].items()}
    extras: st.SearchStrategy[dict[str, Any]] = st.just({}) | st.dictionaries(st.text(max_size=10), junk, max_size=1)
    some = st.fixed_dictionaries({}, optional=known) | st.fixed_dictionaries({}, optional=mostly_right)
    return st.builds(lambda first, more: {**first, **more}, some, extras)


def as_documented(declared: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    schema_ = declared.input_schema
    optional = schema_["properties"].keys() - set(schema_.get("required", []))
    return {name: value for name, value in arguments.items() if value is not None or name not in optional}


def offending(declared: Tool, arguments: dict[str, Any]) -> set[str]:
    """The parameters that the advertised schema finds fault with."""
    found: set[str] = set()
    for error in Draft202012Validator(declared.input_schema).iter_errors(arguments):
        if error.absolute_path:
            found.add(str(error.absolute_path[0]))
        elif error.validator == "required":
            found |= set(error.validator_value) - arguments.keys()
        else:
            found |= arguments.keys() - declared.input_schema["properties"].keys()
    return found


def names(param: str, faults: set[str]) -> bool:
    return any(re.match(rf"{re.escape(printable(fault))}($|[.\[])", param) for fault in faults)


def refusal(declared: Tool, arguments: Any) -> InvalidInput | None:
    try:
        schema.validate(declared.params, arguments)
    except InvalidInput as error:
        return error
    return None


@pytest.mark.parametrize("declared", DECLARED, ids=lambda each: each.name)
def test_what_is_accepted_is_what_the_schema_accepts(declared: Tool) -> None:
    @given(arguments=objects(declared.input_schema, declared.input_schema.get("$defs", {})))
    def agree(arguments: dict[str, Any]) -> None:
        faults = offending(declared, as_documented(declared, arguments))
        refused = refusal(declared, arguments)
        if refused is None:
            assert faults <= CHECKED_BY_THE_TOOL
            return
        assert names(refused.data["param"], faults)
        assert refused.data["reason"]

    agree()


@given(arguments=junk)
def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    declared = SAMPLES[0]
    refused = refusal(declared, arguments)
    if arguments is None or arguments == {}:
        assert refused is None
    elif not isinstance(arguments, dict):
        assert refused is not None
        assert refused.data["param"] == "arguments"


def named(name: str) -> Tool:
    return next(each for each in SAMPLES if each.name == name)


@pytest.mark.parametrize(
    ("arguments", "param"),
    [
        ({"filters": {}}, "filters.size"),
        ({"filters": {"size": 1, "colour": 2}}, "filters.colour"),
        ({"filters": {"size": -1}}, "filters.size"),
        ({"filters": {"size": 1, "kinds": ["function", "verb"]}}, "filters.kinds[1]"),
        ({"sizes": [1, "two"]}, "sizes[1]"),
        ({"ratio": 1.5}, "ratio"),
        ({"sizes": None, "unheard of": None}, "unheard of"),
        ({"filters": "\ud800"}, "filters"),
        ({"sizes": [[[]]]}, "sizes[0]"),
    ],
)
def test_a_refusal_names_the_place(arguments: dict[str, Any], param: str) -> None:
    refused = refusal(named("sample_nested"), arguments)
    assert refused is not None
    assert refused.data["param"] == param


def test_whole_numbers_may_be_written_with_a_point_at_any_depth() -> None:
    arguments = {"sizes": [1.0, 2.0], "filters": {"size": 3.0}, "ratio": 1}
    accepted = schema.validate(named("sample_nested").params, arguments)
    assert accepted == schema.validate(
        named("sample_nested").params, {"sizes": [1, 2], "filters": {"size": 3}, "ratio": 1.0}
    )


def test_nesting_without_end_is_refused() -> None:
    deep: Any = []
    for _ in range(100):
        deep = [deep]
    refused = refusal(named("sample_nested"), {"sizes": deep})
    assert refused is not None
    assert refused.data == {"param": "sizes", "reason": "nested too deeply"}


@pytest.mark.parametrize(("given_name", "meant"), [("filePaht", "filePath"), ("maxcuont", "maxCount")])
def test_a_misspelt_parameter_is_told_its_name(given_name: str, meant: str) -> None:
    refused = refusal(tools.standard().tools["git_log"], {given_name: "x"})
    assert refused is not None
    assert refused.remedy == f"Did you mean {meant}?"


@pytest.mark.parametrize(
    ("tool", "given_name", "meant"),
    [
        ("git_log", "file_path", "filePath"), ("git_log", "path", "filePath"), ("git_blame", "file", "filePath"),
        ("read_file", "filePath", "path"), ("read_file", "file", "path"), ("grep_codebase", "regex", "pattern"),
        ("find_references", "symbol", "symbol_name"), ("find_references", "symbolName", "symbol_name"),
        ("diff_context", "head", "head_ref"), ("search_code", "branch", "ref"),
    ],
)  # fmt: skip
def test_a_guessed_name_means_the_parameter(tool: str, given_name: str, meant: str) -> None:
    params = tools.standard().tools[tool].params
    whole = {"query": "tokens", "symbol_name": "login", "path": "a.py", "filePath": "a.py", "pattern": "x"}
    needed = {name: value for name, value in whole.items() if name in params.__struct_fields__ and name != meant}
    needed = {name: value for name, value in needed.items() if name in schema.of_params(params).get("required", [])}
    assert getattr(schema.validate(params, {**needed, given_name: "guessed"}), meant) == "guessed"


def test_a_parameter_given_under_two_names_is_refused() -> None:
    refused = refusal(tools.standard().tools["git_log"], {"filePath": "a.py", "file_path": "b.py"})
    assert refused is not None
    assert refused.data["param"] == "file_path"
