"""Who may look at the pages, and who may change something through them.

A session begins with a ticket or with the server's token. A ticket is made by whoever can read the server's mark in the
user's data directory (`marks`): `EXPIRY-NONCE-MAC`, the MAC over the first two under the server's key. It holds for two
minutes and opens one session; so it may stand in an address, which browsers keep. The session itself is a random cookie
that scripts cannot read and that no other site can make a browser send. Every form carries the session's second secret,
which no other page can read: a request that changes something without it is refused.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from codecairn.connection import Connection

TICKET_S = 120
_LASTS_S = 12 * 3600.0
_MOST_SESSIONS = 1_000
_MOST_FORGOTTEN = 20
_MOST_TRIES = 30
"""Tokens a minute, from everywhere together."""


@dataclass
class PageSession:
    """One browser that was let in."""

    connection: Connection
    form_key: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    notice: str = ""
    """A sentence for the next page."""
    undo: str = ""
    """The discovery that the next page offers to bring back."""
    forgotten: OrderedDict[str, str] = field(default_factory=OrderedDict)
    """Discoveries that were deleted here, by id, as lines that can be imported again."""
    used: float = 0.0

    def keep_forgotten(self, identity: str, line: str) -> None:
        self.forgotten[identity] = line
        while len(self.forgotten) > _MOST_FORGOTTEN:
            self.forgotten.popitem(last=False)


def make_ticket(key: bytes, now: float | None = None) -> str:
    expiry = int((time.time() if now is None else now) + TICKET_S)
    told = f"{expiry}-{secrets.token_hex(12)}"
    return f"{told}-{_mac(key, told)}"


def _mac(key: bytes, told: str) -> str:
    return hmac.new(key, told.encode(), hashlib.sha256).hexdigest()


class PageSessions:
    def __init__(
        self, token: str | None = None, clock: Callable[[], float] = time.time, key: bytes | None = None
    ) -> None:
        self.key = key or secrets.token_bytes(32)
        self.has_token = token is not None
        self._token = (token or "").encode()
        self._clock = clock
        self._lock = threading.Lock()
        self._tries = Connection("login")
        self._sessions: OrderedDict[str, PageSession] = OrderedDict()
        self._spent: dict[str, int] = {}
        # Cookies are shared by all ports of a host: each server has a name of its own.
        self.cookie = f"cairn-{hashlib.sha256(self.key).hexdigest()[:10]}"

    def find(self, cookie: str | None) -> PageSession | None:
        """The session of a cookie; None where there is none, or it has ended."""
        with self._lock:
            session = self._sessions.get(_hash(cookie)) if cookie else None
            if session is None or self._clock() - session.used > _LASTS_S:
                return None
            session.used = self._clock()
            return session

    def begin(self) -> tuple[str, PageSession]:
        """A new session with its cookie. Only a hash of the cookie is kept."""
        cookie = secrets.token_urlsafe(32)
        name = _hash(cookie)
        session = PageSession(Connection(f"page:{name[:12]}", client="page"), used=self._clock())
        with self._lock:
            self._sessions[name] = session
            while len(self._sessions) > _MOST_SESSIONS:
                self._sessions.popitem(last=False)
        return cookie, session

    def end(self, cookie: str | None) -> None:
        with self._lock:
            self._sessions.pop(_hash(cookie or ""), None)

    def spend(self, ticket: str) -> bool:
        """Whether a ticket is good; it is not any more afterwards."""
        told, _, mac = ticket.rpartition("-")
        expiry = told.partition("-")[0]
        if not hmac.compare_digest(_mac(self.key, told).encode(), mac.encode("utf-8", "replace")):
            return False
        now = self._clock()
        with self._lock:
            self._spent = {each: until for each, until in self._spent.items() if until >= now}
            if int(expiry) < now or told in self._spent:
                return False
            self._spent[told] = int(expiry)
        return True

    def has_right_token(self, given: str) -> bool:
        """Raises where too many were tried."""
        self._tries.count("login", _MOST_TRIES)
        return self.has_token and hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token)


def _hash(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).hexdigest()
