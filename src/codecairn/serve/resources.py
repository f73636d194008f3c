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
from codecairn.errors import CairnError
from codecairn.serve import shelf
from codecairn.tools import Call

Context = ServerRequestContext[Any, Any]
Asking = Callable[[Context, str, Callable[[Call], Any]], Awaitable[Any]]

_MOST_COMPLETIONS = 100
"""As many as the protocol lets an answer have."""


class ResourceHandlers:
    def __init__(self, asking: Asking) -> None:
        self._inquire = asking

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        del params
        return types.ListResourcesResult.model_validate(await self._ask(ctx, "resources/list", shelf.resource_list))

    async def list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        del ctx, params
        return types.ListResourceTemplatesResult.model_validate(shelf.template_list())

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        text = await self._ask(ctx, "resources/read", lambda call: resources.read(call, uri), uri=uri)
        contents = types.TextResourceContents(uri=uri, mime_type=resources.MIME_TYPE, text=text)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        del ctx, params
        return types.ListPromptsResult.model_validate(shelf.prompt_list())

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
        said = shelf.fault(error, data, is_modern=ctx.protocol_version in MODERN_PROTOCOL_VERSIONS)
        return MCPError(said.code, said.message, said.data)


def _completer(ref: Any, argument: str) -> Callable[[Call, str], list[str]] | None:
    """The function that completes a variable or an argument; None, without an error, for one that is not there."""
    if isinstance(ref, types.PromptReference):
        arguments = (each for prompt in prompts.PROMPTS if prompt.name == ref.name for each in prompt.arguments)
        return next((each.complete for each in arguments if each.name == argument), None)
    return next((each.complete for each in resources.RESOURCES if each.uri == ref.uri), None)
