"""The door of a node: `/mcp`, `/rpc`, `/health`, `/metrics` and pages, as `cairn serve --http` has them.

Every request but `/health` carries a bearer token, or for a page the cookie of whoever logged in with one, and is
answered for that token alone. Any node answers any request, so that a load balancer needs no memory.
`/node/ask` is for other nodes, by signature.
Host and Origin are checked as in serve/http.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import anyio.to_thread
import mcp_types as types
import msgspec
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from codecairn import __version__
from codecairn.connection import Connection
from codecairn.context import prompts, resources
from codecairn.errors import CairnError, NotFound
from codecairn.page.responses import show_error, show_failure, show_not_found
from codecairn.serve import Service, jsonrpc, mcp
from codecairn.serve.http import LARGEST_BODY, HttpAccess, body_of, too_large
from codecairn.serve.jsonrpc import BareDoor, NotJson
from codecairn.serve.resources import Asking, Context, ResourceHandlers
from codecairn.team import webhooks
from codecairn.team.administration import Administration, admin_route
from codecairn.team.database import RecordUnavailable
from codecairn.team.directory import Directory
from codecairn.team.laptops import Laptops, laptop_routes
from codecairn.team.pages import TeamSite, is_page
from codecairn.team.peers import ARCHIVE_PATH, PATH, SENT_AT, SIGNATURE, NodeQuestion, is_signed, question_decoder
from codecairn.team.provider_keys import ProviderUnavailable
from codecairn.team.record import Record
from codecairn.team.service import TeamAnswers
from codecairn.team.team_call import TeamCall
from codecairn.team.tokens import Caller
from codecairn.team.webhooks import Push, Refusal, Webhooks
from codecairn.tools import Answers, Call, Tool
from codecairn.tools.families import ToolReply

INSTRUCTIONS = (
    mcp.INSTRUCTIONS
    + """\
