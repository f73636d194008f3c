"""Keeps an index up with its files, for as long as a server runs: once at the start, then whenever something changes.

Nothing here fails a call. What cannot be done now (another process writes, the disk is full) is tried again, and what
is wrong is said in the metadata of every answer.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from pathlib import Path, PurePosixPath

from codecairn.cancel import Cancel
from codecairn.errors import Busy, CairnError, Cancelled
from codecairn.index.live import ProjectIndex
from codecairn.index.run import Options
from codecairn.source.walk import TOOL_FOLDERS, VENDOR_FOLDERS, ignored_by_git, list_files
from codecairn.source.watch import Watch

log = logging.getLogger("codecairn.index")

_RETRY_S = 2.0
_RETRY_FAILED_S = 30.0
_PATIENCE_S = 5.0


class Keeper:
    def __init__(self, index: ProjectIndex, *, watch: bool) -> None:
        self._index = index
        self._wants_watch = watch
        self._watch: Watch | None = None
        self._ignored: _Ignored | None = None
        self._lock = threading.Lock()
        self._changed: set[str] | None = None
        """Paths to look at; None for all."""
        self._due = threading.Event()
        self._is_working = False
        self._has_failed = False
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cairn-index", daemon=True)

    def start(self) -> None:
        self._index.keeping = self
        self._due.set()
        self._thread.start()

    @property
    def is_watching(self) -> bool:
        """Whether every change is told at once, by events and not by a sweep now and then, and was acted on."""
        return not self._has_failed and self._watch is not None and self._watch.alive and self._watch.mode == "events"

    @property
    def is_behind(self) -> bool:
        return self._is_working or self._due.is_set() or (self._watch is not None and self._watch.pending())

    @property
    def warnings(self) -> list[str]:
        reason = self._watch.reason if self._watch else None
        return [reason] if reason else []

    def look_again(self) -> None:
        """Look at everything: the index was found damaged."""
        self._again(None)

    def close(self) -> None:
        self._closed.set()
        self._due.set()
        if self._watch is not None:
            self._watch.close()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _run(self) -> None:
        try:
            self._keep()
        finally:  # if it ends before it is told to, nothing is under way any more and nothing is believed
            self._has_failed, self._is_working = True, False
            self._due.clear()
            if self._watch is not None:
                self._watch.close()

    def _keep(self) -> None:
        if self._wants_watch:
            self._begin_watching()  # before the first look, so that nothing falls between the two
        while self._is_wanted():
            self._is_working = True
            with self._lock:
                paths, self._changed = self._changed, set()
                self._due.clear()
            if paths is None:
                self._heed_rules()
            is_done = self._brought_up(paths)
            if not is_done:
                self._again(paths)
            self._is_working = False
            if not is_done:
                self._closed.wait(_RETRY_S)

    def _is_wanted(self) -> bool:
        """Waits for something to do: what was seen, or after a while what failed. False once it is closed."""
        self._due.wait(_RETRY_FAILED_S if self._has_failed else None)
        return not self._closed.is_set()

    def _begin_watching(self) -> None:
        index = self._index
        git_dir = None
        with contextlib.suppress(CairnError):
            git_dir = index.git.layout(Cancel()).git_dir
        self._ignored = _Ignored(index, in_git=git_dir is not None)
        self._watch = Watch(index.root, self._again, ignored=self._ignored, git_dir=git_dir)

    def _heed_rules(self) -> None:
        """What is to be watched may have changed with the rest."""
        if self._ignored is not None and self._watch is not None and self._ignored.refresh():
            self._watch.rescan()

    def _again(self, paths: set[str] | None) -> None:
        """These have changed, or are still to be looked at; None for everything."""
        with self._lock:
            self._changed = None if paths is None or self._changed is None else self._changed | paths
            self._due.set()

    def _brought_up(self, paths: set[str] | None) -> bool:
        """Whether that is done, or nothing would be gained by trying again."""
        index = self._index
        try:
            options, is_whole = self._options()
            if paths is not None and is_whole and not paths:
                return True
            report = index.update(options, paths if is_whole else None, patience=_PATIENCE_S)
        except (Busy, Cancelled):  # somebody else writes, or an explicit run took over
            return False
        except CairnError as error:
            log.log(logging.DEBUG if self._has_failed else logging.WARNING, "%s (%s)", error.message, error.remedy)
            self._put_off()
            return True
        self._has_failed = False
        return report is not None

    def _put_off(self) -> None:
        """What it was about is not lost: the next run looks at everything."""
        with self._lock:
            self._changed = None
        self._has_failed = True

    def _options(self) -> tuple[Options, bool]:
        """How the checkout was last indexed, and whether it ever was to the end."""
        try:
            opened = self._index.opened()
            layer = opened.store.checkout(str(self._index.root)) if opened else None
        except CairnError:
            return Options(), False
        if layer is None:
            return Options(), False
        return Options(layer.tests, layer.vendor), layer.complete


class _Ignored:
    """Whether a folder or file need not be watched: by its name, by the guard, or because git ignores it."""

    def __init__(self, index: ProjectIndex, *, in_git: bool) -> None:
        self._source = index.source
        self._in_git = in_git
        self._ignored: frozenset[str] = frozenset()
        self._asked: dict[str, bool] = {}
        self.refresh()

    def refresh(self) -> bool:
        """Ask git anew, once and not folder by folder; whether its answer is another than before."""
        before, source = self._ignored, self._source
        self._asked = {}
        if self._in_git:
            with contextlib.suppress(CairnError):
                self._ignored = ignored_by_git(source.git, Cancel())
                listed = list_files(source.root, source.git, source.guard, Cancel(), vendor=True).files
                self._asked = {str(each): False for found in listed for each in PurePosixPath(found.path).parents}
        return self._ignored != before

    def __call__(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        if name in TOOL_FOLDERS or self._source.guard.blocks(path) or path in self._ignored:
            return True
        if not self._in_git:
            return name in VENDOR_FOLDERS
        if path not in self._asked:  # it appeared since
            self._asked[path] = (self._source.root / path).is_dir() and self._is_ignored_by_git(path)
        return self._asked[path]

    def _is_ignored_by_git(self, path: str) -> bool:
        with contextlib.suppress(CairnError):
            return self._source.git.run("check-ignore", "--quiet", "--", f"{path}/", cancel=Cancel()).status == 0
        return False


def may_index_unasked(root: Path, *, ordered: bool) -> bool:
    """A folder the user named, or a repository: anything else may be a whole disk."""
    return ordered or (root / ".git").exists()
