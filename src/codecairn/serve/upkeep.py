"""Keeps the served project indexed, behind the first answer and off every caller's path."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from pathlib import Path

from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.index.keeper import Keeper, may_index_unasked
from codecairn.project import Project, Projects

log = logging.getLogger("codecairn.index")


class Upkeep:
    """One keeper a project, started when the project is first known."""

    def __init__(self, projects: Projects, *, watch: bool) -> None:
        self._projects = projects
        self._watch = watch
        self._lock = threading.Lock()
        self._asked: set[tuple[Path, ...]] = set()
        self._keepers: dict[Path, Keeper] = {}

    def answered(self) -> None:
        """The first answer is out. Where the client's roots decide, its first call tells them."""
        if not self._projects.wants_client_roots:
            threading.Thread(target=self.begin, args=((),), name="cairn-upkeep", daemon=True).start()

    def begin(self, client_roots: Iterable[Path]) -> None:
        """Keep the project that these roots mean. Once this returns its index says that it is being made."""
        roots = tuple(client_roots)
        with self._lock:
            if roots in self._asked:
                return
            self._keep(roots)
            self._asked.add(roots)

    def _keep(self, client_roots: tuple[Path, ...]) -> None:
        try:
            project = self._projects.current(client_roots)
            is_wanted = may_index_unasked(project.root, ordered=self._projects.is_ordered)
            if is_wanted and project.root not in self._keepers:
                keeper = self._keepers[project.root] = Keeper(project.index, watch=self._watch)
                keeper.start()
                if project.settings.worktrees:
                    threading.Thread(target=_tidied, args=(project,), name="cairn-worktrees", daemon=True).start()
        except CairnError as error:
            log.warning("the project is not kept indexed: %s", error.message)

    def close(self) -> None:
        for keeper in self._keepers.values():
            keeper.close()


def _tidied(project: Project) -> None:
    """Remove the worktrees that servers before this one made and nobody is on."""
    try:
        project.worktrees.clean(Cancel())
    except CairnError as error:
        log.warning("worktrees that are used no more stay: %s", error.message)
