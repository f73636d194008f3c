"""Where a project's data lies: in the user's data directory, never inside the repository.

A project is known by its first commit and its remote, so that worktrees and fresh clones find what people recorded;
without a commit, by its path. Finding the first commit walks all of history once, so a repository's answer is kept
under its path, with a commit as witness: where another repository stands there later, it is asked anew.

An index belongs to what is on this disk: the git directory that all worktrees share, else the folder itself.

    indexes/KEY/lock       who writes
    indexes/KEY/current    the name of the folder in use
    indexes/KEY/NAME/      index.db and lexical/, whole

A rebuild fills a folder of a new name and `current` names it when it is done, so that nobody ever reads from half of
one, and what crashed or is damaged never stands in the way.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.source.git import Git, common_dir
from codecairn.source.refs import first_commits, remote_of

_CACHE_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Everything here can be made again by Cairn.\n"
_HOUR_S = 3600.0
_DAY_S = 86_400.0
_GRACE_S = 30.0
_SCP = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)")
_FOLDER = re.compile(r"file:.*|[./~\\].*|[a-z]:[/\\].*", re.I)
"""A remote that is a folder of this machine."""
_URL = re.compile(r"[a-z+]+://(?:[^@/]+@)?([^:/]+)(?::\d+)?/(.+)", re.I)


class Identity(Struct, frozen=True):
    """The name of a project, and a commit that tells its repository from another; None where there is no repository."""

    who: str
    witness: str | None = None

    @property
    def key(self) -> str:
        return hashlib.sha256(self.who.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def project_folder(home: Path, root: Path, git: Git) -> Path:
    """The folder for what people wrote about the project at `root`; made if it is not there."""
    projects = make_private_folder(home / "projects")
    key = _recall(home, root, git) or _note(home, root, identity(root, git))
    return make_private_folder(projects / key)


def index_folder(home: Path, root: Path, git_dir: Path | None) -> Path:
    """The folder for the index of the repository, or of the folder, at `root`; made if it is not there."""
    shared = common_dir(git_dir) if git_dir else root
    key = hashlib.sha256(os.fsencode(shared.resolve())).hexdigest()[:24]
    indexes = make_private_folder(home / "indexes")
    tag = indexes / "CACHEDIR.TAG"
    with contextlib.suppress(OSError):
        if not tag.exists():  # backups pass it over, and so do we where the data lies inside a project
            tag.write_text(_CACHE_TAG, "ascii")
    return make_private_folder(indexes / key)


def current_epoch(folder: Path) -> Path | None:
    """The folder with the index in use, if there is one."""
    try:
        name = (folder / "current").read_text("ascii").strip()
        epoch = folder / name
        return epoch if name.isalnum() and epoch.is_dir() else None
    except (OSError, ValueError):
        return None


def new_epoch(folder: Path) -> Path:
    """A folder to build in."""
    return make_private_folder(folder / secrets.token_hex(8))


def sweep(folder: Path) -> None:
    """Remove what earlier builds left behind or replaced, a while ago: somebody may still be reading what was replaced
    this moment. Only the holder of the lock comes here."""
    current = current_epoch(folder)
    with contextlib.suppress(OSError):
        replaced = (folder / "current").stat().st_mtime if current else 0.0
        for each in folder.iterdir():
            if each.is_dir() and each != current and time.time() - max(replaced, each.stat().st_mtime) > _GRACE_S:
                shutil.rmtree(each, ignore_errors=True)  # on Windows what is still open stays, until the next time
            elif each.name.startswith("current."):
                each.unlink()  # of one who died before it was put in place


def use_epoch(folder: Path, epoch: Path) -> None:
    """From now on this is the index."""
    partial = folder / f"current.{os.getpid()}"
    with _translating(folder):
        partial.write_text(epoch.name, "ascii")
        partial.replace(folder / "current")


@contextmanager
def workplace(home: Path) -> Iterator[Path]:
    """A folder for as long as something is made in it. Folders of a process that was killed go after a day."""
    places = make_private_folder(home / "work")
    for each in places.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - each.stat().st_mtime > _DAY_S:
                shutil.rmtree(each, ignore_errors=True)
    folder = make_private_folder(places / secrets.token_hex(8))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def note_use(folder: Path, mark: str = "used", every: float = _HOUR_S) -> None:
    """Remember, by the hour, that somebody asked something of this index, or of what else has a mark."""
    with contextlib.suppress(OSError):
        if time.time() - (last_used(folder, mark) or 0) > every:
            (folder / mark).touch(mode=0o600)


def last_used(folder: Path, mark: str = "used") -> float | None:
    try:
        return (folder / mark).stat().st_mtime
    except OSError:
        return None


def identity(root: Path, git: Git) -> Identity:
    cancel = Cancel()
    by_path = Identity(f"path:{root}")
    try:
        layout = git.layout(cancel)
    except CairnError:
        return by_path
    first, remote = first_commits(git, "HEAD", cancel), remote_of(git, cancel)
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


def public_remote(url: str) -> str:
    """The same, where others can reach it too; nothing where it is a folder of this machine."""
    return "" if _FOLDER.fullmatch(url) else normal_remote(url)


def make_private_folder(folder: Path) -> Path:
    """A folder that only its owner may enter."""
    with _translating(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


@contextmanager
def _translating(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise CairnError(
            f"The data directory cannot be used: {folder}: {error.strerror}",
            remedy="Free space on its disk." if is_full else "Make it writable, or name another with CAIRN_HOME.",
        ) from error


def _recall(home: Path, root: Path, git: Git) -> str | None:
    try:
        key, witness = _memo(home, root).read_text(encoding="ascii").split()
        held = git.run("cat-file", "-e", "--end-of-options", f"{witness}^{{commit}}", cancel=Cancel()).status == 0
    except (OSError, ValueError, CairnError):
        return None
    return key if held else None


def _note(home: Path, root: Path, who: Identity) -> str:
    """A folder that becomes a repository later gets its lasting identity then, so a path alone is not kept."""
    memo = _memo(home, root)
    partial = memo.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    with contextlib.suppress(OSError, CairnError):  # what cannot be kept is found again
        if who.witness is not None:
            make_private_folder(memo.parent)
            partial.write_text(f"{who.key} {who.witness}", encoding="ascii")
            partial.replace(memo)
    return who.key


def _memo(home: Path, root: Path) -> Path:
    return home / "places" / hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
