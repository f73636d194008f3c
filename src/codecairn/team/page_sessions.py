"""Sessions of people at the pages of a team server: any node knows every one, and none outlives its token.

    page_session   the SHA-256 of the cookie; the token that logged in, sealed with a key that only the cookie gives;
                   when it began and was last used

The sealed token is opened with each request and judged as at every other door, so that a session may do what its token
may do now, and ends with it. The table opens nothing by itself: neither a dump of it nor a look at it shows a token. A
cookie that held the token instead would know no log-out, and tokens of OpenID providers are larger than a cookie may
be. The form key is made of the cookie too: every node makes the same.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections import OrderedDict

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from codecairn.team.database import Database, RecordUnavailable

TABLES = """
CREATE TABLE page_session (
    hash bytea PRIMARY KEY, sealed bytea NOT NULL, begun timestamptz NOT NULL DEFAULT now(),
    used timestamptz NOT NULL DEFAULT now()
);
"""
LASTS_S = 12 * 3600
_BELIEVED_S, _WITHOUT_RECORD_S = 5.0, 600.0
"""How long a session is believed without asking, as a token is (directory.py)."""
_NOTED_S = 300
"""Seconds between two notes that a session is used."""
_MOST_KNOWN = 10_000
_NONCE = 12


class TeamSessions:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, tuple[float, str | None]] = OrderedDict()

    def begin(self, token: str) -> str:
        """Begin a session for the holder of a token; returns its cookie, which is nowhere else."""
        cookie = secrets.token_urlsafe(32)
        self._database.execute("DELETE FROM page_session WHERE used < now() - make_interval(secs => %s)", LASTS_S)
        ask = "INSERT INTO page_session (hash, sealed) VALUES (%s, %s)"
        self._database.execute(ask, _digest(cookie), _seal(cookie, token))
        return cookie

    def token_of(self, cookie: str) -> str | None:
        """The token that began a session; None where there is none, or it has ended."""
        digest, now = _digest(cookie), time.monotonic()
        with self._lock:
            asked_at, known = self._known.get(digest, (-1e9, None))
        if now - asked_at < _BELIEVED_S:
            return known
        try:
            found = self._look_up(digest, cookie)
        except RecordUnavailable:
            if known is not None and now - asked_at < _WITHOUT_RECORD_S:
                return known
            raise
        self._remember(digest, now, found)
        return found

    def end(self, cookie: str) -> None:
        digest = _digest(cookie)
        self._database.execute("DELETE FROM page_session WHERE hash = %s", digest)
        self._remember(digest, time.monotonic(), None)

    def _look_up(self, digest: bytes, cookie: str) -> str | None:
        rows = self._database.rows(
            "SELECT sealed, used < now() - make_interval(secs => %s) FROM page_session "
            "WHERE hash = %s AND used > now() - make_interval(secs => %s)", _NOTED_S, digest, LASTS_S,
        )  # fmt: skip
        if not rows:
            return None
        ((sealed, is_due),) = rows
        if is_due:
            self._database.execute("UPDATE page_session SET used = now() WHERE hash = %s", digest)
        return _open(cookie, bytes(sealed))

    def _remember(self, digest: bytes, now: float, token: str | None) -> None:
        with self._lock:
            self._known[digest] = (now, token)
            self._known.move_to_end(digest)
            if len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)


def form_key(cookie: str) -> str:
    """The key that every form of a session carries."""
    return _mac(cookie, "form", "")


def write_notice(cookie: str, notice: str, undo: str) -> str:
    """A sentence for the next page, which any node may make, as a cookie that only this session can have written."""
    said = base64.urlsafe_b64encode(json.dumps([notice, undo]).encode()).decode()
    return f"{said}.{_mac(cookie, 'notice', said)}"


def read_notice(cookie: str, given: str) -> tuple[str, str]:
    """The sentence, and the discovery that can be brought back; nothing where another wrote it."""
    said, _, mac = given.partition(".")
    if not hmac.compare_digest(_mac(cookie, "notice", said).encode(), mac.encode("utf-8", "replace")):
        return "", ""
    notice, undo = json.loads(base64.urlsafe_b64decode(said))
    return str(notice), str(undo)


def _digest(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).digest()


def _key(cookie: str, purpose: str) -> bytes:
    return hmac.new(cookie.encode("utf-8", "replace"), f"cairn page {purpose}".encode(), hashlib.sha256).digest()


def _mac(cookie: str, purpose: str, said: str) -> str:
    return hmac.new(_key(cookie, purpose), said.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def _seal(cookie: str, token: str) -> bytes:
    nonce = secrets.token_bytes(_NONCE)
    return nonce + AESGCM(_key(cookie, "token")).encrypt(nonce, token.encode(), None)


def _open(cookie: str, sealed: bytes) -> str | None:
    try:
        return AESGCM(_key(cookie, "token")).decrypt(sealed[:_NONCE], sealed[_NONCE:], None).decode()
    except InvalidTag:
        return None
