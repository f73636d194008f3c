"""One ranking of code, discoveries and earlier sessions, over one project or several.

Each project ranks what it has: chunks of code by the search that search_code is, discoveries and sessions on the same
scale (recall.py), all boosted by what was opened there lately (access_boosts.py). The best of each are then one list,
every result labelled with its project. Searching reads accesses and sessions and writes none.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from msgspec import structs

from codecairn.cancel import Cancel
from codecairn.clock import iso_seconds
from codecairn.errors import NotReady
from codecairn.file_roles import PROSE
from codecairn.index.status import FRESHNESS, IndexStatus
from codecairn.index.views import newest
from codecairn.memory.access_boosts import DIGITS, Boosts, boosts
from codecairn.memory.drift_check import Verdict, verdict
from codecairn.memory.recall import RIGHT_ANSWER, RecalledDiscovery, WordWeights, count_words
from codecairn.memory.sessions import modules_of, topics
from codecairn.names.filters import Filters
from codecairn.paths import module_name
from codecairn.project import Project
from codecairn.rank.candidate import Ranked, Statistics
from codecairn.rank.excerpts import excerpt_of
from codecairn.rank.query_plan import parse_query
from codecairn.rank.search import Question
from codecairn.store.discoveries import DiscoveryRow
from codecairn.store.sessions import FileAccess, SessionRow
from codecairn.store.view import FileRow, View
from codecairn.words import analyse

CHUNK_TYPES = {
    "function": ("function",), "class": ("class", "struct"), "method": ("method",),
    "interface": ("interface", "trait"), "type": ("type", "enum"),
}  # fmt: skip
"""The types of chunks that may be asked for, and the kinds of symbols each covers."""
_CANDIDATES = 100
"""Chunks that are weighed: at most twenty are shown, and those hardly change from ninety on (rank/search.py)."""
_TYPE_OF = {kind: name for name, kinds in CHUNK_TYPES.items() for kind in kinds}

_SESSION_WORTH = 0.5
"""Of what a discovery with the same words would come to: where somebody looked is less than what somebody learnt."""
_LEAST_RELEVANCE = 0.02
_MOST_FILES, _MOST_QUERIES = 8, 4
NO_EMBEDDINGS = "No embeddings found. Run initial session to generate context."
_FALLBACK = "Use grep_codebase for text search"


@dataclass(frozen=True)
class ContextQuestion:
    query: str
    limit: int = 5
    type: str = "all"
    module: str = ""
    chunk_types: tuple[str, ...] = ()
    recent: frozenset[str] = frozenset()
    """Files this connection has read lately."""

    def keeps(self, row: DiscoveryRow) -> bool:
        return self.type in ("all", row.type) and self.is_in(row.module)

    def is_in(self, module: str | None) -> bool:
        return not self.module or (module or "").casefold() == self.module.casefold()


@dataclass(frozen=True)
class ContextHit:
    """A result, whatever it came from."""

    source: Literal["code", "discovery", "session"]
    id: str
    type: str
    title: str
    content: str
    project: str
    module: str | None
    date: str | None
    score: float
    """Before boosts."""
    boosts: Boosts
    path: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    language: str = ""
    session: str | None = None
    accessed: FileAccess | None = None
    verdict: Verdict | None = None
    content_line: int = 1
    is_cut: bool = False
    layer: str | None = None
    """Of code, whose version it is: the default branch's (`base`) or another (`overlay`)."""

    @property
    def final(self) -> float:
        return self.boosts.final(self.score)


@dataclass(frozen=True)
class ContextResults:
    results: list[ContextHit]
    total: int
    stands: IndexStatus
    """Of the first project."""
    is_capped: bool
    warnings: list[str] = field(default_factory=list)


class _PastSession(NamedTuple):
    row: SessionRow
    relevance: float
    module: str | None
    summary: str


class _Scored(NamedTuple):
    """Something to show, before it is known whether it will be."""

    score: float
    boosts: Boosts
    path: str | None
    order: tuple[Any, ...]
    """Among equals."""
    result: Callable[[_Scored], ContextHit]

    @property
    def rank(self) -> tuple[Any, ...]:
        return -self.boosts.final(self.score), -self.score, self.order


class _ProjectPage(NamedTuple):
    results: list[ContextHit]
    total: int
    is_capped: bool
    warnings: tuple[str, ...]


