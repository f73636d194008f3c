"""The JSON files of one folder, read again exactly when they change.

Asking the file system about every file costs 3 µs each, so 5,000 of them on every call would cost more than the call.
A look at the folder is due when

- Linux has reported an event in it (an event is queued by the write itself, so nothing is ever missed or late), or
- the folder's own time stamp has moved, or another folder stands in its place, or
- a file that has another name elsewhere (a link), where no event would tell of a change, has another time stamp, or
- a look is cheap, or the last one is long enough ago: the rule for systems and file systems without events.

A file whose time stamp is as young as the clock's grain when it is read may change again without showing it, so it is
read again at the next look. A file that is no JSON may be half written: for a second, what it held before stands, and
where nothing is known of it and it is empty or young the reader waits a moment for the writer, so that no process
misses an entry that another one has already read. (Empty is enough: ext4 shows the new length of a file that is cut
before the new time of change.)

Nothing outside the project is read: a link counts only if it leads to a file inside, and a pipe is never waited for.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import stat
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from codecairn.errors import CairnError
from codecairn.paths import Guard
from codecairn.source.file_stamps import Stamp, stamp_at, stamp_of

LARGEST_FILE = 1 << 20
_CHEAP_LOOK_S = 0.002
_LOOK_SHARE = 10
_LOOK_SHARE_WITH_EVENTS = 100
_GRAIN_S = 0.02
_COARSE_GRAIN_S = 2.0
_SETTLING_S = 1.0
_PATIENCE_S = 0.25
_GLANCE_S = 0.002
_AGREEING_SCANS = 3

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)

NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Raised for content that is no JSON, or not of the form asked for."""


@dataclass(frozen=True)
class FileReading:
    """One file as it was read: its bytes, or why there are none."""

    stamp: Stamp
    content: bytes | None
    problem: str | None = None
    racy: bool = False
    shared: bool = False
    """Whether the file has another name, through which it can change without an event in this folder."""
    young: bool = False
    """Whether it was changed so lately that its writer may not be done."""
    held_since: float | None = None
    """When the file was first seen to be no JSON any more, where this is what it held before."""

    def same_as(self, other: FileReading) -> bool:
        return self.content == other.content and self.problem == other.problem

    @property
    def is_json(self) -> bool:
        try:
            msgspec.json.decode(self.content or b"")
        except NO_JSON:
            return False
        return True

    @property
    def may_be_torn(self) -> bool:
        return self.content is not None and (self.young or not self.content) and not self.is_json


