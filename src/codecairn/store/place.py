"""Where a project's data lies: in the user's data directory, never inside the repository.

A project is known by its first commit and its remote, so that worktrees and fresh clones find what people recorded;
without a commit, by its path. Finding the first commit walks all of history once, so a repository's answer is kept
under its path, with a commit as witness: where another repository stands there later, it is asked anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path

from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.source.git import Git

_SCP = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)")
_URL = re.compile(r"[a-z+]+://(?:[^@/]+@)?([^:/]+)(?::\d+)?/(.+)", re.I)


@dataclass(frozen=True)
class Identity:
    """Who a project is, and a commit that tells its repository from another; None where there is no repository."""

    who: str
    witness: str | None = None

    @property
    def key(self) -> str:
        return hashlib.sha256(self.who.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def project_folder(home: Path, root: Path, git: Git) -> Path:
    """The folder for what people wrote about the project at `root`; made if it is not there."""
    projects = private(home / "projects")
    key = _remembered(home, root, git) or _noted(home, root, identity(root, git))
    return private(projects / key)


def identity(root: Path, git: Git) -> Identity:
    cancel = Cancel()
    by_path = Identity(f"path:{root}")
    try:
        layout = git.layout(cancel)
    except CairnError:
        return by_path
    first = git.run("rev-list", "--max-parents=0", "HEAD", cancel=cancel).output.decode("ascii", "replace").split()
    remote = git.run("config", "--get", "remote.origin.url", cancel=cancel).output.decode("utf-8", "replace").strip()
    if first and not layout.shallow:
        return Identity(f"commit:{min(first)}:{normal_remote(remote)}:{layout.prefix}", min(first))
    if first and remote:
        return Identity(f"remote:{normal_remote(remote)}:{layout.prefix}", min(first))
    return by_path


def normal_remote(url: str) -> str:
    """github.com/org/name, however the address was written."""
    found = _URL.fullmatch(url) or _SCP.fullmatch(url)
    host, path = (found[1].lower(), found[2]) if found else ("", url)
    return f"{host}/{path.strip('/').removesuffix('.git')}".lstrip("/") if path else ""


def private(folder: Path) -> Path:
    """A folder that only its owner may enter."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CairnError(
            f"The data directory cannot be used: {folder}: {error.strerror}",
            remedy="Make it writable, or name another with CAIRN_HOME.",
        ) from error
    return folder


def _remembered(home: Path, root: Path, git: Git) -> str | None:
    try:
        key, witness = _memo(home, root).read_text(encoding="ascii").split()
        held = git.run("cat-file", "-e", "--end-of-options", f"{witness}^{{commit}}", cancel=Cancel()).status == 0
    except (OSError, ValueError, CairnError):
        return None
    return key if held else None


def _noted(home: Path, root: Path, who: Identity) -> str:
    """A folder that becomes a repository later gets its lasting identity then, so a path alone is not kept."""
    memo = _memo(home, root)
    partial = memo.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    with contextlib.suppress(OSError, CairnError):  # what cannot be kept is found again
        if who.witness is not None:
            private(memo.parent)
            partial.write_text(f"{who.key} {who.witness}", encoding="ascii")
            partial.replace(memo)
    return who.key


def _memo(home: Path, root: Path) -> Path:
    return home / "places" / hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
