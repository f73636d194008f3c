"""The state of one connection: its calls of the last minute, the files it read, its roots."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from codecairn.errors import RateLimited

_WINDOW_S = 60.0
_MOST_RECENT = 20
_MOST_CONNECTIONS = 10_000


@dataclass
class Connection:
    """One client over stdio, one session or one caller over HTTP, one command on the shell."""

    id: str
    clock: Callable[[], float] = time.monotonic
    lasts: bool = True
    """Whether later calls are known to come from the same client; where not, what one of them chose holds for it."""
    client: str = ""
    """The client as it named itself, for people who look at its calls."""
    opened: float = field(default_factory=time.time)
    client_roots: list[Path] = field(default_factory=list)
    recent_files: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_RECENT))
    """The files this connection read last, as paths from the project root."""
    refs: dict[Path, str] = field(default_factory=dict)
    """The ref that calls without one of their own are about, for each project root; the working tree where none is."""
    rules: set[tuple[str, str, str]] = field(default_factory=set)
    """Rules whose bodies it was told: the project root, the rule's id, the hash of its body."""
    rules_seen: set[tuple[str, str]] = field(default_factory=set)
    """Rules that were named to it: the project root and the rule's id."""
    _calls: dict[str, deque[float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, tool: str, per_minute: int) -> None:
        """Count a call, or refuse it: at most `per_minute` in any sixty seconds."""
        now = self.clock()
        with self._lock:
            window = self._calls.setdefault(tool, deque())
            while window and now - window[0] >= _WINDOW_S:
                window.popleft()
            if len(window) >= per_minute:
                wait = max(1, ceil(_WINDOW_S - (now - window[0])))
                raise RateLimited(
                    f"Rate limit exceeded for {tool}: {per_minute} calls a minute; retry in {wait} s",
                    limit=per_minute, retryAfter=wait, remedy=f"Wait {wait} seconds and call again.",
                )  # fmt: skip
            window.append(now)


class Connections:
    """Connections of a door that has no connection of its own, found again by token, session or address."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Connection] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: str, *, lasts: bool = True) -> Connection:
        with self._lock:
            connection = self._known.pop(key, None) or Connection(key, lasts=lasts)
            self._known[key] = connection
            if len(self._known) > _MOST_CONNECTIONS:
                self._known.popitem(last=False)
            return connection
