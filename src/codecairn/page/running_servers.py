"""Where the pages of this user's servers are: each server leaves a mark in the data directory while it runs.

A mark is a JSON file that only the user can read: the address, the roots, and the key that tickets are made with.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from codecairn.page.sessions import make_ticket

_PATIENCE_S = 2.0


class PageMark(NamedTuple):
    url: str
    roots: list[str]
    key: str

    @property
    def login(self) -> str:
        """An address that opens a session, once, for two minutes."""
        return f"{self.url}/login?ticket={make_ticket(bytes.fromhex(self.key))}"


def leave(home: Path, mark: PageMark) -> None:
    """A data directory that cannot be written stops no server: its page is then reached by its token alone."""
    with contextlib.suppress(OSError):
        folder = home / "pages"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{os.getpid()}.json"
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(mark._asdict(), file)


def withdraw(home: Path) -> None:
    with contextlib.suppress(OSError):
        (home / "pages" / f"{os.getpid()}.json").unlink()


def find(home: Path, root: Path) -> PageMark | None:
    """The mark of a server that runs and serves this root first; marks of servers that are gone are removed."""
    for path in sorted((home / "pages").glob("*.json")):
        mark = _read(path)
        if mark is not None and mark.roots[:1] == [str(root)] and _answers(mark.url):
            return mark
        if mark is None or not _answers(mark.url):
            with contextlib.suppress(OSError):
                path.unlink()
    return None


def _read(path: Path) -> PageMark | None:
    try:
        return PageMark(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _answers(url: str) -> bool:
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port or 80, timeout=_PATIENCE_S)
    try:
        connection.request("GET", "/health")
        return "status" in json.loads(connection.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException):
        return False
    finally:
        connection.close()
