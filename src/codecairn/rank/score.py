"""The score of a candidate: a sum of contributions, which are also its explanation.

The `share` of a signal is the weight of the query's words it accounts for over the weight of all of them, so a signal
means the same for a query of one word and for a report of a thousand characters. The total is the plain sum of the
contributions. The signals of a whole file (its name, its folder, how much of it matches) count once, for its
best chunk: the others give it back as the diversity penalty.

Contributions are whole multiples of 2**-20, so that their sum is exact in whatever order it is taken, and cut down to
them, never up, so that none exceeds its most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from msgspec import Struct

from codecairn.rank import chunk_signals, file_signals
from codecairn.rank.candidate import Candidate, Statistics, WeighedQuery
from codecairn.rank.query_plan import QueryPlan

SEMANTIC, SEMANTIC_BEST, SEMANTIC_FILE = 0.03, 0.3, 0.3
"""Chosen on the even half of the repositories of the benchmark, and much the same for every model that was tried."""
CHUNK_SIGNALS: dict[str, tuple[float, Callable[[Candidate, WeighedQuery], float]]] = {
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
FILE_STEM, FOLDER, PATH_MENTION, COHERENCE, POPULARITY = 1.1, 0.6, 0.15, 0.2, 0.02
"""How often a file is imported tells two apart that match alike, and no more: at 0.05 it gave words alone 0.001 NDCG
and took as much from words and meaning."""
_GRAIN = 1 << 20
REPEATED = 0.1
"""Each further chunk of a file loses this much besides the file's own contributions."""

_MOST_COHERENCE = sum(file_signals.COHERENCE_DECAY**at for at in range(file_signals.COHERENCE_DEPTH - 1))
ATTAINABLE = sum(most for most, _ in CHUNK_SIGNALS.values()) + (
    FILE_STEM + FOLDER + PATH_MENTION + COHERENCE * _MOST_COHERENCE + POPULARITY + SEMANTIC_BEST + SEMANTIC_FILE
)
NAMED = 2 * (ATTAINABLE + max(file_signals.PENALTIES.values()) + file_signals.SUPERSEDED)
"""More than all else together, given and taken: what has the very name comes before what has not."""
FIRST_NAMED = NAMED / 2
"""And of those whose name is the query letter by letter, the best comes before everything."""

FILE_EVIDENCE = (
    "file_stem", "folder", "path_mention", "coherence", "popularity", "semantic_best", "semantic_file",
)  # fmt: skip


class Ranked(Struct, frozen=True):
    candidate: Candidate
    contributions: dict[str, float]
    total: float
    relevance: float
    """In 0..1, as it is shown and filtered by."""


def rank(
    plan: QueryPlan, candidates: list[Candidate], statistics: Statistics, recent: frozenset[str] = frozenset()
) -> list[Ranked]:
    """Candidates, best first. `recent` are the files this connection has read lately."""
    asked = WeighedQuery(plan, statistics, candidates, recent)
    scored = [(each, _of_chunk(each, asked)) for each in candidates]
    files: defaultdict[str, list[float]] = defaultdict(list)
    for each, given in scored:
        files[each.path].append(given["bm25"])
    shared = {each.path: each for each in candidates}
    evidence = {path: _of_file(shared[path], scores, files, asked) for path, scores in files.items()}
    summed = [(each, given | evidence[each.path]) for each, given in scored]
    _put_first(plan, summed)
    meant = 0.0 if asked.nearest_similarity > 0 else SEMANTIC + SEMANTIC_BEST + SEMANTIC_FILE
    most = ATTAINABLE - meant + (NAMED + FIRST_NAMED if plan.symbol or plan.path else 0.0)
    return [_sum_up(each, given, most) for each, given in sorted(_diverse(summed), key=_falling)]


def rank_by_meaning(candidates: list[Candidate]) -> list[Ranked]:
    """Candidates by nothing but how near they are to the query, nearest first."""
    others = dict.fromkeys(CHUNK_SIGNALS, 0.0)
    near = [(each, others | {"semantic": _exact(max(0.0, each.similarity))}) for each in candidates]
    return [_sum_up(each, given, 1.0) for each, given in sorted(near, key=_falling)]


def _put_first(plan: QueryPlan, summed: list[tuple[Candidate, dict[str, float]]]) -> None:
    exact = [pair for pair in summed if plan.symbol and pair[0].name == plan.symbol]
    if exact:
        min(exact, key=_falling)[1]["named"] += _exact(FIRST_NAMED)


def _falling(pair: tuple[Candidate, dict[str, float]]) -> tuple[float, str, int]:
    return -sum(pair[1].values()), pair[0].path, pair[0].start_line


def _of_chunk(each: Candidate, asked: WeighedQuery) -> dict[str, float]:
    given = {signal: _exact(most * value(each, asked)) for signal, (most, value) in CHUNK_SIGNALS.items()}
    given["named"] = _exact(NAMED * chunk_signals.name_equality(each, asked))
    return given


def _exact(value: float) -> float:
    """Cut to the grain, downwards, so that no contribution exceeds its most. Most are nothing, and need no cutting."""
    return int(value * _GRAIN) / _GRAIN if value else 0.0


def _of_file(each: Candidate, scores: list[float], paths: Iterable[str], asked: WeighedQuery) -> dict[str, float]:
    given = {
        "file_stem": FILE_STEM * file_signals.file_stem(each.path, asked),
        "folder": FOLDER * file_signals.folder(each.path, asked),
        "path_mention": PATH_MENTION * file_signals.path_mention(each.path, asked),
        "coherence": COHERENCE * file_signals.coherence(scores),
        "popularity": POPULARITY * file_signals.popularity(each.imported_by),
        "semantic_best": SEMANTIC_BEST * chunk_signals.semantic_best(each, asked),
        "semantic_file": SEMANTIC_FILE * chunk_signals.semantic_file(each, asked),
        "place": -file_signals.penalty(each.path, each.language),
        "superseded": -file_signals.SUPERSEDED * file_signals.is_superseded(each.path, paths, asked),
    }
    return {signal: _exact(value) for signal, value in given.items()}


def _diverse(summed: list[tuple[Candidate, dict[str, float]]]) -> Iterable[tuple[Candidate, dict[str, float]]]:
    """A file's chunks after its best give back what they have from the file."""
    seen: defaultdict[str, int] = defaultdict(int)
    for each, given in sorted(summed, key=_falling):
        earlier = seen[each.path]
        seen[each.path] += 1
        back = sum(given[signal] for signal in FILE_EVIDENCE) if earlier else 0.0
        yield each, given | {"diversity": 0.0 - back - _exact(REPEATED * earlier)}


def _sum_up(each: Candidate, given: dict[str, float], most: float) -> Ranked:
    total = sum(given.values())
    if total < 0:  # what is taken is never more than there is
        given, total = given | {"floor": -total}, 0.0
    return Ranked(each, given, total, round(min(1.0, total / most), 6))
