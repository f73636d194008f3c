"""The commit where a branch left another, and the one that stands in where that cannot be told."""

from __future__ import annotations

from typing import NamedTuple

from codecairn.cancel import Cancel
from codecairn.source.git import Git
from codecairn.source.git_errors import REPAIR, lacks_objects, missing_object


class Parting(NamedTuple):
    commit: str
    warning: str = ""
    """Says why the base itself is compared with, where it is."""


def parting(git: Git, base: str, head: str, cancel: Cancel) -> Parting | None:
    """None where two commits have no history in common. Where a commit between them cannot be read, nobody knows where
    they parted: then the base stands in."""
    found = git.merge_base(base, head, cancel)
    if found is not None:
        return Parting(found)
    finished = git.run("merge-base", base, head, cancel=cancel)
    return Parting(base, _warning(base, missing_object(finished))) if lacks_objects(finished) else None


def _warning(base: str, lost: str) -> str:
    return (
        f"Where the two parted cannot be told: commit {lost} cannot be read. Compared with {base[:12]} itself: what it "
        f"gained since they parted looks removed. {REPAIR}"
    )
