"""What a node knows of the team: repositories, living nodes, who has what ready, and who holds which token.

It is a copy of the record, renewed every second and whenever somebody rings. While the database does not answer, the
last copy serves, and `silent_s` says for how long.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from codecairn.errors import ProjectNotFound
from codecairn.paths import printable
from codecairn.store import folders
from codecairn.suggestions import nearest, suggestion
from codecairn.team.database import RecordUnavailable
from codecairn.team.nodes import TeamNode, owners
from codecairn.team.openid import IdentityRefused, OpenId, is_signed_token
from codecairn.team.permissions import matches_glob
from codecairn.team.record import Record
from codecairn.team.repositories import TeamRepository
from codecairn.team.tokens import Caller

log = logging.getLogger("codecairn.team")

GRACE_S = 15.0
"""The record may be silent for so long before answers are called stale."""
_TOKEN_S, _TOKEN_WITHOUT_RECORD_S = 5.0, 600.0
"""How long a token is believed without asking: so long does a revoked one work, and one while nobody can be asked."""
_MOST_TOKENS = 10_000
_NAMED = 20


@dataclass(frozen=True)
class TeamState:
    repositories: dict[str, TeamRepository] = field(default_factory=dict)
    nodes: dict[str, TeamNode] = field(default_factory=dict)
    replicas: dict[int, dict[str, int]] = field(default_factory=dict)
    """For each repository, the generation that each node has ready."""

    def owners(self, repository: TeamRepository) -> list[str]:
        return owners(repository.name, self.nodes)

    def holders(self, repository: TeamRepository, first: str = "") -> list[str]:
        """The living nodes that have it ready, the newest publication before others; among equals `first`, then its
        owners."""
        ready = {
            node: generation for node, generation in self.replicas.get(repository.id, {}).items() if node in self.nodes
        }
        order = owners(repository.name, ready, len(ready))
        return sorted(order, key=lambda node: (-ready[node], node != first))

    def readable(self, caller: Caller, glob: str = "**") -> list[TeamRepository]:
        return [each for name, each in self.repositories.items() if matches_glob(name, glob) and caller.may_read(name)]

    def find(self, caller: Caller, name: str | None) -> TeamRepository:
        """The repository that a caller names. One that the caller may not read is answered as one that is not there."""
        named = self.repositories.get(name) if name is not None else None
        if named is not None and caller.may_read(named.name):
            return named
        known = {each.name: each for each in self.readable(caller)}
        if name is None and len(known) == 1:
            return next(iter(known.values()))
        listed = ", ".join(sorted(known)[:_NAMED]) or "none: this token opens no repository"
        if name is None:
            raise ProjectNotFound("Which repository? Give `project`", param="project", remedy=f"There are {listed}.")
        near = nearest(name, known)
        raise ProjectNotFound(
            f"No repository {printable(name)}", param="project", near=near,
            remedy=suggestion(near, f"There are {listed}."),
        )  # fmt: skip

    def find_remote(self, caller: Caller, remote: str) -> TeamRepository:
        """The repository that is cloned from an address (`folders.normal_remote`), if the caller may read it."""
        same = (each.name for each in self.readable(caller) if folders.normal_remote(each.url) == remote)
        return self.find(caller, next(same, printable(remote)))


class Directory:
    def __init__(self, record: Record) -> None:
        self._record = record
        self.state = TeamState()
        self.own: TeamNode | None = None
        """The node whose directory this is, once others can reach it. It counts among the living however late its
        heartbeat is: whoever can look is alive, and a machine that stalled must not drop or refuse what it has."""
        self.is_read = False
        """Whether the record was ever read: until then nothing is known, which is not the same as nothing."""
        self._seen = time.monotonic()
        self._tokens: OrderedDict[str, tuple[float, Caller | None]] = OrderedDict()
        self._lock = threading.Lock()
        self.openid: OpenId | None = None
        """Believes tokens of the company's identity provider, where there is one."""

    def refresh(self) -> TeamState:
        """Read the record; raises where it does not answer, and the last state stays."""
        repositories = {each.name: each for each in self._record.repositories.all()}
        nodes = {each.id: each for each in (*self._record.nodes.living(), *([self.own] if self.own else []))}
        self.state = TeamState(repositories, nodes, self._record.nodes.replicas())
        self.is_read = True
        self._seen = time.monotonic()
        return self.state

    @property
    def silent_s(self) -> float:
        return time.monotonic() - self._seen

    @property
    def is_silent(self) -> bool:
        return self.silent_s > GRACE_S

    def caller(self, secret: str) -> Caller | None:
        """The holder of a token; None where nobody may be that."""
        if self.openid is not None and is_signed_token(secret):
            return self._caller_by_openid(self.openid, secret)
        now = time.monotonic()
        with self._lock:
            asked_at, known = self._tokens.get(secret, (-1e9, None))
        if now - asked_at < _TOKEN_S:
            return known
        try:
            found = self._record.tokens.find(secret)
        except RecordUnavailable:
            if known is not None and now - asked_at < _TOKEN_WITHOUT_RECORD_S:
                return known
            raise
        with self._lock:
            self._tokens[secret] = (now, found)
            self._tokens.move_to_end(secret)
            if len(self._tokens) > _MOST_TOKENS:
                self._tokens.popitem(last=False)
        return found

    @staticmethod
    def _caller_by_openid(openid: OpenId, token: str) -> Caller | None:
        try:
            grant = openid.verify(token)
        except IdentityRefused as error:
            log.info("a token of the OpenID provider is not taken: %s", error.message)
            return None
        return Caller(grant.number, grant.name, grant.globs, grant.role, grant.writable, grant.administered)

    def used_tokens(self, since_s: float) -> set[int]:
        """The tokens that were looked up lately."""
        now = time.monotonic()
        with self._lock:
            return {caller.id for at, caller in self._tokens.values() if caller and now - at < since_s}
