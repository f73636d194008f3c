"""The index of one project while a process has it open: its runs, one at a time.

An explicit run joins a run of the server's own that does the same, and supersedes one that does not. A second explicit
run, or one while another process writes, is refused.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from codecairn.cancel import Cancel
from codecairn.config import Embeddings
from codecairn.errors import Busy, CairnError, Cancelled, IndexIncompatible, TimedOut, TooManyFiles
from codecairn.index.activity import Activity, Claims
from codecairn.index.damage import Damage
from codecairn.index.run import Importers, Options, Progress, Report, Run, Source, Target, ignore_progress
from codecairn.paths import Guard
from codecairn.source.git import Git
from codecairn.source.refs import Tip
from codecairn.source.watch import filesystem_kind
from codecairn.store import folders
from codecairn.store.database import IndexStore
from codecairn.store.layers import Layer
from codecairn.store.lexical import Lexical
from codecairn.store.open_index import OpenIndex
from codecairn.store.writer_lock import Owner, WriterLock

if TYPE_CHECKING:
    from codecairn.embed.encoder import Encoder
    from codecairn.index.background import Keeper
    from codecairn.index.embedding import Vectors
    from codecairn.index.preparation import Preparation
    from codecairn.index.worker_pool import Workers

log = logging.getLogger("codecairn.index")

_IDLE_WORKERS_S = 60.0
_PATIENCE_S, _BACKGROUND_PATIENCE_S = 2.0, 5.0
"""How long a run waits for another process to finish a batch before it says that it is busy."""
_SETTLE_S = 5.0
_GLANCE_S = 0.01


class ProjectIndex:
    def __init__(
        self, root: Path, git: Git, guard: Guard, home: Callable[[], Path], embeddings: Embeddings, importers: Importers
    ) -> None:  # fmt: skip
        self.root = root
        self.git = git
        self.source = Source(root, git, guard)
        self.on_use: Callable[[ProjectIndex], None] = _unkept
        """Told whenever somebody asks how the index stands: a server keeps it up from then on."""
        self.unkept: str | None = None
        """Why nobody keeps it up, where that has to be said."""
        self.looks_again_at = 0.0
        """By the monotonic clock: until then comparing the files with the index would cost too much."""
        self.preparation: Preparation | None = None
        """Done once, before anything is indexed: a team server may have it already."""
        self._home, self._embeddings, self._importers = home, embeddings, importers
        self._lock = threading.RLock()
        self._opened: OpenIndex | None = None
        self._activity: Activity | None = None
        self._claims = Claims()
        self._reaper: threading.Timer | None = None
        self._keeper: Keeper | None = None
        self.damage = Damage(guard.blocks, self._mend)
        self.failure: CairnError | None = None
        """Why the last run did not end well."""

    @property
    def home(self) -> Path:
        """Where everything lies that is kept of any project."""
        return self._home()

    @cached_property
    def folder(self) -> Path:
        try:
            git_dir = self.git.layout(Cancel()).git_dir
        except (TooManyFiles, TimedOut):  # of a moment, and the folder is kept for good
            raise
        except CairnError:
            git_dir = None
        return folders.index_folder(self._home(), self.root, git_dir)

    @cached_property
    def lock(self) -> WriterLock:
        return WriterLock(self.folder / "lock")

    @cached_property
    def _workers(self) -> Workers:
        from codecairn.index.worker_pool import Workers  # noqa: PLC0415 - the parser, for who indexes

        return Workers(self.folder)

    def encoders(self) -> Sequence[Encoder]:
        """The encoders that make vectors here: the one asked for first."""
        from codecairn.embed.choice import encoders  # noqa: PLC0415 - numpy takes longer to import than a word to find

        return encoders(self._embeddings)

    @property
    def activity(self) -> Activity | None:
        return self._activity

    @property
    def keeping(self) -> Keeper | None:
        return self._keeper if self._keeper is not None and not self._keeper.is_closed else None

    def keep(self, *, watch: bool) -> Keeper:
        """Keep the index up with its files in the background from now on."""
        from codecairn.index.background import Keeper  # noqa: PLC0415 - for a server

        if self.preparation is not None:
            self.preparation.begin()
        self._keeper = Keeper(self.source, lambda: self._activity is not None, self.update, watch=watch)
        self._keeper.start()
        return self._keeper

    @property
    def is_watching(self) -> bool:
        return self.keeping is not None and self.keeping.is_watching

    @property
    def is_behind(self) -> bool:
        return self.keeping is not None and self.keeping.is_behind

    def warnings(self) -> list[str]:
        failed = [f"The last index run failed: {self.failure.message}. {self.failure.remedy}"] if self.failure else []
        said = [each for each in (self._remote, self.unkept) if each]
        return [*failed, *self.damage.warnings(), *said, *(self.keeping.warnings if self.keeping else [])]

    def settle(self, cancel: Cancel) -> None:
        """Wait, though not for long, until who keeps the index has seen that there is nothing left to do."""
        self.on_use(self)
        deadline = time.monotonic() + _SETTLE_S
        while self.is_behind and time.monotonic() < deadline:
            cancel.check()
            time.sleep(_GLANCE_S)

    @cached_property
    def _remote(self) -> str | None:
        kind = filesystem_kind(self.folder)
        if kind is None:
            return None
        return (
            f"The index lies on a remote file system ({kind}), where locks may not hold and every answer is slow. "
            "Name a folder on a local disk with CAIRN_HOME."
        )

    def owner(self) -> Owner | None:
        """The process that writes the index at this moment."""
        return self.lock.owner()

    def open_index(self) -> OpenIndex | None:
        """The stores in use, or None where nothing was ever indexed here. A rebuild by anyone is noticed."""
        epoch = folders.current_epoch(self.folder)
        folders.note_use(self.folder)
        with self._lock:
            if self._opened is not None and self._opened.folder == epoch:
                return self._opened
            if self._opened is not None:
                self._opened.store.close()
                self._opened = None
            if epoch is None:
                return None
            self._opened = OpenIndex.at(epoch)
            return self._opened

    def checkout(self) -> Layer | None:
        """The layer of this working tree; None where it was never indexed."""
        opened = self.open_index()
        return opened.store.checkout(str(self.root)) if opened else None

    def ref_names(self) -> set[str]:
        """The refs that are indexed; none where the index cannot be read."""
        try:
            opened = self.open_index()
            return opened.store.ref_names() if opened else set()
        except CairnError:
            return set()

    def readable(self) -> tuple[bool, bool]:
        """Whether the database and the lexical index in use can be read, each looked at for itself."""
        epoch = folders.current_epoch(self.folder)
        if epoch is None:
            return False, False
        store = IndexStore(epoch)
        try:
            has_database = _succeeds(store.checkouts)
        finally:
            store.close()
        return has_database, _succeeds(lambda: Lexical(epoch / "lexical").searcher())

    def index(
        self, options: Options, *, force: bool, cancel: Cancel, progress: Progress = ignore_progress,
        ref: Tip | None = None,
    ) -> Report:  # fmt: skip
        """An explicit run: of the working tree, or of a ref."""
        if self.preparation is not None:
            self.preparation.finish()
        asked = Activity(options, True, cancel, ref=ref, force=force)
        with self._claims.waiting():
            while (under_way := self._begin(asked)) is not asked:
                if under_way.explicit:
                    counts = {"done": under_way.done, "total": under_way.total}
                    raise Busy("This project is being indexed", pid=os.getpid(), progress=counts)
                is_alike = under_way.is_whole and ref is None
                is_superseded = is_alike and (force or under_way.options != options)
                if is_superseded:
                    under_way.cancel.set()
                report = self._join(under_way, cancel, progress if is_alike else ignore_progress)
                if report is not None and is_alike and not is_superseded:
                    return report
        return self._perform(asked, _PATIENCE_S, progress)

    def _begin(self, asked: Activity) -> Activity:
        """The run under way, which is the one asked for if there was none."""
        with self._lock:
            if self._activity is None:
                self._activity = asked
            return self._activity

    def _join(self, activity: Activity, cancel: Cancel, progress: Progress) -> Report | None:
        """The outcome of a run of the server's own; None where it was superseded or failed, and another is due."""
        while not activity.ended.wait(0.1):
            cancel.check()
            progress(activity.done, activity.total, activity.said)
        return activity.report

    def update(self, paths: set[str] | None, *, patience: float = _BACKGROUND_PATIENCE_S) -> Report | None:
        """A run of the server's own, with the options of the last: of everything, or of some paths. None where another
        one is under way or waits to be."""
        if self.preparation is not None:
            self.preparation.finish()
        options, is_whole = self._last_options()
        asked = Activity(options, False, Cancel(), paths=paths if is_whole else None)
        if asked.paths is not None and not asked.paths:
            return Report()
        return self._perform(asked, patience) if not self._claims and self._begin(asked) is asked else None

    def _last_options(self) -> tuple[Options, bool]:
        """How the checkout was last indexed, and whether it ever was to the end."""
        try:
            layer = self.checkout()
        except CairnError:
            return Options(), False
        return (Options(layer.tests, layer.vendor), layer.complete) if layer else (Options(), False)

    def begin_ref(self, tip: Tip, options: Options) -> Activity:
        """The run that indexes a ref, begun in the background; another one where that is still under way."""
        asked = Activity(options, False, Cancel(), ref=tip)
        activity = self._begin(asked)
        if activity is asked:
            threading.Thread(target=self._attempt, args=(asked,), name="cairn-ref", daemon=True).start()
        return activity

    def _attempt(self, activity: Activity) -> None:
        """Perform a run whose failure is kept for those who wait for it."""
        with contextlib.suppress(CairnError):
            self._perform(activity, _PATIENCE_S)

    def _perform(self, activity: Activity, patience: float, progress: Progress = ignore_progress) -> Report:
        def tell(done: int, total: int, said: str) -> None:
            activity.note_progress(done, total, said)
            progress(done, total, said)

        try:
            with self.lock.hold("indexing", patience=patience):
                activity.report = self._write(activity, tell)
                self.failure = self.failure if activity.ref else None
                if activity.is_whole:
                    self.damage.clear()
        except CairnError as error:
            activity.failure = error
            if activity.ref is None and not isinstance(error, Cancelled | Busy):
                self.failure = error  # the failure of a ref's run concerns only those who asked for that ref
            raise
        finally:
            with self._lock:
                self._activity = None
            activity.ended.set()
            self._reap_later()
        return activity.report

    def _write(self, activity: Activity, progress: Progress) -> Report:
        from codecairn.index.run_steps import perform  # noqa: PLC0415 - the parser, for who indexes

        folders.sweep(self.folder)
        opened, force = self._usable(activity), activity.force
        known = self.ref_names() if opened is not None else set()
        if opened is not None and not (force and activity.ref is None and self._is_alone(opened)):
            try:
                return perform(self._run_on(opened, activity, progress, anew=force), activity)
            except IndexIncompatible as error:
                if not activity.explicit:
                    raise
                self.damage.note_unreadable(error)
        epoch = folders.new_epoch(self.folder)
        built = OpenIndex.create(epoch)
        if folders.current_epoch(self.folder) is None:
            folders.use_epoch(self.folder, epoch)  # nothing is searchable yet: show it as it grows
        activity.paths = None
        try:
            report = perform(self._run_on(built, activity, progress), activity, known)
        finally:
            built.store.close()
        if folders.current_epoch(self.folder) != epoch:
            folders.use_epoch(self.folder, epoch)
        return report

    def _usable(self, activity: Activity) -> OpenIndex | None:
        """The stores in use, if they can be written on. One of another version is built anew, a damaged one when
        somebody asks for it."""
        try:
            opened = self.open_index()
            if opened is not None:
                opened.store.checkouts()
                opened.lexical.searcher()
            if opened is not None and activity.is_whole:
                self.damage.mend(opened, partial(self._vectors, opened, activity.cancel))
        except IndexIncompatible as error:
            if error.data.get("damaged") and not activity.explicit:
                raise
            self.damage.note_unreadable(error)
            return None
        return opened

    def _mend(self) -> None:
        if self.keeping is not None:
            self.keeping.mend()

    def _is_alone(self, opened: OpenIndex) -> bool:
        """Whether no other checkout of the repository would lose its index with this one."""
        others = (Path(each.root) for each in opened.store.checkouts() if each.root != str(self.root))
        return not any(other.is_dir() for other in others)

    def _run_on(self, opened: OpenIndex, activity: Activity, progress: Progress, *, anew: bool = False) -> Run:
        target = Target(opened.store, opened.lexical, self._vectors(opened, activity.cancel))
        options, cancel, mending = activity.options, activity.cancel, self.damage.is_known
        return Run(self.source, target, self._workers, self._importers, options, cancel, progress, anew, mending)

    def _vectors(self, opened: OpenIndex, cancel: Cancel) -> Vectors | None:
        from codecairn.index.embedding import Vectors  # noqa: PLC0415 - as above

        encoder = next(iter(self.encoders()), None)
        return Vectors(opened.store, opened.folder, encoder, cancel) if encoder else None

    def _reap_later(self) -> None:
        """Workers that nobody needs for a while go."""
        with self._lock:
            if self._reaper is not None:
                self._reaper.cancel()
            self._reaper = threading.Timer(_IDLE_WORKERS_S, self._tidy)
            self._reaper.daemon = True
            self._reaper.start()

    def _tidy(self) -> None:
        self._close_workers()
        with contextlib.suppress(CairnError), self.lock.holding("tidying") as had:
            if had:
                folders.sweep(self.folder)

    def _close_workers(self) -> None:
        workers = self.__dict__.get("_workers")
        if workers is not None:
            workers.close()

    def close(self) -> None:
        if self.keeping is not None:
            self.keeping.close()
        with self._lock:
            if self._reaper is not None:
                self._reaper.cancel()
            if self._activity is not None:
                self._activity.cancel.set()
        self._close_workers()
        if self._opened is not None:
            self._opened.store.close()


def _unkept(index: ProjectIndex) -> None:
    """Nobody keeps anything: a command asks once and ends."""


def _succeeds(look: Callable[[], object]) -> bool:
    try:
        look()
    except CairnError:
        return False
    return True
