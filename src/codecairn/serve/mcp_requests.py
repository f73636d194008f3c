"""What clients ask of a server over MCP, answered in plain JSON: the SDK's handlers and the session without it say the
same, for they say it from here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from codecairn.connection import Connection
from codecairn.greeting.answer_form import Client, answers_for
from codecairn.serve import Service
from codecairn.serve.client_roots import AskClient, ClientRoots
from codecairn.serve.jsonrpc import INVALID_PARAMS, Fault, advertisement, tool_result, unknown_tool
from codecairn.tools import Answers, Call
from codecairn.tools.families import RpcError

Report = Callable[[float, float | None, str | None], None]


@dataclass(frozen=True)
class Asker:
    """Who asks: a client, on its connection."""

    connection: Connection
    protocol: str
    client: Client | None
    """As it named itself."""
    ask_roots: AskClient


class McpRequests:
    def __init__(self, service: Service, door: str, roots: ClientRoots | None = None) -> None:
        self._service = service
        self._door = door
        self.roots = roots or ClientRoots(service.projects)

    def list_tools(self, asker: Asker) -> dict[str, Any]:
        shows_value = self._form_for(asker) != "text"
        offered = self._service.registry.tools.values()
        return {"tools": [advertisement(each, with_output=shows_value) for each in offered]}

    async def call_tool(self, asker: Asker, name: str, arguments: Any, report: Report) -> dict[str, Any]:
        registry = self._service.registry
        tool = registry.find(name)
        if tool is None:
            data = unknown_tool(registry, name)
            raise Fault(RpcError(code=INVALID_PARAMS, message=data["reason"], data=data))
        await self._meet(asker)
        form = self._form_for(asker)
        reply = await self._service.perform(tool, arguments, asker.connection, self._door, report, form)
        if reply.as_rpc_error and form == "json":
            raise Fault(reply.rpc_error)
        return tool_result(reply, form)

    async def ask(self, asker: Asker, method: str, work: Callable[[Call], Any]) -> Any:
        """Answer a request that is no tool."""
        await self._meet(asker)
        return await self._service.answer(method, work, asker.connection, self._door)

    async def _meet(self, asker: Asker) -> None:
        connection, client = asker.connection, asker.client
        connection.client = f"{client.name} {client.version}" if client is not None else connection.client
        await self.roots.ask(connection, asker.ask_roots)

    def _form_for(self, asker: Asker) -> Answers:
        return answers_for(asker.protocol, asker.client, self._service.projects.settings.answers)
