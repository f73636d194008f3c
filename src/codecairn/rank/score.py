"""The score of a candidate: a sum of contributions, which are also its explanation.

The `share` of a signal is the weight of the query's words it accounts for over the weight of all of them, so a signal
means the same for a query of one word and for a report of a thousand characters. The total is the plain sum of the
contributions. The signals of a whole file (its name, its folder, how much of it matches) count once, for its
best chunk: the others give it back as the diversity penalty.

Contributions are whole numbers of grains of 2**-20, so that their sum is exact in whatever order it is taken, and cut
down to them, never up, so that none exceeds its most. A signal is computed for all candidates at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from codecairn.rank import chunk_signals, file_signals
from codecairn.rank.candidate import Statistics
from codecairn.rank.columns import Numbers
from codecairn.rank.file_paths import PENALTIES
from codecairn.rank.file_signals import places_in
from codecairn.rank.query_plan import QueryPlan
from codecairn.rank.weighed_query import Candidates, Shares, WeighedQuery

SEMANTIC, SEMANTIC_BEST, SEMANTIC_FILE = 0.03, 0.3, 0.3
"""Chosen on the even half of the repositories of the benchmark, and much the same for every model that was tried."""
_Signal = tuple[float, Callable[[WeighedQuery], Shares]]
CHUNK_SIGNALS: dict[str, _Signal] = {
    "bm25": (1.0, chunk_signals.bm25),
    "semantic": (SEMANTIC, chunk_signals.semantic),
    "exact_match": (0.2, chunk_signals.exact_match),
    "qualified_name": (0.1, chunk_signals.qualifier_match),
    "path_affinity": (0.1, chunk_signals.path_affinity),
    "definition_boost": (0.15, chunk_signals.definition_boost),
    "kind_match": (0.05, chunk_signals.kind_match),
    "name_match": (0.4, chunk_signals.name_match),
    "doc_match": (0.1, chunk_signals.doc_match),
    "substance": (0.1, chunk_signals.substance),
}
COHERENCE, SUPERSEDED = 0.2, 0.3
FILE_SIGNALS: dict[str, _Signal] = {
    "file_stem": (1.1, file_signals.file_stem),
    "folder": (0.6, file_signals.folder),
    "path_mention": (0.15, file_signals.path_mention),
    # How often a file is imported tells two apart that match alike, and no more: at 0.05 it gave words alone 0.001
    # NDCG and took as much from words and meaning.
    "popularity": (0.02, file_signals.popularity),
    "semantic_best": (SEMANTIC_BEST, file_signals.semantic_best),
    "semantic_file": (SEMANTIC_FILE, file_signals.semantic_file),
}
"""Those that count once a file, besides `coherence`."""
TAKEN: dict[str, _Signal] = {"place": (-1.0, file_signals.place), "superseded": (-SUPERSEDED, file_signals.superseded)}
_GRAIN = 1 << 20
REPEATED = 0.1
"""Each further chunk of a file loses this much besides the file's own contributions."""

_MOST_COHERENCE = sum(file_signals.COHERENCE_DECAY**at for at in range(file_signals.COHERENCE_DEPTH - 1))
ATTAINABLE = sum(most for most, _ in CHUNK_SIGNALS.values()) + sum(
    most for most, _ in [*FILE_SIGNALS.values(), (COHERENCE * _MOST_COHERENCE, None)]
)
NAMED = 2 * (ATTAINABLE + max(PENALTIES.values()) + SUPERSEDED)
"""More than all else together, given and taken: what has the very name comes before what has not."""
FIRST_NAMED = NAMED / 2
"""And of those whose name is the query letter by letter, the best comes before everything."""
FILE_EVIDENCE = (*FILE_SIGNALS, "coherence")


class Scores(Struct, frozen=True):
    """Candidates, best first."""

    order: Numbers
    """The place at which each was proposed."""
    signals: tuple[str, ...]
    grains: Numbers
    """A row a candidate, in this order, and a column a signal."""
    totals: Numbers
    most: float
    """The largest total there could be."""

    def contributions(self, at: int) -> dict[str, float]:
        given = {signal: grains / _GRAIN for signal, grains in zip(self.signals, self.grains[at].tolist(), strict=True)}
        if not given["floor"]:
            del given["floor"]
        return given

    def total(self, at: int) -> float:
        return int(self.totals[at]) / _GRAIN

    def relevance(self, at: int) -> float:
        return round(min(1.0, self.total(at) / self.most), 6)


