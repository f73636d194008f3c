"""Folders as they lie on the disk: which can be read, are one, are a repository, or hold several."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

_MANY_REPOSITORIES = 2


def readable_folder(path: Path) -> Path | None:
    """The folder at a path, resolved, or None where there is none to be read."""
    try:
        root = path.expanduser().resolve()
        return root if root.is_dir() and os.access(root, os.R_OK | os.X_OK) else None
    except (OSError, RuntimeError, ValueError):
        return None


def lies_in(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder)
    except (OSError, RuntimeError, ValueError):
        return False


def are_one(root: Path, other: Path) -> bool:
    """Also under another name: by a link, a mount, or other letters where case does not count."""
    try:
        return root.samefile(other)
    except OSError:
        return root == other


def git_top_level(folder: Path) -> Path | None:
    root = readable_folder(folder)
    return next((each for each in (root, *root.parents) if is_repository(each)), None) if root else None


def is_repository(folder: Path) -> bool:
    try:
        return (folder / ".git").exists()
    except OSError:
        return False


def holds_repositories(folder: Path) -> bool:
    """A folder of checkouts, such as ~/src: not a repository itself, several inside."""
    if is_repository(folder):
        return False
    try:
        found = islice(filter(is_repository, folder.iterdir()), _MANY_REPOSITORIES)
        return len(list(found)) == _MANY_REPOSITORIES
    except OSError:
        return False
