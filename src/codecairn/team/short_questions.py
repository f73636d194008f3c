"""Looks: short questions about one replica that are no tool's, asked before or after one over many repositories.

scout     its words and names (scouts.py)
outside   its uses of a name that it imports from elsewhere
exports   what the imports of other repositories mean in it
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from codecairn.connection import Connection
from codecairn.errors import CairnError, ProjectNotFound
from codecairn.paths import printable
from codecairn.project import Project, Projects
from codecairn.team.peers import WireReply, wire_error
from codecairn.team.replication import Replicas
from codecairn.team.replies import not_ready
from codecairn.team.repositories import TeamRepository
from codecairn.team.scouts import Scouts
from codecairn.tools import Call, Registry
from codecairn.tools.outside_references import find_exported, find_outside_uses

KINDS = frozenset({"scout", "outside", "exports"})


class OneProject(Projects):
    """The projects of a call about one repository: that one. No tool can reach another through it."""

    def __init__(self, project: Project) -> None:
        self.settings = project.settings
        self._project = project

    def current(self, client_roots: Iterable[Path] = ()) -> Project:
        del client_roots
        return self._project

    def project_at(self, path: str, *, param: str) -> Project:
        if path == self._project.repository:
            return self._project
        raise ProjectNotFound(f"No repository {printable(path)}", param=param, remedy="Give `project` instead.")


class Looks:
    def __init__(self, replicas: Replicas, inner: Registry) -> None:
        self._replicas, self._inner = replicas, inner
        self._scouts = Scouts()

    def answer(self, kind: str, asked: Any, repository: TeamRepository) -> WireReply:
        generation = self._replicas.ready.get(repository.id)
        if generation is None:
            return WireReply(repository=repository.name, error=wire_error(not_ready(repository)))
        project = self._replicas.project_of(repository)
        try:
            value = self._value(kind, asked, project, (repository.id, generation))
        except CairnError as error:
            return WireReply(repository=repository.name, error=wire_error(error))
        return WireReply(repository=repository.name, value=value)

    def _value(self, kind: str, asked: Any, project: Project, state: tuple[int, int]) -> dict[str, Any]:
        if kind == "scout":
            report: dict[str, Any] = to_builtins(self._scouts.report(*state, project, asked))
            return report
        call = Call(OneProject(project), Connection("look", lasts=False), self._inner, "http")
        if kind == "outside":
            return {"uses": find_outside_uses(call, project, asked["name"], asked["kind"])}
        return {"places": find_exported(call, project, asked["imports"])}
