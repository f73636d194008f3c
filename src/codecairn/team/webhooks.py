"""Pushes, as forges tell of them: GitHub, GitLab and Gitea (Forgejo too) send a signed message, which makes a job.

    GitHub   X-Hub-Signature-256: sha256= and the HMAC of the body     Gitea   X-Gitea-Signature: the same, bare
    GitLab   X-Gitlab-Token: the secret itself

One secret serves all forges; `cairn team webhook` prints it. The answer is the same whether or not the repository is
known here. Nothing of a message is believed but which repository to look at: the worker fetches and sees for itself.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from codecairn.store.folders import normal_remote
from codecairn.team.record import Record

PATH = "/hooks/push"
LARGEST = 25 << 20
"""Bytes; GitHub sends no more."""
_ADDRESSES = (
    "clone_url",
    "ssh_url",
    "git_url",
    "html_url",
    "git_http_url",
    "git_ssh_url",
    "homepage",
    "url",
    "web_url",
)


def is_from_forge(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether a message carries the secret, in the way of one of the forges."""
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    shown = [
        (headers.get("x-hub-signature-256", "").removeprefix("sha256="), expected),
        (headers.get("x-gitea-signature", ""), expected),
        (headers.get("x-gitlab-token", ""), secret),
    ]
    return any(given and hmac.compare_digest(given.encode(), wanted.encode()) for given, wanted in shown)


def take_push(record: Record, body: bytes) -> int:
    """Ask for a job for each repository of the record that a message is about; returns how many there are."""
    try:
        message: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0
    named = set(_remotes(message))
    found = [each.id for each in record.repositories.all() if normal_remote(each.url) in named]
    for number in found:
        record.jobs.ask(number)
    return len(found)


def _remotes(message: Any) -> Iterator[str]:
    """Every address that the message has for its repository, as remotes are compared."""
    for part in ("repository", "project"):
        about = message.get(part) if isinstance(message, dict) else None
        addresses = [about.get(name) for name in _ADDRESSES] if isinstance(about, dict) else []
        yield from (normal_remote(each) for each in addresses if isinstance(each, str))
