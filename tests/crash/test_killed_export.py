"""An export that is killed leaves the archive that was, or the new one, whole; and hurts no index."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random

import pytest

from tests.crash import doomed
from tests.crash.test_killed_import import kill_at
from tests.support.indexes import LastingWorkers
from tests.support.state import shop

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="about SIGKILL")
WORST = list(product(doomed.EXPORTING, (1, 2), ("before", "after")))
OFTEN = ("members are hashed", "a member is packed")
"""The others come once in an export."""


def test_killed_at_the_worst_moments_of_an_export(
    tmp_path: Path, workers: LastingWorkers, seeded: Random, trials: Callable[[int], int]
) -> None:
    here, place = shop(tmp_path / "here", workers), tmp_path / "out"
    place.mkdir()
    archive = place / "state.tar.zst"
    here.export(archive)
    expected = here.answers()
    deaths = [death for death in WORST if death[1] == 1 or death[0] in OFTEN]
    for number, death in enumerate(seeded.sample(deaths, trials(len(deaths)))):
        old = archive.read_bytes()
        kill_at(here, archive, *death)
        is_new = death[0] == "an archive is written" and death[2] == "after"
        assert is_new or archive.read_bytes() == old, death
        assert here.answers() == expected, death
        there = here.cloned(tmp_path / f"there{number}")
        there.import_(archive)
        assert there.answers() == expected, death
    kill_at(here, archive, "a member is packed", 2, "after")
    assert len(list(place.iterdir())) > 1
    for each in (*place.iterdir(), *(here.home / "work").iterdir()):
        os.utime(each, (0, 0))
    here.export(archive)
    assert [each.name for each in place.iterdir()] == [archive.name]
    assert list((here.home / "work").iterdir()) == []
