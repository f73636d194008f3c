"""Schemas from signatures, and arguments checked against them.

A parameter is optional by its default; `None` as a default means "not given", and a client that sends `null` for such
a parameter has not given it either. Unknown names are refused: an agent that writes `file_path` for `filePath` would
otherwise be answered about the whole repository.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections import Counter
from collections.abc import Callable
from difflib import get_close_matches
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from codecairn.errors import InvalidInput
from codecairn.paths import printable

if TYPE_CHECKING:
    from codecairn.tools.families import Family

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_AT = re.compile(r"(?P<reason>.*) - at `\$\.?(?P<where>[^`]*)`", re.DOTALL)
_FIELD = re.compile(
    r"Object (?P<what>missing required|contains unknown) field `(?P<name>.*?)`(?: - at `\$\.?(?P<where>[^`]*)`)?",
    re.DOTALL,
)
_DEEPEST_ARGUMENT = 32
_SELF_EVIDENT = frozenset(
    {
        "caseSensitive", "cursor", "endLine", "format", "id", "language", "limit", "lineNumbers", "maxDepth", "ref",
        "startLine", "workspace",
    }
)  # fmt: skip
"""Parameters of one meaning in every tool that has them, which their names or the server's instructions tell."""


Format = Annotated[Literal["markdown", "json"], msgspec.Meta(description="Form of the text")]


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
    be, and which of many words a list may hold, is left to the error that says so."""
    properties = {name: _brief(form) for name, form in whole["properties"].items()}
    for name in _SELF_EVIDENT & properties.keys():
        del properties[name]["description"]
    return {name: part for name, part in whole.items() if name not in ("$schema", "$defs")} | {"properties": properties}


def _brief(form: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in form:
        return {"type": "object", "description": form["description"]}
    said = {name: part for name, part in form.items() if name not in ("minLength", "maxLength") and part is not False}
    if "items" in said:
        said["items"] = {"type": "object" if "$ref" in said["items"] else "string"}
    return said


def of_output(returns: Any, family: Family) -> dict[str, Any]:
    """`anyOf` the success forms and the family's error form: strict clients check errors against it as well."""
    forms, definitions = msgspec.json.schema_components(
        [*_alternatives(returns), family.error_form], ref_template="#/$defs/{name}"
    )
    *successes, failure = forms
    extended = [_extended(form, definitions, family.added) for form in successes]
    return {"$schema": DIALECT, "type": "object", "anyOf": [*extended, failure], "$defs": definitions}


def shallow(whole: dict[str, Any]) -> dict[str, Any]:
    """The same forms, each by two names it requires, first one that no other does, and the error's by its own; still
    true of every value, and a twentieth of the tokens."""
    definitions = whole["$defs"]
    forms = [_resolved(form, definitions).get("required", []) for form in whole["anyOf"]]
    counts = Counter(name for form in forms for name in form)
    *told, failure = (list(sorted(form, key=counts.__getitem__)[:2]) for form in forms)
    return {"type": "object", "anyOf": [{"required": names} for names in (*told, failure[:1])]}


def validated(params: type[msgspec.Struct], arguments: Any) -> msgspec.Struct:
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise InvalidInput("Arguments must be an object", param="arguments", reason="expected an object")
    _refuse_broken_text(arguments, "")
    known = params.__struct_fields__
    given = {name: _whole_numbers(value) for name, value in arguments.items() if value is not None or name not in known}
    try:
        return msgspec.convert(given, params)
    except (msgspec.ValidationError, OverflowError, RecursionError) as error:
        raise _explained(str(error), params) from None


def _explained(message: str, params: type[msgspec.Struct]) -> InvalidInput:
    if found := _FIELD.fullmatch(message):
        name, where = found["name"], found["where"]
        param = printable(f"{where}.{name}" if where else name)
        if found["what"] == "missing required":
            return InvalidInput(f"{param}: required", param=param, reason="missing required parameter")
        remedy = None if where else _nearest(name, sorted(params.__struct_fields__))
        return InvalidInput(f"{param}: unknown parameter", param=param, reason="unknown parameter", remedy=remedy)
    found = _AT.fullmatch(message)
    where = found["where"] if found else "arguments"
    reason = (found["reason"] if found else message)[:1].lower() + (found["reason"] if found else message)[1:]
    reason = reason.replace("`", "")
    return InvalidInput(f"{where}: {printable(reason)}", param=where, reason=printable(reason))


def _nearest(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, 1, 0.5) or get_close_matches(
        name.replace("_", "").lower(), [each.lower() for each in known], 1, 0.5
    )
    hint = next((each for each in known if near and each.lower() == near[0].lower()), None)
    return f"Did you mean {hint}?" if hint else f"Known parameters: {', '.join(known) or 'none'}."


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


def _extended(form: dict[str, Any], definitions: dict[str, Any], added: dict[str, Any]) -> dict[str, Any]:
    """The form with what the envelope adds; what the value itself says of such a property stands."""
    if not added:
        return form
    body = copy.deepcopy(_resolved(form, definitions))
    body["properties"] = {**added, **body.get("properties", {})}
    body["required"] = list(dict.fromkeys([*body.get("required", []), *added]))
    return body


def _resolved(form: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    return definitions[form["$ref"].rsplit("/", 1)[1]] if "$ref" in form else form
