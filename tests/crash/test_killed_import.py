"""An import that is killed leaves the index that was, or the new one, whole; and the next run goes on from either."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.crash import doomed
from tests.crash.scene import bury
from tests.state.machines import Machine
from tests.support.indexes import LastingWorkers, faults, leftovers, project_index
from tests.support.state import shop

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="about SIGKILL")
WORST = list(product(doomed.IMPORTING, (1, 2), ("before", "after")))


def kill_at(machine: Machine, archive: Path, *death: object) -> None:
    command = [sys.executable, doomed.__file__, machine.repo.path, machine.home, archive, *death]
    bury(subprocess.Popen([str(each) for each in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE))


def refs(machine: Machine) -> dict[str, Any]:
    """What the refs show, in an index that is sound; the working tree may still be on its way in."""
    with project_index(machine.repo.path, machine.home) as index:
        opened = index.open_index()
        assert opened is not None
        assert faults(opened.store, opened.lexical, at_rest=False) == []
    return {name: answer for name, answer in machine.answers().items() if name}


def test_killed_at_the_worst_moments_of_an_import(
    tmp_path: Path, workers: LastingWorkers, seeded: Random, trials: Callable[[int], int]
) -> None:
    here = shop(tmp_path / "here", workers)
    here.export(tmp_path / "state.tar.zst")
    new = refs(here)
    for number, death in enumerate(seeded.sample(WORST, trials(len(WORST)))):
        there = here.cloned(tmp_path / f"there{number}")
        there.index()
        old = refs(there)
        kill_at(there, tmp_path / "state.tar.zst", *death)
        assert refs(there) in (old, new), death
        there.import_(tmp_path / "state.tar.zst")
        assert there.answers() == here.answers(), death


def test_what_a_killed_import_left_is_swept(tmp_path: Path, workers: LastingWorkers) -> None:
    here = shop(tmp_path / "here", workers)
    here.export(tmp_path / "state.tar.zst")
    there = here.cloned(tmp_path / "there")
    there.index()
    kill_at(there, tmp_path / "state.tar.zst", "a member is unpacked", 2, "after")
    with project_index(there.repo.path, there.home, workers) as index:
        assert leftovers(index)
        there.let_time_pass()
    there.index()
    with project_index(there.repo.path, there.home, workers) as index:
        assert leftovers(index) == []
