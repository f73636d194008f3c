"""Which folder is the project, which folders a caller may name, and the open handles for each.

The root is the first of: the --root argument, CAIRN_ROOT, CLAUDE_PROJECT_DIR, the client's own roots, the git top
level of the working directory, the working directory. The first two are orders, and a bad one is an error; the others
are hints, and one that may not be a project is passed over. The home directory and a file-system root never are one;
a folder that only holds repositories is one when ordered, not when hinted.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from codecairn.config import Settings
from codecairn.errors import Denied, InvalidInput, ProjectNotFound
from codecairn.paths import Guard, has_control, printable
from codecairn.source.git import Git

_MANY_REPOSITORIES = 2


@dataclass(frozen=True)
class Project:
    """Open handles for one project; no verbs."""

    root: Path
    settings: Settings = field(default_factory=Settings)

    @cached_property
    def git(self) -> Git:
        return Git(self.root, timeout=self.settings.git_timeout)

    @cached_property
    def guard(self) -> Guard:
        return Guard(self.root, self.settings.blocked)

    @property
    def name(self) -> str:
        return self.root.name


class Projects:
    """The projects this process has open, and the rule for opening another."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._open: dict[Path, Project] = {}
        self._lock = threading.Lock()
        self._ordered = [self._usable(root) for root in settings.roots]
        if not self._ordered and settings.env_root is not None:
            self._ordered = [self._usable(settings.env_root)]

    @property
    def wants_client_roots(self) -> bool:
        """Whether the client's roots would decide anything: nothing that outranks them has named a project."""
        return not self._ordered and self._hinted([self.settings.client_dir]) is None

    def current(self, client_roots: Iterable[Path] = ()) -> Project:
        """The project that calls without a path of their own are about."""
        if self._ordered:
            return self.open(self._ordered[0])
        working = self.settings.working_dir
        hinted = self._hinted([self.settings.client_dir, *client_roots, _git_top_level(working), working])
        if hinted is None:
            raise ProjectNotFound(
                f"No project: {working} is a home directory, a file-system root or a folder of repositories"
            )
        return self.open(hinted)

    def named(self, path: str, *, param: str) -> Project:
        """The project at an absolute path that a caller gave, if callers on this door may name it."""
        root = self._usable(_absolute(path, param))
        allowed = self._ordered if self._ordered or self.settings.local else [self.current().root]
        if allowed and not any(root.is_relative_to(each) for each in allowed):
            raise Denied(
                f"Not an allowed root: {root}", param=param, reason="outside the roots this server was given",
                remedy="Name a folder inside the roots the server was started with (--root).",
            )  # fmt: skip
        return self.open(root)

    def open(self, root: Path) -> Project:
        with self._lock:
            return self._open.setdefault(root, Project(root, self.settings))

    def _usable(self, path: Path) -> Path:
        """An ordered or named root, resolved; raises where there is no folder or it may never be a project."""
        try:
            root = path.expanduser().resolve()
            is_folder = root.is_dir()
        except (OSError, RuntimeError):
            is_folder = False
        if not is_folder:
            raise InvalidInput(
                f"Not a readable folder: {printable(str(path))}", param="path",
                reason="Path does not exist or is not accessible",
            )  # fmt: skip
        if self._is_never_a_project(root):
            raise Denied(
                f"Never a project: {root}", param="path", reason="a home directory or file-system root is refused",
                remedy="Name a folder inside it.",
            )  # fmt: skip
        return root

    def _hinted(self, candidates: Iterable[Path | None]) -> Path | None:
        return next(self._hints(candidates), None)

    def _hints(self, candidates: Iterable[Path | None]) -> Iterator[Path]:
        for candidate in candidates:
            if candidate is None or not candidate.is_dir():
                continue
            root = candidate.resolve()
            if not self._is_never_a_project(root) and not _holds_repositories(root):
                yield root

    def _is_never_a_project(self, root: Path) -> bool:
        return root == self.settings.home.resolve() or root.parent == root


def _absolute(path: str, param: str) -> Path:
    if has_control(path) or not Path(path).is_absolute():
        raise InvalidInput(f"Not an absolute path: {printable(path)}", param=param, reason="Path must be absolute")
    return Path(path)


def _git_top_level(folder: Path) -> Path | None:
    resolved = folder.resolve()
    return next((each for each in (resolved, *resolved.parents) if (each / ".git").exists()), None)


def _holds_repositories(folder: Path) -> bool:
    """A folder of checkouts, such as ~/src: not a repository itself, several inside."""
    if (folder / ".git").exists():
        return False
    try:
        found = (child for child in folder.iterdir() if (child / ".git").exists())
        return sum(1 for _, _ in zip(found, range(_MANY_REPOSITORIES), strict=False)) >= _MANY_REPOSITORIES
    except OSError:
        return False
