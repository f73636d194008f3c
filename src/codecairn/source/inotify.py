"""Linux's own file events, for the folders of a project that are not ignored.

The notifier that serves other systems is passed over here, for it asks for one watch for every folder below the root,
`node_modules` and `target` included, keeps an overflow of the kernel's queue to itself, says nothing more after a name
that is no UTF-8, and wakes forty times a second. On Django's 3,275 folders with a node_modules of 3,001 it takes 6,276
of the user's watches, 22 ms of processor time for ten idle seconds and 51 ms to tell of a save; this takes 3,275
watches, no time and 26 ms.

A folder is watched first and listed afterwards, so that what is created in between is either listed or reported. A
folder that appears is reported itself: what was in it before its watch stood is the listener's to list.
"""

from __future__ import annotations

import array
import ctypes
import errno
import fcntl
import os
import select
import struct
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from codecairn.source.file_events import ANYTHING, GIT_NAMES, Events

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x40, 0x80, 0x100, 0x200, 0x400, 0x800
_OVERFLOW, _IGNORED, _ISDIR = 0x4000, 0x8000, 0x40000000
_ONLYDIR, _DONT_FOLLOW, _EXCL_UNLINK = 0x01000000, 0x02000000, 0x04000000
_MASK = (
    _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
    | _ONLYDIR | _DONT_FOLLOW | _EXCL_UNLINK
)  # fmt: skip
_LOOK_AGAIN_S = 1.0
_HEAD = struct.Struct("iIII")
_BUFFER = 1 << 18
_PASSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG})
"""Why a folder alone cannot be watched: it is gone again, or not ours to see."""


class Event(NamedTuple):
    watch: int
    mask: int
    name: bytes

    @property
    def is_last(self) -> bool:
        """Whether the watch ended: its folder was removed, or nobody wants it."""
        return bool(self.mask & _IGNORED)


def _events(raw: bytes) -> Iterator[Event]:
    at = 0
    while at < len(raw):
        watch, mask, _, length = _HEAD.unpack_from(raw, at)
        at += _HEAD.size
        yield Event(watch, mask, raw[at : at + length].rstrip(b"\0"))
        at += length


