"""Worktrees of our own: the one thing that is written into a user's repository, and only where that was asked for.

A checkout here runs nothing that the repository's configuration names (git.py): no hook, no filter. So files
that a filter would fill in, such as those of LFS, are what is committed of them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.source.git import Git, common_dir, names_of

_SUBMODULE = "160000"


def add_worktree(git: Git, folder: Path, commit: str, cancel: Cancel) -> None:
    """A commit, checked out in a folder that is not there yet; forced where git believes that it still is."""
    _check_out(git, ("worktree", "add", "--force", "--force", "--detach", "--quiet", str(folder), commit), cancel)


def move_worktree(git: Git, folder: Path, commit: str, cancel: Cancel) -> None:
    """Another commit into a worktree that has no changes of its own."""
    _check_out(Git(folder, timeout=git.timeout), ("checkout", "--quiet", "--detach", commit, "--"), cancel)


def _check_out(git: Git, arguments: tuple[str, ...], cancel: Cancel) -> None:
    git.read(*arguments, cancel=cancel, tree=git.writable_tree(cancel))


def remove_worktree(git: Git, folder: Path, cancel: Cancel) -> None:
    """The folder and what git knows of it. Whether anything in it is worth keeping is for the caller to look at first
    (`changes_in`): git itself would look into submodules, whose configuration is not ours to neutralise."""
    git.run("worktree", "remove", "--force", "--force", str(folder), cancel=cancel)
    shutil.rmtree(folder, ignore_errors=True)


def is_worktree(git: Git, folder: Path, cancel: Cancel) -> bool:
    """Whether a folder is a worktree of this very repository."""
    try:
        theirs = Git(folder, timeout=git.timeout).layout(cancel)
    except CairnError:
        return False
    return theirs.whole and common_dir(theirs.git_dir).resolve() == git.common(cancel).resolve()


def changes_in(git: Git, folder: Path, commit: str, cancel: Cancel) -> str:
    """The changes that would be lost with a worktree made of a commit, in words; empty where there are none."""
    own = Git(folder, timeout=git.timeout)
    try:
        if own.head(cancel) != commit:
            return "something was committed or checked out in it"
        with own.working_tree(own.layout(cancel), cancel) as tree:
            asked = ("status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=dirty")
            status = own.read(*asked, cancel=cancel, tree=tree)
        if status or _has_submodules(own, cancel):
            return "it has local changes"
    except CairnError as error:
        return f"it cannot be looked at: {error.message}"
    return ""


def _has_submodules(git: Git, cancel: Cancel) -> bool:
    """Whether anything lies where a submodule goes: what of it is worth keeping, its own git would have to say."""
    listed = names_of(git.read("ls-files", "--stage", "-z", cancel=cancel))
    folders = (git.root / entry.partition("\t")[2] for entry in listed if entry.startswith(_SUBMODULE))
    return any(folder.is_dir() and any(folder.iterdir()) for folder in folders)
