"""Where a client says that it works."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import unquote, urlparse
from urllib.request import url2pathname

import anyio

from codecairn.connection import Connection
from codecairn.project import Projects

log = logging.getLogger("codecairn.mcp")

_TIMEOUT_S = 3.0
"""A client that does not answer costs one wait."""

AskClient = Callable[[], Awaitable[list[str]]]
"""The addresses that a client names; none where it cannot be asked, or refuses."""


class ClientRoots:
    """Asks each client once, before its first call, where it works, if nothing that outranks its word has said so.

    Only a client at this machine's keyboard is asked: over HTTP the roots the server was given are all there is.
    """

    def __init__(self, projects: Projects) -> None:
        self._projects = projects
        self._asked: dict[str, anyio.Event] = {}

    async def ask(self, connection: Connection, ask_client: AskClient) -> None:
        if not self._projects.settings.local or not self._projects.wants_client_roots:
            return
        while under_way := self._asked.get(connection.id):
            if under_way.is_set():
                return
            await under_way.wait()
        self._asked[connection.id] = answered = anyio.Event()
        try:
            with anyio.move_on_after(_TIMEOUT_S) as wait:
                connection.client_roots = [path for uri in await ask_client() if (path := _file_path(uri)) is not None]
            if wait.cancelled_caught:
                log.warning("the client did not name its roots in %g s", _TIMEOUT_S)
        except anyio.get_cancelled_exc_class():
            self.forget(connection)
            raise
        finally:
            answered.set()

    def forget(self, connection: Connection) -> None:
        self._asked.pop(connection.id, None)


def _file_path(uri: str) -> Path | None:
    parsed = urlparse(uri)
    if parsed.scheme != "file" or parsed.netloc not in ("", "localhost"):
        return None
    return Path(url2pathname(unquote(parsed.path)))
