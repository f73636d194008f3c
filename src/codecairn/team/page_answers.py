"""What pages of a team server ask beside the tools, by the same rights: facts of a repository, and bringing back.

A fact comes from a node that has the repository. Both are audited like calls of tools.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import msgspec

from codecairn.clock import timestamp
from codecairn.errors import CairnError, Denied, ResultNotFound
from codecairn.team.audit import Audit, AuditRow
from codecairn.team.directory import Directory
from codecairn.team.record import Record
from codecairn.team.replication import Replicas
from codecairn.team.service import TeamAnswers
from codecairn.team.tokens import Caller


class PageAnswers:
    def __init__(
        self, answers: TeamAnswers, directory: Directory, replicas: Replicas, record: Record, audit: Audit
    ) -> None:
        self.tools, self.directory, self.database = answers, directory, record.database
        self._replicas, self._notebook, self._audit = replicas, record.notebook, audit

    def fact(self, name: str, arguments: Mapping[str, Any], caller: Caller, repository: str, request: str) -> Any:
        began, outcome, text = time.perf_counter(), "ok", ""
        try:
            text = self.tools.page("fact", name, arguments, caller, repository)
        except CairnError as error:
            outcome = error.code
            raise
        finally:
            self._note(f"page/{name}", caller, repository, request, outcome, len(text), began)
        return msgspec.json.decode(text)

    def restore(self, identity: str, caller: Caller, repository: str, request: str) -> None:
        """Bring back a discovery that was forgotten, as the record has it: with its id and its author."""
        began, found = time.perf_counter(), self.directory.state.find(caller, repository)
        if not caller.may_write(found.name):
            raise Denied("Memory is for writers; you read here", remedy="Ask for a writer's token.")
        row = self._notebook.forgotten(found.id, identity)
        if row is None:
            raise ResultNotFound("There is nothing to bring back", remedy="It is there, or was never recorded.")
        self._notebook.write(found.id, identity, row, caller.name)
        if found.id in self._replicas.ready:
            self._replicas.project_of(found).discoveries.put([row])
        self._note("page/restore", caller, found.name, request, "ok", 0, began)

    def _note(
        self, tool: str, caller: Caller, repository: str, request: str, outcome: str, size: int, began: float
    ) -> None:
        ms = (time.perf_counter() - began) * 1000
        node = self.tools.node
        self._audit.write(
            AuditRow(timestamp(), request, caller.name, tool, repository, outcome, size, node, caller.id, ms, "page")
        )
