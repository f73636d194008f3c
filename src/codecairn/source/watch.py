"""Telling when something in a project changed.

A watch has one thread. It collects what is touched until nothing more comes for a moment, and hands it over as paths of
files and folders, or as None where anything may have changed: the kernel lost events, a burst is so large that looking
at everything is cheaper, the root was replaced, an ignore file was edited, or git moved its HEAD, index or branches.
A folder stands for all that is in it. The paths are a hint to look, never a statement of what happened.

Linux is listened to in `inotify.py`, other systems in `file_events.py`.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from codecairn.source.file_events import ANYTHING, QUIET_SHARE, Events, Sweep, TreeEvents
from codecairn.source.git import common_dir

RULE_FILES = frozenset({".gitignore", ".cairnignore"})
BURST = 200 if sys.platform == "win32" else 2_000
"""Windows drops events in silence when its 16 KB buffer is full, so a smaller burst is doubted there."""
_JOIN_S = 2.0

_REMOTE = frozenset(
    {
        "9p", "afs", "autofs", "ceph", "cifs", "davfs", "drvfs", "fakeowner", "fuse.davfs2", "fuse.glusterfs",
        "fuse.grpcfuse", "fuse.osxfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse", "glusterfs",
        "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs", "wslfs",
    }
)  # fmt: skip
_LIMITS = {
    errno.ENOSPC: "the user's inotify watches are used up (raise fs.inotify.max_user_watches)",
    errno.EMFILE: "the user's inotify instances are used up (raise fs.inotify.max_user_instances)",
    errno.ENFILE: "the system has no file descriptors left",
    errno.ENOSYS: "the system has no file events",
}

Mode = Literal["events", "polling", "off"]


def filesystem_kind(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """The kind of a remote file system a path lies on, where changes made elsewhere raise no events; None if local."""
    if sys.platform == "win32":
        return "unc" if str(path).startswith("\\\\") else None
    try:
        table = os.fsdecode(mounts.read_bytes())
    except OSError:
        return None
    kind, longest = None, -1
    for line in table.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
        if len(point) >= longest and path.is_relative_to(point):  # the later of two on one folder hides the other
            kind, longest = fields[2], len(point)
    return kind if kind in _REMOTE else None


def git_folders(git_dir: Path | None) -> list[Path]:
    """The folders in which git moves what a reader of the project depends on; a worktree has branches in common."""
    if git_dir is None:
        return []
    common = common_dir(git_dir).resolve()
    return list(dict.fromkeys([git_dir, common, common / "info", common / "reftable", common / "refs/heads"]))


class Watch:
    def __init__(
        self,
        root: Path,
        changed: Callable[[set[str] | None], None],
        *,
        ignored: Callable[[str], bool],
        git_dir: Path | None,
        debounce_ms: int = 100,
        poll_s: float = 2.0,
    ) -> None:
        """Once this returns, a change is seen. `ignored` is asked about folders and files, below kept folders only."""
        self.mode: Mode = "events"
        self.reason: str | None = None
        self._root = root
        self._changed = changed
        self._ignored = ignored
        self._git_folders = git_folders(git_dir)
        self._debounce_s = debounce_ms / 1000
        self._poll_s = poll_s
        self._pending = False
        self._rescan = False
        self._closing = False
        self._events = self._open()
        self._thread = threading.Thread(target=self._run, name="cairn-watch", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def is_exact(self) -> bool:
        """Whether `pending` tells of every change from the moment it is made, and not a little later."""
        return self.alive and self.mode == "events" and self._events.is_exact

    def pending(self) -> bool:
        """Whether something was touched that has not been handed over, as far as the system tells."""
        # In the order in which a change passes through them, so that none slips by between two looks.
        return (self.alive and self._events.waiting()) or self._rescan or self._pending

    def rescan(self) -> None:
        """Ask `ignored` anew about every folder: the rules have changed."""
        self._rescan = True
        self._events.wake()

    def close(self) -> None:
        self._closing = True
        if self.alive:
            self._events.wake()
        if threading.current_thread() is not self._thread:
            self._thread.join(_JOIN_S)

    def _open(self) -> Events:
        if (kind := filesystem_kind(self._root)) is not None:
            return self._sweep(f"the project lies on a remote file system ({kind}), where changes raise no events")
        try:
            return listen(self._root, self._ignored, self._git_folders)
        except OSError as error:
            return self._sweep(_why(error))

    def _sweep(self, reason: str) -> Events:
        self.mode, self.reason = "polling", reason
        return Sweep(self._root, self._ignored, self._git_folders, self._poll_s)

    def _run(self) -> None:
        try:
            while not self._closing:
                if touched := self._collect():
                    is_anything = ANYTHING in touched or len(touched) > BURST
                    is_anything |= any(path.rpartition("/")[2] in RULE_FILES for path in touched)
                    self._changed(None if is_anything else touched)
                self._pending = False
        finally:
            self.mode = "off"
            self._events.close()

    def _collect(self) -> set[str]:
        """The paths touched from the first change on until it is quiet, or the time to wait is over."""
        touched = self._next(None)
        if not touched:
            return touched
        self._pending = True
        until = time.monotonic() + self._debounce_s
        while (left := until - time.monotonic()) > 0 and not self._closing:
            more = self._next(min(left, self._debounce_s / QUIET_SHARE))
            if not more:
                break
            touched |= more
        return touched

    def _next(self, seconds: float | None) -> set[str]:
        try:
            if self._rescan:
                self._pending = True
                self._rescan = False
                self._events.rescan()
                return {ANYTHING}
            return self._events.wait(seconds)
        except OSError as error:
            self._pending = True
            self._events.close()
            self._events = self._sweep(_why(error))
            return {ANYTHING}


def _why(error: OSError) -> str:
    return _LIMITS.get(error.errno or 0) or f"file events cannot be had: {error.strerror or error}"


def listen(root: Path, ignored: Callable[[str], bool], git_folders: list[Path]) -> Events:
    if sys.platform != "linux":
        return TreeEvents(root, ignored, git_folders)
    from codecairn.source.inotify import FolderEvents  # noqa: PLC0415 - there is none elsewhere

    return FolderEvents(root, ignored, git_folders)
