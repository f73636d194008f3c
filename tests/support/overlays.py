"""Shared by the tests of overlays."""

from __future__ import annotations

import time
from pathlib import Path

from codecairn.cancel import Cancel
from codecairn.index.run import Options
from codecairn.source.refs import tip_of
from tests.support.indexes import LastingWorkers, project_index
from tests.support.repo import Repo

_DAY_S = 86_400.0


def index_refs(repo: Repo, home: Path, workers: LastingWorkers, *names: str) -> None:
    """The working tree and the default branch, and these."""
    with project_index(repo.path, home, workers) as index:
        index.index(Options(), force=False, cancel=Cancel())
        for name in names:
            index.index(Options(), force=False, cancel=Cancel(), ref=tip_of(index.git, name, Cancel()))


def let_days_pass(repo: Repo, home: Path, days: float, *names: str) -> None:
    """As if nobody had indexed these refs, or asked for them, in so many days."""
    with project_index(repo.path, home) as index:
        opened = index.open_index()
        assert opened is not None
        for layer in opened.store.overlays():
            if layer.name in names:
                with opened.store.writing() as database:
                    when = time.time() - days * _DAY_S
                    database.execute("UPDATE layer SET finished_at = ? WHERE id = ?", (when, layer.id))
                (opened.folder / f"used-{layer.id}").unlink(missing_ok=True)


def indexed_refs(repo: Repo, home: Path) -> set[str]:
    with project_index(repo.path, home) as index:
        opened = index.open_index()
        assert opened is not None
        return opened.store.ref_names()
