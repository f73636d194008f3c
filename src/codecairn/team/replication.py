"""A node's replicas: kept at what is published, for the repositories that belong to the node.

The loop renews the directory, sends the heartbeat, and brings one replica after another to its publication; it is woken
by notifications and looks by itself every second. The heartbeat has a thread of its own: a node that indexes for a
minute is not dead.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from codecairn.cancel import Cancel
from codecairn.config import Settings
from codecairn.errors import CairnError
from codecairn.project import Project, Projects
from codecairn.team import nodes, notebook, repositories
from codecairn.team.audit import Audit
from codecairn.team.clones import Clone, Clones
from codecairn.team.database import Bell, RecordUnavailable
from codecairn.team.directory import Directory, TeamState
from codecairn.team.record import Record
from codecairn.team.repositories import PublishedRef, TeamRepository

log = logging.getLogger("codecairn.team")

_LOOK_S = 1.0
_LOOK_AGAIN_S = 10.0
"""How often a node that started looks at the files of one replica: it takes up to a second."""
_LOCK_PATIENCE_S = 0.2
_MOST_OPEN = 512
"""Replicas that stay open: to open one takes as long as some searches. Each has a dozen files and, as far as it is
read, up to 4 MB of pages."""
_TOKENS_NOTED_S = 60.0
_SPARE_S = 300.0
"""A replica that is another's is kept for so long, and answers meanwhile: nodes that come and go within that time move
nothing twice."""


class Replicas(Projects):
    """The projects that a node answers from: its clones, each known by its repository's name."""

    most_open = _MOST_OPEN

    def __init__(self, clones: Clones, directory: Directory, settings: Settings) -> None:
        super().__init__(settings)
        self.clones = clones
        self._directory = directory
        self._named: dict[Path, TeamRepository] = {}
        self.ready: dict[int, int] = {}
        """The generation of each repository that this node has ready."""

    def project_of(self, repository: TeamRepository) -> Project:
        root = self.clones.root_of(repository)
        self._named[root] = repository
        return self.open(root)

    def _make(self, root: Path) -> Project:
        repository = self._named[root]
        behind = partial(self._is_behind, repository.name, repository.id)
        return Project(root, self.settings, self.on_use, repository=repository.name, is_behind=behind)

    def _is_behind(self, name: str, number: int) -> bool:
        """Whether more is published than is ready here, or nobody could be asked for a while."""
        published = self._directory.state.repositories.get(name)
        return self._directory.is_silent or published is None or published.generation != self.ready.get(number)


def _ignore(repository: TeamRepository) -> None:
    del repository


