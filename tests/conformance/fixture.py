"""The server that the official MCP conformance suite wants to find: its tools, resources and prompts, behind our door.

    python tests/conformance/fixture.py PORT

The suite asks for a server with agreed test tools (one that samples, one that elicits, one that fails, …). They are
declared here on the SDK's low-level server; everything around them is the product: `codecairn.serve.http.app` routes,
checks Host and Origin, and keeps the sessions. So a pass says that the door carries the whole protocol, beyond the
part of it that our own tools use.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import mcp_types as types
import uvicorn
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from codecairn import tools as product_tools
from codecairn.config import Settings
from codecairn.project import Projects
from codecairn.serve import Service, http

NAME = "conformance-fixture"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
RESOURCE_NOT_FOUND_BEFORE_2026 = -32002

Context = ServerRequestContext[Any, Any]
Params = types.CallToolRequestParams
Handler = Callable[[Context, Params], Awaitable[Any]]
Schema = dict[str, Any]
Answer = TypeVar("Answer", bound=types.Result)

# The order is that of declaration, and one scenario relies on it: it calls the first tool with no arguments.
TOOLS: dict[str, tuple[types.Tool, Handler]] = {}
BUS = InMemorySubscriptionBus()


def tool(description: str, schema: Schema | None = None) -> Callable[[Handler], Handler]:
    def declare(handler: Handler) -> Handler:
        name = handler.__name__
        TOOLS[name] = (
            types.Tool(name=name, description=description, input_schema=schema or {"type": "object"}),
            handler,
        )
        return handler

    return declare


def properties(**kinds: str) -> Schema:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in kinds.items()},
        "required": list(kinds),
    }


def text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri: str, words: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    contents = types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return types.EmbeddedResource(type="resource", resource=contents)


def said(*content: types.ContentBlock | str) -> types.CallToolResult:
    return types.CallToolResult(content=[text(each) if isinstance(each, str) else each for each in content])


def is_modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


# Content


@tool("Returns simple text")
async def test_simple_text(ctx: Context, params: Params) -> Any:
    return said("This is a simple text response for testing.")


@tool("Returns an image")
async def test_image_content(ctx: Context, params: Params) -> Any:
    return said(image())


@tool("Returns audio")
async def test_audio_content(ctx: Context, params: Params) -> Any:
    return said(types.AudioContent(type="audio", data=WAV, mime_type="audio/wav"))


@tool("Returns an embedded resource")
async def test_embedded_resource(ctx: Context, params: Params) -> Any:
    return said(embedded("test://embedded-resource", "This is an embedded resource content."))


@tool("Returns text, an image and a resource")
async def test_multiple_content_types(ctx: Context, params: Params) -> Any:
    resource = embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return said("Multiple content types test:", image(), resource)


@tool("Always fails")
async def test_error_handling(ctx: Context, params: Params) -> Any:
    return types.CallToolResult(content=[text("This tool fails on purpose")], is_error=True)


@tool(
    "Carries every keyword of JSON Schema 2020-12 that must survive tools/list",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)
async def json_schema_2020_12_tool(ctx: Context, params: Params) -> Any:
    return said(json.dumps(params.arguments or {}))


@tool(
    "Mirrors an argument in an Mcp-Param header",
    {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
)
async def test_x_mcp_header(ctx: Context, params: Params) -> Any:
    return said(f"region={(params.arguments or {}).get('region')}")


# Notifications on the way


async def log_thrice(ctx: Context) -> None:
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", line, related_request_id=ctx.request_id)


@tool("Logs while it runs")
async def test_tool_with_logging(ctx: Context, params: Params) -> Any:
    await log_thrice(ctx)
    return said("Tool with logging executed")


@tool("Logs only to a request that asked for it")
async def test_logging_tool(ctx: Context, params: Params) -> Any:
    await log_thrice(ctx)
    return said("Logging tool executed")


@tool("Reports progress")
async def test_tool_with_progress(ctx: Context, params: Params) -> Any:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
    return said("Tool with progress executed")


@tool("Closes its stream before it answers; the client resumes it")
async def test_reconnection(ctx: Context, params: Params) -> Any:
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
    return said("Reconnection test completed")


@tool("Announces a changed tool list")
async def test_trigger_tool_change(ctx: Context, params: Params) -> Any:
    if not is_modern(ctx):
        await ctx.session.send_tool_list_changed()
    await BUS.publish(ToolsListChanged())
    return said("tools/list_changed announced")


@tool("Announces a changed prompt list")
async def test_trigger_prompt_change(ctx: Context, params: Params) -> Any:
    if not is_modern(ctx):
        await ctx.session.send_prompt_list_changed()
    await BUS.publish(PromptsListChanged())
    return said("prompts/list_changed announced")


# Questions to the client


def elicitation(message: str, schema: Schema) -> types.ElicitRequest:
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(prompt: str, max_tokens: int = 100) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=text(prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


ASK_NAME = elicitation("What is your name?", properties(name="string"))


async def ask(ctx: Context, params: Params, question: Any, kind: type[Answer]) -> Answer | types.InputRequiredResult:
    """Put a question in the way of the connection's era: as a request on the call's stream, or as its result."""
    if not is_modern(ctx):
        return await ctx.session.send_request(
            question, kind, metadata=ServerMessageMetadata(related_request_id=ctx.request_id)
        )
    return answer(params, "input", kind) or types.InputRequiredResult(input_requests={"input": question})


def answer(params: types.InputResponseRequestParams, key: str, kind: type[Answer]) -> Answer | None:
    given = (params.input_responses or {}).get(key)
    return given if isinstance(given, kind) else None


def accepted(params: types.InputResponseRequestParams, key: str) -> dict[str, Any] | None:
    given = answer(params, key, types.ElicitResult)
    return given.content or {} if given is not None and given.action == "accept" else None


def words_of(reply: types.CreateMessageResult) -> str:
    return getattr(reply.content, "text", str(reply.content))


async def elicit(ctx: Context, params: Params, message: str, schema: Schema) -> Any:
    reply = await ask(ctx, params, elicitation(message, schema), types.ElicitResult)
    if isinstance(reply, types.InputRequiredResult):
        return reply
    return said(f"Elicitation completed: action={reply.action}, content={json.dumps(reply.content)}")


@tool("Asks the client's model", properties(prompt="string"))
async def test_sampling(ctx: Context, params: Params) -> Any:
    prompt = str((params.arguments or {}).get("prompt", ""))
    reply = await ask(ctx, params, sampling(prompt), types.CreateMessageResult)
    return reply if isinstance(reply, types.InputRequiredResult) else said(f"LLM response: {words_of(reply)}")


@tool("Asks the user", properties(message="string"))
async def test_elicitation(ctx: Context, params: Params) -> Any:
    message = str((params.arguments or {}).get("message", ""))
    return await elicit(ctx, params, message, properties(username="string", email="string"))


@tool("Asks the user, with a default in every field")
async def test_elicitation_sep1034_defaults(ctx: Context, params: Params) -> Any:
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await elicit(ctx, params, "Please review", {"type": "object", "properties": fields, "required": []})


def titled(*titles: str) -> list[dict[str, str]]:
    return [{"const": f"value{number}", "title": title} for number, title in enumerate(titles, 1)]


@tool("Asks the user to choose, in every form of enumeration")
async def test_elicitation_sep1330_enums(ctx: Context, params: Params) -> Any:
    options = ["option1", "option2", "option3"]
    names = ["Option One", "Option Two", "Option Three"]
    fields = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled(*names)},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": names},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled(*names)}},
    }
    return await elicit(ctx, params, "Please choose", {"type": "object", "properties": fields, "required": []})


@tool("Asks the user; on a stateless connection no request may travel on its stream")
async def test_streaming_elicitation(ctx: Context, params: Params) -> Any:
    return await elicit(ctx, params, "What is your name?", properties(name="string"))


@tool("Refuses a client that cannot sample")
async def test_missing_capability(ctx: Context, params: Params) -> Any:
    capabilities = ctx.session.client_capabilities
    if capabilities is not None and capabilities.sampling is not None:
        return said("sampling is declared")
    required = types.MissingRequiredClientCapabilityErrorData(
        required_capabilities=types.ClientCapabilities(sampling=types.SamplingCapability())
    )
    raise MCPError(
        types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        "This tool needs the sampling capability",
        required.model_dump(by_alias=True, mode="json", exclude_none=True),
    )


# Results that ask for input (2026-07-28); the boundary in `build` seals the request state


def wanting(state: str | None = None, **questions: Any) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=questions, request_state=state)


@tool("Wants one elicitation")
async def test_input_required_result_elicitation(ctx: Context, params: Params) -> Any:
    given = accepted(params, "user_name")
    if given is None or not isinstance(given.get("name"), str):
        return wanting(user_name=ASK_NAME)
    return said(f"Hello, {given['name']}!")


@tool("Wants one sampling")
async def test_input_required_result_sampling(ctx: Context, params: Params) -> Any:
    given = answer(params, "capital_question", types.CreateMessageResult)
    return said(words_of(given)) if given else wanting(capital_question=sampling("What is the capital of France?"))


@tool("Wants the client's roots")
async def test_input_required_result_list_roots(ctx: Context, params: Params) -> Any:
    given = answer(params, "client_roots", types.ListRootsResult)
    if given is None:
        return wanting(client_roots=types.ListRootsRequest())
    return said("Roots: " + ", ".join(str(root.uri) for root in given.roots))


async def confirm(params: Params) -> Any:
    if params.request_state != "confirm" or accepted(params, "confirm") is None:
        return wanting("confirm", confirm=elicitation("Please confirm", properties(ok="boolean")))
    return said("state-ok")


@tool("Gets its request state back")
async def test_input_required_result_request_state(ctx: Context, params: Params) -> Any:
    return await confirm(params)


@tool("Never believes a request state that was tampered with")
async def test_input_required_result_tampered_state(ctx: Context, params: Params) -> Any:
    return await confirm(params)


@tool("Wants three kinds of input at once")
async def test_input_required_result_multiple_inputs(ctx: Context, params: Params) -> Any:
    who = accepted(params, "user_name")
    greeting = answer(params, "greeting", types.CreateMessageResult)
    roots = answer(params, "client_roots", types.ListRootsResult)
    if params.request_state != "multi" or who is None or greeting is None or roots is None:
        return wanting(
            "multi", user_name=ASK_NAME, greeting=sampling("Generate a greeting"), client_roots=types.ListRootsRequest()
        )
    return said(f"{words_of(greeting)} {who.get('name')} ({len(roots.roots)} roots)")


@tool("Wants input twice")
async def test_input_required_result_multi_round(ctx: Context, params: Params) -> Any:
    state = json.loads(params.request_state) if params.request_state else {}
    first, second = accepted(params, "step1"), accepted(params, "step2")
    if state.get("step") == 1 and first is not None:
        question = elicitation("Step 2: What is your favorite color?", properties(color="string"))
        return wanting(json.dumps({"step": 2, "name": first.get("name")}), step2=question)
    if state.get("step") == 2 and second is not None:
        return said(f"{state.get('name')} likes {second.get('color')}")
    question = elicitation("Step 1: What is your name?", properties(name="string"))
    return wanting(json.dumps({"step": 1}), step1=question)


@tool("Wants only what the client declared it can give")
async def test_input_required_result_capabilities(ctx: Context, params: Params) -> Any:
    declared = ctx.session.client_capabilities or types.ClientCapabilities()
    questions: dict[str, Any] = {
        "question": sampling("Say something") if declared.sampling else None,
        "user_name": ASK_NAME if declared.elicitation else None,
        "client_roots": types.ListRootsRequest() if declared.roots else None,
    }
    open_questions = {name: question for name, question in questions.items() if question}
    if set(open_questions) <= set(params.input_responses or {}):
        return said("done")
    return wanting(None, **open_questions)


# Handlers


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[declared for declared, _ in TOOLS.values()])


async def call_tool(ctx: Context, params: Params) -> Any:
    if params.name not in TOOLS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    result = await TOOLS[params.name][1](ctx, params)
    if isinstance(result, types.InputRequiredResult) and not is_modern(ctx):
        return types.CallToolResult(content=[text("This tool needs a 2026-07-28 client")], is_error=True)
    return result


RESOURCES = {
    "test://static-text": ("text/plain", "This is the content of the static text resource."),
    "test://static-binary": ("image/png", PNG),
    "test://watched-resource": ("text/plain", "Watched resource content."),
}
TEMPLATE = "test://template/{id}/data"


async def list_resources(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    resources = [
        types.Resource(uri=uri, name=uri.removeprefix("test://"), description="A test resource", mime_type=mime_type)
        for uri, (mime_type, _) in RESOURCES.items()
    ]
    return types.ListResourcesResult(resources=resources)


async def list_templates(
    ctx: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template=TEMPLATE, name="template", description="A test template", mime_type="application/json"
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[contents(ctx, str(params.uri))])


def contents(ctx: Context, uri: str) -> types.TextResourceContents | types.BlobResourceContents:
    if found := re.fullmatch(r"test://template/([^/]+)/data", uri):
        data = json.dumps({"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"})
        return types.TextResourceContents(uri=uri, mime_type="application/json", text=data)
    if uri not in RESOURCES:
        code = types.INVALID_PARAMS if is_modern(ctx) else RESOURCE_NOT_FOUND_BEFORE_2026
        raise MCPError(code, "Resource not found", {"uri": uri})
    mime_type, body = RESOURCES[uri]
    if mime_type == "image/png":
        return types.BlobResourceContents(uri=uri, mime_type=mime_type, blob=body)
    return types.TextResourceContents(uri=uri, mime_type=mime_type, text=body)


async def subscribe(ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


async def unsubscribe(ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


async def set_level(ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


PROMPTS = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}


async def list_prompts(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[prompt(name, names) for name, names in PROMPTS.items()])


def prompt(name: str, argument_names: list[str]) -> types.Prompt:
    arguments = [types.PromptArgument(name=each, description=each, required=True) for each in argument_names]
    return types.Prompt(name=name, description="A test prompt", arguments=arguments or None)


async def get_prompt(ctx: Context, params: types.GetPromptRequestParams) -> Any:
    given = params.arguments or {}
    match params.name:
        case "test_simple_prompt":
            return messages(text("This is a simple prompt for testing."))
        case "test_prompt_with_arguments":
            return messages(text(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"))
        case "test_prompt_with_embedded_resource":
            resource = embedded(given.get("resourceUri", ""), "Embedded resource content for testing.")
            return messages(resource, text("Please process the embedded resource above."))
        case "test_prompt_with_image":
            return messages(image(), text("Please analyze the image above."))
        case "test_input_required_result_prompt" if is_modern(ctx):
            context = accepted(params, "user_context")
            if context is None:
                return wanting(user_context=elicitation("Which context?", properties(context="string")))
            return messages(text(f"Use this context: {context.get('context')}"))
    raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")


def messages(*content: types.ContentBlock) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=each) for each in content])


async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    values = [value for value in ("paris", "park", "test") if value.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


def build() -> Server[Any]:
    server: Server[Any] = Server(
        NAME,
        version="1.0.0",
        cache_hints={"tools/list": CacheHint(ttl_ms=1000, scope="public")},
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_subscriptions_listen=ListenHandler(BUS),
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        get_tool_input_schema=lambda name: TOOLS[name][0].input_schema if name in TOOLS else None,
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))
    return server


def main() -> None:
    # Logging and sampling are deprecated as of 2026-07-28, and 2025-11-25 still requires them.
    warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
    address = http.Address("127.0.0.1", int(sys.argv[1]))
    service = Service(product_tools.standard(), Projects(Settings()))
    app = http.app(service, http.HttpAccess(address), server=build())
    uvicorn.run(app, host=address.host, port=address.port, log_level="warning", timeout_graceful_shutdown=2)


if __name__ == "__main__":
    main()