This server has many repositories. `project` names the one a call is about (org/repo; list_repositories names them).
search_code, find_symbol, context_search, grep_codebase and find_references also take `repositories` (org/*, or ** for
all) instead. Without `ref` a call is about the default branch as it was last published.
"""
)
_CALLER, _REQUEST = "cairn.caller", "cairn.request"
_MOST_LISTED = 100
_PAGES = tuple(each for each in resources.RESOURCES if not each.uri.startswith("context://session"))
_OPEN = frozenset({"/health", PATH, ARCHIVE_PATH, webhooks.PATH})
"""Paths without a bearer token; all but the first are signed in other ways."""
_UNAUTHORIZED = {"WWW-Authenticate": 'Bearer realm="cairn"'}


@dataclass
class TeamConnection(Connection):
    caller: Caller | None = None
    request: str = ""


class TeamService(Service):
    """The parts that the doors of a node share; the answers are TeamAnswers'."""

    team: TeamAnswers
    laptops: Laptops
    administration: Administration

    async def perform(
        self, tool: Tool, arguments: Any, connection: Connection, door: str, report: Any = None,
        answers: Answers = "json",
    ) -> ToolReply:  # fmt: skip
        caller, request = _caller_of(connection)
        call = Call(self.projects, connection, self.registry, door, report=report, answers=answers)
        asked = TeamCall(tool, arguments, caller, answers, request, door, report, call.cancel)
        return await self._in_thread(call, lambda: self.team.answer(asked))

    async def page(self, kind: str, name: str, given: Mapping[str, str], ctx: Context, project: str | None) -> str:
        connection = _connection(ctx.request)
        caller, _ = _caller_of(connection)
        call = Call(self.projects, connection, self.registry, "http")
        return await self._in_thread(call, lambda: self.team.page(kind, name, given, caller, project))


def _caller_of(connection: Connection) -> tuple[Caller, str]:
    assert isinstance(connection, TeamConnection)
    assert connection.caller is not None, "the door lets nobody in without a token"
    return connection.caller, connection.request


def _connection(request: Request | None) -> TeamConnection:
    assert request is not None
    caller: Caller = request.scope[_CALLER]
    return TeamConnection(f"token:{caller.id}", lasts=False, caller=caller, request=request.scope[_REQUEST])


class TeamShelf(ResourceHandlers):
    """Pages and prompts of the repositories that a caller may read; `?project=org/repo` says which."""

    def __init__(self, service: TeamService, asking: Asking) -> None:
        super().__init__(asking)
        self._service = service

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        del params
        caller, _ = _caller_of(_connection(ctx.request))
        readable = self._service.team.readable(caller)[:_MOST_LISTED]
        overview = _PAGES[0]
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=f"{overview.uri}?project={quote(each.name)}", name=f"{overview.name} {each.name}",
                    description=overview.description, mime_type=resources.MIME_TYPE,
                )
                for each in readable
            ]
        )  # fmt: skip

    async def list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        del ctx, params
        found = [
            types.ResourceTemplate(
                uri_template=f"{each.uri}{{?project}}", name=each.name, title=each.title,
                description=each.description, mime_type=resources.MIME_TYPE,
            )
            for each in _PAGES
        ]  # fmt: skip
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        bare, _, query = uri.partition("?")
        project = next(iter(parse_qs(query).get("project", [])), None)
        text = await self._page(ctx, "resource", bare, {}, project)
        contents = types.TextResourceContents(uri=uri, mime_type=resources.MIME_TYPE, text=text)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        listed = await super().list_prompts(ctx, params)
        project = types.PromptArgument(name="project", description="Repository, such as org/repo", required=False)
        for each in listed.prompts:
            each.arguments = [project, *(each.arguments or [])]
        return listed

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        given = dict(params.arguments or {})
        project = given.pop("project", None) or None
        text = await self._page(ctx, "prompt", params.name, given, project)
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=prompts.find_prompt(params.name).description, messages=[message])

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Repositories are completed; what depends on one is not."""
        caller, _ = _caller_of(_connection(ctx.request))
        names = [each.name for each in self._service.team.readable(caller)] if params.argument.name == "project" else []
        shown = [name for name in names if name.startswith(params.argument.value)][:_MOST_LISTED]
        return types.CompleteResult(completion=types.Completion(values=shown, total=len(shown), has_more=False))

    async def _page(self, ctx: Context, kind: str, name: str, given: Mapping[str, str], project: str | None) -> str:
        try:
            return await self._service.page(kind, name, given, ctx, project)
        except CairnError as error:
            raise self.fault(ctx, error, {"uri": name} if kind == "resource" else {}) from error


@dataclass(frozen=True)
class NodeHealth:
    """How a node stands, for load balancers and monitors."""

    directory: Directory
    node: str
    replicas_ready: Callable[[], int]
    queue_depth: Callable[[], int]
    lag: Callable[[], tuple[int, float]]
    """How many publications were followed, and the seconds from the last push to its answer."""

    def value(self) -> dict[str, Any]:
        silent = self.directory.is_silent
        return {
            "status": "degraded" if silent else "ok", "version": __version__, "live": True,
            "ready": bool(self.directory.state.nodes) or silent, "record_silent_s": round(self.directory.silent_s, 1),
        }  # fmt: skip

    def prometheus(self) -> str:
        followed, lag_s = self.lag()
        lines = [
            f"cairn_team_publications_followed_total {followed}",
            f"cairn_team_push_to_answer_seconds {lag_s:.3f}",
            f"cairn_team_replicas_ready {self.replicas_ready()}",
            f"cairn_team_nodes_living {len(self.directory.state.nodes)}",
            f"cairn_team_record_silent_seconds {self.directory.silent_s:.1f}",
        ]
        with suppress(RecordUnavailable):
            lines.append(f"cairn_team_jobs_due {self.queue_depth()}")
        return "\n".join([*lines, ""])


def app(
    service: TeamService, access: HttpAccess, directory: Directory, record: Record, health: NodeHealth,
    site: TeamSite,
) -> Starlette:  # fmt: skip
    secret, hooks = record.node_secret, Webhooks([record.webhook_secret])
    bare = BareDoor(service, "http")
    server = mcp.build(
        service, lambda ctx: _connection(ctx.request), "http", INSTRUCTIONS, lambda asking: TeamShelf(service, asking)
    )
    manager = StreamableHTTPSessionManager(app=server, stateless=True, max_request_body_size=LARGEST_BODY)

    async def rpc(request: Request) -> Response:
        body = await body_of(request)
        if body is None:
            return too_large()
        try:
            message = jsonrpc.parse(body)
        except NotJson as error:
            return _json(jsonrpc.parse_error(str(error)), 400)
        answer = await bare.answer(message, _connection(request))
        return Response(status_code=202) if answer is None else _json(answer)

    async def question_in(request: Request) -> NodeQuestion | None:
        body = await body_of(request)
        given = request.headers
        if body is None or not is_signed(secret, given.get(SENT_AT, ""), given.get(SIGNATURE, ""), body):
            return None
        return question_decoder.decode(body)

    async def ask(request: Request) -> Response:
        question = await question_in(request)
        if question is None:
            return PlainTextResponse("Unauthorized", 401)
        answers = await anyio.to_thread.run_sync(service.team.answer_node, question)
        return Response(msgspec.json.encode(answers), media_type="application/json")

    async def pass_state(request: Request) -> Response:
        question = await question_in(request)
        if question is None:
            return PlainTextResponse("Unauthorized", 401)
        return await _archive(partial(service.team.archive_for_node, question))

    async def state(request: Request) -> Response:
        caller, _ = _caller_of(_connection(request))
        given = request.query_params
        return await _archive(partial(service.team.archive, caller, given.get("project"), given.get("remote")))

    def accept(push: Push) -> None:
        """Ask for a job for each repository that was pushed to. The answer is the same where there is none."""
        for each in record.repositories.all():
            if push.is_about(each.url):
                record.jobs.ask(each.id)

    async def pushed(request: Request) -> Response:
        body = await body_of(request)
        if body is None:
            return too_large()
        try:
            outcome = await anyio.to_thread.run_sync(hooks.receive, request.headers, body, accept)
        except RecordUnavailable as error:
            return PlainTextResponse(error.message, 503, {"Retry-After": "30"})
        status, said = (outcome.status, outcome.message) if isinstance(outcome, Refusal) else (202, "Accepted")
        return PlainTextResponse(said, status)

    async def tell_health(request: Request) -> Response:
        del request
        value = health.value()
        return JSONResponse(value, 200 if value["ready"] else 503)

    async def tell_metrics(request: Request) -> Response:
        del request
        text = await anyio.to_thread.run_sync(health.prometheus)
        said = f"{service.registry.metrics.prometheus()}{text}"
        return PlainTextResponse(said, media_type="text/plain; version=0.0.4")

    routes = [
        Route("/mcp", StreamableHTTPASGIApp(manager)),
        Route("/rpc", rpc, methods=["POST"]),
        Route(PATH, ask, methods=["POST"]),
        Route(webhooks.PATH, pushed, methods=["POST"]),
        Route(ARCHIVE_PATH, pass_state, methods=["POST"]),
        Route("/state", state, methods=["GET"]),
        Route("/health", tell_health, methods=["GET"]),
        Route("/metrics", tell_metrics, methods=["GET"]),
        admin_route(service.administration, lambda request: _caller_of(_connection(request))),
        *laptop_routes(service.laptops, lambda request: _caller_of(_connection(request))),
        *site.routes(),
    ]

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    handlers: dict[Any, Any] = {404: show_not_found, 500: show_failure, CairnError: show_error}
    application = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    application.add_middleware(_Admission, access=access, directory=directory)
    return application


class _Admission:
    """Lets a request in: the Host and Origin are ours, and the token is somebody's."""

    def __init__(self, app: ASGIApp, access: HttpAccess, directory: Directory) -> None:
        self._app, self._access, self._directory = app, access, directory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        request = Request(scope)
        refusal = self._access.refusal(request) or await self._admit(request)
        if refusal is not None:
            return await refusal(scope, receive, send)
        return await self._app(scope, receive, send)

    async def _admit(self, request: Request) -> Response | None:
        scope = request.scope
        scope[_REQUEST] = request.headers.get("x-request-id", "")[:64] or secrets.token_hex(8)
        path = urlsplit(str(request.url)).path
        if path in _OPEN or is_page(path):
            return None
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            return PlainTextResponse("Unauthorized", 401, _UNAUTHORIZED)
        if request.url.path == "/rpc" and _media_type(request) != "application/json":
            return PlainTextResponse("Unsupported Media Type: send application/json", 415)
        try:
            caller = await anyio.to_thread.run_sync(self._directory.caller, given.strip())
        except RecordUnavailable:
            return PlainTextResponse("The team's database does not answer", 503, {"Retry-After": "5"})
        except ProviderUnavailable as error:
            return PlainTextResponse(error.message, 503, {"Retry-After": "60"})
        if caller is None:
            return PlainTextResponse("Unauthorized", 401, _UNAUTHORIZED)
        scope[_CALLER] = caller
        return None


async def _archive(find: Callable[[], Path]) -> Response:
    try:
        return FileResponse(await anyio.to_thread.run_sync(find), media_type="application/zstd")
    except NotFound as error:
        return PlainTextResponse(error.message, 404)
    except CairnError as error:
        return PlainTextResponse(error.message, 503, {"Retry-After": "5"})


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").split(";")[0].strip().lower()


def _json(message: Any, status: int = 200) -> Response:
    return Response(jsonrpc.dumps(message), status, media_type="application/json")