def rank(plan: QueryPlan, candidates: Candidates, statistics: Statistics, recent: frozenset[str]) -> Scores:
    """Candidates, best first. `recent` are the files this connection has read lately."""
    asked = WeighedQuery(plan, statistics, candidates, recent)
    given = {signal: _grains(most * value(asked)) for signal, (most, value) in CHUNK_SIGNALS.items()}
    given["named"] = _grains(NAMED * chunk_signals.name_equality(asked))
    shared = {signal: _grains(most * value(asked)) for signal, (most, value) in FILE_SIGNALS.items()}
    shared["coherence"] = _grains(COHERENCE * _coherence(given["bm25"], candidates))
    taken = {signal: _grains(most * value(asked)) for signal, (most, value) in TAKEN.items()}
    given |= {signal: grains[candidates.file] for signal, grains in (shared | taken).items()}
    falling = _Falling(candidates)
    _put_first(asked, given, falling)
    given["diversity"] = _diversity(given, candidates, falling)
    meant = 0.0 if candidates.similarity.max(initial=0.0) > 0 else SEMANTIC + SEMANTIC_BEST + SEMANTIC_FILE
    most = ATTAINABLE - meant + (NAMED + FIRST_NAMED if plan.symbol or plan.path else 0.0)
    return _order(given, falling, most)


def rank_by_meaning(candidates: Candidates) -> Scores:
    """Candidates by nothing but how near they are to the query, nearest first."""
    nothing = np.zeros(len(candidates.rows), np.int64)
    given = dict.fromkeys(CHUNK_SIGNALS, nothing) | {"semantic": _grains(np.maximum(0.0, candidates.similarity))}
    return _order(given, _Falling(candidates), 1.0)


class _Falling:
    """Orders candidates by what they were given, the first by path and line where that is the same."""

    def __init__(self, candidates: Candidates) -> None:
        by_path = sorted(range(len(candidates.files)), key=lambda at: candidates.files[at].path)
        place = np.empty(len(by_path), np.int64)
        place[by_path] = np.arange(len(by_path))
        self._path = place[candidates.file] if by_path else np.empty(0, np.int64)
        self._line = candidates.table.start.all[candidates.rows]

    def order(self, total: Numbers) -> Numbers:
        return np.lexsort((self._line, self._path, -total))


def _order(given: dict[str, Numbers], falling: _Falling, most: float) -> Scores:
    total = _sum(given)
    given["floor"] = np.maximum(0, -total)  # what is taken is never more than there is
    order = falling.order(total)
    grains = np.stack([each[order] for each in given.values()], axis=1)
    return Scores(order, tuple(given), grains, grains.sum(axis=1), most)


def _put_first(asked: WeighedQuery, given: dict[str, Numbers], falling: _Falling) -> None:
    if not asked.plan.symbol:
        return
    order = falling.order(_sum(given))
    exact = order[chunk_signals.is_named(asked)[order]]
    if len(exact):
        given["named"][exact[0]] += int(FIRST_NAMED * _GRAIN)


def _diversity(given: dict[str, Numbers], candidates: Candidates, falling: _Falling) -> Numbers:
    """A file's chunks after its best give back what they have from the file."""
    order = falling.order(_sum(given))
    together = order[np.argsort(candidates.file[order], kind="stable")]
    earlier = np.empty(len(order), np.int64)
    earlier[together] = places_in(candidates.file[together])
    back = _sum({signal: given[signal] for signal in FILE_EVIDENCE})
    return -np.where(earlier > 0, back, 0) - _grains(REPEATED * earlier.astype(np.float64))


def _coherence(bm25: Numbers, candidates: Candidates) -> Shares:
    return file_signals.coherence(bm25 / _GRAIN, candidates.file, len(candidates.files))


def _sum(given: dict[str, Numbers]) -> Numbers:
    total: Numbers = np.sum(list(given.values()), axis=0)
    return total


def _grains(values: Shares) -> Numbers:
    """Cut to the grain, towards nothing, so that no contribution exceeds its most."""
    return (values * _GRAIN).astype(np.int64)
