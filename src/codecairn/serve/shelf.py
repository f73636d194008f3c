"""The lists of resources and prompts as the protocol shows them, and what an error of theirs is there."""

from __future__ import annotations

from typing import Any

from codecairn.context import prompts, resources
from codecairn.errors import CairnError, InvalidInput, NotFound
from codecairn.paths import printable
from codecairn.serve.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from codecairn.tools import Call
from codecairn.tools.families import RpcError

_NOT_FOUND_WITH_HANDSHAKE = -32002


def resource_list(call: Call) -> dict[str, Any]:
    fixed = [_shown(each, "uri") for each in resources.RESOURCES if not each.is_template]
    modules = [
        {
            "uri": uri,
            "name": f"module {folder}",
            "description": f"The module in {folder}/",
            "mimeType": resources.MIME_TYPE,
        }
        for uri, folder in resources.list_modules(call)
    ]
    return {"resources": [*fixed, *modules]}


def template_list() -> dict[str, Any]:
    return {"resourceTemplates": [_shown(each, "uriTemplate") for each in resources.RESOURCES if each.is_template]}


def prompt_list() -> dict[str, Any]:
    return {"prompts": [_prompt(each) for each in prompts.PROMPTS]}


def fault(error: CairnError, data: dict[str, str], *, is_modern: bool) -> RpcError:
    """By the protocol: a resource that is not there has a number of its own, which the later era has given up."""
    said = {**{name: printable(value) for name, value in data.items()}, **error.data, "remedy": error.remedy}
    message = f"{error.message}. {error.remedy}"
    if isinstance(error, InvalidInput):
        return RpcError(code=INVALID_PARAMS, message=message, data=said)
    if isinstance(error, NotFound) and error.number == INVALID_PARAMS:
        is_resource = "uri" in data and not is_modern
        code = _NOT_FOUND_WITH_HANDSHAKE if is_resource else INVALID_PARAMS
        return RpcError(code=code, message=message, data=said)
    return RpcError(code=INTERNAL_ERROR, message=message, data={**said, "code": error.code})


def _shown(each: resources.Resource, place: str) -> dict[str, Any]:
    shown = {"name": each.name, "title": each.title, place: each.uri, "description": each.description}
    return {**shown, "mimeType": resources.MIME_TYPE}


def _prompt(each: prompts.Prompt) -> dict[str, Any]:
    arguments = [
        {"name": argument.name, "description": argument.description, "required": False} for argument in each.arguments
    ]
    return {"name": each.name, "title": each.title, "description": each.description, "arguments": arguments}
