"""What a team server has indexed of a repository, taken before anything is parsed here.

A project that was never indexed here asks the team server for the state of its remote: one archive, as `cairn state
export` writes it, checked and put in use as `cairn state import` does. The run that follows reads what differs in the
working tree, and nothing else. A server that is away, or knows no such repository, costs at most the wait for a
connection: the project is then indexed as ever.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from urllib.parse import urlencode

from codecairn.cancel import Cancel
from codecairn.config import TeamAccess
from codecairn.errors import CairnError
from codecairn.index.project_index import ProjectIndex
from codecairn.index.state import import_state
from codecairn.source.refs import remote_of
from codecairn.store import folders

log = logging.getLogger("codecairn.index")

_CONNECT_S, _READ_S, _LONGEST_S = 2.0, 20.0, 120.0
_LARGEST = 8 << 30


def take_team_state(index: ProjectIndex, team: TeamAccess, cancel: Cancel) -> bool:
    """Take the state of this repository, if it was never indexed here and the team server has it."""
    try:
        if index.checkout() is not None:
            return False
        remote = folders.normal_remote(remote_of(index.git, cancel))
        if not remote:
            return False
        began = time.monotonic()
        with folders.workplace(index.home) as folder:
            _download(team, remote, folder / "state.tar.zst", cancel)
            done = import_state(index, folder / "state.tar.zst", cancel)
    except CairnError as error:
        log.warning("nothing was taken from the team server: %s", error.message)
        return False
    log.info("taken from the team server in %.2f s, %d files read", time.monotonic() - began, done.files_read)
    return True


def _download(team: TeamAccess, remote: str, path: Path, cancel: Cancel) -> None:
    import httpx2  # noqa: PLC0415 - for who has a team server

    url, until = f"{team.url}/state?{urlencode({'remote': remote})}", time.monotonic() + _LONGEST_S
    headers = {"authorization": f"Bearer {team.token}"} if team.token else {}
    try:
        with (
            httpx2.stream("GET", url, headers=headers, timeout=httpx2.Timeout(_READ_S, connect=_CONNECT_S)) as answer,
            path.open("wb") as file,
        ):
            if answer.status_code != 200:
                raise CairnError(f"it answered {answer.status_code}")
            for part in answer.iter_bytes():
                cancel.check()
                if file.tell() > _LARGEST or time.monotonic() > until:
                    raise CairnError("its archive is too large, or comes too slowly")
                file.write(part)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise CairnError(f"it cannot be reached: {type(error).__name__}") from error
