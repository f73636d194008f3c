"""Addresses of pages: every state of a page has one, and the same state has the same one."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def address(page: str, /, **params: Any) -> str:
    """A page with its parameters; those that are empty or not set are left out."""
    given = "&".join(
        f"{name}={quote(str(value), safe='/:', errors='replace')}"
        for name, value in params.items()
        if value not in (None, "", False)
    )
    return f"{page}?{given}" if given else page


def is_own(path: str) -> bool:
    """Whether an address to go on to is one of this server: no scheme, no other host."""
    return path.startswith("/") and not path.startswith(("//", "/\\")) and all(" " < letter < "\x7f" for letter in path)
