"""The live parts of the server's page, as server-sent events: how far the index is, and calls as they happen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import anyio.to_thread

from codecairn.errors import CairnError
from codecairn.page.asking import PageRequest
from codecairn.page.rendering import render
from codecairn.page.server import journal_of, new_calls, status_values, traffic_values

_EVERY_S = 0.7
_TRAFFIC_EVERY = 8
"""Looks between two plots."""
_LONGEST_S = 3600.0
"""Then the browser asks again, which tells a page that is looked at from one that was left open somewhere."""


async def events(asked: PageRequest, is_gone: Callable[[], Awaitable[bool]]) -> AsyncIterator[str]:
    status, after, ends = "", journal_of(asked.call).last, anyio.current_time() + _LONGEST_S
    looks = 0
    yield "retry: 2000\n\n"
    while anyio.current_time() < ends and not await is_gone():
        now = await anyio.to_thread.run_sync(_status, asked)
        if now != status:
            status = now
            yield _event("status", now)
        calls = new_calls(asked.call, after)
        after = calls[-1].number if calls else after
        for each in calls:
            yield _event("call", render("part_call.html", {"each": each}))
        looks += 1
        if looks % _TRAFFIC_EVERY == 0:
            yield _event("traffic", await anyio.to_thread.run_sync(_traffic, asked))
        await anyio.sleep(_EVERY_S)


def _status(asked: PageRequest) -> str:
    try:
        return render("part_status.html", status_values(asked))
    except CairnError as error:
        return render("part_problem.html", {"message": error.message})


def _traffic(asked: PageRequest) -> str:
    return render("part_traffic.html", traffic_values(asked))


def _event(name: str, html: str) -> str:
    lines = "".join(f"data: {line}\n" for line in html.splitlines())
    return f"event: {name}\n{lines}\n"
