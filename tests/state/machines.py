"""A clone of a repository with a data folder of its own: as much of another machine as an index can tell."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codecairn.cancel import Cancel
from codecairn.index.run import Options
from codecairn.index.state import Exported, Imported, export_state, import_state
from codecairn.source.refs import tip_of
from codecairn.store.layers import Scope
from codecairn.store.view import open_view
from tests.refs.history import told
from tests.support.indexes import LastingWorkers, faults, project_index
from tests.support.repo import Repo


@dataclass
class Machine:
    repo: Repo
    home: Path
    workers: LastingWorkers

    def index(self, ref: str | None = None) -> None:
        with project_index(self.repo.path, self.home, self.workers) as index:
            tip = tip_of(index.git, ref, Cancel()) if ref else None
            index.index(Options(), force=False, cancel=Cancel(), ref=tip)

    def export(self, path: Path, **options: Any) -> Exported:
        with project_index(self.repo.path, self.home, self.workers) as index:
            return export_state(index, path, Cancel(), **options)

    def import_(self, path: Path) -> Imported:
        with project_index(self.repo.path, self.home, self.workers) as index:
            return import_state(index, path, Cancel())

    def cloned(self, place: Path, *options: str) -> Machine:
        """A clone elsewhere with every branch, and no remote that would say which is the default one."""
        place.mkdir(parents=True)
        folder = place / "clone"
        self.repo.git("clone", "--quiet", *options, f"file://{self.repo.path}", str(folder))
        clone = Repo(folder)
        clone.git("fetch", "--quiet", "--update-head-ok", "origin", "+refs/heads/*:refs/heads/*")
        clone.git("remote", "remove", "origin")
        clone.git("config", "init.defaultBranch", self._default())
        return Machine(clone, place / "home", self.workers)

    def _default(self) -> str:
        listed = self.repo.git("config", "--list").splitlines()
        return next((line.partition("=")[2] for line in listed if line.startswith("init.defaultbranch=")), "main")

    def answers(self) -> dict[str, Any]:
        """What is told of every ref and of the working tree, and which refs there are; all in good order."""
        with project_index(self.repo.path, self.home, self.workers) as index:
            opened = index.open_index()
            assert opened is not None
            assert faults(opened.store, opened.lexical, at_rest=True) == []
            is_blocked = index.source.guard.blocks
            answers: dict[str, Any] = {}
            for layer in opened.store.refs(Scope("").key):
                with open_view(opened.store, opened.lexical, "", is_blocked, layer.id) as view:
                    assert view is not None
                    answers[layer.name] = (layer.head, layer.base is None, told(view))
            with open_view(opened.store, opened.lexical, str(index.root), is_blocked) as view:
                answers[""] = told(view) if view else None
        return answers

    def listing(self) -> dict[str, int]:
        """Every file of the data folder and its size, without the marks of who looks."""
        passed_over = ("lock", "used", "-shm", "-wal")
        return {
            path.relative_to(self.home).as_posix(): path.stat().st_size
            for place, _, names in os.walk(self.home)
            for path in (Path(place, name) for name in names)
            if not path.name.endswith(passed_over)
        }

    def let_time_pass(self) -> None:
        """What was replaced stays for a while, for those who are reading it."""
        for folder in (self.home / "indexes").iterdir():
            for each in folder.iterdir() if folder.is_dir() else ():
                os.utime(each, (0, 0))
