"""Signals of a chunk. Each is a share, in 0..1; `score.py` gives it its weight."""

from __future__ import annotations

import math

from codecairn.rank.candidate import Candidate, WeighedQuery
from codecairn.words import bare, parts_of

SATURATION = 1.2
LENGTH_NORM = 0.75
"""BM25's customary constants; no other value was better on both kinds of query."""
SHORTEST_LENGTH = 20
"""Words. A one-line declaration is not a better answer than the function for being short."""


def bm25(each: Candidate, asked: WeighedQuery) -> float:
    """Over the most it could be: 1 is every word of the query, any number of times."""
    norm = SATURATION * (1 - LENGTH_NORM + LENGTH_NORM * max(each.length, SHORTEST_LENGTH) / asked.average_length)
    weights = asked.weights
    return sum(weights[word] * n / (n + norm) for word, n in each.counts.items() if word in weights) / asked.whole


REPORTED = 0.4
"""In a report of several lines meaning counts this much of its weight in a question: there the words say more."""


def semantic(each: Candidate, asked: WeighedQuery) -> float:
    """How near it is in meaning, over the nearest there is."""
    return _near(each.similarity, asked.nearest_similarity) * (REPORTED if asked.plan.is_report else 1.0)


def semantic_best(each: Candidate, asked: WeighedQuery) -> float:
    """The same of the nearest passages of its file."""
    return _near(each.best_similarity, asked.nearest_best) * (REPORTED if asked.plan.is_report else 1.0)


def semantic_file(each: Candidate, asked: WeighedQuery) -> float:
    """The same of its file as a whole. A question asks what a file is for; a report is about one place in it."""
    return 0.0 if asked.plan.is_report else _near(each.file_similarity, asked.nearest_file)


def _near(similarity: float, nearest: float) -> float:
    return max(0.0, similarity) / nearest if nearest > 0 else 0.0


def name_match(each: Candidate, asked: WeighedQuery) -> float:
    return asked.agreement(parts_of(each.name)) if each.name else 0.0


def exact_match(each: Candidate, asked: WeighedQuery) -> float:
    """Its whole name is spelled in the query, and how much of the query that is."""
    name = bare(each.name)
    if not name or name not in asked.plan.spelled:
        return 0.0
    return asked.weights[name] / asked.whole if name in asked.weights else asked.share(parts_of(each.name))


def qualifier_match(each: Candidate, asked: WeighedQuery) -> float:
    if each.qualified == each.name or not each.name:
        return 0.0
    own = parts_of(each.name)
    return asked.share(part for part in parts_of(each.qualified) if part not in own)


def path_affinity(each: Candidate, asked: WeighedQuery) -> float:
    """It lies in a file that was read lately, or beside one."""
    if each.path in asked.recent:
        return 1.0
    return 0.5 if each.path.rpartition("/")[0] in asked.recent_folders else 0.0


def definition_boost(each: Candidate, asked: WeighedQuery) -> float:
    """The chunk is the definition that a query of one name asks for, and not only its place."""
    return float(bool(asked.plan.symbol) and bare(each.name) == bare(asked.plan.symbol))


def kind_match(each: Candidate, asked: WeighedQuery) -> float:
    """The query says `class`, and this is one whose name it has a word of."""
    return float(each.kind in asked.plan.kinds and name_match(each, asked) > 0)


def doc_match(each: Candidate, asked: WeighedQuery) -> float:
    return asked.share(each.documented)


def substance(each: Candidate, _: WeighedQuery) -> float:
    """Longer text has more to show: of two that match alike, the implementation and not its declaration."""
    return min(1.0, math.log1p(each.length) / math.log(400))


def name_equality(each: Candidate, asked: WeighedQuery) -> float:
    """The query is one name or path, and this is what has it: letter by letter but for a sigil, or in another case."""
    symbol, path = asked.plan.symbol, asked.plan.path
    if path and f"/{each.path.lower()}".endswith("/" + path):
        return 1.0
    if not symbol or not each.name:
        return 0.0
    # `$ZodError` is a ZodError: the better place decides. `_error` is another name.
    if symbol in (each.name, each.name.lstrip("$@")):
        return 1.0
    return 0.9 if bare(symbol) == bare(each.name) else 0.0
