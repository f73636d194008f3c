"""Resources, prompts and completions over MCP: what `context/resources.py` and `context/prompts.py` have, in the
protocol's words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from codecairn.context import prompts, resources
from codecairn.errors import CairnError, InvalidInput, NotFound
from codecairn.paths import printable
from codecairn.serve.jsonrpc import INVALID_PARAMS
from codecairn.tools import Call

Context = ServerRequestContext[Any, Any]
Asking = Callable[[Context, str, Callable[[Call], Any]], Awaitable[Any]]

_NOT_FOUND_WITH_HANDSHAKE = -32002
_INTERNAL = -32603
_MOST_COMPLETIONS = 100
"""As many as the protocol lets an answer have."""


class ResourceHandlers:
    def __init__(self, asking: Asking) -> None:
        self._inquire = asking

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        del params
        modules = await self._ask(ctx, "resources/list", lambda call: list(resources.list_modules(call)))
        fixed = [_resource(each) for each in resources.RESOURCES if not each.is_template]
        return types.ListResourcesResult(resources=[*fixed, *(_module(uri, folder) for uri, folder in modules)])

    async def list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        del ctx, params
        found = [_template(each) for each in resources.RESOURCES if each.is_template]
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        text = await self._ask(ctx, "resources/read", lambda call: resources.read(call, uri), uri=uri)
        contents = types.TextResourceContents(uri=uri, mime_type=resources.MIME_TYPE, text=text)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        del ctx, params
        return types.ListPromptsResult(prompts=[_prompt(each) for each in prompts.PROMPTS])

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        given = params.arguments or {}
        text = await self._ask(ctx, "prompts/get", lambda call: prompts.prompt_text(call, params.name, given))
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=prompts.find_prompt(params.name).description, messages=[message])

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        ask, typed = _completer(params.ref, params.argument.name), params.argument.value
        values = await self._ask(ctx, "completion/complete", lambda call: ask(call, typed)) if ask else []
        shown = values[:_MOST_COMPLETIONS]
        completion = types.Completion(values=shown, total=len(values), has_more=len(values) > len(shown))
        return types.CompleteResult(completion=completion)

    async def _ask(self, ctx: Context, method: str, work: Callable[[Call], Any], **data: str) -> Any:
        try:
            return await self._inquire(ctx, method, work)
        except CairnError as error:
            raise self.fault(ctx, error, data) from error

    @staticmethod
    def fault(ctx: Context, error: CairnError, data: dict[str, str]) -> MCPError:
        return _fault(ctx, error, data)


def _fault(ctx: Context, error: CairnError, data: dict[str, str]) -> MCPError:
    """By the protocol: a resource that is not there has a number of its own, which the later era has given up."""
    is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    said = {**{name: printable(value) for name, value in data.items()}, **error.data, "remedy": error.remedy}
    message = f"{error.message}. {error.remedy}"
    if isinstance(error, InvalidInput):
        return MCPError(INVALID_PARAMS, message, said)
    if isinstance(error, NotFound) and error.number == INVALID_PARAMS:
        is_resource = "uri" in data and not is_modern
        return MCPError(_NOT_FOUND_WITH_HANDSHAKE if is_resource else INVALID_PARAMS, message, said)
    return MCPError(_INTERNAL, message, {**said, "code": error.code})


def _resource(each: resources.Resource) -> types.Resource:
    return types.Resource(
        uri=each.uri, name=each.name, title=each.title, description=each.description, mime_type=resources.MIME_TYPE
    )


def _module(uri: str, folder: str) -> types.Resource:
    return types.Resource(
        uri=uri, name=f"module {folder}", description=f"The module in {folder}/", mime_type=resources.MIME_TYPE
    )


def _template(each: resources.Resource) -> types.ResourceTemplate:
    return types.ResourceTemplate(
        uri_template=each.uri, name=each.name, title=each.title, description=each.description,
        mime_type=resources.MIME_TYPE,
    )  # fmt: skip


def _prompt(each: prompts.Prompt) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=argument.name, description=argument.description, required=False)
        for argument in each.arguments
    ]
    return types.Prompt(name=each.name, title=each.title, description=each.description, arguments=arguments)


def _completer(ref: Any, argument: str) -> Callable[[Call, str], list[str]] | None:
    """The function that completes a variable or an argument; None, without an error, for one that is not there."""
    if isinstance(ref, types.PromptReference):
        arguments = (each for prompt in prompts.PROMPTS if prompt.name == ref.name for each in prompt.arguments)
        return next((each.complete for each in arguments if each.name == argument), None)
    return next((each.complete for each in resources.RESOURCES if each.uri == ref.uri), None)
