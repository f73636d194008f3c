"""Work for a client over HTTP, which withdraws it by hanging up."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import anyio
from starlette.requests import Request


async def while_connected(request: Request, work: Awaitable[Any]) -> Any:
    """The result of the work; a client that hangs up has withdrawn it, and nobody is left to read the None."""
    answer = None
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        answer = await work
        tasks.cancel_scope.cancel()
    return answer
