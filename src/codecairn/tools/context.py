"""One search over code, discoveries and earlier sessions."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct

from codecairn.errors import EmptyQuery
from codecairn.links import LinkedProjects, linked_projects
from codecairn.memory.search import ContextHit, ContextQuestion, ContextResults, search_context
from codecairn.project import Project
from codecairn.tools import Call, context_text, tool
from codecairn.tools.binding_rules import Rules, rules_for
from codecairn.tools.inquiry import Inquiry, Ref, UnlistedRoot, inquire, look, project_of
from codecairn.types import CamelStruct

_SHORTEST_QUERY, _LONGEST_QUERY = 3, 500
_NOTHING_IN_COMMON = "type keeps discoveries and chunkType keeps code: together they leave nothing."

ChunkType = Literal["function", "class", "method", "interface", "type"]


class Factors(CamelStruct, frozen=True, kw_only=True):
    """final = 1 − (1 − semantic)^(recency × module × frequency)"""

    semantic_score: float
    recency_boost: float
    module_boost: float
    frequency_boost: float
    final_score: float


class ContextResult(CamelStruct, frozen=True, kw_only=True):
    id: str
    type: str
    content: str
    module: str | None
    session: str | None
    date: str | None
    score: float
    source: Literal["discovery", "session", "code"]
    path: str | None
    start_line: int | None
    end_line: int | None
    project: str
    ranking: Factors
    name: str
    language: str
    content_start_line: int
    content_cut: bool
    last_accessed: float | None
    """Seconds ago."""
    accesses_this_week: int
    status: Literal["fresh", "drifted", "orphaned", "unknown"] | None
    status_reason: str | None
    source_layer: str | None


class ContextAnswer(Struct, frozen=True, kw_only=True):
    results: list[ContextResult]
    query: str
    totalFound: int
    searchTime: float
    metadata: dict[str, Any]
    rules: Rules = UNSET
    """Rules of the catalogue that bind the files of the results."""


@tool(family="context", per_minute=100, slow_ms=5_000, markdown=context_text.answer)
def context_search(
    call: Call,
    *,
    query: Annotated[str, Meta(description="A question", max_length=_LONGEST_QUERY)],
    limit: Annotated[int, Meta(ge=1, le=20, description="Most results")] = 5,
    type: Annotated[  # noqa: A002 - the contract's name
        Literal["all", "pattern", "rule", "decision", "issue"], Meta(description="Only such discoveries")
    ] = "all",
    module: Annotated[str | None, Meta(description="Folder name")] = None,
    projectScope: Annotated[Literal["current", "all_linked"], Meta(description="Projects")] = "current",
    chunkType: Annotated[list[ChunkType] | None, Meta(description="function class method interface type")] = None,
    ref: Ref = None,
    workspace: UnlistedRoot = None,
) -> ContextAnswer:
    """Code, past decisions, rules and sessions in one ranking. Use it before you decide or change anything."""
    began = time.perf_counter()
    if len(query.strip()) < _SHORTEST_QUERY:
        raise EmptyQuery("Query must be at least 3 characters", param="query", reason="shorter than 3 characters")
    asked = ContextQuestion(
        query, limit, type, (module or "").strip(), tuple(chunkType or ()), frozenset(call.connection.recent_files)
    )
    own, sessions = project_of(call, workspace), call.registry.sessions
    scope = _scope(call, own, projectScope)
    found = search_context(
        [own, *scope.projects], asked,
        lambda project: (inquire(call, own, ref) if project is own else look(call, project)).stands,
        lambda project: sessions.current(call.connection, project), sessions.clock(), call.cancel,
        scope.names,
    )  # fmt: skip
    ms = (time.perf_counter() - began) * 1000
    warnings = [*scope.warnings, *([_NOTHING_IN_COMMON] if asked.chunk_types and type != "all" else [])]
    now = sessions.clock()
    return ContextAnswer(
        results=[_result(each, now) for each in found.results], query=query, totalFound=found.total,
        searchTime=round(ms, 1), metadata=_metadata(own, found, warnings),
        rules=rules_for(call, own, _own_paths(own, found)),
    )  # fmt: skip


def _own_paths(own: Project, found: ContextResults) -> list[str]:
    return [each.path for each in found.results if each.path is not None and each.project == own.name]


def _scope(call: Call, project: Project, scope: str) -> LinkedProjects:
    """The projects to search besides the current one."""
    if scope == "current":
        return LinkedProjects()
    found = linked_projects(project, call.projects)
    return (
        found if found.projects or found.warnings else LinkedProjects(warnings=["No projects are linked to this one."])
    )


def _metadata(project: Project, found: ContextResults, warnings: list[str]) -> dict[str, Any]:
    is_cut = found.is_capped or len(found.results) < found.total
    return Inquiry(project, found.stands).metadata([*found.warnings, *warnings], is_cut=is_cut)


def _result(found: ContextHit, now: float) -> ContextResult:
    boosts, stands = found.boosts, found.verdict
    return ContextResult(
        id=found.id, type=found.type, content=found.content, module=found.module, session=found.session,
        date=found.date, score=found.final, source=found.source, path=found.path, start_line=found.start_line,
        end_line=found.end_line, project=found.project,
        ranking=Factors(
            semantic_score=found.score, recency_boost=boosts.recency, module_boost=boosts.module,
            frequency_boost=boosts.frequency, final_score=found.final,
        ),
        name=found.title, language=found.language, content_start_line=found.content_line, content_cut=found.is_cut,
        last_accessed=max(0.0, round(now - found.accessed.last, 3)) if found.accessed else None,
        accesses_this_week=found.accessed.this_week if found.accessed else 0,
        status=stands.status if stands else None, status_reason=(stands.reason or None) if stands else None,
        source_layer=found.layer,
    )  # fmt: skip
