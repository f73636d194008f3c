"""Telling when something in a project changed.

A watch has one thread. It collects what is touched until nothing more comes for a moment, and hands it over as paths of
files and folders, or as None where anything may have changed: the kernel lost events, a burst is so large that looking
at everything is cheaper, the root was replaced, an ignore file was edited, or git moved its HEAD, index or branches.
A folder stands for all that is in it. What is handed over is a hint to look, never a statement of what happened.

Linux is listened to in `inotify.py`. macOS and Windows watch a whole tree for the price of one folder, through
watchfiles. Where nobody can tell (a network file system, whose other writers this kernel never sees; a user's watches
used up) the tree is swept by `stat` every few seconds, seldom enough to stay under 2 % of one processor.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from types import TracebackType

    from watchfiles._rust_notify import RustNotify

ANYTHING = ""
"""The path that stands for the whole project."""
RULE_FILES = frozenset({".gitignore", ".cairnignore"})
GIT_NAMES = frozenset({"HEAD", "index", "packed-refs", "exclude", "tables.list"})
"""What moves in a git directory when the checked-out commit, the staged files, the branches or the rules do."""

_IS_LINUX = sys.platform == "linux"
_BURST = 200 if sys.platform == "win32" else 2_000
"""Windows drops events in silence when its 16 KB buffer is full, so a smaller burst is doubted there."""
_QUIET_SHARE = 4
_STEP_MS = 25
_SWEEP_SHARE = 50
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
    try:
        common = (git_dir / (git_dir / "commondir").read_text().strip()).resolve()
    except (OSError, ValueError):
        common = git_dir
    folders = [git_dir, common, common / "info", common / "reftable", common / "refs/heads"]
    return list(dict.fromkeys(folders))


class Source(Protocol):
    """Where a watch learns of changes. All but `wake` and `waiting` are called by the watch's own thread."""

    @property
    def is_exact(self) -> bool:
        """Whether `waiting` tells of a change from the moment it is made."""

    def wait(self, seconds: float | None) -> set[str]: ...
    def waiting(self) -> bool: ...
    def rescan(self) -> None: ...
    def wake(self) -> None: ...
    def close(self) -> None: ...


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
        self._source = self._opened()
        self._thread = threading.Thread(target=self._run, name="cairn-watch", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def is_exact(self) -> bool:
        """Whether `pending` tells of every change from the moment it is made, and not a little later."""
        return self.alive and self.mode == "events" and self._source.is_exact

    def pending(self) -> bool:
        """Whether something was touched that has not been handed over, as far as the system tells."""
        # In the order in which a change passes through them, so that none slips by between two looks.
        return (self.alive and self._source.waiting()) or self._rescan or self._pending

    def rescan(self) -> None:
        """Ask `ignored` anew about every folder: the rules have changed."""
        self._rescan = True
        self._source.wake()

    def close(self) -> None:
        self._closing = True
        if self.alive:
            self._source.wake()
        if threading.current_thread() is not self._thread:
            self._thread.join(_JOIN_S)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _opened(self) -> Source:
        if (kind := filesystem_kind(self._root)) is not None:
            return self._sweeping(f"the project lies on a remote file system ({kind}), where changes raise no events")
        try:
            return _listening(self._root, self._ignored, self._git_folders)
        except OSError as error:
            return self._sweeping(_why(error))

    def _sweeping(self, reason: str) -> Source:
        self.mode, self.reason = "polling", reason
        return Sweep(self._root, self._ignored, self._git_folders, self._poll_s)

    def _run(self) -> None:
        try:
            while not self._closing:
                if touched := self._collected():
                    self._changed(None if _is_anything(touched) else touched)
                self._pending = False
        finally:
            self.mode = "off"
            self._source.close()

    def _collected(self) -> set[str]:
        """What is touched from the first change on until it is quiet, or the time to wait is over."""
        touched = self._next(None)
        if not touched:
            return touched
        self._pending = True
        until = time.monotonic() + self._debounce_s
        while (left := until - time.monotonic()) > 0 and not self._closing:
            more = self._next(min(left, self._debounce_s / _QUIET_SHARE))
            if not more:
                break
            touched |= more
        return touched

    def _next(self, seconds: float | None) -> set[str]:
        try:
            if self._rescan:
                self._pending = True
                self._rescan = False
                self._source.rescan()
                return {ANYTHING}
            return self._source.wait(seconds)
        except OSError as error:
            self._pending = True
            self._source.close()
            self._source = self._sweeping(_why(error))
            return {ANYTHING}


def _is_anything(touched: set[str]) -> bool:
    return (
        ANYTHING in touched or len(touched) > _BURST or any(path.rpartition("/")[2] in RULE_FILES for path in touched)
    )


def _why(error: OSError) -> str:
    known = _LIMITS.get(error.errno or 0)
    return known or f"file events cannot be had: {error.strerror or error}"


def _listening(root: Path, ignored: Callable[[str], bool], git: list[Path]) -> Source:
    if _IS_LINUX:
        from codecairn.source.inotify import FolderEvents  # noqa: PLC0415 - there is none elsewhere

        return FolderEvents(root, ignored, git)
    return TreeEvents(root, ignored, git)


class TreeEvents:
    """Whole trees through watchfiles, which collects what comes together by itself."""

    is_exact = False
    """The system tells of a change some milliseconds after it was made, and cannot be asked what is on its way."""

    def __init__(self, root: Path, ignored: Callable[[str], bool], git: list[Path]) -> None:
        self._root = root
        self._ignored = ignored
        self._git = git
        self._stop = threading.Event()
        self._notify = self._opened()

    def _opened(self) -> RustNotify:
        from watchfiles._rust_notify import RustNotify  # noqa: PLC0415 - it brings anyio, which commands do without

        outside = [folder for folder in self._git if not folder.is_relative_to(self._root) and folder.is_dir()]
        places = [str(each) for each in (self._root, *outside)]
        try:
            return RustNotify(places, False, False, 0, True, False)
        except RuntimeError as error:
            raise OSError(errno.EIO, str(error)) from error

    def wait(self, seconds: float | None) -> set[str]:
        if seconds is not None:
            return set()
        while not self._stop.is_set():
            if touched := set(self._touched()):
                return touched
        self._stop.clear()
        return set()

    def _touched(self) -> Iterator[str]:
        try:
            # No time limit: at its end the notifier forgets what came in at that moment.
            changes = self._notify.watch(_STEP_MS * _QUIET_SHARE, _STEP_MS, 0, self._stop)
        except RuntimeError:  # a name that is no UTF-8, after which it would say nothing but that
            self._notify.close()
            self._notify = self._opened()
            yield ANYTHING
            return
        if isinstance(changes, str):
            return
        for _, place in changes:
            yield from self._named(Path(place))

    def _named(self, place: Path) -> Iterator[str]:
        in_git = any(place.is_relative_to(folder) for folder in self._git)
        if in_git or not place.is_relative_to(self._root):
            if place.name in GIT_NAMES or ("heads" in place.parts and place.suffix != ".lock"):
                yield ANYTHING
            return
        path = place.relative_to(self._root).as_posix()
        if path == ".":
            yield ANYTHING
        elif ".git" not in place.parts and not any(map(self._ignored, _prefixes(path))):
            yield path

    def waiting(self) -> bool:
        return False

    def rescan(self) -> None:
        """Nothing to do: events come for ignored folders too, and are dropped by what `ignored` says then."""

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


Stamp = tuple[int, int, int, int]


class Sweep:
    """A look at every file's stamp from time to time."""

    is_exact = False

    def __init__(self, root: Path, ignored: Callable[[str], bool], git: list[Path], every_s: float) -> None:
        self._root = root
        self._ignored = ignored
        self._git = git
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
                elif (stamp := _stamp(entry.path)) is not None:
                    yield path, stamp

    def _git_files(self) -> Iterator[tuple[str, Stamp]]:
        """Under absolute names, which no file of the project has."""
        branches = [folder for folder in self._git if folder.name == "heads"]
        places = [folder / name for folder in self._git for name in GIT_NAMES]
        places += [place for folder in branches for place in folder.rglob("*") if place.suffix != ".lock"]
        for place in places:
            if (stamp := _stamp(str(place))) is not None:
                yield f"/{place}", stamp

    def waiting(self) -> bool:
        return False

    def rescan(self) -> None:
        self._stamps = self._look()

    def wake(self) -> None:
        self._woken.set()

    def close(self) -> None:
        """Nothing is held open."""


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.name.isprintable()]
    except OSError:
        return []


def _stamp(place: str) -> Stamp | None:
    try:
        info = os.lstat(place)
    except OSError:
        return None
    return info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino
