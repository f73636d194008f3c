"""The team server, as a laptop asks it: over HTTP, with its token, and with little patience.

A server that is away must cost no more than the wait for a connection. What goes wrong is one of two errors: it cannot
be asked now (TeamAway), or it does not want this (TeamRefused), which asking again would not change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from codecairn.config import TeamAccess
from codecairn.errors import CairnError

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

CONNECT_S, READ_S = 2.0, 20.0
_PAUSE_S = 10.0
"""After a failure, until it is asked again: nobody waits for it twice."""
_LONGEST_REASON = 200


class TeamAway(CairnError):
    title = "Team server away"
    way_out = "Everything works here without it; it is asked again by itself."


class TeamRefused(CairnError):
    title = "Team server refused"
    way_out = "Look at CAIRN_TEAM and CAIRN_TEAM_TOKEN, or ask whoever runs the team server."


class TeamClient:
    def __init__(self, access: TeamAccess, remote: Callable[[], str]) -> None:
        self._access = access
        self._find_remote = remote
        self._away_until = 0.0
        self.trouble = ""
        """Why the last request had no answer; empty where it had."""

    @cached_property
    def remote(self) -> str:
        """The address by which both sides know the repository; empty where it was cloned from nowhere."""
        return self._find_remote()

    def post(self, path: str, body: bytes, kind: str = "application/json", *, read_s: float = READ_S) -> bytes:
        with self.asking("POST", path, body, {"content-type": kind}, read_s=read_s) as answer:
            return answer.read()

    @contextmanager
    def asking(
        self, verb: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None, *,
        read_s: float = READ_S,
    ) -> Iterator[HTTPResponse]:  # fmt: skip
        """The answer, to be read inside; raises unless its status is 200."""
        from http.client import HTTPException  # noqa: PLC0415 - for who has a team server

        if time.monotonic() < self._away_until:
            raise TeamAway(self.trouble)
        wire = None
        try:
            wire, base = self._connect()
            wire.connect()
            wire.sock.settimeout(read_s)
            wire.request(verb, base + path, body, {**self._authorisation, **(headers or {})})
            answer = wire.getresponse()
            _check_status(answer)
            self.trouble = ""
            yield answer
        except (HTTPException, OSError, ValueError) as error:
            self.trouble = f"The team server cannot be asked: {type(error).__name__}"
            self._away_until = time.monotonic() + _PAUSE_S
            raise TeamAway(self.trouble) from error
        except (TeamAway, TeamRefused) as error:
            self.trouble = error.message
            raise
        finally:
            if wire is not None:
                wire.close()

    @property
    def _authorisation(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._access.token}"} if self._access.token else {}

    def _connect(self) -> tuple[HTTPConnection, str]:
        """A connection that is not open yet, and the path below which the server answers."""
        from http.client import HTTPConnection, HTTPSConnection  # noqa: PLC0415 - as above

        parts = urlsplit(self._access.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("not an address")
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        return kind(parts.hostname, parts.port, timeout=CONNECT_S), parts.path.rstrip("/")


def _check_status(answer: HTTPResponse) -> None:
    if answer.status == 200:
        return
    reason = ""
    with suppress(OSError):
        reason = answer.read(_LONGEST_REASON).decode("utf-8", "replace").strip()
    said = f"The team server answered {answer.status}{': ' if reason else ''}{reason.splitlines()[0] if reason else ''}"
    if answer.status >= 500 or answer.status in (408, 429):
        raise TeamAway(said)
    raise TeamRefused(said)
