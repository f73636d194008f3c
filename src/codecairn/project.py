"""Which folder is the project, which folders a caller may name, and the open handles for each.

The root is the first of: the --root argument, CAIRN_ROOT, CLAUDE_PROJECT_DIR, the client's own roots, the git top
level of the working directory, the working directory. The first two are orders, and a bad one is an error; the others
are hints, and one that may not be a project is passed over. The home directory and a file-system root never are one;
a folder that only holds repositories is one when ordered, not when hinted. Over HTTP a client's own roots are no hint:
they are folders of the client's machine, or would let it choose among ours.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary, finalize

from msgspec.structs import replace

from codecairn.cancel import Cancel
from codecairn.config import Settings, TeamAccess, data_folder, team_access
from codecairn.errors import Denied, InvalidInput, ProjectNotFound
from codecairn.folders_on_disk import are_one, git_top_level, holds_repositories, lies_in, readable_folder
from codecairn.paths import Guard, has_control, printable
from codecairn.source.git import Git
from codecairn.source.refs import remote_of
from codecairn.store import folders

if TYPE_CHECKING:
    from codecairn.catalog.entries import CatalogFolder
    from codecairn.catalog.governance import CriteriaSource
    from codecairn.context.central_symbols import UseTable
    from codecairn.index.project_index import ProjectIndex
    from codecairn.index.ref_use import Leases
    from codecairn.index.run import Importers
    from codecairn.index.worktrees import Worktrees
    from codecairn.memory.recall import Recall
    from codecairn.memory.team_mail import TeamMail
    from codecairn.rank.search import Searcher
    from codecairn.store.discoveries import Discoveries
    from codecairn.store.file_version import FileVersion
    from codecairn.store.memory import Memory
    from codecairn.store.project_links import LinkStore
    from codecairn.store.sessions import SessionStore
    from codecairn.store.view import View
    from codecairn.team_client import TeamClient

# Each handle imports what it opens: a command that searches needs a third of them.
# ruff: noqa: PLC0415

MOST_OPEN = 8
"""Projects that stay open though nothing goes on in them. Each has up to four readers of its index, a page cache of
4 MB in each, a connection to its memory, and what it holds of its catalogue and its discoveries."""


@dataclass(frozen=True)
class Project:
    """Open handles for one project; no verbs."""

    root: Path
    settings: Settings = field(default_factory=Settings)
    on_use: Callable[[ProjectIndex], None] | None = None
    """Called with each index that somebody asks about."""
    repository: str = ""
    """The name by which callers know it, where it is a replica that a team server keeps."""
    is_behind: Callable[[], bool] | None = None
    """Tells of a replica whether more is published than it shows."""

    @cached_property
    def git(self) -> Git:
        settings = self.settings
        return Git(self.root, timeout=settings.git_timeout, data=lambda: data_folder(settings))

    @cached_property
    def guard(self) -> Guard:
        return Guard(self.root, self.settings.blocked)

    @cached_property
    def catalog(self) -> CatalogFolder:
        from codecairn.catalog.entries import CatalogFolder

        return CatalogFolder(self.root)

    @cached_property
    def criteria(self) -> CriteriaSource:
        from codecairn.catalog.governance import CriteriaSource

        return CriteriaSource(self.root)

    @cached_property
    def memory(self) -> Memory:
        from codecairn.store.memory import Memory

        return Memory(folders.project_folder(data_folder(self.settings), self.root, self.git) / "memory.db")

    @cached_property
    def discoveries(self) -> Discoveries:
        from codecairn.memory.team_mail import SharedDiscoveries
        from codecairn.store.discoveries import Discoveries

        mail = self.mail
        return SharedDiscoveries(self.memory, mail.wake) if mail is not None else Discoveries(self.memory)

    @cached_property
    def mail(self) -> TeamMail | None:
        """What this clone tells its team, and hears from it; None where there is no team."""
        from codecairn.memory.team_mail import TeamMail

        return TeamMail(self.memory, self.team, self.guard) if self.team is not None else None

    @cached_property
    def sessions(self) -> SessionStore:
        from codecairn.store.sessions import SessionStore

        return SessionStore(self.memory)

    @cached_property
    def links(self) -> LinkStore:
        from codecairn.store.project_links import LinkStore

        return LinkStore(self.memory)

    @cached_property
    def index(self) -> ProjectIndex:
        from codecairn.index.project_index import ProjectIndex

        settings = self.settings
        home, embeddings = lambda: data_folder(settings), settings.embeddings
        index = ProjectIndex(self.root, self.git, self.guard, home, embeddings, importers())
        index.on_use = self.on_use or index.on_use
        index.source = replace(index.source, is_behind=self.is_behind)
        if (team := self.team) is not None:
            from codecairn.index.preparation import Preparation

            index.preparation = Preparation(lambda: _take_from_team(index, team))
            index.source = replace(index.source, fetch=partial(_fetch_from_team, team))
        return index

    @cached_property
    def team(self) -> TeamClient | None:
        """The team server that this clone shares its repository with; None where there is none."""
        access = team_access(self.settings) if not self.repository else TeamAccess()
        if not access.url:
            return None
        from codecairn.team_client import TeamClient

        return TeamClient(access, lambda: folders.normal_remote(remote_of(self.git, Cancel())))

    @cached_property
    def leases(self) -> Leases:
        from codecairn.index.ref_use import Leases

        return Leases()

    @cached_property
    def worktrees(self) -> Worktrees:
        from codecairn.index.worktrees import Worktrees

        return Worktrees(self.index)

    @cached_property
    def searcher(self) -> Searcher:
        from codecairn.rank.search import Searcher

        return Searcher(self.index.encoders)

    @cached_property
    def uses(self) -> UseTable:
        from codecairn.context.central_symbols import UseTable

        return UseTable()

    @cached_property
    def recall(self) -> Recall:
        from codecairn.memory.recall import Recall

        return Recall(self.discoveries, self.index.encoders)

    @property
    def name(self) -> str:
        return self.root.name

    @property
    def identity(self) -> str:
        """The same on every machine that has the project for the same callers."""
        return self.repository or ascii(str(self.root))

    @property
    def is_engaged(self) -> bool:
        """Whether something goes on here that no call waits for: a watcher, a run, a connection on one of its refs."""
        index, leases = self._open_index, self.__dict__.get("leases")
        is_kept = index is not None and (index.keeping is not None or index.activity is not None)
        return is_kept or (leases is not None and leases.are_held)

    @property
    def _open_index(self) -> ProjectIndex | None:
        return self.__dict__.get("index")

    def close_when_unused(self) -> None:
        """Close the index as soon as the last call that uses this project has ended. Databases close themselves; the
        workers of an index would wait for a minute."""
        if self._open_index is not None:
            finalize(self, self._open_index.close).atexit = False

    def close(self) -> None:
        """Give back what was opened. What is asked for afterwards is opened again."""
        for name in ("index", "mail", "memory"):
            handle = self.__dict__.pop(name, None)
            if handle is not None:
                handle.close()


class Projects:
    """The projects this process has open, and the rule for opening another.

    The latest stay open, with those that are watched, written or leased; the others are closed when the last call that
    uses one has ended. While one still does, the same handles are found again: there are never two for one root."""

    most_open = MOST_OPEN

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.on_use: Callable[[ProjectIndex], None] | None = None
        self._open: OrderedDict[Path, Project] = OrderedDict()
        self._alive: WeakValueDictionary[Path, Project] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._ordered = [self._usable(root) for root in settings.roots]
        if not self._ordered and settings.env_root is not None:
            self._ordered = [self._usable(settings.env_root)]

    @property
    def is_ordered(self) -> bool:
        """Whether the user named the project outright."""
        return bool(self._ordered)

    @property
    def wants_client_roots(self) -> bool:
        """Whether the client's roots would decide anything: nothing that outranks them has named a project."""
        return self.settings.local and not self._ordered and self._first_hint([self.settings.client_dir]) is None

    def current(self, client_roots: Iterable[Path] = ()) -> Project:
        """The project that calls without a path of their own are about."""
        if self._ordered:
            return self.open(self._ordered[0])
        working = self.settings.working_dir
        named = client_roots if self.settings.local else ()
        hinted = self._first_hint([self.settings.client_dir, *named, git_top_level(working), working])
        if hinted is None:
            raise ProjectNotFound(
                f"No project: {working} is a home directory, a file-system root or a folder of repositories"
            )
        return self.open(hinted)

    def project_at(self, path: str, *, param: str) -> Project:
        """The project at an absolute path that a caller gave, if callers on this door may name it."""
        given = _absolute(path, param)
        allowed = self._roots_allowed()
        # Before looking whether it exists: what lies outside is nobody's to learn.
        if allowed is not None and not any(lies_in(given, each) for each in allowed):
            raise Denied(
                f"Not an allowed root: {printable(path)}", param=param,
                reason="outside the roots this server was given",
                remedy="Name a folder inside the roots the server was started with (--root).",
            )  # fmt: skip
        return self.open(self._usable(given, param))

    def _roots_allowed(self) -> list[Path] | None:
        """The folders inside which callers may name a root; None where any that the user can read will do."""
        if self.settings.roots:
            return self._ordered
        return None if self.settings.local else [self.current().root]

    def open(self, root: Path) -> Project:
        with self._lock:
            project = self._alive.get(root)
            if project is None:
                project = self._alive[root] = self._make(root)
            self._open[root] = project
            self._open.move_to_end(root)
            idle = self._take_idle()
        for each in idle:
            each.close_when_unused()
        return project

    def _make(self, root: Path) -> Project:
        return Project(root, self.settings, self.on_use)

    def _take_idle(self) -> list[Project]:
        """Those beyond the most, used longest ago first, that nothing goes on in."""
        beyond = len(self._open) - self.most_open
        if beyond <= 0:
            return []
        idle = [root for root, each in islice(self._open.items(), len(self._open) - 1) if not each.is_engaged]
        return [self._open.pop(root) for root in idle[:beyond]]

    def end_connection(self, connection: str) -> None:
        """A connection is gone, and with it what kept the refs it was on."""
        with self._lock:
            projects = list(self._alive.values())
        for project in projects:
            project.leases.end(connection)

    def _usable(self, path: Path, param: str = "path") -> Path:
        """An ordered or named root, resolved; raises where there is no folder or it may never be a project."""
        root = readable_folder(path)
        if root is None:
            raise InvalidInput(
                f"Not a readable folder: {printable(str(path))}", param=param,
                reason="Path does not exist or is not accessible",
            )  # fmt: skip
        if self._is_never_a_project(root):
            raise Denied(
                f"Never a project: {root}", param=param, reason="a home directory or file-system root is refused",
                remedy="Name a folder inside it.",
            )  # fmt: skip
        return root

    def _first_hint(self, candidates: Iterable[Path | None]) -> Path | None:
        folders = (readable_folder(each) for each in candidates if each is not None)
        return next((root for root in folders if root is not None and self._may_be_hinted(root)), None)

    def _may_be_hinted(self, root: Path) -> bool:
        return not self._is_never_a_project(root) and not holds_repositories(root)

    def _is_never_a_project(self, root: Path) -> bool:
        return root.parent == root or are_one(root, self.settings.home)


def importers() -> Importers:
    """The counts of imports, for the layer below that keeps them."""
    from codecairn.index.run import Importers

    return Importers(_count_importers, _recount_importers)


def _count_importers(view: View, cancel: Cancel) -> Mapping[str, int]:
    from codecairn.resolve.file_imports import count_importers

    return count_importers(view, cancel)


def _recount_importers(before: View, after: View, changed: Collection[str], cancel: Cancel) -> Mapping[str, int]:
    from codecairn.resolve.file_imports import recount_importers

    return recount_importers(before, after, changed, cancel)


def _take_from_team(index: ProjectIndex, team: TeamClient) -> None:
    from codecairn.index.team_state import take_team_state

    take_team_state(index, team, Cancel())


def _fetch_from_team(team: TeamClient, keys: Sequence[int], cancel: Cancel) -> Iterator[list[FileVersion]]:
    from codecairn.index.team_versions import fetch_versions

    return fetch_versions(team, keys, cancel)


def _absolute(path: str, param: str) -> Path:
    if has_control(path) or not Path(path).is_absolute():
        raise InvalidInput(f"Not an absolute path: {printable(path)}", param=param, reason="Path must be absolute")
    return Path(path)