def search_context(
    projects: Sequence[Project], asked: ContextQuestion, stand: Callable[[Project], IndexStatus],
    session_of: Callable[[Project], SessionRow | None], now: float, cancel: Cancel,
    names: Mapping[Path, str] = MappingProxyType({}),
) -> ContextResults:  # fmt: skip
    """The best of all these projects, as fresh as the least fresh of them. The first must be indexed; another that is
    not is left out, and said. `names` are what results call a project, by its root, where that is not its folder's
    name."""
    answers, warnings = list[_ProjectPage](), list[str]()
    first: IndexStatus | None = None
    for project in projects:
        stands = stand(project)
        page = _page(project, stands, asked, session_of(project), now, cancel)
        if page is None and first is None:
            raise _no_embeddings(stands)
        name = names.get(project.root, project.name)
        if first is None:
            first = stands
        elif page is not None:
            first = structs.replace(first, freshness=max(first.freshness, stands.freshness, key=FRESHNESS.index))
            warnings += [f"{name}: {each}" for each in stands.warnings]
        if page is None:
            warnings.append(f"{name} is not indexed and was left out.")
        else:
            answers.append(page._replace(results=[replace(each, project=name) for each in page.results]))
            warnings += page.warnings
    assert first is not None
    results = sorted((each for page in answers for each in page.results), key=_place)[: asked.limit]
    total, is_capped = sum(page.total for page in answers), any(page.is_capped for page in answers)
    return ContextResults(results, total, first, is_capped, list(dict.fromkeys(warnings)))


def _no_embeddings(stands: IndexStatus) -> NotReady:
    under_way = {"action": "Embeddings will be generated in background"} if stands.indexing == "indexing" else {}
    remedy = "Retry in a moment" if under_way else "Run index_codebase"
    if stands.schema == "corrupt_manifest":
        remedy = f"The index is damaged. {remedy}"
    return NotReady(NO_EMBEDDINGS, fallback=_FALLBACK, **under_way, remedy=f"{remedy}; meanwhile: {_FALLBACK.lower()}.")


def _place(found: ContextHit) -> tuple[Any, ...]:
    return -found.final, -found.score, found.source, found.project, found.path or "", found.start_line or 0, found.id


def _page(
    project: Project, stands: IndexStatus, asked: ContextQuestion, session: SessionRow | None, now: float,
    cancel: Cancel,
) -> _ProjectPage | None:  # fmt: skip
    """The best of one project; None where it has no index."""
    return newest(project.index, stands, lambda view: _Ranking(project, view, asked, session, now).page(), cancel)


