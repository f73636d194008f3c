"""Forges tell of pushes: with the secret a job is made, without it nothing."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable

import pytest

from tests.support.team import Team, TeamDoor

FILES: dict[str, str | bytes] = {"app.py": "def greet():\n    return 1\n"}
Sign = Callable[[str, bytes], dict[str, str]]


def mac(secret: str, body: bytes) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


FORGES: dict[str, Sign] = {
    "github": lambda secret, body: {"x-hub-signature-256": f"sha256={mac(secret, body)}"},
    "gitea": lambda secret, body: {"x-gitea-signature": mac(secret, body)},
    "gitlab": lambda secret, _: {"x-gitlab-token": secret},
}


@pytest.mark.parametrize("forge", FORGES)
def test_a_push_makes_a_job_if_it_is_signed(team: Team, forge: str) -> None:
    number = team.record.repositories.add("org/app", "https://token@forge.example/org/app.git")
    team.start_node()
    about = {"repository": {"clone_url": "https://forge.example/org/app.git", "name": "app"}}
    if forge == "gitlab":
        about = {"project": {"git_http_url": "https://forge.example/org/app.git", "name": "app"}}
    body = json.dumps(about)
    door = team.door("")
    for secret, status in (("guess", 401), (team.record.webhook_secret, 202)):
        assert door.post("/hooks/push", body, **FORGES[forge](secret, body.encode()))[0] == status
        assert (team.record.jobs.take("w") is not None) == (status == 202)
    assert door.post("/hooks/push", body)[0] == 401
    assert number


def test_a_repository_that_is_unknown_and_what_is_no_message_are_answered_alike(team: Team) -> None:
    team.start_node()
    for body in ("{}", "[]", "no json", '{"repository": 3}', '{"repository": {"clone_url": "https://x.example/a/b"}}'):
        signed = FORGES["github"](team.record.webhook_secret, body.encode())
        assert push(team.door(""), body, signed) == (202, "Accepted")
    assert team.record.jobs.depth() == 0


def push(door: TeamDoor, body: str, headers: dict[str, str]) -> tuple[int, str]:
    return door.post("/hooks/push", body, **headers)
