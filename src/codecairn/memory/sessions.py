"""Sessions: the calls of one connection in one project, in one stretch.

A session opens with its connection and ends with it, or when nothing was called for half an hour; the next call then
opens another. A call only puts a line in a queue. A second later, or when somebody asks, the queue becomes sessions and
accesses, written in one transaction. A killed process loses the queue, and nothing else.

Only opening a file is an access. Searching, listing and explaining are not: they count as calls of their tool and leave
their query, and change nothing that a ranking is made of.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from weakref import ref

from msgspec.structs import replace

from codecairn import redact
from codecairn.config import Settings
from codecairn.connection import Connection
from codecairn.errors import CairnError
from codecairn.paths import module_name
from codecairn.project import Project, Projects
from codecairn.store.sessions import Access, SessionRow
from codecairn.words import identifiers, query_words, words_of

log = logging.getLogger("codecairn.memory")

IDLE_S = 30 * 60.0
_WRITTEN_AFTER_S = 1.0
_MOST_QUEUED = 10_000
_MOST_LIVE = 200
"""Sessions under way that are held, up to 100 kB each."""
_MOST_FILES, _MOST_QUERIES = 500, 100
_LONGEST_QUERY = 200
_RECENT_WORK = 5
"""Files. The modules of the last that were opened are what a session works on."""
_TOPICS = 8
_MOST_COUNTED = 3
"""Times that opening one file counts: a session is not about the one it opened a hundred times alone."""
OPENS = {
    "read_file": "path", "get_file_outline": "path", "git_blame": "filePath", "git_log": "filePath",
    "git_diff": "filePath", "remember": "path",
}  # fmt: skip
"""The tools that open the one file a caller names, and the parameter that names it."""
_ASKS = ("query", "pattern", "symbol_name")
_IDLE_TOOLS = frozenset({"health_check", "metrics_snapshot"})
"""Monitors call these; nobody works by them."""


class _Noted(NamedTuple):
    """A call, before anybody has looked which project it was about."""

    connection: Connection
    projects: Projects
    workspace: str | None
    tool: str
    at: float
    path: str | None
    query: str | None


@dataclass
class _Live:
    """A session under way."""

    id: str
    began: float
    active: float
    root: Path
    settings: Settings
    project: Callable[[], Project | None]
    """A weak reference."""
    tools: Counter[str] = field(default_factory=Counter)
    files: dict[str, int] = field(default_factory=dict)
    queries: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_QUERIES))
    accesses: list[Access] = field(default_factory=list)
    ended: float | None = None

    def take(self, noted: _Noted) -> None:
        self.active = max(self.active, noted.at)
        self.tools[noted.tool] += 1
        if noted.query:
            self.queries.append(redact.mask(noted.query)[:_LONGEST_QUERY])
        if noted.path is not None:
            path = Path(noted.path).as_posix()
            if os.path.isfile(self.root / path):  # noqa: PTH113 - false for any name at all
                self.files[path] = self.files.pop(path, 0) + 1
                self.accesses.append(Access(path, noted.at, noted.tool, self.id))
                if len(self.files) > _MOST_FILES:
                    del self.files[next(iter(self.files))]

    def open(self) -> Project:
        """The project, anew where it is closed by now: a session keeps none open."""
        return self.project() or Project(self.root, self.settings)

    def row(self) -> SessionRow:
        return SessionRow(
            id=self.id, began=self.began, active=self.active, ended=self.ended, tools=dict(self.tools),
            files=dict(self.files), queries=list(self.queries),
        )  # fmt: skip


class Sessions:
    """The sessions of one process."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._noted: deque[_Noted] = deque(maxlen=_MOST_QUEUED)
        self._live: dict[tuple[str, Path], _Live] = {}
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._complained: set[Path] = set()

    # Noting.

    def note(
        self, connection: Connection, projects: Projects, tool: str, workspace: str | None, given: Mapping[str, Any]
    ) -> None:
        """A call was answered; one that was refused, withdrawn or failed has done nothing worth keeping."""
        if tool in _IDLE_TOOLS:
            return
        path = given.get(OPENS.get(tool, ""))
        query = next((given[name] for name in _ASKS if given.get(name)), None)
        self._noted.append(_Noted(connection, projects, workspace, tool, self.clock(), path, query))
        if self._timer is None:
            self._settle_later()

    def _settle_later(self) -> None:
        self._timer = timer = threading.Timer(_WRITTEN_AFTER_S, self.settle)
        timer.daemon = True
        with contextlib.suppress(RuntimeError):  # no thread to be had, as while the process ends
            timer.start()

    def settle(self) -> None:
        """Turn the queue into sessions, and write them."""
        with self._lock:
            self._timer = None
            touched: dict[str, _Live] = {}
            while self._noted:
                for live in self._record(self._noted.popleft()):
                    touched[live.id] = live
            self._write(touched.values())
            self._forget_idle()

    def _forget_idle(self) -> None:
        """Drop idle sessions, and the longest unused of more than so many: they are written."""
        by_age = sorted(self._live, key=lambda key: self._live[key].active)
        for number, key in enumerate(by_age):
            if len(by_age) - number <= _MOST_LIVE and self.clock() - self._live[key].active <= IDLE_S:
                break
            del self._live[key]

    def end(self, connection_id: str) -> None:
        """The connection is gone, and its sessions with it."""
        self.settle()
        with self._lock:
            keys = [key for key in self._live if key[0] == connection_id]
            ending = [self._live.pop(key) for key in keys]
            for live in ending:
                live.ended = min(self.clock(), live.active + IDLE_S)
            self._write(ending)

    def close(self) -> None:
        self.settle()
        with self._lock:
            connections = {key[0] for key in self._live}
        for connection_id in connections:
            self.end(connection_id)

    def _record(self, noted: _Noted) -> list[_Live]:
        """The session of a call, after the one that had gone idle before it."""
        try:
            project = _project(noted)
        except CairnError:
            return []
        key = (noted.connection.id, project.root)
        before, live = self._at(key, project, noted.at, noted.connection)
        live.take(noted)
        return [live] if before is None else [before, live]

    def _at(
        self, key: tuple[str, Path], project: Project, now: float, connection: Connection
    ) -> tuple[_Live | None, _Live]:
        before = self._live.get(key)
        if before is not None and now - before.active <= IDLE_S:
            return None, before
        began = now if before else min(now, connection.opened)
        live = self._live[key] = _Live(str(uuid.uuid4()), began, now, project.root, project.settings, ref(project))
        if before is not None:
            before.ended = before.active + IDLE_S
        return before, live

    def _write(self, sessions: Iterable[_Live]) -> None:
        """A store that cannot be written costs what would have been in it, never a call."""
        by_project: dict[Path, list[_Live]] = {}
        for live in sessions:
            by_project.setdefault(live.root, []).append(live)
        for root, group in by_project.items():
            accesses = [each for live in group for each in live.accesses]
            try:
                group[0].open().sessions.save([live.row() for live in group], accesses, self.clock())
            except CairnError as error:
                if root not in self._complained:
                    self._complained.add(root)
                    log.warning("sessions of %s are not kept: %s", root, error.message)
            for live in group:
                live.accesses.clear()

    # Asking.

    def id_of(self, connection: Connection, project: Project) -> str:
        """The session that a call of this connection belongs to, opened by it if there is none."""
        self.settle()
        with self._lock:
            before, live = self._at((connection.id, project.root), project, self.clock(), connection)
            live.active = self.clock()
            self._write([live] if before is None else [before, live])
            return live.id

    def current(self, connection: Connection, project: Project) -> SessionRow | None:
        """The session of this connection; None before its first call, and after half an hour without one."""
        self.settle()
        with self._lock:
            live = self._live.get((connection.id, project.root))
            return live.row() if live is not None and self.clock() - live.active <= IDLE_S else None

    def recent(self, project: Project, most: int = 10) -> list[SessionRow]:
        """The latest sessions of a project, whoever's; one that nobody ended in half an hour has ended."""
        self.settle()
        return [_as_of(row, self.clock()) for row in project.sessions.recent(most)]


