"""Keeps guessers out: an account is locked after too many wrong passwords."""

from collections import defaultdict, deque

MOST_ATTEMPTS = 5
WINDOW = 10 * 60
LOCKED_FOR = 60 * 60


class AccountLocked(Exception):
    """Too many wrong passwords; the remaining seconds are in `wait`."""

    def __init__(self, wait: float) -> None:
        super().__init__(f"account is locked for another {wait:.0f} seconds")
        self.wait = wait


class LoginThrottle:
    def __init__(self) -> None:
        self._failures = defaultdict(deque)
        self._locked_until = {}

    def ensure_unlocked(self, account: str, now: float) -> None:
        until = self._locked_until.get(account, 0)
        if until > now:
            raise AccountLocked(until - now)

    def failed(self, account: str, now: float) -> None:
        attempts = self._failures[account]
        attempts.append(now)
        while attempts and attempts[0] < now - WINDOW:
            attempts.popleft()
        if len(attempts) >= MOST_ATTEMPTS:
            self._locked_until[account] = now + LOCKED_FOR