class Replication:
    def __init__(
        self, node: str, url: str, record: Record, replicas: Replicas, directory: Directory, audit: Audit
    ) -> None:
        self.node, self.url = node, url
        self._record, self._replicas, self._directory, self._audit = record, replicas, directory, audit
        self._bell = Bell(record.database.url, [repositories.CHANGED, nodes.CHANGED, notebook.CHANGED], _LOOK_S)
        self._read: dict[int, int] = {}
        """How far the memory of each repository was replayed."""
        self._compared: set[int] = set()
        """Repositories whose memory on this disk was compared with the record since the start: a restored record, or a
        crash amid a call, leaves discoveries here that nobody recorded."""
        self._heads: dict[int, tuple[int, int]] = {}
        self._began, self._unseen = set[int](), list[int]()
        """Replicas that were brought up since the start; and those of them whose files nobody has looked at since."""
        self._looked_again = -_LOOK_AGAIN_S
        self._spare_since: dict[int, float] = {}
        """Since when each replica here is another's."""
        self._noted_tokens = time.monotonic()
        self._threads: list[threading.Thread] = []
        self.failures: dict[str, str] = {}
        self.followed = 0
        """Publications that replicas of this node were brought to while it ran."""
        self.lag_s = 0.0
        """From the push to the first answer that has it, of the last of them."""
        self.on_ready: Callable[[TeamRepository], None] = _ignore
        """Told of each replica that was brought up."""

    def start(self) -> None:
        for work in (self._beat, self._follow):
            thread = threading.Thread(target=work, name=f"cairn-{work.__name__}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def close(self) -> None:
        self._bell.close()
        for each in self._threads:
            each.join(5.0)
        with contextlib.suppress(CairnError):
            self._record.nodes.leave(self.node)

    def _beat(self) -> None:
        while not self._bell.is_closed:
            try:
                self._record.nodes.beat(self.node, self.url)
                self._directory.refresh()
                self._audit.flush()
                self._note_tokens()
            except (CairnError, OSError) as error:
                log.warning("the record does not answer: %s", error)
            self._bell.pause(nodes.HEARTBEAT_S)

    def _note_tokens(self) -> None:
        now = time.monotonic()
        if now - self._noted_tokens > _TOKENS_NOTED_S:
            self._record.tokens.note_use(self._directory.used_tokens(now - self._noted_tokens))
            self._record.nodes.forget_dead()
            self._noted_tokens = now

    def _follow(self) -> None:
        """Nothing that goes wrong with one look ends the next."""
        while self._bell.wait():
            try:
                self.catch_up()
            except (CairnError, OSError) as error:
                log.warning("replicas are not followed: %s", error)

    def catch_up(self) -> None:
        """Bring every replica of this node to its publication, and its memory to the last event."""
        state = self._directory.refresh()
        heads = self._record.notebook.heads()
        for each in sorted(state.repositories.values(), key=lambda one: one.id in self._replicas.ready):
            if self._bell.is_closed:
                return
            is_mine = self.node in state.owners(each)
            if is_mine and each.generation and self._replicas.ready.get(each.id) != each.generation:
                self._attempt(each)
            elif each.id in self._replicas.ready:
                follow = self._keep if is_mine else self._let_go
                follow(each)
            if each.id in self._replicas.ready and heads.get(each.id) != self._heads.get(each.id):
                self._replay(each)
                self._heads[each.id] = heads[each.id]
        self._replicas.clones.forget({each.id for each in state.repositories.values()})
        self._look_again(state)

    def _keep(self, repository: TeamRepository) -> None:
        """The replica is this node's. A record that was away when it was brought up, or forgot it, is told again."""
        self._spare_since.pop(repository.id, None)
        ready = self._replicas.ready[repository.id]
        if self._directory.state.replicas.get(repository.id, {}).get(self.node) != ready:
            self._record.nodes.note_replica(self.node, repository.id, ready)

    def _let_go(self, repository: TeamRepository) -> None:
        """Drop a replica that is another's, once every owner has had it ready for a good while."""
        state = self._directory.state
        if not set(state.owners(repository)) <= state.replicas.get(repository.id, {}).keys():
            self._spare_since.pop(repository.id, None)
        elif time.monotonic() - self._spare_since.setdefault(repository.id, time.monotonic()) > _SPARE_S:
            del self._spare_since[repository.id]
            self._record.nodes.drop_replica(self.node, repository.id)
            del self._replicas.ready[repository.id]

    def _attempt(self, repository: TeamRepository) -> None:
        try:
            self._replicate(repository)
            self.failures.pop(repository.name, None)
        except RecordUnavailable:
            raise
        except (CairnError, OSError) as error:
            self.failures[repository.name] = str(error)
            log.warning("%s cannot be replicated: %s", repository.name, error)

    def _replicate(self, repository: TeamRepository) -> None:
        clone = self._replicas.clones.at(repository)
        with clone.holding("replicating", _LOCK_PATIENCE_S) as had:
            if had:
                self._bring_up(clone, repository)

    def _bring_up(self, clone: Clone, repository: TeamRepository) -> None:
        cancel, began = Cancel(), time.monotonic()
        current = self._record.repositories.get(repository.id)
        refs = self._record.repositories.refs(repository.id)
        if current is None or not refs:
            return
        project = self._replicas.project_of(repository)
        taken = parsed = 0
        if repository.id not in self._began and self._is_left_at(clone, project, current, refs):
            self._unseen.append(repository.id)
        else:
            clone.show(current.default_branch, refs, cancel)
            taken = clone.take_versions(project, self._record.versions, refs, cancel)
            parsed = clone.index(project, current.default_branch, refs, cancel)
            clone.note_shown(current.default_branch, refs)
            self._unseen = [each for each in self._unseen if each != repository.id]
        self._began.add(repository.id)
        self._replay(repository)
        log.info(
            "%s is ready: %d versions taken, %d files parsed, %.2f s", repository.name, taken, parsed,
            time.monotonic() - began,
        )  # fmt: skip
        is_followed = self._replicas.ready.get(repository.id, current.generation) != current.generation
        self._replicas.ready[repository.id] = current.generation
        self._record.nodes.note_replica(self.node, repository.id, current.generation)
        if is_followed:
            self.followed += 1
            self.lag_s = self._record.repositories.since_push_s(repository.id) or 0.0
        self.on_ready(repository)

    @staticmethod
    def _is_left_at(clone: Clone, project: Project, current: TeamRepository, refs: list[PublishedRef]) -> bool:
        return clone.is_at(current.default_branch, refs) and project.index.open_index() is not None

    def _look_again(self, state: TeamState) -> None:
        """Look at the files of one replica that was believed to be as it was left; one that fails waits its turn."""
        known = {each.id: each for each in state.repositories.values() if each.id in self._replicas.ready}
        while self._unseen and time.monotonic() - self._looked_again > _LOOK_AGAIN_S:
            number = self._unseen.pop(0)
            if number in known:
                self._unseen.append(number)
                self._looked_again = time.monotonic()
                self._attempt(known[number])

    def _replay(self, repository: TeamRepository) -> None:
        """Bring the memory that the tools read to the last event of the record, and its counts of uses."""
        project = self._replicas.project_of(repository)
        events = self._record.notebook.since(repository.id, self._read.get(repository.id, 0))
        if repository.id not in self._compared:
            recorded = {event.discovery for event in events}
            for row in project.discoveries.all():
                if row.id not in recorded:
                    project.discoveries.remove(row.id)
            self._compared.add(repository.id)
        for event in events:
            if event.row is not None:
                project.discoveries.put([event.row])
            else:
                project.discoveries.remove(event.discovery)
            self._read[repository.id] = event.number
        project.memory.set_usage(self._record.notebook.uses(repository.id))
