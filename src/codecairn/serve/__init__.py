"""The doors: each translates between a wire and `Registry.call`, and knows nothing of any tool."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import anyio.to_thread

from codecairn.connection import Connection
from codecairn.project import Projects
from codecairn.serve.upkeep import Upkeep
from codecairn.tools import Call, Registry, Tool
from codecairn.tools.families import Reply

_MOST_CALLS_AT_ONCE = 64
_LAST_WORDS_S = 0.3


@dataclass
class Service:
    """What every door of one process shares."""

    registry: Registry
    projects: Projects
    upkeep: Upkeep | None = None
    """Who keeps the served project indexed, where anyone does."""
    _limiter: anyio.CapacityLimiter | None = field(default=None, init=False)

    async def perform(self, tool: Tool, arguments: Any, connection: Connection, door: str, report: Any = None) -> Reply:
        """Run a call in a thread of its own; if the caller withdraws, what the call has under way is stopped."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_MOST_CALLS_AT_ONCE)
        call = Call(self.projects, connection, self.registry, door, report=report)
        work = partial(self._performed, tool, call, arguments)
        try:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)
        except anyio.get_cancelled_exc_class():
            call.cancel.set()
            raise

    def ended(self, connection_id: str) -> None:
        """A connection is gone, and its session ends."""
        _shortly(partial(self.registry.sessions.end, connection_id))

    def closed(self) -> None:
        """The server ends, and every session with it."""
        _shortly(self.registry.sessions.close)

    def _performed(self, tool: Tool, call: Call, arguments: Any) -> Reply:
        if self.upkeep is not None:
            self.upkeep.begin(call.connection.client_roots)
        return self.registry.call(tool, call, arguments)


def _shortly(write: Callable[[], None]) -> None:
    """Wait for what is still to be written, though not for long: it may wait for a git that hangs."""
    writing = threading.Thread(target=write, daemon=True)
    writing.start()
    writing.join(_LAST_WORDS_S)
