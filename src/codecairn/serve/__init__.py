"""The doors: each translates between a wire and `Registry.call`, and knows nothing of any tool."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from codecairn.allocator import Trimmer
from codecairn.connection import Connection
from codecairn.errors import CairnError
from codecairn.project import Projects
from codecairn.serve.upkeep import Upkeep
from codecairn.tools import Answers, Call, Registry, Tool
from codecairn.tools.families import ToolReply

_MOST_CALLS_AT_ONCE = 64
_Answer = TypeVar("_Answer")
_LAST_WORDS_S = 0.3


@dataclass
class Service:
    """The parts that every door of one process shares."""

    registry: Registry
    projects: Projects
    upkeep: Upkeep | None = None
    """Keeps the served project indexed; None where nothing does."""
    _limiter: anyio.CapacityLimiter | None = field(default=None, init=False)
    _trimmer: Trimmer = field(default_factory=Trimmer, init=False)

    async def perform(
        self, tool: Tool, arguments: Any, connection: Connection, door: str, report: Any = None,
        answers: Answers = "json",
    ) -> ToolReply:  # fmt: skip
        call = Call(self.projects, connection, self.registry, door, report=report, answers=answers)
        return await self._in_thread(call, lambda: self.registry.call(tool, call, arguments))

    async def answer(self, method: str, work: Callable[[Call], _Answer], connection: Connection, door: str) -> _Answer:
        """Answer a request that is no tool: a resource, a prompt, a completion."""
        call = Call(self.projects, connection, self.registry, door)
        return await self._in_thread(call, lambda: self._count(method, lambda: work(call)))

    async def _in_thread(self, call: Call, work: Callable[[], _Answer]) -> _Answer:
        """In a thread of its own; if the caller withdraws, what the call has under way is stopped."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_MOST_CALLS_AT_ONCE)

        def run() -> _Answer:
            with self.registry.metrics.working():
                if self.upkeep is not None:
                    self.upkeep.begin(call.connection.client_roots)
                try:
                    return work()
                finally:
                    self._trimmer.note_call()

        try:
            return await anyio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=self._limiter)
        except anyio.get_cancelled_exc_class():
            call.cancel.set()
            raise

    def _count(self, method: str, work: Callable[[], _Answer]) -> _Answer:
        began, error = time.perf_counter(), None
        try:
            return work()
        except CairnError as raised:
            error = raised.kind
            raise
        finally:
            elapsed_ms = (time.perf_counter() - began) * 1000
            self.registry.metrics.record(method, elapsed_ms, error=error, refused=False, slow=False)

    def end_connection(self, connection_id: str) -> None:
        """A connection is gone, and its session ends."""
        self.projects.end_connection(connection_id)
        _shortly(partial(self.registry.sessions.end, connection_id))

    def close(self) -> None:
        """The server ends, and every session with it."""
        _shortly(self.registry.sessions.close)


def _shortly(write: Callable[[], None]) -> None:
    """Wait for what is still to be written, though not for long: it may wait for a git that hangs."""
    writing = threading.Thread(target=write, daemon=True)
    writing.start()
    writing.join(_LAST_WORDS_S)
