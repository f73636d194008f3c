"""The worker: takes jobs, and publishes what it indexed.

A job is: fetch, choose the refs, set the clone to them, take the versions that others have read, index the rest with
the local product, send the versions that the record lacks, and publish. The publication is one transaction that
ends with the refs; whatever kills a worker before it leaves versions that nothing names.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from codecairn.cancel import Cancel
from codecairn.errors import Busy, CairnError
from codecairn.project import Project
from codecairn.store.file_version import FileVersion
from codecairn.team import jobs, versions
from codecairn.team.clones import Clone, Clones, choose_refs
from codecairn.team.database import Bell
from codecairn.team.jobs import Job, check_lease
from codecairn.team.record import Record
from codecairn.team.repositories import PublishedRef, publish_refs

log = logging.getLogger("codecairn.team")

POLL_S = 300.0
"""How often a repository is looked at that no webhook speaks for."""
_WAKE_S = 2.0
_CLONE_PATIENCE_S = 60.0
_SEND_BYTES = 4_000_000
_COLLECT_EVERY_S = 3600.0


class TeamWorker:
    def __init__(self, record: Record, clones: Clones, *, poll_s: float = POLL_S, wake_s: float = _WAKE_S) -> None:
        self.name = f"{socket.gethostname()}/{os.getpid()}"
        self._record = record
        self._clones = clones
        self._poll_s = poll_s
        self._bell = Bell(record.database.url, [jobs.CHANGED], wake_s)
        self._collected = time.monotonic()
        self.done = self.failed = 0
        self.lag_s = 0.0
        """From the push to the publication of the last job."""
        self.heard_at = time.monotonic()
        """When the record last answered."""
        self.is_busy = False

    def serve(self) -> None:
        """Work until closed. A database that does not answer is waited for."""
        while self._bell.wait():
            try:
                self._record.jobs.ask_stale(self._poll_s)
                self.heard_at = time.monotonic()
                while not self._bell.is_closed and self.work_once():
                    pass
                self._tidy()
            except CairnError as error:
                log.warning("the worker waits: %s", error.message)

    def close(self) -> None:
        self._bell.close()

    def work_once(self) -> bool:
        """Take a job and do it; False where none is due."""
        job = self._record.jobs.take(self.name)
        if job is None:
            return False
        began, self.is_busy = time.monotonic(), True
        try:
            with self._leasing(job) as cancel:
                self._perform(job, cancel)
            self._record.jobs.finish(job)
            self.done += 1
            self.lag_s = job.waited_s + time.monotonic() - began
        except (CairnError, OSError) as error:
            self.failed += 1
            reason = f"{error.message}. {error.remedy}" if isinstance(error, CairnError) else str(error)
            log.warning("repository %s: %s", job.repository, reason)
            self._record.jobs.fail(job, reason)
            if not isinstance(error, Busy):
                self._record.repositories.mark(job.repository, "failing", reason)
        finally:
            self.is_busy, self.heard_at = False, time.monotonic()
        return True

    def _perform(self, job: Job, cancel: Cancel) -> None:
        repository = self._record.repositories.get(job.repository)
        if repository is None:
            return
        clone = self._clones.at(repository)
        with clone.holding("indexing", _CLONE_PATIENCE_S) as had:
            if not had:
                raise Busy("Another process is at work on the clone")
            default, refs = choose_refs(clone.fetch(cancel), repository.globs)
            if repository.state == "ready" and refs == self._in_order_of(
                self._record.repositories.refs(repository.id), refs
            ):
                return
            clone.show(default, refs, cancel)
            project = clone.open()
            try:
                self._index(job, clone, project, default, refs, cancel)
            finally:
                project.close()

    @staticmethod
    def _in_order_of(known: list[PublishedRef], like: list[PublishedRef]) -> list[PublishedRef]:
        """The refs that are published, in the order of those that are wanted."""
        by_name = {each.name: each for each in known}
        return [by_name[each.name] for each in like if each.name in by_name] if len(known) == len(like) else []

    def _index(
        self, job: Job, clone: Clone, project: Project, default: str, refs: list[PublishedRef], cancel: Cancel
    ) -> None:
        began = time.monotonic()
        taken = clone.take_versions(project, self._record.versions, refs, cancel)
        parsed = clone.index(project, default, refs, cancel)
        keys = clone.named_versions(project, refs)
        held = self._record.versions.keys_of(job.repository)  # nobody forgets a version that is held
        sent = self._send(project, [key for key in keys if key not in held], cancel)
        with self._record.database.transaction() as connection:
            check_lease(connection, job)
            versions.hold(connection, job.repository, keys)
            publish_refs(connection, job.repository, default, refs)
        log.info(
            "%s published: %d versions taken, %d files parsed, %d versions sent, %.2f s", clone.repository.name, taken,
            parsed, sent, time.monotonic() - began,
        )  # fmt: skip

    def _send(self, project: Project, keys: list[int], cancel: Cancel) -> int:
        """Send the versions that the record lacks."""
        lacking = self._record.versions.lacking(keys)
        opened = project.index.open_index()
        assert opened is not None, "it was indexed this moment"
        part: list[FileVersion] = []
        for key in lacking:
            cancel.check()
            if (version := opened.store.load(key)) is not None:
                part.append(version)
            if sum(each.size for each in part) > _SEND_BYTES:
                self._record.versions.put(part)
                part = []
        if part:
            self._record.versions.put(part)
        return len(lacking)

    @contextmanager
    def _leasing(self, job: Job) -> Iterator[Cancel]:
        """Renew the lease while the work goes on; a worker that lost it stops."""
        cancel, done = Cancel(), threading.Event()

        def renew() -> None:
            while not done.wait(self._record.jobs.renew_every_s):
                try:
                    if not self._record.jobs.renew(job):
                        cancel.set()
                except CairnError as error:
                    log.warning("a lease could not be renewed: %s", error.message)

        thread = threading.Thread(target=renew, name="cairn-lease", daemon=True)
        thread.start()
        try:
            yield cancel
        finally:
            done.set()
            thread.join()

    def _tidy(self) -> None:
        if time.monotonic() - self._collected > _COLLECT_EVERY_S:
            self._collected = time.monotonic()
            self._record.versions.collect()
            self._record.notebook.forget_deliveries()
