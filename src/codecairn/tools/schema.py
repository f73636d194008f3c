"""Schemas from signatures, and arguments checked against them.

A parameter is optional by its default; `None` as a default means "not given", and a client that sends `null` for such
a parameter has not given it either. A name in other letters (`file_path` for `filePath`) and a few that models guess
mean the parameter they stand for. Other unknown names are refused: an argument that is dropped in silence would be
answered about the whole repository.
"""

from __future__ import annotations

import copy
import inspect
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import PurePath
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from codecairn.errors import InvalidInput
from codecairn.paths import printable
from codecairn.suggestions import MOST, nearest, suggestion

if TYPE_CHECKING:
    from codecairn.tools.families import Family

UNLISTED = "x-unlisted"
"""Marks a parameter that is taken and not advertised: a name for the project root that callers guess."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_AT = re.compile(r"(?P<reason>.*) - at `\$\.?(?P<where>[^`]*)`", re.DOTALL)
_FIELD = re.compile(
    r"Object (?P<what>missing required|contains unknown) field `(?P<name>.*?)`(?: - at `\$\.?(?P<where>[^`]*)`)?",
    re.DOTALL,
)
_STEP = re.compile(r"(\w+)|(\[[^\]]*\])")
_LONGEST_EXAMPLE = 300
_SAMPLES = {
    "content": "Tokens are checked in auth.py only", "filePath": "src/app.py", "path": "src/app.py",
    "pattern": "def \\w+_token", "query": "where are tokens checked", "ref": "main", "result_path": "src/app.py",
    "symbol_name": "Type.method", "task": "reject expired tokens",
}  # fmt: skip
"""Examples of arguments that are texts."""
_DEEPEST_ARGUMENT = 32
_LEFT_TO_ERRORS = ("minLength", "maxLength", "pattern", "default")
_SELF_EVIDENT = frozenset(
    {
        "author", "caseSensitive", "category", "content", "cursor", "depth", "direction", "endLine", "filePath",
        "format", "id",
        "include_tests", "include_vendor", "kind", "language", "limit", "lineNumbers", "maxCount", "maxDepth",
        "max_tokens", "module", "pattern", "projectScope", "prompt", "query", "ref", "result_line_start",
        "result_path", "search_mode", "startLine", "summary", "task", "workspace",
    }
)  # fmt: skip
"""Parameters which their names, their choices or the server's instructions tell."""


_GUESSES = {
    "base": ["base_ref"], "branch": ["ref"], "file": ["filePath", "path"], "filePath": ["path"], "file_path": ["path"],
    "head": ["head_ref"], "name": ["symbol_name"], "path": ["filePath"], "regex": ["pattern"],
    "symbol": ["symbol_name"],
}  # fmt: skip
"""Names that models guess for a parameter, taken where a tool has the parameter and no other of the guessed name."""


Format = Annotated[
    Literal["markdown", "json"], msgspec.Meta(description="Form of the text", extra_json_schema={UNLISTED: True})
]


def params_struct(handler: Callable[..., Any], hints: dict[str, Any], *, with_format: bool) -> type[msgspec.Struct]:
    """The arguments of a tool as a type. A tool that answers in Markdown takes `format` too, for who wants JSON."""
    fields: list[Any] = []
    for name, parameter in list(inspect.signature(handler).parameters.items())[1:]:
        required = parameter.default is inspect.Parameter.empty
        fields.append((name, hints[name]) if required else (name, hints[name], parameter.default))
    if with_format:
        fields.append(("format", Format, "markdown"))
    params = msgspec.defstruct(
        f"{handler.__name__}_arguments", fields, kw_only=True, forbid_unknown_fields=True, frozen=True
    )
    msgspec.json.Decoder(params)  # takes the type apart here and now: two threads that did so at once would crash
    return params


def of_params(params: type[msgspec.Struct]) -> dict[str, Any]:
    whole = msgspec.json.schema(params)
    definitions = whole["$defs"]
    own = definitions.pop(whole["$ref"].rsplit("/", 1)[1])
    return {
        "$schema": DIALECT,
        "type": "object",
        "properties": {name: _without_null(each) for name, each in own["properties"].items()},
        **({"required": own["required"]} if own.get("required") else {}),
        "additionalProperties": False,
        **({"$defs": definitions} if definitions else {}),
    }


