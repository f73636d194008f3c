"""The one way to open a file of a project: folder by folder from the root.

A name is judged before it is opened, and whoever can write in the project may put a link in its place in between. So
each folder is opened relative to the one before and none of these openings follows a link: what is opened lies below
the root, whatever happens meanwhile. A link that a reader may follow is read here, and where it leads is opened in the
same way; one that leads out of the root is refused. The path that comes back with a file is where the file really is,
for a guard to judge.

A pipe or a device is opened without waiting; whoever reads asks what it is first.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NamedTuple

_COMMON = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = os.O_RDONLY | _COMMON | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
# O_PATH asks for no right to list the folder, only to pass through it.
_FOLDER = _COMMON | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", os.O_RDONLY)

_MOST_LINKS = 40
"""As many as Linux follows in one name."""
OUTSIDE = errno.EXDEV
"""The number of the error for a link that leads out of the root."""


class OpenFile(NamedTuple):
    descriptor: int
    path: str
    """Where the file is, from the root, once every link was followed."""


def _descend(root: Path, path: str) -> int:
    *folders, name = path.split("/")
    here = _enter(root, folders)
    try:
        return os.open(name, _FILE, dir_fd=here)
    finally:
        os.close(here)


def _enter(root: Path, folders: list[str]) -> int:
    """The last of these folders, each opened from the one before."""
    here = os.open(root, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0))
    for folder in folders:
        try:
            below = os.open(folder, _FOLDER, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


class _Walk:
    """One name on its way down, with what is left of it and where it has come to."""

    def __init__(self, root: Path, path: str) -> None:
        self._root = root
        self._links = 0
        self._here = _enter(root, [])
        self.left = path.split("/")[::-1]
        self.passed: list[str] = []

    def close(self) -> None:
        os.close(self._here)

    def open(self) -> OpenFile:
        while self.left:
            part = self.left.pop()
            if part == "..":
                self._climb()
            elif part not in ("", "."):
                descriptor = self._step(part)
                if descriptor is not None:
                    return OpenFile(descriptor, "/".join([*self.passed, part]))
        raise IsADirectoryError(errno.EISDIR, "a folder")

    def _step(self, part: str) -> int | None:
        """Open the next part; None where the way goes on behind it."""
        try:
            opened = os.open(part, _FOLDER if self.left else _FILE, dir_fd=self._here)
        except OSError as error:
            target = self._link(part)
            if target is None:
                raise error from None
            self._turn(target)
            return None
        if not self.left:
            return opened
        self._move_to([*self.passed, part], opened)
        return None

    def _link(self, part: str) -> str | None:
        try:
            return os.readlink(part, dir_fd=self._here)
        except OSError:
            return None

    def _turn(self, target: str) -> None:
        self._links += 1
        if self._links > _MOST_LINKS:
            raise OSError(errno.ELOOP, "too many links")
        if target.startswith("/"):
            root = f"{self._root}/"
            if not f"{target}/".startswith(root):
                raise OSError(OUTSIDE, "a link that leads out of the project")
            target = target[len(root) :]
            self._move_to([], _enter(self._root, []))
        self.left += target.split("/")[::-1]

    def _climb(self) -> None:
        if not self.passed:
            raise OSError(OUTSIDE, "a link that leads out of the project")
        # From the root again: the folder above may have been moved since.
        self._move_to(self.passed[:-1], _enter(self._root, self.passed[:-1]))

    def _move_to(self, folders: list[str], descriptor: int) -> None:
        os.close(self._here)
        self._here, self.passed = descriptor, folders


def _follow(root: Path, path: str) -> OpenFile:
    walk = _Walk(root, path)
    try:
        return walk.open()
    finally:
        walk.close()


# Where a file cannot be opened relative to a folder: Windows.


def open_resolved(root: Path, path: str) -> int:
    """No link may change the name it was listed under."""
    place = root / path
    if os.path.normcase(place.resolve(strict=True)) != os.path.normcase(root.resolve() / path):
        raise OSError(errno.ELOOP, "a link")
    return os.open(place, _FILE)


def _follow_resolved(root: Path, path: str) -> OpenFile:
    """The name must lead to the opened file afterwards too, and that file must lie below the root."""
    descriptor = os.open(root / path, _FILE)
    try:
        place, top = (root / path).resolve(strict=True), root.resolve()
        if not place.is_relative_to(top):
            raise OSError(OUTSIDE, "a link that leads out of the project")
        if not os.path.samestat(os.fstat(descriptor), place.stat()):
            raise OSError(errno.ELOOP, "the name leads elsewhere now")
    except OSError:
        os.close(descriptor)
        raise
    return OpenFile(descriptor, place.relative_to(top).as_posix())


_HAS_FOLDERS = os.open in os.supports_dir_fd and os.readlink in os.supports_dir_fd

open_plain = _descend if _HAS_FOLDERS else open_resolved
"""A file under the very name it has: no part of it may be a link."""
open_inside = _follow if _HAS_FOLDERS else _follow_resolved
"""A file under any name that leads to it without leaving the root."""
