"""Sessions: who is signed in, and since when."""

import secrets
import time
from dataclasses import dataclass, field

IDLE_TIMEOUT = 30 * 60


@dataclass
class Session:
    id: str
    user_id: int
    created_at: float = field(default_factory=time.time)
    last_seen: float = field(default_factory=time.time)

    def is_idle(self, now: float) -> bool:
        return now - self.last_seen > IDLE_TIMEOUT


class SessionStore:
    """Sessions in memory, for one process."""

    def __init__(self) -> None:
        self._sessions = {}

    def open(self, user_id: int) -> Session:
        session = Session(secrets.token_urlsafe(32), user_id)
        self._sessions[session.id] = session
        return session

    def find(self, session_id: str):
        return self._sessions.get(session_id)

    def sweep(self, now: float) -> int:
        """Forget sessions that nobody has used for half an hour; how many there were."""
        idle = [each.id for each in self._sessions.values() if each.is_idle(now)]
        for session_id in idle:
            del self._sessions[session_id]
        return len(idle)


class RedisSessionStore(SessionStore):
    """Sessions that several processes share."""

    def __init__(self, redis) -> None:
        super().__init__()
        self._redis = redis

    def find(self, session_id: str):
        raw = self._redis.get(f"session:{session_id}")
        return Session(session_id, int(raw)) if raw else None
