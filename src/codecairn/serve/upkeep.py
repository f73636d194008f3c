"""Keeps projects indexed, behind the first answer and off every caller's path.

The served project is kept from the start, whether it was ever indexed or not. Another one (named by a caller, or
linked) is kept from the first question about it on, if it was indexed before: asking how a folder stands indexes
nothing. So many are kept at once that what each costs (a thread, a watch for every folder) stays bounded; for one more,
the one that was not asked about for longest is let go, and where all are in use the answer says that it is not kept.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.index.background import Keeper, may_index_unasked
from codecairn.index.project_index import ProjectIndex
from codecairn.project import Project, Projects

log = logging.getLogger("codecairn.index")

MOST_KEPT = 8
"""Beside the served ones. Each takes an inotify instance, of which a user has 128 for all programs."""
_IDLE_S = 60.0
"""One that nobody asked about for so long may be let go for another: sooner, two of nine would take turns."""
_FULL = (
    "{} projects are kept up with their files already, so this one is not: its files are compared for every answer, "
    "and index_codebase brings it up to date."
)


class Upkeep:
    """One keeper a project, started when the project is first known."""

    def __init__(self, projects: Projects, *, watch: bool) -> None:
        self._projects = projects
        self._watch = watch
        self._lock = threading.Lock()
        self._asked: set[tuple[Path, ...]] = set()
        self._served: dict[Path, Keeper] = {}
        self._others: dict[Path, Keeper] = {}
        projects.on_use = self.use

    def begin_after_answer(self) -> None:
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
            if is_wanted and project.root not in self._served:
                other = self._others.pop(project.root, None)
                self._served[project.root] = other or project.index.keep(watch=self._watch)
                if project.team is not None:
                    threading.Thread(target=_exchange_mail, args=(project,), name="cairn-mail", daemon=True).start()
                if project.settings.worktrees:
                    threading.Thread(target=_tidy, args=(project,), name="cairn-worktrees", daemon=True).start()
        except CairnError as error:
            log.warning("the project is not kept indexed: %s", error.message)

    def use(self, index: ProjectIndex) -> None:
        """Somebody asks about a project: from now on it is kept, if it was ever indexed and there is room."""
        keeper = index.keeping
        if keeper is not None:
            keeper.used = time.monotonic()
        elif self._watch and _is_indexed(index):
            with self._lock:
                if index.keeping is None:
                    self._keep_other(index)

    def _keep_other(self, index: ProjectIndex) -> None:
        self._others = {root: each for root, each in self._others.items() if not each.is_closed}
        if len(self._others) >= MOST_KEPT and not self._let_go_of_one():
            index.unkept = _FULL.format(MOST_KEPT)
            return
        index.unkept = None
        self._others[index.root] = index.keep(watch=True)

    def _let_go_of_one(self) -> bool:
        root, keeper = min(self._others.items(), key=lambda each: each[1].used)
        if time.monotonic() - keeper.used < _IDLE_S:
            return False
        log.info("%s is no longer watched: nobody asked about it for a while, and there are others", root)
        del self._others[root]
        threading.Thread(target=keeper.close, name="cairn-let-go", daemon=True).start()
        return True

    def close(self) -> None:
        for keeper in (*self._served.values(), *self._others.values()):
            keeper.close()


def _is_indexed(index: ProjectIndex) -> bool:
    """Whether anybody ever began to index the project's files."""
    try:
        opened = index.open_index()
        return opened is not None and opened.store.checkout(str(index.root)) is not None
    except CairnError:
        return False


def _exchange_mail(project: Project) -> None:
    """Share memory with the team once the index is up: finding the memory of a clone walks its history."""
    try:
        project.index.settle(Cancel())
        if project.mail is not None:
            project.mail.run()
    except CairnError as error:
        log.warning("memory is not shared with the team: %s", error.message)


def _tidy(project: Project) -> None:
    """Remove the worktrees that servers before this one made and nobody is on."""
    try:
        project.worktrees.clean(Cancel())
    except CairnError as error:
        log.warning("worktrees that are used no more stay: %s", error.message)
