"""Archives for laptops: the state of a repository in one file, as `cairn state export` writes it.

One is made when somebody first asks, and kept. When more is published the old one is given out at once and a new one
made behind it: an archive may be old and is never wrong (index/state.py).
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.index.state import export_state
from codecairn.project import Project
from codecairn.store import folders
from codecairn.team.repositories import TeamRepository

log = logging.getLogger("codecairn.team")


class Archives:
    def __init__(self, home: Path) -> None:
        self._folder = folders.make_private_folder(home / "archives")
        self._lock = threading.Lock()
        self._making: dict[int, threading.Lock] = {}

    def get(self, repository: TeamRepository, project: Project) -> Path:
        """The archive of a repository: the newest there is, or one that is made now."""
        wanted, known = self._path(repository), self._archives_of(repository)
        if wanted in known:
            return wanted
        if not known:
            return self._make(repository, project)
        threading.Thread(target=self._attempt, args=(repository, project), name="cairn-archive", daemon=True).start()
        return known[-1]

    def _path(self, repository: TeamRepository) -> Path:
        return self._folder / f"{repository.id}-{repository.generation:012d}.tar.zst"

    def _archives_of(self, repository: TeamRepository) -> list[Path]:
        return sorted(self._folder.glob(f"{repository.id}-*.tar.zst"))

    def _attempt(self, repository: TeamRepository, project: Project) -> None:
        try:
            self._make(repository, project)
        except CairnError as error:
            log.warning("no new archive of %s: %s", repository.name, error.message)

    def _make(self, repository: TeamRepository, project: Project) -> Path:
        def write(path: Path) -> None:
            export_state(project.index, path, Cancel())

        return self.take(repository, write)

    def take(self, repository: TeamRepository, write: Callable[[Path], None]) -> Path:
        """The archive of this publication, written by `write` unless it is there; one at a time."""
        with self._lock:
            turn = self._making.setdefault(repository.id, threading.Lock())
        with turn:
            path, old = self._path(repository), self._archives_of(repository)
            if path in old:
                return path
            partial = path.with_suffix(f".{os.getpid()}.partial")
            write(partial)
            partial.replace(path)
            for each in old[:-1]:  # the last may be on its way to somebody
                each.unlink(missing_ok=True)
            return path
