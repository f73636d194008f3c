"""What a team server has indexed of a repository, taken before anything is parsed here.

A project that was never indexed here asks the team server for the state of its remote: one archive, as `cairn state
export` writes it, checked and put in use as `cairn state import` does. The run that follows reads what differs in the
working tree, and nothing else. A server that is away, or knows no such repository, costs at most the wait for a
connection: the project is then indexed as ever.
"""

from __future__ import annotations

import logging
import time
from http.client import HTTPResponse
from pathlib import Path
from urllib.parse import urlencode

from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.index.project_index import ProjectIndex
from codecairn.index.state import adopt_state
from codecairn.store import folders
from codecairn.team_client import TeamClient

log = logging.getLogger("codecairn.index")

_LONGEST_S = 120.0
_LARGEST = 8 << 30
_PART = 1 << 20


def take_team_state(index: ProjectIndex, team: TeamClient, cancel: Cancel) -> bool:
    """Take the state of this repository, if it was never indexed here and the team server has it."""
    try:
        if index.checkout() is not None:
            return False
        if not team.remote:
            return False
        began = time.monotonic()
        with folders.workplace(index.home) as folder:
            path = folder / "state.tar.zst"
            with team.asking("GET", f"/state?{urlencode({'remote': team.remote})}") as answer:
                _write(answer, path, cancel)
            fetched = time.monotonic()
            adopt_state(index, path, cancel)
    except CairnError as error:
        log.warning("nothing was taken from the team server: %s", error.message)
        return False
    log.info(
        "taken from the team server: fetched in %.2f s, in use after %.2f s", fetched - began, time.monotonic() - began
    )
    return True


def _write(answer: HTTPResponse, path: Path, cancel: Cancel) -> None:
    until = time.monotonic() + _LONGEST_S
    with path.open("wb") as file:
        while part := answer.read(_PART):
            cancel.check()
            if file.tell() > _LARGEST or time.monotonic() > until:
                raise CairnError("its archive is too large, or comes too slowly")
            try:
                file.write(part)
            except OSError as error:
                raise CairnError(f"its archive cannot be kept: {error.strerror}") from error
