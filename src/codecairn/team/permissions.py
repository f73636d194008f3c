"""Permissions: roles, and globs of repository names.

A glob is compared with a whole name; `*` stands for any characters within one part and `**` for any characters at all:
`org/*`, `org/web-*`, `**`.
"""

from __future__ import annotations

import re
from typing import Literal

Role = Literal["reader", "writer", "admin"]
ROLES: tuple[Role, ...] = ("reader", "writer", "admin")
"""From the least to the most."""
_GLOB = re.compile(r"[\w.*/-]+")


def is_repository_glob(glob: str) -> bool:
    return _GLOB.fullmatch(glob) is not None


def matches_glob(name: str, glob: str) -> bool:
    if glob == "**":
        return True
    pattern = re.escape(glob).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return re.fullmatch(pattern, name) is not None


def covers(wide: str, narrow: str) -> bool:
    """Whether each name that `narrow` matches is known, by the form of the two, to match `wide`."""
    if wide in (narrow, "**"):
        return True
    return wide.endswith("/**") and narrow.startswith(wide.removesuffix("**")) and "*" not in wide.removesuffix("**")
