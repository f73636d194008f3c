"""The tools as a team server offers them: each with `project`, five of them with `repositories`, and one more.

The tools themselves are the local ones. `project` takes the place of the absolute roots that local callers name.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Any

from msgspec import Meta, Struct

from codecairn import tools
from codecairn.memory.sessions import Sessions
from codecairn.metrics import Metrics
from codecairn.reading.records import print_record
from codecairn.tools import Call, Registry, Tool, tool

FANNED = frozenset({"search_code", "find_symbol", "context_search", "grep_codebase", "find_references"})
WRITING = frozenset({"remember", "forget", "index_codebase"})
"""Tools for writers. `usage_track` is anybody's who reads: it counts that a rule was applied."""
UNBOUND = frozenset({"metrics_snapshot", "list_repositories"})
"""Tools that are about no repository."""
PROJECT = {"type": "string", "description": "Repository, such as org/repo"}
REPOSITORIES = {"type": "string", "description": "Instead of project, several: org/*, or ** for all (the default)"}


@dataclass(frozen=True)
class OfferedTool(Tool):
    @cached_property
    def input_schema(self) -> dict[str, Any]:
        whole = super().input_schema
        properties = {name: form for name, form in whole["properties"].items() if not self._is_root(name)}
        added = {} if self.name in UNBOUND else {"project": PROJECT}
        added |= {"repositories": REPOSITORIES} if self.name in FANNED else {}
        return {**whole, "properties": {**properties, **added}}

    def _is_root(self, name: str) -> bool:
        return name in ("workspace", self.root_param)


def offer(inner: Registry) -> Registry:
    """The registry that doors show; calls are answered by the inner one."""
    registry = Registry()
    registry.metrics = inner.metrics
    for each in inner.tools.values():
        registry.add(OfferedTool(**{field.name: getattr(each, field.name) for field in fields(Tool)}))
    return registry


class QuietSessions(Sessions):
    """Notes nothing. On a node many people's calls meet: what one of them opened is not to rank another's answers, and
    answers are to be the same on every node."""

    def note(self, *_: Any, **__: Any) -> None:
        return


def inner_registry() -> Registry:
    registry = tools.standard()
    for each in _declared:
        registry.add(each)
    registry.sessions = QuietSessions()
    registry.metrics = Metrics()
    return registry


_declared: list[Tool] = []


class ListedRepository(Struct, frozen=True, kw_only=True):
    repository: str
    default_branch: str
    state: str
    nodes_ready: int


class RepositoryList(Struct, frozen=True, kw_only=True):
    repositories: list[ListedRepository]
    total: int
    metadata: dict[str, Any]


@tool(family="catalog", reading=print_record, into=_declared)
def list_repositories(
    call: Call, *, glob: Annotated[str, Meta(description="org/*, or ** for all", max_length=200)] = "**"
) -> RepositoryList:
    """Which repositories there are. Use it to learn what to give as `project` or `repositories`."""
    raise NotImplementedError(f"{call.door}: {glob} is answered by the team's service")
