"""The commit where a branch left another, and the one that stands in where that cannot be told."""

from __future__ import annotations

import re
from typing import NamedTuple

from codecairn.cancel import Cancel
from codecairn.errors import OverlayNotReady
from codecairn.source.git import Git
from codecairn.source.git_errors import REPAIR, lacks_objects, missing_object

_GONE = re.compile(r"Not a valid commit name ([0-9a-f]{40,64})")


class Parting(NamedTuple):
    commit: str
    warning: str = ""
    """Says why the base itself is compared with, where it is."""


def parting(git: Git, base: str, head: str, cancel: Cancel) -> Parting | None:
    """None where two commits have no history in common. Where a commit between them cannot be read, nobody knows where
    they parted: then the base stands in. Raises where one of the two is gone."""
    found = git.merge_base(base, head, cancel)
    if found is not None:
        return Parting(found)
    finished = git.run("merge-base", base, head, cancel=cancel)
    if lacks_objects(finished):
        return Parting(base, _warning(base, missing_object(finished)))
    if gone := _GONE.search(finished.complaint):  # the branch was forced and git has cleaned up since it was looked up
        raise OverlayNotReady(f"Commit {gone[1][:12]} is no longer in the repository", remedy="Call again in a moment.")
    return None


def _warning(base: str, lost: str) -> str:
    return (
        f"Where the two parted cannot be told: commit {lost} cannot be read. Compared with {base[:12]} itself: what it "
        f"gained since they parted looks removed. {REPAIR}"
    )