def _as_of(row: SessionRow, now: float) -> SessionRow:
    if row.ended is not None or now - row.active <= IDLE_S:
        return row
    return replace(row, ended=row.active + IDLE_S)


def _project(noted: _Noted) -> Project:
    if noted.workspace:
        return noted.projects.project_at(noted.workspace, param="workspace")
    return noted.projects.current(noted.connection.client_roots)


def modules_of(session: SessionRow | None, project: str) -> frozenset[str]:
    """The modules a session works on: those of the files it opened last."""
    files = list(session.files)[-_RECENT_WORK:] if session else []
    return frozenset(module_name(path, project) for path in files)


def topics(session: SessionRow, most: int = _TOPICS) -> list[str]:
    """The words that a session's queries have most often, and the names of its files and their folders; a word of a
    query counts double, and each as it was written first."""
    counts: Counter[str] = Counter()
    written: dict[str, str] = {}
    for word, times in _mentions(session):
        stem = words_of(word)[-1]
        counts[stem] += times
        written.setdefault(stem, word.lower())
    return [written[stem] for stem, _ in sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:most]]


def _mentions(session: SessionRow) -> Iterator[tuple[str, int]]:
    for query in session.queries:
        telling = set(query_words(query))
        yield from ((word, 2) for word in dict.fromkeys(identifiers(query)) if not telling.isdisjoint(words_of(word)))
    for path, times in session.files.items():
        place = PurePosixPath(path)
        names = identifiers(f"{place.parent.name} {place.stem}")
        yield from ((word, min(times, _MOST_COUNTED)) for word in names if words_of(word))