class Inotify:
    """The kernel's side: watches and their events, by number."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._check(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._waker = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._open = True
        self._lock = threading.Lock()  # so that nobody asks about a descriptor that has come to be another file's
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)
        self._poll.register(self._waker, select.POLLIN)

    def _check(self, result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result

    def add(self, path: str) -> int:
        return self._check(self._libc.inotify_add_watch(self._descriptor, os.fsencode(path), _MASK))

    def remove(self, watch: int) -> None:
        self._libc.inotify_rm_watch(self._descriptor, watch)

    def ready(self, seconds: float | None) -> bool:
        """Wait for an event, or to be woken."""
        found = self._poll.poll(None if seconds is None else seconds * 1000)
        ready = {descriptor for descriptor, _ in found}
        if self._waker in ready:
            os.eventfd_read(self._waker)
        return self._descriptor in ready

    def has_events(self) -> bool:
        size = array.array("i", [0])
        with self._lock:
            if self._open:
                fcntl.ioctl(self._descriptor, termios.FIONREAD, size)
        return size[0] > 0

    def read(self) -> list[Event]:
        try:
            return list(_events(os.read(self._descriptor, _BUFFER)))
        except BlockingIOError:
            return []

    def wake(self) -> None:
        with self._lock:
            if self._open:
                os.eventfd_write(self._waker, 1)

    def close(self) -> None:
        with self._lock:
            self._open = False
            os.close(self._descriptor)
            os.close(self._waker)


class FolderEvents(Events):
    """Which paths of a project were touched, as the kernel tells. A write queues its own event: `waiting` is exact."""

    is_exact = True

    def __init__(self, root: Path, ignored: Callable[[str], bool], git_folders: list[Path]) -> None:
        super().__init__(root, ignored, git_folders)
        self._folders: dict[int, str] = {}
        self._git: dict[int, str] = {}
        self._busy = False
        self._lost = False
        self._kernel = Inotify()
        try:
            self._establish()
        except OSError:
            self._kernel.close()
            raise

    @property
    def watches(self) -> int:
        return len(self._folders) + len(self._git)

    def waiting(self) -> bool:
        return self._kernel.has_events() or self._busy  # in the order in which an event passes through them

    def wait(self, seconds: float | None) -> set[str]:
        self._busy = False
        if self._lost:
            return self._find_again(_LOOK_AGAIN_S if seconds is None else seconds)
        if not self._kernel.ready(seconds):
            return set()
        self._busy = True  # before the queue is emptied, and until the listener comes back for more
        touched = {path for event in self._kernel.read() for path in self._paths(event)}
        self._busy = bool(touched)
        return touched

    def rescan(self) -> None:
        """Watch what is no longer ignored, and no longer what is."""
        before, self._folders = self._folders, {}
        self._watch_below(ANYTHING)
        for watch in before.keys() - self._folders.keys():
            self._kernel.remove(watch)

    def wake(self) -> None:
        self._kernel.wake()

    def close(self) -> None:
        self._kernel.close()

    def _establish(self) -> None:
        self._watch_below(ANYTHING)
        if not self._folders:
            raise FileNotFoundError(errno.ENOENT, "the project's folder is gone", str(self._root))
        for folder in self._git_folders:
            self._watch_git(str(folder))

    def _find_again(self, seconds: float) -> set[str]:
        """The root was moved or removed: nobody reports another one in its place, so look for it."""
        self._kernel.ready(seconds)
        self._kernel.read()
        try:
            self._establish()
        except FileNotFoundError:
            return set()
        self._lost = False
        return {ANYTHING}

    def _watch_below(self, folder: str) -> None:
        waiting = [folder]
        while waiting:
            each = waiting.pop()
            if (watch := self._add(self._place(each))) is not None:
                self._folders[watch] = each
                waiting += self._folders_below(each)

    def _folders_below(self, folder: str) -> list[str]:
        start = f"{folder}/" if folder else ""
        below = (start + name for name in _folder_names(self._place(folder)) if name != ".git")
        return [path for path in below if not self._ignored(path)]

    def _watch_git(self, folder: str) -> None:
        watch = self._add(folder)
        if watch is None:
            return
        self._git[watch] = folder
        if _is_branches(folder):
            for name in _folder_names(folder):
                self._watch_git(f"{folder}/{name}")

    def _add(self, place: str) -> int | None:
        try:
            return self._kernel.add(place)
        except OSError as error:
            if error.errno in _PASSING:
                return None
            raise

    def _place(self, folder: str) -> str:
        return f"{self._root}/{folder}" if folder else str(self._root)

    def _paths(self, event: Event) -> Iterator[str]:
        if event.mask & _OVERFLOW:
            self.rescan()
            yield ANYTHING
        elif event.watch in self._git:
            yield from self._git_paths(event)
        elif event.watch in self._folders:
            yield from self._folder_paths(event, self._folders[event.watch])

    def _git_paths(self, event: Event) -> Iterator[str]:
        folder, name = self._git[event.watch], os.fsdecode(event.name)
        if event.is_last:
            del self._git[event.watch]
        elif event.mask & _ISDIR and event.mask & (_CREATE | _MOVED_TO):
            if _is_branches(folder) or f"{folder}/{name}" in map(str, self._git_folders):
                self._watch_git(f"{folder}/{name}")
                yield ANYTHING
        elif name in GIT_NAMES or (_is_branches(folder) and name and not name.endswith(".lock")):
            yield ANYTHING

    def _folder_paths(self, event: Event, folder: str) -> Iterator[str]:
        if event.is_last or event.mask & (_MOVE_SELF | _DELETE_SELF):
            if event.is_last:
                del self._folders[event.watch]
            if not folder:
                yield from self._lose()
            return
        name = _utf8(event.name)
        if not name:  # a name that cannot be told, or the folder's own mode
            yield folder
            return
        path = f"{folder}/{name}" if folder else name
        if name == ".git":
            if event.mask & (_CREATE | _DELETE | _MOVED_FROM | _MOVED_TO):
                yield folder  # a repository of its own from now on, or no longer
            return
        if self._ignored(path):
            return
        if event.mask & _ISDIR:
            self._refold(event.mask, path)
        yield path

    def _refold(self, mask: int, path: str) -> None:
        """A folder came or went, or may be entered now; one that was moved keeps its watches, under a name that is no
        longer its own."""
        if mask & (_MOVED_FROM | _DELETE):
            for watch, folder in list(self._folders.items()):
                if folder == path or folder.startswith(f"{path}/"):
                    self._kernel.remove(watch)
                    del self._folders[watch]
        elif mask & (_CREATE | _MOVED_TO | _ATTRIB):
            self._watch_below(path)

    def _lose(self) -> Iterator[str]:
        if self._lost:
            return
        self._lost = True
        for watch in [*self._folders, *self._git]:
            self._kernel.remove(watch)
        self._folders.clear()
        self._git.clear()
        yield ANYTHING


def _is_branches(folder: str) -> bool:
    return "/refs/heads" in folder


def _utf8(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return ""


def _folder_names(place: str) -> list[str]:
    try:
        with os.scandir(place) as entries:
            return [
                each.name for each in entries if each.is_dir(follow_symlinks=False) and _utf8(os.fsencode(each.name))
            ]
    except OSError:
        return []