class _Ranking:
    """One project searched through one view."""

    def __init__(
        self, project: Project, view: View, asked: ContextQuestion, session: SessionRow | None, now: float
    ) -> None:  # fmt: skip
        self._project, self._view, self._asked = project, view, asked
        self._session, self._now = session, now
        self._accessed = project.sessions.accesses(now)
        self._modules = modules_of(session, project.name)

    def page(self) -> _ProjectPage:
        code, is_capped, warnings = self._code()
        noted, left = self._notes()
        scored = sorted([*code, *noted], key=lambda each: each.rank)
        shown = scored[: self._asked.limit]
        results = [replace(each.result(each), accessed=self._accessed.get(each.path or "")) for each in shown]
        return _ProjectPage(results, len(scored) + left, is_capped, warnings)

    def _code(self) -> tuple[list[_Scored], bool, tuple[str, ...]]:
        asked = self._asked
        if asked.type != "all":
            return [], False, ()
        kinds = frozenset(kind for name in asked.chunk_types for kind in CHUNK_TYPES[name])
        wanted = Filters(kinds=kinds, module=asked.module, project=self._project.name)
        ranking, _ = self._project.searcher.rank(
            self._view, Question(asked.query, filters=wanted, recent=asked.recent, candidates=_CANDIDATES)
        )
        scored = [self._score_chunk(each) for each in ranking.results]
        return scored, ranking.is_capped, ranking.warnings

    def _notes(self) -> tuple[list[_Scored], int]:
        """Discoveries and sessions, and how many more discoveries there are than are weighed."""
        asked = self._asked
        if asked.chunk_types:
            return [], 0
        statistics = self._project.searcher.statistics(self._view, asked.query)
        best, total = self._project.recall.search(
            parse_query(asked.query), statistics, asked.keeps if asked.type != "all" or asked.module else None
        )
        found = [self._score_discovery(each) for each in best]
        return [*found, *(self._sessions(statistics) if asked.type == "all" else ())], total - len(best)

    def _sessions(self, statistics: Statistics) -> Iterator[_Scored]:
        own = self._session.id if self._session else None
        rows = [row for row in self._project.sessions.recent() if row.id != own]
        weighed = self._project.recall.weigh(parse_query(self._asked.query), statistics)
        for each in _past_sessions(rows, weighed, self._project.name):
            if self._asked.is_in(each.module):
                result = partial(_session, each, self._project.name)
                yield _Scored(round(each.relevance, DIGITS), Boosts(), None, (2, each.row.id), result)

    def _score_chunk(self, ranked: Ranked) -> _Scored:
        path, score = ranked.candidate.path, round(ranked.relevance, DIGITS)
        order = (1, path, ranked.candidate.start_line)
        return _Scored(score, self._boosts(path, None), path, order, partial(self._chunk, ranked))

    def _score_discovery(self, recalled: RecalledDiscovery) -> _Scored:
        row, score = recalled.row, round(recalled.relevance, DIGITS)
        return _Scored(score, self._boosts(row.path, row.module), row.path, (0, row.id), partial(self._discovery, row))

    def _boosts(self, path: str | None, module: str | None) -> Boosts:
        module = module or (module_name(path, self._project.name) if path else None)
        return boosts(self._accessed.get(path or ""), is_worked_on=module in self._modules, now=self._now)

    def _discovery(self, row: DiscoveryRow, scored: _Scored) -> ContextHit:
        stands = verdict(row, self._view, self._project.root)
        lines = stands.lines if stands and stands.lines else (None, None)
        return ContextHit(
            "discovery", row.id, row.type, row.content.split("\n")[0], row.content, self._project.name, row.module,
            row.updated, scored.score, scored.boosts, path=(stands and stands.path) or row.path, start_line=lines[0],
            end_line=lines[1], session=row.session, verdict=stands,
        )  # fmt: skip

    def _chunk(self, ranked: Ranked, scored: _Scored) -> ContextHit:
        candidate, view = ranked.candidate, self._view
        file = view.file(candidate.file)
        assert file is not None
        text = excerpt_of(view, file, view.chunk(candidate.file, candidate.number), candidate.symbol)
        return ContextHit(
            "code", f"{candidate.file:x}-{candidate.number}", _type(candidate.kind, file),
            candidate.name or candidate.qualified or file.path.rpartition("/")[2], text.content, self._project.name,
            module_name(file.path, self._project.name), _modification_time(self._project, file.path), scored.score,
            scored.boosts, file.path, text.start_line, text.end_line, file.language,
            content_line=text.content_start_line, is_cut=text.is_cut, layer=view.source_layer(file.path, file.id),
        )  # fmt: skip


def _session(past: _PastSession, project: str, scored: _Scored) -> ContextHit:
    row = past.row
    return ContextHit(
        "session", row.id, "session", f"Session of {iso_seconds(row.began)[:10]}", past.summary, project, past.module,
        iso_seconds(row.active), scored.score, scored.boosts, session=row.id,
    )  # fmt: skip


def _type(kind: str, file: FileRow) -> str:
    if not kind:
        return "document" if file.language in PROSE else "module"
    return _TYPE_OF.get(kind, kind)


def _modification_time(project: Project, path: str) -> str | None:
    """When the file last changed, as the file system tells."""
    try:
        return iso_seconds(os.stat(project.root / path).st_mtime)  # noqa: PTH116 - a third of the time
    except OSError:
        return None


def _past_sessions(rows: Iterable[SessionRow], weighed: WordWeights, project: str) -> Iterator[_PastSession]:
    """The sessions that had to do with a query; one that opened no file has nothing to show."""
    for row in rows:
        if not row.files:
            continue
        counts, length = count_words(analyse(" ".join((*row.files, *row.queries))))
        relevance = _SESSION_WORTH * RIGHT_ANSWER * min(1.0, weighed.share(counts, length))
        if relevance >= _LEAST_RELEVANCE:
            yield _PastSession(row, relevance, _main_module(row, project), _summary(row))


def _main_module(row: SessionRow, project: str) -> str | None:
    times: Counter[str] = Counter()
    for path, count in row.files.items():
        times[module_name(path, project)] += count
    return max(sorted(times), key=times.__getitem__) if times else None


def _summary(row: SessionRow) -> str:
    """Topics, files and questions of a session, in a few lines."""
    latest = list(reversed(row.files.items()))
    files = ", ".join(f"{path} ×{times}" if times > 1 else path for path, times in latest[:_MOST_FILES])
    more = f" and {len(latest) - _MOST_FILES} more" if len(latest) > _MOST_FILES else ""
    lines = [f"Topics: {', '.join(topics(row))}", f"Opened: {files}{more}"]
    asked = list(dict.fromkeys(reversed(row.queries)))[:_MOST_QUERIES]
    return "\n".join([*lines, *([f"Asked: {'; '.join(asked)}"] if asked else [])])
