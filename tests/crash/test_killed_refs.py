"""A run that is killed while it indexes a branch leaves the base and the other branches as they were, and the branch
as it was before or as it is now."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from codecairn.cancel import Cancel
from codecairn.index.project_index import ProjectIndex
from codecairn.index.run import Options
from codecairn.source.refs import tip_of
from codecairn.store.layers import Scope
from codecairn.store.view import open_view
from tests.crash.doomed import POINTS
from tests.crash.scene import Scene, become, changed, state
from tests.refs.history import told
from tests.support.indexes import LastingWorkers, faults, project_index
from tests.support.repo import Repo

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="about SIGKILL")
WORST = list(product(POINTS, ("before", "after")))


@pytest.fixture
def branches(tmp_path: Path, workers: LastingWorkers, seeded: random.Random) -> Scene:
    """A repository whose base and one branch are indexed, with another branch that is not."""
    scene = Scene(tmp_path, workers, seeded)
    repo = Repo.create(scene.root)
    base = state(seeded)
    for name, files in (("main", base), ("other", changed(seeded, base)), ("work", changed(seeded, base))):
        if name != "main":
            repo.git("checkout", "--quiet", "-b", name, "main")
        become(repo.path, files)
        repo.commit(name)
    repo.git("checkout", "--quiet", "main")
    with project_index(scene.root, scene.built(0), workers) as index:
        index.index(Options(), force=False, cancel=Cancel())
        lay(index, "other")
    return scene


def lay(index: ProjectIndex, name: str) -> None:
    index.index(Options(), force=False, cancel=Cancel(), ref=tip_of(index.git, name, Cancel()))


def seen(index: ProjectIndex, *, at_rest: bool) -> dict[str, dict[str, Any]]:
    """What each ref that is indexed shows."""
    opened = index.open_index()
    assert opened is not None
    assert faults(opened.store, opened.lexical, at_rest=at_rest) == []
    found = {}
    for layer in opened.store.refs(Scope("").key):
        with open_view(opened.store, opened.lexical, "", index.source.guard.blocks, layer.id) as view:
            assert view is not None
            found[layer.name] = told(view)
    return found


def test_killed_while_a_branch_is_indexed(branches: Scene, trials: Callable[[int], int]) -> None:
    home, built, workers = branches.home, branches.built(0), branches.workers
    shutil.copytree(built, branches.built(1))
    with project_index(branches.root, branches.built(1), workers) as index:
        before = seen(index, at_rest=True)
        lay(index, "work")
        after = seen(index, at_rest=True)
    reached = set()
    for point, moment in branches.choice.sample(WORST, trials(len(WORST))):
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(built, home)
        if branches.kill_at(point, branches.choice.randint(1, 3), moment, "work"):
            reached.add(point)
        with project_index(branches.root, home, workers) as index:
            assert _but_counts(seen(index, at_rest=False)) in (_but_counts(before), _but_counts(after))
            lay(index, "work")
            assert seen(index, at_rest=True) == after
    assert reached


def _but_counts(seen: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Less who is imported how often, which is counted when a ref is laid already, and what is found first by it."""
    return {
        ref: {what: said for what, said in each.items() if what not in ("counts", "found")}
        for ref, each in seen.items()
    }
