"""Where a watch learns of changes, on every system but Linux (`inotify.py`).

macOS and Windows watch a whole tree for the price of one folder, through watchfiles. Where nobody can tell (a network
file system, whose other writers this kernel never sees; a user's watches used up) the tree is swept by `stat` every
few seconds, seldom enough to stay under 2 % of one processor.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from codecairn.source.file_stamps import Stamp, stamp_at

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

ANYTHING = ""
"""The path that stands for the whole project."""
GIT_NAMES = frozenset({"HEAD", "index", "packed-refs", "exclude", "tables.list"})
"""Files of a git directory that move with the checked-out commit, the staged files, the branches or the rules."""

QUIET_SHARE = 4
_STEP_MS = 25
_SWEEP_SHARE = 50


class Events:
    """Tells which paths were touched. All but `wake` and `waiting` are called by the watch's own thread."""

    is_exact = False
    """Whether `waiting` tells of a change from the moment it is made."""

    def __init__(self, root: Path, ignored: Callable[[str], bool], git_folders: list[Path]) -> None:
        self._root = root
        self._ignored = ignored
        self._git_folders = git_folders

    def wait(self, seconds: float | None) -> set[str]:
        """Return the touched paths once there are any; nothing after so many seconds, or when woken."""
        raise NotImplementedError

    def waiting(self) -> bool:
        """Whether anything was reported that `wait` has not returned."""
        return False

    def rescan(self) -> None:
        """Ask `ignored` anew about every folder."""

    def wake(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what is held open."""


class TreeEvents(Events):
    """Whole trees through watchfiles, which collects changes that come together and tells them milliseconds late.

    There is nothing to rescan: events come for ignored folders too, and are dropped by what `ignored` says then."""

    def __init__(self, root: Path, ignored: Callable[[str], bool], git_folders: list[Path]) -> None:
        super().__init__(root, ignored, git_folders)
        self._stop = threading.Event()
        self._notify = self._open()

    def _open(self) -> RustNotify:
        from watchfiles._rust_notify import RustNotify  # noqa: PLC0415 - it brings anyio, which commands do without

        outside = [folder for folder in self._git_folders if not folder.is_relative_to(self._root) and folder.is_dir()]
        places = [str(each) for each in (self._root, *outside)]
        try:
            return RustNotify(places, False, False, 0, True, False)
        except RuntimeError as error:
            raise OSError(errno.EIO, str(error)) from error

    def wait(self, seconds: float | None) -> set[str]:
        if seconds is not None:
            return set()
        while not self._stop.is_set():
            if touched := set(self._next_paths()):
                return touched
        self._stop.clear()
        return set()

    def _next_paths(self) -> Iterator[str]:
        try:
            # No time limit: at its end the notifier forgets what came in at that moment.
            changes = self._notify.watch(_STEP_MS * QUIET_SHARE, _STEP_MS, 0, self._stop)
        except RuntimeError:  # a name that is no UTF-8, after which it would say nothing but that
            self._notify.close()
            self._notify = self._open()
            yield ANYTHING
            return
        if isinstance(changes, str):
            return
        for _, place in changes:
            yield from self._project_paths(Path(place))

    def _project_paths(self, place: Path) -> Iterator[str]:
        in_git = any(place.is_relative_to(folder) for folder in self._git_folders)
        if in_git or not place.is_relative_to(self._root):
            if place.name in GIT_NAMES or ("heads" in place.parts and place.suffix != ".lock"):
                yield ANYTHING
            return
        path = place.relative_to(self._root).as_posix()
        if path == ".":
            yield ANYTHING
        elif ".git" not in place.parts and not any(map(self._ignored, _prefixes(path))):
            yield path

    def wake(self) -> None:
        self._stop.set()

    def close(self) -> None:
        self._notify.close()


def _prefixes(path: str) -> Iterator[str]:
    """A path's folders from the outermost on, and the path."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)
    yield path


class Sweep(Events):
    """A look at every file's stamp from time to time."""

    def __init__(self, root: Path, ignored: Callable[[str], bool], git_folders: list[Path], every_s: float) -> None:
        super().__init__(root, ignored, git_folders)
        self._every_s = every_s
        self._woken = threading.Event()
        self._pause_s = every_s
        self._stamps = self._look()

    def wait(self, seconds: float | None) -> set[str]:
        if seconds is not None or self._woken.wait(self._pause_s):
            self._woken.clear()
            return set()
        before, self._stamps = self._stamps, self._look()
        changed = {path for path, _ in before.items() ^ self._stamps.items()}
        if any(path.startswith("/") for path in changed):
            return {ANYTHING}
        return {path for path in changed if not self._ignored(path)}

    def _look(self) -> dict[str, Stamp]:
        began = time.process_time()
        stamps = {**dict(self._files()), **dict(self._git_files())}
        self._pause_s = max(self._every_s, _SWEEP_SHARE * (time.process_time() - began))
        return stamps

    def _files(self) -> Iterator[tuple[str, Stamp]]:
        waiting = [""]
        while waiting:
            start = waiting.pop()
            for entry in _entries(self._root / start):
                path = start + entry.name
                if entry.name == ".git":
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if not self._ignored(path):
                        waiting.append(f"{path}/")
                elif stamp := stamp_at(entry.path, follow_links=False):
                    yield path, stamp

    def _git_files(self) -> Iterator[tuple[str, Stamp]]:
        """Under absolute names, which no file of the project has."""
        branches = [folder for folder in self._git_folders if folder.name == "heads"]
        places = [folder / name for folder in self._git_folders for name in GIT_NAMES]
        places += [place for folder in branches for place in folder.rglob("*") if place.suffix != ".lock"]
        for place in places:
            if stamp := stamp_at(place, follow_links=False):
                yield f"/{place}", stamp

    def rescan(self) -> None:
        self._stamps = self._look()

    def wake(self) -> None:
        self._woken.set()


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.name.isprintable()]
    except OSError:
        return []
