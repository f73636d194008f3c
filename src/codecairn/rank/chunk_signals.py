"""Signals of chunks. Each is a share, in 0..1, a number a candidate; `score.py` gives it its weight."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from codecairn.rank.candidate import LENGTH_NORM, SATURATION, SHORTEST_LENGTH
from codecairn.rank.columns import checksum
from codecairn.rank.weighed_query import Shares, WeighedQuery

_LONG = 400
_SUBSTANCE = np.array([min(1.0, math.log1p(length) / math.log(_LONG)) for length in range(_LONG + 1)])


def bm25(asked: WeighedQuery) -> Shares:
    """Over the most it could be: 1 is every word of the query, any number of times."""
    length = np.maximum(asked.lengths, SHORTEST_LENGTH)
    norm = SATURATION * (1 - LENGTH_NORM + LENGTH_NORM * length / asked.average_length)
    total = np.zeros(len(norm))
    for weight, times in asked.counts:
        total += weight * times / (times + norm)
    return total / asked.whole


REPORTED = 0.4
"""In a report of several lines meaning counts this much of its weight in a question: there the words say more."""


def semantic(asked: WeighedQuery) -> Shares:
    """How near it is in meaning, over the nearest there is."""
    return near(asked.candidates.similarity) * (REPORTED if asked.plan.is_report else 1.0)


def near(similarity: Shares) -> Shares:
    """Over the nearest."""
    nearest = similarity.max(initial=0.0)
    return np.maximum(0.0, similarity) / nearest if nearest > 0 else np.zeros(len(similarity))


def name_match(asked: WeighedQuery) -> Shares:
    return asked.agreement(asked.name_parts, len(asked.candidates.rows))


def exact_match(asked: WeighedQuery) -> Shares:
    """Its whole name is spelled in the query, and how much of the query that is."""
    spelled, weight = asked.spelled_weights
    rows = asked.candidates.rows
    if not len(spelled):
        return np.zeros(len(rows))
    order = np.argsort(spelled)
    bare = asked.bare_names
    place = order[np.minimum(np.searchsorted(spelled[order], bare), len(order) - 1)]
    is_spelled = spelled[place] == bare
    parts = asked.share(asked.name_parts, len(rows))
    own = weight[place] / asked.whole
    return np.where(is_spelled, np.where(np.isnan(own), parts, own), 0.0)


def qualifier_match(asked: WeighedQuery) -> Shares:
    rows = asked.candidates.rows
    return asked.share(asked.candidates.table.qualifier_parts.take(rows), len(rows))


def path_affinity(asked: WeighedQuery) -> Shares:
    """It lies in a file that was read lately, or beside one."""
    if not asked.recent:
        return np.zeros(len(asked.candidates.rows))
    folders = asked.recent_folders
    given = [
        1.0 if each.path in asked.recent else 0.5 if each.path.rpartition("/")[0] in folders else 0.0
        for each in asked.candidates.files
    ]
    return np.array(given)[asked.candidates.file]


def definition_boost(asked: WeighedQuery) -> Shares:
    """The chunk is the definition that a query of one name asks for, and not only its place."""
    if not asked.plan.symbol:
        return np.zeros(len(asked.candidates.rows))
    return np.where(asked.bare_names == asked.bare_symbol, 1.0, 0.0)


def kind_match(asked: WeighedQuery) -> Shares:
    """The query says `class`, and this is one whose name it has a word of."""
    if not asked.plan.kinds:
        return np.zeros(len(asked.candidates.rows))
    is_of_kind = np.isin(asked.candidates.table.kind.take(asked.candidates.rows), asked.kinds)
    return np.where(is_of_kind & (name_match(asked) > 0), 1.0, 0.0)


def doc_match(asked: WeighedQuery) -> Shares:
    total = np.zeros(len(asked.candidates.rows))
    for weight, is_there in asked.documented:
        total += weight * is_there
    return total / asked.whole


def substance(asked: WeighedQuery) -> Shares:
    """Longer text has more to show: of two that match alike, the implementation and not its declaration."""
    return _SUBSTANCE[np.minimum(asked.lengths, _LONG)]


def name_equality(asked: WeighedQuery) -> Shares:
    """The query is one name or path, and this is what has it: letter by letter but for a sigil, or in another case."""
    symbol, path = asked.plan.symbol, asked.plan.path
    given = np.zeros(len(asked.candidates.rows))
    if symbol:
        is_alike = (asked.bare_names == asked.bare_symbol) & (asked.names != checksum(""))
        # `$ZodError` is a ZodError: the better place decides. `_error` is another name.
        same = [checksum(sigil + symbol) for sigil in ("", "$", "@", "$@", "@@", "$$", "@$")]
        given = np.where(is_alike, np.where(np.isin(asked.names, same), 1.0, 0.9), given)
    if path:
        ends = [f"/{each.path.lower()}".endswith("/" + path) for each in asked.candidates.files]
        given = np.maximum(given, np.array(ends, np.float64)[asked.candidates.file])
    return given


def is_named(asked: WeighedQuery) -> npt.NDArray[np.bool_]:
    """Its name is the query, letter by letter."""
    return np.equal(asked.names, checksum(asked.plan.symbol))
