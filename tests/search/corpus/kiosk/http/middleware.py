"""What every request goes through."""

import time
import uuid
from collections import defaultdict, deque
from collections.abc import Callable

from kiosk.auth.tokens import TokenError, verify_token
from kiosk.http.errors import HttpError


def with_request_id(handler: Callable) -> Callable:
    def wrapped(request):
        request.id = request.headers.get("X-Request-Id") or uuid.uuid4().hex
        response = handler(request)
        response.headers["X-Request-Id"] = request.id
        return response

    return wrapped


def require_login(handler: Callable, key: bytes) -> Callable:
    """Answers 401 unless the request carries a valid bearer token."""

    def wrapped(request):
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise HttpError(401, "authentication required")
        try:
            request.user = verify_token(token, key)
        except TokenError as error:
            raise HttpError(401, str(error)) from error
        return handler(request)

    return wrapped


class RateLimiter:
    """At most so many requests a minute from one address: a sliding window."""

    def __init__(self, per_minute: int = 60) -> None:
        self._per_minute = per_minute
        self._requests = defaultdict(deque)

    def allow(self, address: str, now: float | None = None) -> bool:
        now = time.monotonic() if now is None else now
        window = self._requests[address]
        while window and now - window[0] >= 60:
            window.popleft()
        if len(window) >= self._per_minute:
            return False
        window.append(now)
        return True


def allow_cross_origin(handler: Callable, origins: set[str]) -> Callable:
    """CORS headers for the origins that are listed."""

    def wrapped(request):
        response = handler(request)
        origin = request.headers.get("Origin")
        if origin in origins:
            response.headers["Access-Control-Allow-Origin"] = origin
        return response

    return wrapped
