"""The MCP door: the registry behind the official SDK's low-level server, in both protocol eras."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import anyio.from_thread
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from codecairn import __version__
from codecairn.connection import Connection
from codecairn.greeting.answer_form import Client
from codecairn.serve import Service
from codecairn.serve.jsonrpc import Fault
from codecairn.serve.mcp_requests import Asker, McpRequests
from codecairn.serve.resources import Asking, Context, ResourceHandlers
from codecairn.tools import Call

log = logging.getLogger("codecairn.mcp")

INSTRUCTIONS = """\
Cairn answers questions about this repository: where things are done, its history, the rules that hold in it.
- Where is this done, what is this called: search_code, before grep. It takes questions, names, paths and error texts.
- Where is this name defined, and its source: find_symbol. What is in this file or folder: get_file_outline.
- Who uses this: find_references. What calls it, what does it call, and so on: get_call_graph.
- The text of a file, and what it imports: read_file. A message, a literal, a TODO, wherever it stands: grep_codebase.
- What was decided or learnt about this, before a change: context_search. Keep what you learn: remember (undo: forget).
- Which rules does the team set for this area: instructions_search (or instructions_list with fields) before you act.
- Why is this line so, who wrote it: git_blame on the file and lines, then git_log on the commit's file.
- What changed lately, or since a tag or date: git_log (filePath, since, until, author).
- What did this branch change, and who calls it: diff_context (head_ref live: what I have changed). Its lines: git_diff.
- Another branch, without a checkout: `ref` on any call; for all later ones switch_ref. What is indexed: list_refs.
- New here: read the resource context://project/overview, then context://module/NAME; or the prompt `onboard`.
- Everything for one task in a budget of tokens: build_context_pack.
Paths are relative to the project root; `workspace` names the root of another project, absolute; `ref` a branch or
commit (default: the working tree). A cut answer has next_cursor: give it as `cursor`. Something odd: health_check.
"""

ConnectionOf = Callable[[Context], Connection]


def build(
    service: Service, connection_of: ConnectionOf, door: str, instructions: str = INSTRUCTIONS,
    shelf_of: Callable[[Asking], ResourceHandlers] = ResourceHandlers, requests: McpRequests | None = None,
) -> Server[Any]:  # fmt: skip
    """A low-level server; one instance serves any number of connections."""
    requests = requests or McpRequests(service, door)

    def asker(ctx: Context) -> Asker:
        known = ctx.session.client_params
        client = Client(known.client_info.name, known.client_info.version) if known is not None else None
        return Asker(connection_of(ctx), ctx.protocol_version, client, partial(_client_roots, ctx))

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        del params
        return types.ListToolsResult.model_validate(requests.list_tools(asker(ctx)))

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        def report(done: float, total: float | None, message: str | None) -> None:
            anyio.from_thread.run(ctx.session.report_progress, done, total, message)

        try:
            result = await requests.call_tool(asker(ctx), params.name, params.arguments, report)
        except Fault as fault:
            raise MCPError(fault.error.code, fault.error.message, fault.error.data) from fault
        return result | ({"resultType": "complete"} if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else {})

    async def roots_changed(ctx: Context, params: types.NotificationParams) -> None:
        del params
        requests.roots.forget(connection_of(ctx))

    async def asking(ctx: Context, method: str, work: Callable[[Call], Any]) -> Any:
        return await requests.ask(asker(ctx), method, work)

    shelf = shelf_of(asking)
    server: Server[Any] = Server(
        "codecairn",
        version=__version__,
        title="Cairn",
        instructions=instructions,
        on_list_tools=list_tools,
        on_list_resources=shelf.list_resources,
        on_list_resource_templates=shelf.list_templates,
        on_read_resource=shelf.read_resource,
        on_list_prompts=shelf.list_prompts,
        on_get_prompt=shelf.get_prompt,
        on_completion=shelf.complete,
        get_tool_input_schema=lambda name: tool.input_schema if (tool := service.registry.find(name)) else None,
    )
    server.add_notification_handler("notifications/roots/list_changed", types.NotificationParams, roots_changed)
    # Registered by name because a plain dict is answered with, which spares two copies of a large value.
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.middleware[:] = [_internal_errors]
    return server


async def _internal_errors(ctx: Context, call_next: CallNext) -> HandlerResult:
    """A bug of ours is -32603 in either era; left to itself the SDK would send code 0 to older clients."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except Exception as error:
        log.exception("%s failed", ctx.method)
        raise MCPError(-32603, "Internal error", {"message": f"{type(error).__name__}: {error}"}) from error


async def _client_roots(ctx: Context) -> list[str]:
    """The folders the client says it works in, if it can be asked."""
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.roots is None or not ctx.session.can_send_request:
        return []
    roots: Awaitable[types.ListRootsResult] = ctx.session.send_request(types.ListRootsRequest(), types.ListRootsResult)
    try:
        answer = await roots
    except (MCPError, ValidationError) as error:
        log.warning("the client did not name its roots: %s", error)
        return []
    return [str(root.uri) for root in answer.roots]
