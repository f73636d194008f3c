"""The same body through every door gives the same value."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.doors import DOORS, Door
from tests.support.repo import Repo


@pytest.mark.requirement("ruling/registry/same-value-every-door")
def test_every_door_gives_the_same_history(repo: Repo, connect: Callable[..., Door]) -> None:
    repo.commit("first", {"a.txt": "one\n"})
    answers = [connect(name, repo.path).call("git_log", {"maxCount": 1}) for name in DOORS]
    assert not any(answer.is_error for answer in answers)
    assert {answer.text for answer in answers} == {answers[0].text}
    assert all(answer.value == answers[0].value for answer in answers)
    assert answers[0].value["commits"][0]["message"] == "first"
