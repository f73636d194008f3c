"""Keeps an index up with its files, for as long as a server runs: once at the start, then whenever something changes.

Nothing here fails a call. A run that cannot be made now (another process writes, the disk is full) is tried again,
and the trouble is said in the metadata of every answer. An answer that finds the index behind its files although
nothing is under way says so here, and everything is looked at: no event that was missed makes an index stale for good.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from codecairn.cancel import Cancel
from codecairn.errors import Busy, CairnError, Cancelled
from codecairn.index.run import Report, Source
from codecairn.source.file_listing import TOOL_FOLDERS, git_ignored_paths, list_files
from codecairn.source.file_stamps import Stamps
from codecairn.source.ignore_rules import outer_rules
from codecairn.source.watch import Watch

log = logging.getLogger("codecairn.index")

_RETRY_S = 0.1
"""After somebody else was writing: long enough for an explicit run that waits to come first."""
_RETRY_FAILED_S = (1.0, 30.0)
_FAILED_SHARE = 20
"""After a failure: a twentieth of the time at most goes into trying, and never more than the second of these passes."""


class Keeper:
    def __init__(
        self, source: Source, is_writing: Callable[[], bool], update: Callable[[set[str] | None], Report | None],
        *, watch: bool,
    ) -> None:  # fmt: skip
        """`update` runs the indexer over some paths, or over everything; None where a run is under way already."""
        self._source = source
        self._is_writing = is_writing
        self._update = update
        self.used = time.monotonic()
        """When an answer was last asked of the project."""
        self._wants_watch = watch
        self._watch: Watch | None = None
        self._repository: tuple[Path, int] | None = None
        self._ignored: _Ignored | None = None
        self._outer = Stamps()
        self._lock = threading.Lock()
        self._changed: set[str] | None = None
        """Paths to look at; None for all."""
        self._due = threading.Event()
        self._is_working = False
        self._has_failed = False
        self._pause_s = _RETRY_FAILED_S[0]
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cairn-index", daemon=True)

    def start(self) -> None:
        self._due.set()
        self._thread.start()

    @property
    def is_watching(self) -> bool:
        """Whether `is_behind` tells of every change from the moment it is made, and what it told was acted on."""
        return not self._has_failed and self._watch is not None and self._watch.is_exact

    @property
    def is_behind(self) -> bool:
        # In the order in which a change passes through them, so that none slips by between two looks.
        return self._is_touched() or self._due.is_set() or self._is_working

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    def look_again(self) -> None:
        """Somebody found the index to be behind. A failed run is tried again anyway, and not more often for it."""
        if self._wants_watch and not self._has_failed:
            self._again(None)

    def _is_touched(self) -> bool:
        if self._watch is None:
            return False
        if self._outer.have_changed():
            self._again(None)
        return self._watch.pending()

    @property
    def warnings(self) -> list[str]:
        reason = self._watch.reason if self._watch else None
        return [reason] if reason else []

    def mend(self) -> None:
        """Look at everything, watched or not: the index was found damaged."""
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
            is_done = self._bring_up(paths)
            if not is_done:
                self._again(paths)
            self._is_working = False
            if not is_done:
                self._closed.wait(_RETRY_S)

    def _is_wanted(self) -> bool:
        """Waits for something to do: what was seen, or after a while what failed. False once it is closed."""
        self._due.wait(self._pause_s if self._has_failed else None)
        return not self._closed.is_set()

    def _begin_watching(self) -> None:
        before, source = self._watch, self._source
        self._repository = _repository(source)
        git_dir = self._repository[0] if self._repository else None
        self._ignored = _Ignored(source, in_git=git_dir is not None)
        self._outer = outer_rules(source.git) if git_dir else Stamps()
        self._watch = Watch(source.root, self._again, ignored=self._ignored, git_dir=git_dir)
        if before is not None:
            before.close()

    def _heed_rules(self) -> None:
        """Watch anew if the rules have changed, or the repository has."""
        if self._ignored is None or self._watch is None:
            return
        if _repository(self._source) != self._repository:
            self._begin_watching()
            return
        self._outer.look()
        if self._ignored.refresh():
            self._watch.rescan()

    def _again(self, paths: set[str] | None) -> None:
        """These have changed, or are still to be looked at; None for everything."""
        with self._lock:
            self._changed = None if paths is None or self._changed is None else self._changed | paths
            self._due.set()

    def _bring_up(self, paths: set[str] | None) -> bool:
        """Whether that is done, or nothing would be gained by trying again."""
        began = time.monotonic()
        if self._is_writing():
            return False
        try:
            if paths is None:
                self._heed_rules()
            report = self._update(paths)
        except (Busy, Cancelled):  # somebody else writes, or an explicit run took over
            return False
        except CairnError as error:
            log.log(logging.DEBUG if self._has_failed else logging.WARNING, "%s (%s)", error.message, error.remedy)
            self._put_off(time.monotonic() - began)
            return True
        self._has_failed = False
        if report is not None and paths is None:
            log.info("the files are indexed: %d parsed, %.2f s", report.files_indexed, time.monotonic() - began)
        return report is not None

    def _put_off(self, took_s: float) -> None:
        """Nothing is lost by it: the next run looks at everything."""
        with self._lock:
            self._changed = None
        least, most = _RETRY_FAILED_S
        self._pause_s = min(max(least, took_s * _FAILED_SHARE), most)
        self._has_failed = True


class _Ignored:
    """Whether a folder or file need not be watched: by its name, by the guard, or because git ignores it."""

    def __init__(self, source: Source, *, in_git: bool) -> None:
        self._source = source
        self._in_git = in_git
        self._ignored: frozenset[str] = frozenset()
        self._asked: dict[str, bool] = {}
        self.refresh()

    def refresh(self) -> bool:
        """Ask git anew, once and not folder by folder; whether its answer is another than before."""
        source = self._source
        before = self._ignored | {path for path, is_ignored in list(self._asked.items()) if is_ignored}
        self._asked = {}
        if self._in_git:
            with contextlib.suppress(CairnError):
                self._ignored = git_ignored_paths(source.git, Cancel())
                listed = list_files(source.root, source.git, source.guard, Cancel(), vendor=True).files
                self._asked = {str(each): False for found in listed for each in PurePosixPath(found.path).parents}
        return self._ignored != before

    def __call__(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        if name in TOOL_FOLDERS or self._source.guard.blocks(path) or path in self._ignored:
            return True
        if not self._in_git:
            return False
        if path not in self._asked:  # it appeared since
            self._asked[path] = (self._source.root / path).is_dir() and self._is_ignored_by_git(path)
        return self._asked[path]

    def _is_ignored_by_git(self, path: str) -> bool:
        with contextlib.suppress(CairnError):
            return self._source.git.run("check-ignore", "--quiet", "--", f"./{path}/", cancel=Cancel()).status == 0
        return False


def _repository(source: Source) -> tuple[Path, int] | None:
    """Which git directory the project has; another one in its place has another number."""
    try:
        git_dir = source.git.layout(Cancel()).git_dir
        return git_dir, git_dir.stat().st_ino
    except (CairnError, OSError):
        return None


def may_index_unasked(root: Path, *, ordered: bool) -> bool:
    """A folder the user named, or a repository: anything else may be a whole disk."""
    return ordered or (root / ".git").exists()
