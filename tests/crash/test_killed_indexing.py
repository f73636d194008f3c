"""An index run that is killed, at any moment and at the worst ones, leaves an index that is sound and can go on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product

import pytest

from tests.crash.doomed import POINTS
from tests.crash.scene import Scene

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="about SIGKILL")
RUNS: list[tuple[str, int | None]] = [("update", 0), ("rebuild", 0), ("update", None)]
"""What is done, and the state that was indexed before."""
WORST = list(product(RUNS, POINTS, ("before", "after")))

Trials = Callable[[int], int]


def test_killed_at_any_moment_of_the_first_run(scene: Scene, trials: Trials) -> None:
    scene.set_up(indexed=None, now=0)
    longest = scene.duration("update")
    for _ in range(trials(60)):
        scene.set_up(indexed=None, now=0)
        scene.kill_after(scene.choice.uniform(0, longest), "update")
        scene.check_opens_soundly()
        scene.check_recovers(scene.choice.choice((0, 1)))


@pytest.mark.parametrize(("verb", "whole"), [("update", 60), ("rebuild", 40)])
def test_killed_at_any_moment_of_an_update_or_a_rebuild(scene: Scene, trials: Trials, verb: str, whole: int) -> None:
    scene.set_up(indexed=0, now=1)
    longest = scene.duration(verb)
    for _ in range(trials(whole)):
        scene.set_up(indexed=0, now=1)
        scene.kill_after(scene.choice.uniform(0, longest), verb)
        scene.check_opens([0, 1])
        scene.check_recovers(scene.choice.choice((1, 2)))


def test_killed_at_the_worst_moments(scene: Scene, trials: Trials) -> None:
    """Between the stores, inside a transaction, around the change of the folder in use."""
    reached = set()
    for (verb, indexed), point, moment in scene.choice.sample(WORST, trials(len(WORST))):
        scene.set_up(indexed=indexed, now=1)
        if not scene.kill_at(point, scene.choice.randint(1, 3), moment, verb):
            continue
        reached.add(point)
        if indexed is None:
            scene.check_opens_soundly()
        else:
            scene.check_opens([0, 1])
        scene.check_recovers(scene.choice.choice((1, 2)))
    assert reached


def test_documents_of_versions_that_the_database_never_knew_are_gone_after_the_next_run(scene: Scene) -> None:
    scene.set_up(indexed=0, now=1)
    assert scene.kill_at("documents are committed", 1, "after", "update")
    scene.check_opens([0])
    scene.check_recovers(2)
