"""`make team-demo`: a team server from nothing, asked by a real MCP client, with a node that dies on the way."""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from codecairn.team.embedded import embedded_url, stop_embedded
from codecairn.team.nodes import ALIVE_S
from tests.support.team import Team, TeamProcess, open_team
from tests.support.wait import eventually

REPOSITORIES: dict[str, dict[str, str | bytes]] = {
    "acme/billing": {
        "billing/invoice.py": (
            '"""Invoices and what is owed on them."""\n\n\nclass Invoice:\n    def __init__(self, lines):\n'
            "        self.lines = lines\n\n    def amount_due(self):\n        return sum(self.lines)\n"
        ),
        "billing/reminder.py": (
            "from billing.invoice import Invoice\n\n\ndef remind(invoice: Invoice):\n"
            '    """Send a reminder for an invoice that is overdue."""\n    return invoice.amount_due()\n'
        ),
        "README.md": "# Billing\n\nInvoices, reminders and payments.\n",
    },
    "acme/shop": {
        "src/cart.ts": (
            "export class Cart {\n  items: number[] = [];\n  total(): number {\n"
            "    return this.items.reduce((a, b) => a + b, 0);\n  }\n}\n"
        ),
        "src/checkout.ts": (
            "import { Cart } from './cart';\n\n// Retry a payment that failed.\n"
            "export function pay(cart: Cart): number {\n  return cart.total();\n}\n"
        ),
    },
    "acme/gateway": {
        "retry.go": (
            "package gateway\n\n// Retry calls f again until it succeeds, at most n times.\n"
            "func Retry(n int, f func() error) error {\n\tvar err error\n\tfor i := 0; i < n; i++ {\n"
            "\t\tif err = f(); err == nil {\n\t\t\treturn nil\n\t\t}\n\t}\n\treturn err\n}\n"
        ),
        "go.mod": "module acme.example/gateway\n\ngo 1.22\n",
    },
}


def main() -> None:
    home, folder = (Path(tempfile.mkdtemp(prefix=f"cairn-{name}-")) for name in ("postgres", "team"))
    with ExitStack() as stack:
        for each in (home, folder):
            stack.callback(shutil.rmtree, each, ignore_errors=True)
        stack.callback(stop_embedded, home)
        began = time.monotonic()
        url = embedded_url(home)
        step(began, "PostgreSQL is started")
        run(stack.enter_context(open_team(url, folder, ALIVE_S)), stack)


def run(team: Team, stack: ExitStack) -> None:
    for name, files in REPOSITORIES.items():
        team.repository(name, files)
    token = team.token("demo", "acme/*", role="reader")
    began = time.monotonic()
    processes = [start(stack, team, kind, home) for kind, home in (("work", "w"), ("node", "a"), ("node", "b"))]
    step(began, "a worker and two nodes are started")
    team.await_ready()
    step(began, f"{len(REPOSITORIES)} repositories are fetched, indexed, published and ready on both nodes")
    _, first, second = processes
    anyio.run(ask, first.port, token)
    first.kill()
    began = time.monotonic()
    print(f"\n# The node at port {first.port} is killed; the other one is asked\n")
    eventually(lambda: team.record.nodes.living() and True, 10)
    anyio.run(ask, second.port, token)
    step(began, "everything was answered again, from one node")


def start(stack: ExitStack, team: Team, kind: str, home: str) -> TeamProcess:
    process = TeamProcess(kind, team.url, team.folder / home)
    stack.callback(process.close)
    return process


async def ask(port: int, token: str) -> None:
    headers = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as client,
    ):
        await client.initialize()
        await show(client, "list_repositories", {})
        await show(client, "search_code", {"query": "try a payment again", "limit": 3})
        await show(client, "find_symbol", {"symbol_name": "Cart"})
        await show(client, "find_references", {"symbol_name": "amount_due", "project": "acme/billing"})


async def show(client: ClientSession, tool: str, arguments: dict[str, Any]) -> None:
    answer = await client.call_tool(tool, arguments)
    text = getattr(answer.content[0], "text", "")
    print(f"\n$ {tool} {arguments}")
    print("\n".join(f"  {line}" for line in text.splitlines()[:14]))
    assert not answer.is_error, text


def step(began: float, said: str) -> None:
    print(f"[{time.monotonic() - began:5.1f} s] {said}")


if __name__ == "__main__":
    main()
