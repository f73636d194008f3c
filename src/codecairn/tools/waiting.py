"""A call waits until what it asks about is indexed, though not for long.

The first run of a project is waited for, and so is a ref that git knows and the index does not, which the call itself
begins to index. After ten seconds the run goes on without the call: the files that are indexed by then answer, and say
how many they are; a ref is answered as it was, or not yet.
"""

from __future__ import annotations

import time

from msgspec.structs import replace

from codecairn.errors import Busy, CairnError, Cancelled, NotARepository, OverlayNotReady, RefNotFound
from codecairn.index.activity import Activity
from codecairn.index.project_index import ProjectIndex
from codecairn.index.run import Options
from codecairn.index.status import IndexStatus, index_status, scope_of
from codecairn.paths import printable
from codecairn.project import Project
from codecairn.source.refs import Tip, tip_of
from codecairn.store.layers import Scope
from codecairn.tools import Call

PATIENCE_S = 10.0
_LOOK_EVERY_S = 0.05
_PROGRESS_EVERY_S = 0.1
ELSEWHERE = "grep_codebase sees everything now"


class CallProgress:
    """Progress as a client may be told it: it only ever grows, and not for every file of thousands."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._done = -1
        self._due = 0.0

    def __call__(self, done: int, total: int, said: str) -> None:
        now = time.monotonic()
        if done > self._done and (now >= self._due or done == total):
            self._done, self._due = done, now + _PROGRESS_EVERY_S
            self._call.progress(done, total or None, said)


class CallPatience:
    """How long one call still waits, whatever it waits for."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._progress = CallProgress(call)
        self._until = time.monotonic() + PATIENCE_S

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._until

    def look(self, activity: Activity | None) -> None:
        """Wait a moment for a run; the client is told how far it is, and may withdraw."""
        self._call.cancel.check()
        if activity is None:
            time.sleep(_LOOK_EVERY_S)
            return
        self._progress(activity.done, activity.total, activity.said)
        activity.ended.wait(_LOOK_EVERY_S)

    def outlasts(self, activity: Activity) -> bool:
        """Wait for a run to end. A command waits to the end of its own run: nothing goes on after it."""
        while not activity.ended.is_set():
            if self.is_over and self._call.door != "cli":
                return False
            self.look(activity)
        return True


def await_files(call: Call, project: Project, patience: CallPatience) -> IndexStatus:
    """How the index of the working tree stands, once its first run is over or has taken too long."""
    while True:
        stands = index_status(project.index, call.cancel)
        if not is_first_run(stands):
            return stands
        if patience.is_over:
            note = first_run_note(project.index, stands)
            return replace(stands, warnings=[note, *stands.warnings])
        patience.look(project.index.activity)


def is_first_run(stands: IndexStatus) -> bool:
    """Whether the working tree is being indexed and never was to the end."""
    return stands.is_partial and stands.freshness == "syncing"


def files_indexed(stands: IndexStatus) -> int:
    return stands.opened.store.totals(stands.layer.id).files if stands.opened and stands.layer else 0


def first_run_note(index: ProjectIndex, stands: IndexStatus) -> str:
    """How much is indexed while the first run is under way, in a sentence."""
    known, activity = files_indexed(stands), index.activity
    if activity is None or not activity.total:
        said = f"{known:,} files indexed so far" if known else "The first index run has begun, nothing is indexed yet"
    else:
        every = max(activity.total, known + activity.total - activity.done)
        said = f"{known * 100 // every} % indexed so far ({known:,} of {every:,} files)"
    return f"{said}; {ELSEWHERE}"


def await_ref(call: Call, project: Project, asked: str, patience: CallPatience) -> IndexStatus:
    """How the index of a ref stands, once it has what git has of it or that has taken too long."""
    stands = _standing_of_ref(call, project, asked)
    if stands is not None and (stands.freshness == "fresh" or stands.layer is None):
        return stands
    try:
        tip = tip_of(project.git, asked, call.cancel)
    except RefNotFound:
        if stands is None:
            raise
        return stands  # it is gone from the repository, and answers as it was
    if stands is not None and stands.freshness == "syncing" and _is_whole(stands, tip):
        return stands  # a run that was asked for goes over the same commit again
    return _catch_up(call, project, tip, patience, stands)


def _standing_of_ref(call: Call, project: Project, asked: str) -> IndexStatus | None:
    """How a ref stands; None where git may know it and the index does not."""
    try:
        return index_status(project.index, call.cancel, asked)
    except RefNotFound as error:
        if isinstance(error.__cause__, NotARepository):
            raise
        return None
    except OverlayNotReady:
        return None


def _catch_up(
    call: Call, project: Project, tip: Tip, patience: CallPatience, before: IndexStatus | None
) -> IndexStatus:
    index = project.index
    while True:
        run = index.begin_ref(tip, _options(call, project))
        if not patience.outlasts(run):
            return _late(tip, run, before)
        if run.ref == tip and run.failure is not None and not isinstance(run.failure, Busy | Cancelled):
            return _after_failure(run.failure, before)
        stands = _standing_of_ref(call, project, tip.name)
        if stands is not None and _is_whole(stands, tip):
            return stands
        if patience.is_over:
            return _late(tip, run, before)


def _is_at(stands: IndexStatus, tip: Tip) -> bool:
    return stands.layer is not None and stands.layer.head == tip.commit


def _is_whole(stands: IndexStatus, tip: Tip) -> bool:
    """Whether it is at the tip with its imports counted, which comes last."""
    return _is_at(stands, tip) and stands.layer is not None and stands.layer.is_counted


def _options(call: Call, project: Project) -> Options:
    """Files left out of the working tree are left out of its refs."""
    opened = project.index.open_index()
    scope = scope_of(project.index, opened, call.cancel) if opened else Scope("")
    return Options(scope.tests, scope.vendor)


def _late(tip: Tip, run: Activity, before: IndexStatus | None) -> IndexStatus:
    name = printable(tip.name)
    if before is not None and _is_at(before, tip):
        return before
    if before is not None and before.layer is not None:
        note = f"{name} has moved and is being caught up; this is {before.layer.head[:12]}"
        return replace(before, warnings=[note, *before.warnings])
    first = "" if run.ref == tip else "; another run goes first"
    far = f" ({run.done:,} of {run.total:,} files)" if run.total else ""
    raise OverlayNotReady(
        f"{name} is being indexed{far}{first}", ref=tip.name, commit=tip.commit,
        remedy="Call again in a moment. read_file, grep_codebase and git_log take this ref now.",
    )  # fmt: skip


def _after_failure(failure: CairnError, before: IndexStatus | None) -> IndexStatus:
    if before is None:
        raise failure
    return replace(before, warnings=[f"It could not be caught up: {failure.message}", *before.warnings])
