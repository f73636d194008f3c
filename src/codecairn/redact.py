"""Secrets by their shape, so that none reaches a log line or is remembered."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any


@cache
def _shapes() -> re.Pattern[str]:
    """Compiled when a text is first looked at: that takes as long as ten imports, and a command logs nothing."""
    return re.compile(
        r"""
      (?P<aws>A(?:KIA|SIA)[0-9A-Z]{16})
    | (?P<github>gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})
    | (?P<slack>xox[abeoprs]-[A-Za-z0-9-]{10,})
    | (?P<google>AIza[0-9A-Za-z_-]{30,})
    | (?P<provider>sk-[A-Za-z0-9_-]{20,}|glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,})
    | (?P<jwt>eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)
    | (?P<pem>-----BEGIN[ A-Z]*PRIVATE\ KEY-----.*?(?:-----END[ A-Z]*PRIVATE\ KEY-----|\Z))
    | (?P<url>(?<=://)[^/\s:@]+:[^/\s@]+(?=@))
    | (?P<named>(?i:password|passwd|secret|token|api[_-]?key|authorization)["']?\s*[:=]\s*["']?
        (?:(?i:bearer|basic)\s+)?[^\s"',;]{4,})
    | (?P<scheme>(?i:bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,})
        """,
        re.VERBOSE | re.DOTALL,
    )


_SECRET_KEYS = re.compile(r"(?i)(password|passwd|secret|token(?!s)|api_?key|authorization|credential)")
_LONGEST_LOGGED = 200
_LONGEST_SECRET = 4096
"""Only so much beyond what is shown is searched: enough to know a secret by its shape, and never slow."""


def mask(text: str) -> str:
    return _shapes().sub(lambda found: "…" if found["url"] else found.group()[:4] + "…", text)


_NAMES = {
    "aws": "an AWS key", "github": "a GitHub token", "slack": "a Slack token", "google": "a Google key",
    "provider": "an API key", "jwt": "a signed token", "pem": "a private key", "url": "a password in a URL",
    "named": "a password or token", "scheme": "credentials",
}  # fmt: skip
_PROSE_VALUE = re.compile(r"[A-Za-z]+(?:[-_/.()]+[A-Za-z]*)*|<[^>]*>?|\$?\{.*|\$[A-Za-z_]+|\*+|…+|\.{3,}")
"""A word, a name of a variable, a placeholder: what stands after `token:` where a sentence speaks of tokens."""
_ASSIGNED = re.compile(r"(?i)(?:password|passwd|secret|api[_-]?key)[\"']?\s*=")
_SHORTEST_OPAQUE = 20


def secret_in(text: str) -> str | None:
    """The kind of secret a text holds, in words; None where it holds none. A sentence may speak of passwords."""
    for found in _shapes().finditer(text):
        kind = found.lastgroup or ""
        if kind not in ("named", "scheme") or _is_opaque(found.group()):
            return _NAMES[kind]
    return None


def _is_opaque(shape: str) -> bool:
    value = re.split(r"[:=\s]+", shape.strip("\"' "))[-1].strip("\"'`.,;)")
    if len(value) >= _SHORTEST_OPAQUE or not _PROSE_VALUE.fullmatch(value):
        return True
    # `password=admin` gives one away; `token: refreshed` and `password = hash_of(it)` do not.
    return value.isalpha() and _ASSIGNED.match(shape) is not None


def mask_arguments(value: Any, key: str = "") -> Any:
    """A caller's arguments as the log may show them: secrets masked, long texts cut, shape kept."""
    if _SECRET_KEYS.search(key) and value is not None:
        return "…"
    if isinstance(value, str):
        shown = mask(value[: _LONGEST_LOGGED + _LONGEST_SECRET])
        return shown if len(shown) <= _LONGEST_LOGGED else f"{shown[:_LONGEST_LOGGED]}… ({len(value)} characters)"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {mask_arguments(str(name)): mask_arguments(item, str(name)) for name, item in list(value.items())[:50]}
    if isinstance(value, list):
        return [mask_arguments(item, key) for item in value[:20]]
    return value
