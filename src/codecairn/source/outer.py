"""Ignore rules that lie outside a project's folder and yet decide about its files.

A project in a subfolder obeys the `.gitignore` of the folders above it, and every repository the user's own file
(`core.excludesFile`). No watch of the project's folder tells of them, so their stamps are compared.
"""

from __future__ import annotations

import os
from pathlib import Path

from codecairn import config
from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.source.git import Git
from codecairn.source.stamps import Stamps


def outer_rules(git: Git) -> Stamps:
    try:
        depth = git.layout(Cancel()).prefix.count("/")
        named = git.run("config", "--type=path", "--get", "core.excludesFile", cancel=Cancel()).output.strip()
    except CairnError:
        return Stamps()
    own = Path(os.fsdecode(named)) if named else _default()
    return Stamps(*(each / ".gitignore" for each in git.root.parents[:depth]), *((own,) if own else ()))


def _default() -> Path | None:
    """Where git looks for the user's own rules if nothing else is configured."""
    folder = config.child_environment().get("XDG_CONFIG_HOME")
    try:
        return Path(folder or Path.home() / ".config") / "git/ignore"
    except RuntimeError:
        return None