def shallow_params(whole: dict[str, Any]) -> dict[str, Any]:
    """As it is advertised: an object inside by its description alone, which names its fields; how long a string may
    be, which of many words a list may hold, what holds if it is left out, and that there are no other names, is left to
    the answer."""
    properties = {name: _brief(form) for name, form in whole["properties"].items() if UNLISTED not in form}
    for name in _SELF_EVIDENT & properties.keys():
        properties[name].pop("description", None)
    return {name: part for name, part in whole.items() if name in ("type", "required")} | {"properties": properties}


def _brief(form: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in form:
        return {"type": "object", "description": form["description"]}
    said = {name: part for name, part in form.items() if name not in _LEFT_TO_ERRORS and part is not False}
    if said.get("minimum") == 1:
        del said["minimum"]
    if "items" in said:
        said["items"] = {"type": "object" if "$ref" in said["items"] else "string"}
    return said


def of_output(returns: Any, family: Family) -> dict[str, Any]:
    """`anyOf` the success forms and the family's error form: strict clients check errors against it as well."""
    forms, definitions = msgspec.json.schema_components(
        [*_alternatives(returns), family.error_form], ref_template="#/$defs/{name}"
    )
    *successes, failure = forms
    extended = [_extend(form, definitions, family.extra_properties) for form in successes]
    return {"$schema": DIALECT, "type": "object", "anyOf": [*extended, failure], "$defs": definitions}


def shallow(whole: dict[str, Any]) -> dict[str, Any]:
    """The same forms, each by two names it requires, first one that no other does, and the error's by its own; still
    true of every value, and a twentieth of the tokens."""
    definitions = whole["$defs"]
    forms = [_resolve(form, definitions).get("required", []) for form in whole["anyOf"]]
    counts = Counter(name for form in forms for name in form)
    *told, failure = (sorted(form, key=counts.__getitem__)[:2] for form in forms)
    return {"type": "object", "anyOf": [{"required": names} for names in (*told, failure[:1])]}


def validate(params: type[msgspec.Struct], arguments: Any) -> msgspec.Struct:
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise InvalidInput("Arguments must be an object", param="arguments", reason="expected an object")
    _refuse_broken_text(arguments, "")
    known = params.__struct_fields__
    given = {name: _whole_numbers(value) for name, value in arguments.items() if value is not None or name not in known}
    given = _with_meant_names(_with_workspace(given, known), known)
    try:
        return msgspec.convert(given, params)
    except (msgspec.ValidationError, OverflowError, RecursionError) as error:
        raise _explain(str(error), params, given) from None


def _with_workspace(given: dict[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """An absolute `path` is the project root where a tool has no path of another meaning."""
    path = given.get("path")
    is_root = isinstance(path, str) and "path" not in known and "workspace" in known and PurePath(path).is_absolute()
    if not is_root or given.get("workspace", path) != path:
        return given
    return {name: value for name, value in given.items() if name != "path"} | {"workspace": path}


def _with_meant_names(given: dict[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """The arguments under the names of the tool. A parameter that is given twice keeps both names, and is refused."""
    if given.keys() <= set(known):
        return given
    meant = {name: _meaning(name, known) for name in given if name not in known}
    counts = Counter([*meant.values(), *(name for name in given if name in known)])
    return {meant[name] if name in meant and counts[meant[name]] == 1 else name: value for name, value in given.items()}


def _meaning(name: str, known: tuple[str, ...]) -> str:
    likely = [each for each in known if _plain(each) == _plain(name)] or _GUESSES.get(name, [])
    return next((each for each in likely if each in known), name)


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _explain(message: str, params: type[msgspec.Struct], given: dict[str, Any]) -> InvalidInput:
    if found := _FIELD.fullmatch(message):
        name, where = found["name"], found["where"]
        param = printable(f"{where}.{name}" if where else name)
        if found["what"] == "missing required":
            remedy = None if where else _example(params, given)
            return InvalidInput(f"{param}: required", param=param, reason="missing required parameter", remedy=remedy)
        known = sorted(params.__struct_fields__)
        near = [] if where else _nearest(name, known)
        remedy = None if where else suggestion(near[:1], f"Known parameters: {', '.join(known) or 'none'}.")
        return InvalidInput(
            f"{param}: unknown parameter", param=param, reason="unknown parameter", near=near, remedy=remedy
        )
    found = _AT.fullmatch(message)
    where = found["where"] if found else "arguments"
    reason = (found["reason"] if found else message)[:1].lower() + (found["reason"] if found else message)[1:]
    reason = reason.replace("`", "")
    return InvalidInput(
        f"{where}: {printable(reason)}", param=where, reason=printable(reason), **_choice(params, given, where)
    )


def _nearest(name: str, known: list[str]) -> list[str]:
    """Parameters by their letters, whatever the case and whether they are joined by underscores."""
    plain = {_plain(each): each for each in known}
    from difflib import get_close_matches  # noqa: PLC0415 - for who is mistaken

    near = get_close_matches(_plain(name), plain, MOST, 0.5)
    return [plain[each] for each in near]


def _example(params: type[msgspec.Struct], given: dict[str, Any]) -> str:
    """A call that would work: the one that was made, with an example of each argument that it lacks."""
    schema = of_params(params)
    lacking = {name: _sample(name, schema["properties"][name]) for name in schema["required"] if name not in given}
    known = {name: value for name, value in given.items() if name in schema["properties"]}
    call = json.dumps({**lacking, **known}, ensure_ascii=False)
    said = call if len(call) <= _LONGEST_EXAMPLE else json.dumps(lacking, ensure_ascii=False)
    return f"Give {' and '.join(lacking)}, such as {params.__name__.removesuffix('_arguments')} {said}"


def _sample(name: str, form: dict[str, Any]) -> Any:
    if "enum" in form:
        return form["enum"][0]
    if form.get("type") == "integer":
        return form.get("minimum", 1)
    return [] if form.get("type") == "array" else _SAMPLES.get(name, name.upper())


def _choice(params: type[msgspec.Struct], given: dict[str, Any], where: str) -> dict[str, Any]:
    """The words that an argument may be one of, and those near to the one that was given."""
    form: dict[str, Any] = of_params(params)
    values: list[Any] = [given]
    definitions = form.get("$defs", {})
    for name, items in _STEP.findall(where):
        form = _resolve(form, definitions)
        form = form.get("items", {}) if items else form.get("properties", {}).get(name, {})
        values = [each for value in values for each in _inside(value, name)]
    wrong = next((each for each in values if isinstance(each, str) and each not in form.get("enum", [each])), None)
    if wrong is None:
        return {}
    near = nearest(wrong, form["enum"])
    return {"near": near, "remedy": suggestion(near[:1], f"Give one of {', '.join(form['enum'])}.")}


def _inside(value: Any, name: str) -> list[Any]:
    if not name:
        return value if isinstance(value, list) else []
    return [value[name]] if isinstance(value, dict) and name in value else []


def _whole_numbers(value: Any) -> Any:
    """JSON has one kind of number: 10.0 is a whole one."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    if isinstance(value, dict):
        return {name: _whole_numbers(item) for name, item in value.items()}
    return value


def _refuse_broken_text(value: Any, where: str, depth: int = 0) -> None:
    """A lone surrogate is legal in JSON and in no encoding: nothing downstream could store, print or send it."""
    if depth > _DEEPEST_ARGUMENT:
        raise InvalidInput(f"{where}: nested too deeply", param=where, reason="nested too deeply")
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise InvalidInput(f"{where}: not valid Unicode", param=where, reason="it holds a lone surrogate")
    elif isinstance(value, dict):
        for name, item in value.items():
            _refuse_broken_text(name, where or "arguments", depth + 1)
            _refuse_broken_text(item, where or name, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _refuse_broken_text(item, where, depth + 1)


def _without_null(form: dict[str, Any]) -> dict[str, Any]:
    form = dict(form)
    if form.get("default", ...) is None:
        del form["default"]
    choices = [each for each in form.pop("anyOf", []) if each.get("type") != "null"]
    if len(choices) == 1:
        return {**form, **choices[0]}
    return {**form, "anyOf": choices} if choices else form


def _alternatives(returns: Any) -> list[Any]:
    """The forms a tool may answer in, apart: msgspec describes no union of Structs that carry no tag."""
    return list(get_args(returns)) if get_origin(returns) in (Union, UnionType) else [returns]


def _extend(form: dict[str, Any], definitions: dict[str, Any], added: dict[str, Any]) -> dict[str, Any]:
    """The form with what the envelope adds; what the value itself says of such a property stands."""
    if not added:
        return form
    body = copy.deepcopy(_resolve(form, definitions))
    body["properties"] = {**added, **body.get("properties", {})}
    body["required"] = list(dict.fromkeys([*body.get("required", []), *added]))
    return body


def _resolve(form: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    return definitions[form["$ref"].rsplit("/", 1)[1]] if "$ref" in form else form
