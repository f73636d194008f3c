"""Cursors as a client never looks at them: the place that one names, and one that is bent to name another."""

from __future__ import annotations

import base64

_BOUND = 10
"""Bytes before the place: what binds a cursor to its query and its list."""


def place_of(cursor: str) -> str:
    return _raw(cursor)[_BOUND:].decode()


def bent_to(cursor: str, place: str) -> str:
    return base64.urlsafe_b64encode(_raw(cursor)[:_BOUND] + place.encode()).decode().rstrip("=")


def _raw(cursor: str) -> bytes:
    return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