def read(path: Path, root: Path) -> FileReading | None:
    """The file at a path in the project, or None where there is none; a link is followed only inside the project."""
    try:
        return _read_link(path, root) if path.is_symlink() else _read_plain(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead to each other
        reason = (isinstance(error, OSError) and error.strerror) or "a link that leads to itself"
        return FileReading(stamp_at(path), None, f"cannot be read: {reason}", shared=True)


def _read_link(path: Path, root: Path) -> FileReading:
    try:
        real = path.resolve(strict=True)
    except FileNotFoundError:
        return FileReading((), None, "a link that leads nowhere", shared=True)
    if not is_inside(real, root):
        return FileReading(stamp_at(path), None, "a link that leads outside the project", shared=True)
    return replace(_read_plain(real), shared=True)


class WriterPatience:
    """How long one look waits for writers, all files together."""

    def __init__(self) -> None:
        self._glances = round(_PATIENCE_S / _GLANCE_S)

    def lasts(self) -> bool:
        self._glances -= 1
        if self._glances >= 0:
            time.sleep(_GLANCE_S)
        return self._glances >= 0


def read_when_written(
    path: Path, root: Path, known: FileReading | None, patience: WriterPatience
) -> FileReading | None:
    """As `read`, of a file that somebody may be writing just now; `known` is what it held before."""
    reading = read(path, root)
    if known is not None and known.is_json and reading is not None and reading.content is not None:
        return reading if reading.is_json else _hold(known, reading)
    while reading is not None and reading.may_be_torn and patience.lasts():
        reading = read(path, root)
    return reading


def _hold(known: FileReading, reading: FileReading) -> FileReading:
    now = time.monotonic()
    since = known.held_since if known.held_since is not None else now
    return replace(known, racy=True, held_since=since) if now - since < _SETTLING_S else reading


class JsonFolder:
    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        self.generation = 0
        self._root = root
        self._readings: dict[str, FileReading] = {}
        self._folder_stamp: Stamp = ()
        self._looked_at = 0.0
        self._look_cost = 0.0
        self._unsettled = True
        self._shared: tuple[str, ...] = ()
        self._events = _Events()

    def readings(self) -> Mapping[str, FileReading]:
        """Every `*.json` of the folder by name; `generation` grows whenever what this returns has changed."""
        if self._is_due():
            self._look()
        return self._readings

    def _is_due(self) -> bool:
        share = _LOOK_SHARE_WITH_EVENTS if self._events.watching else _LOOK_SHARE
        return (
            self._events.any()
            or self._unsettled
            or self._look_cost < _CHEAP_LOOK_S
            or time.monotonic() - self._looked_at > self._look_cost * share
            or _folder_stamp(self.path) != self._folder_stamp
            or any(stamp_at(self._place(name)) != self._readings[name].stamp for name in self._shared)
        )

    def _look(self) -> None:
        began = time.monotonic()
        self._refuse_outside()
        folder_stamp = _folder_stamp(self.path)
        self._events.watch(self.path, folder_stamp)
        fresh = dict(self._read_all(self._names()))
        if _differ(self._readings, fresh):
            self.generation += 1
        self._readings = fresh
        self._folder_stamp = folder_stamp
        self._shared = tuple(name for name, reading in fresh.items() if reading.shared)
        self._unsettled = _is_recent(folder_stamp[:1]) or any(reading.racy for reading in fresh.values())
        self._looked_at = time.monotonic()
        self._look_cost = self._looked_at - began

    def _read_all(self, names: Iterable[str]) -> Iterable[tuple[str, FileReading]]:
        patience = WriterPatience()
        for name in names:
            known = self._readings.get(name)
            if known is not None and not known.racy and known.stamp == stamp_at(self._place(name)):
                yield name, known
            elif (reading := read_when_written(self.path / name, self._root, known, patience)) is not None:
                yield name, reading

    def _place(self, name: str) -> str:
        return f"{self.path}{os.sep}{name}"  # a Path would cost as much as the question asked about it

    def _names(self) -> list[str]:
        """The names in order. A name that was there and is not is looked for again: some file systems list a folder in
        which a file is being replaced without that file."""
        names = json_names(self.path)
        for _ in range(_AGREEING_SCANS):
            if self._readings.keys() <= names:
                break
            before, names = names, json_names(self.path)
            if before == names:
                break
        return sorted(names)

    def _refuse_outside(self) -> None:
        if self.path.is_symlink() and not is_inside(self.path.resolve(), self._root):
            raise _unreadable(self.path, "it is a link that leads outside the project")


def json_names(path: Path) -> set[str]:
    """Names with a leading dot are left out: editors keep their locks and drafts under such."""
    try:
        with os.scandir(path) as entries:
            return {each.name for each in entries if each.name.endswith(".json") and not each.name.startswith(".")}
    except (FileNotFoundError, NotADirectoryError):
        return set()
    except OSError as error:
        raise _unreadable(path, error.strerror or type(error).__name__) from error


def _unreadable(path: Path, reason: str) -> CairnError:
    return CairnError(
        f"The folder {path.name}/ cannot be read: {reason}",
        remedy=f"Make {path.name}/ a folder of the project that the server may read.",
        file=f"{path.name}/",
        reason=reason,
    )


def is_inside(real: Path, root: Path) -> bool:
    """Whether a path without links is one of the project's, and none that is never read."""
    try:
        relative = real.relative_to(root.resolve())
    except ValueError:
        return False
    return not Guard(root).blocks(relative.as_posix())


def _folder_stamp(path: Path) -> Stamp:
    try:
        info = path.stat()
    except OSError:
        return ()
    return (info.st_mtime_ns, info.st_ino, info.st_dev)


def _read_plain(path: Path) -> FileReading:
    """By one descriptor, so that what is checked is what is read."""
    descriptor = os.open(path, _OPEN)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            return FileReading(stamp_of(info), None, "not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            return _read_from(file, info)
    finally:
        os.close(descriptor)


def _read_from(file: BinaryIO, info: os.stat_result) -> FileReading:
    stamp, shared = stamp_of(info), info.st_nlink > 1
    content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        return FileReading(stamp, None, f"larger than {LARGEST_FILE} bytes", shared=shared)
    content, young = content.removeprefix(codecs.BOM_UTF8), abs(time.time() - info.st_mtime) < _SETTLING_S
    return FileReading(stamp, content, racy=_is_recent(stamp[:2]), shared=shared, young=young)


def _is_recent(stamps_ns: Iterable[int]) -> bool:
    """Whether a further change could leave the same stamp; a stamp of whole milliseconds comes from a coarse clock."""
    now = time.time()
    return any(abs(now - ns / 1e9) < (_GRAIN_S if ns % 1_000_000 else _COARSE_GRAIN_S) for ns in stamps_ns)


def _differ(old: Mapping[str, FileReading], new: Mapping[str, FileReading]) -> bool:
    if old.keys() != new.keys():
        return True
    return any(old[name] is not reading and not reading.same_as(old[name]) for name, reading in new.items())


class _Events:
    """Linux tells when something in a folder changed; `any` is False where nobody can tell."""

    def __init__(self) -> None:
        self._kernel: Any = None
        self._watched: Stamp = ()

    @property
    def watching(self) -> bool:
        return bool(self._watched)

    def any(self) -> bool:
        if self._kernel is None:
            return False
        events = self._kernel.read()
        if any(event.is_last for event in events):
            self.close()
        return bool(events)

    def watch(self, path: Path, folder: Stamp) -> None:
        """Watch the folder that now stands at the path; where it is the one watched already, go on."""
        identity = folder[1:]
        if identity == self._watched:
            return
        self.close()
        if sys.platform == "linux" and identity:
            from codecairn.source.inotify import Inotify  # noqa: PLC0415 - there is none elsewhere

            with contextlib.suppress(OSError):
                self._kernel = Inotify()
                self._kernel.add(str(path.resolve()))
                self._watched = identity

    def close(self) -> None:
        if self._kernel is not None:
            self._kernel.close()
        self._kernel, self._watched = None, ()

    def __del__(self) -> None:
        if not sys.is_finalizing():  # the system closes what is open then, and modules may be gone
            self.close()
