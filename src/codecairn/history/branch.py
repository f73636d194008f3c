"""The commits and changes of a branch since it left another."""

from __future__ import annotations

from dataclasses import dataclass

from codecairn.cancel import Cancel
from codecairn.errors import CairnError, MergeBaseFailed, RefNotFound
from codecairn.history.diff import DiffQuery, diff
from codecairn.history.log import LogQuery, log
from codecairn.paths import Guard, printable
from codecairn.source.git import Git
from codecairn.source.merge_base import Parting, parting
from codecairn.source.refs import default_branch, resolve
from codecairn.types import CommitList, Diff

_MOST_COMMITS = 50
_MOST_REFS = 500


@dataclass(frozen=True)
class BranchChanges:
    base: str
    head: str
    parting: Parting
    commits: CommitList
    changes: Diff
    is_working_tree: bool
    """Whether the head is what lies in the folder, committed or not."""


def branch_changes(git: Git, guard: Guard, base: str | None, head: str | None, cancel: Cancel) -> BranchChanges:
    """From the commit where the head left the base, so that what the base did since is not shown. Without a head, the
    working tree; without a base, the default branch."""
    against = base or _default(git, cancel)
    tip = resolve(git, head or "HEAD", cancel, param="head", complaint="Unknown ref")
    parted = parting(git, resolve(git, against, cancel, param="base", complaint="Unknown ref"), tip, cancel)
    if parted is None:
        raise MergeBaseFailed(f"{printable(against)} and {printable(head or 'HEAD')} have no history in common")
    query = DiffQuery(parted.commit, tip if head else None)
    commits = log(git, guard, LogQuery(since=parted.commit, ref=tip, count=_MOST_COMMITS), cancel)
    name = head or git.branch(cancel) or "HEAD"
    return BranchChanges(against, name, parted, commits, diff(git, guard, query, cancel), is_working_tree=not head)


def _default(git: Git, cancel: Cancel) -> str:
    found = default_branch(git, cancel)
    if found is None:
        raise RefNotFound("Nothing was committed yet", param="base", remedy="Commit something first.")
    return found.name


def ref_names(git: Git, cancel: Cancel) -> list[str]:
    """Branches and tags, the latest first; none where there is no repository."""
    asked = ("for-each-ref", "--sort=-committerdate", f"--count={_MOST_REFS}", "--format=%(refname:short)")
    try:
        return git.ask(*asked, "refs/heads", "refs/remotes", "refs/tags", cancel=cancel).split()
    except CairnError:
        cancel.check()
        return []
