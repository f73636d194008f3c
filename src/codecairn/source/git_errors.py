"""The errors that git's complaints mean to a caller, and reading around the objects that a repository lacks.

A partial clone lacks objects, and a damaged one has some that cannot be unpacked. git ends at the first; so it is asked
again about halves of what it was asked about, until what is missing stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from codecairn.errors import CairnError, NotARepository, RepositoryDenied
from codecairn.paths import printable
from codecairn.source.process import Finished

_FETCH_REFUSED = re.compile(r"promisor|lazy fetching disabled|transport '.*' not allowed")
_UNREADABLE = re.compile(
    r"unable to (?:read|unpack)|[Cc]annot read blob|Could not read [0-9a-f]{40}|is corrupt|Failed to traverse parents"
    r"|missing (?:blob|tree|commit) object|bad object|not a valid object|cat-file [0-9a-f]{40,64}: bad file"
)
_AT_ONCE = 400
"""Paths; of 250 bytes each they fit on any system's command line."""
_MOST_RUNS = 200
"""Paths that are not told apart by then count as lacking."""
_OBJECT = re.compile(r"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")
REPAIR = "Run `git fsck` and repair it."


def lacks_objects(finished: Finished) -> bool:
    """Whether git wanted an object that is not here or cannot be read: of a partial clone, or a damaged one."""
    return bool(_FETCH_REFUSED.search(finished.complaint) or _UNREADABLE.search(finished.complaint))


def damage(finished: Finished, what: str) -> CairnError:
    if _FETCH_REFUSED.search(finished.complaint):  # git wanted to fetch what a partial clone left out, and was not let
        return CairnError(
            "The repository is a partial clone and lacks the objects this needs",
            remedy="Fetch them yourself (git fetch --refetch --no-filter); this server opens no network connection.",
        )
    return CairnError(f"The repository is damaged: {printable(what)}", remedy=REPAIR)


def output_of(finished: Finished) -> bytes:
    """The output of a git that ended well, or was stopped when it had said enough; else the error of its complaint."""
    if finished.status != 0 and not finished.stopped_early:
        raise failure(finished)
    return finished.output


def failure(finished: Finished) -> CairnError:
    """The error that git's complaint means to a caller."""
    said = finished.complaint
    lines = said.splitlines() or [""]
    line = next((text for text in lines if text.startswith(("fatal:", "error:"))), lines[0])
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


class PartialResults(NamedTuple):
    finished: list[Finished]
    lacking: list[str]


def run_in_pieces(
    paths: Sequence[str], attempt: Callable[[Sequence[str]], Finished], fine: frozenset[int]
) -> PartialResults:
    """The results of an attempt at all paths; a status that is not `fine` is a fault of the attempt."""
    found = PartialResults([], [])
    waiting = [paths[at : at + _AT_ONCE] for at in range(0, len(paths), _AT_ONCE)][::-1]
    for run in range(_MOST_RUNS + len(waiting)):
        if not waiting:
            break
        part = waiting.pop()
        finished = attempt(part)
        if finished.status in fine or finished.stopped_early:
            found.finished.append(finished)
        elif not lacks_objects(finished):
            raise failure(finished)
        elif len(part) == 1 or run >= _MOST_RUNS:
            found.lacking.extend(part)
        else:
            waiting += [part[len(part) // 2 :], part[: len(part) // 2]]
    found.lacking.extend(path for part in waiting for path in part)
    return found


def missing_object(finished: Finished) -> str:
    """The object that git complains of; nothing where it names none."""
    named = _OBJECT.search(finished.complaint)
    return named[0] if named else ""


def name_first_few(paths: Sequence[str], most: int = 5) -> str:
    """Names for a sentence."""
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more
