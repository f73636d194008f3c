"""Forges tell a node of pushes: with the secret a job is made, without it nothing."""

from __future__ import annotations

import json

import pytest

from tests.support.team import Team
from tests.team.test_webhooks import FORGES, headers_of, push_body

ADDRESSES = {
    "github": "https://token@github.com/Org/Repo.git", "gitea": "ssh://git@git.example.org:2222/org/repo",
    "forgejo": "https://git.example.org/org/repo.git", "gitlab": "git@gitlab.example.org:org/group/repo.git",
}  # fmt: skip


def sent(forge: str, body: bytes, secret: str, **given: str) -> dict[str, str]:
    """The headers, in small letters, so that those of the door are not there twice."""
    return {name.lower(): value for name, value in headers_of(forge, body, secret, **given).items()}


@pytest.mark.parametrize("forge", FORGES)
def test_a_push_makes_a_job_if_it_is_signed(team: Team, forge: str) -> None:
    number = team.record.repositories.add("org/app", ADDRESSES[forge])
    team.record.repositories.add("org/other", "https://github.com/org/other")
    team.start_node()
    body, door = push_body(forge), team.door("")
    for secret, status in (("a guess of enough letters", 401), (team.record.webhook_secret, 202)):
        assert door.post("/hooks/push", body.decode(), **sent(forge, body, secret))[0] == status
        job = team.record.jobs.take("w")
        assert (job.repository if job else None) == (number if status == 202 else None)
    assert door.post("/hooks/push", body.decode(), **sent(forge, body, team.record.webhook_secret))[0] == 200
    assert door.post("/hooks/push", body.decode())[0] == 400


def test_a_repository_that_is_unknown_is_answered_as_one_that_is_known(team: Team) -> None:
    team.start_node()
    body = push_body()
    answer = team.door("").post("/hooks/push", body.decode(), **sent("github", body, team.record.webhook_secret))
    assert answer == (202, "Accepted")
    assert team.record.jobs.depth() == 0


def test_what_is_no_push_is_said_to_be_none(team: Team) -> None:
    team.start_node()
    for body, status in (("{}", 422), ("no json", 400), (json.dumps({"pad": "x" * (5 << 20)}), 413)):
        headers = sent("github", body.encode(), team.record.webhook_secret)
        assert team.door("").post("/hooks/push", body, **headers)[0] == status
