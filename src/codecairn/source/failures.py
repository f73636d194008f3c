"""What git's complaints mean to a caller."""

from __future__ import annotations

import re

from codecairn.errors import CairnError, NotARepository, RepositoryDenied
from codecairn.paths import printable
from codecairn.source.process import Finished

_FETCH_REFUSED = re.compile(r"promisor|lazy fetching disabled|transport '.*' not allowed")
_UNREADABLE = re.compile(
    r"unable to (?:read|unpack)|[Cc]annot read blob|Could not read [0-9a-f]{40}|is corrupt|Failed to traverse parents"
    r"|missing (?:blob|tree|commit) object|bad object|not a valid object"
)
REPAIR = "Run `git fsck` and repair it."


def lacks_objects(finished: Finished) -> bool:
    """Whether git wanted an object that is not here or cannot be read: of a partial clone, or a damaged one."""
    return _is_refused_fetch(finished) or _UNREADABLE.search(finished.complaint) is not None


def _is_refused_fetch(finished: Finished) -> bool:
    """Whether git wanted to fetch what a partial clone left out, and was not let."""
    return _FETCH_REFUSED.search(finished.complaint) is not None


def damage(finished: Finished, what: str) -> CairnError:
    if _is_refused_fetch(finished):
        return CairnError(
            "The repository is a partial clone and lacks the objects this needs",
            remedy="Fetch them yourself (git fetch --refetch --no-filter); this server opens no network connection.",
        )
    return CairnError(f"The repository is damaged: {printable(what)}", remedy=REPAIR)


def failure(finished: Finished) -> CairnError:
    """What git's complaint means to a caller."""
    said = finished.complaint
    line = next(
        (text for text in said.splitlines() if text.startswith(("fatal:", "error:"))),
        said.splitlines()[0] if said else "",
    )
    if "dubious ownership" in said or "Permission denied" in said or "Operation not permitted" in said:
        return RepositoryDenied("Cannot access git repository", details=printable(line))
    if "not a git repository" in said:
        return NotARepository("This project is not a git repository")
    if "must be run in a work tree" in said:
        return NotARepository(
            "This repository is bare: it has no working directory", remedy="Give two refs to compare."
        )
    if lacks_objects(finished) or "corrupt" in said:
        return damage(finished, line)
    return CairnError(f"git failed with status {finished.status}: {printable(line)}")
