"""Signals of whole files for their chunks, a number a file: name, folder, how much of it matches, meaning, role."""

from __future__ import annotations

import math

import numpy as np

from codecairn.rank.chunk_signals import REPORTED, near
from codecairn.rank.columns import Numbers
from codecairn.rank.file_paths import path_mention as mention
from codecairn.rank.file_paths import superseded as find_superseded
from codecairn.rank.weighed_query import Shares, WeighedQuery

COHERENCE_DECAY = 0.8
COHERENCE_DEPTH = 12
_DECAYED = np.array([0.0, *(COHERENCE_DECAY**at for at in range(COHERENCE_DEPTH - 1))])
_MANY = 150
_POPULARITY = np.array([min(1.0, math.log1p(importers) / 5) for importers in range(_MANY + 1)])


def file_stem(asked: WeighedQuery) -> Shares:
    """The file's name agrees with the query."""
    paths = asked.candidates.paths
    return asked.agreement(asked.candidates.table.stem_parts.take(paths), len(paths))


def folder(asked: WeighedQuery) -> Shares:
    paths = asked.candidates.paths
    return asked.share(asked.candidates.table.folder_parts.take(paths), len(paths))


def path_mention(asked: WeighedQuery) -> Shares:
    """The end of its path is spelled in the query."""
    text = asked.lower_text
    if "/" not in text and "." not in text:  # no path and no file name can be in it
        return np.zeros(len(asked.candidates.files))
    return np.array([mention(each.path, text) for each in asked.candidates.files])


def popularity(asked: WeighedQuery) -> Shares:
    return _POPULARITY[np.minimum(asked.candidates.importers, _MANY)]


def semantic_best(asked: WeighedQuery) -> Shares:
    """How near the nearest passages of the file are in meaning."""
    return near(asked.candidates.best_similarity) * (REPORTED if asked.plan.is_report else 1.0)


def semantic_file(asked: WeighedQuery) -> Shares:
    """The same of the file as a whole. A question asks what a file is for; a report is about one place in it."""
    similarity = asked.candidates.file_similarity
    return np.zeros(len(similarity)) if asked.plan.is_report else near(similarity)


def place(asked: WeighedQuery) -> Shares:
    return asked.candidates.table.penalty.all[asked.candidates.paths]


def superseded(asked: WeighedQuery) -> Shares:
    """It is under `v3/` where there is a `v4/` beside it, and the query does not name `v3`."""
    old = find_superseded([each.path for each in asked.candidates.files], asked.plan.spelled)
    return np.array([float(each.path in old) for each in asked.candidates.files])


def coherence(scores: Shares, file: Numbers, files: int) -> Shares:
    """How well each file's other chunks match, from the second best on, each counting 0.8 of the one before."""
    order = np.lexsort((-scores, file))
    rank = places_in(file[order])
    further = (rank > 0) & (rank < COHERENCE_DEPTH)
    here = order[further]
    return np.bincount(file[here], scores[here] * _DECAYED[rank[further]], files).astype(np.float64)


def places_in(groups: Numbers) -> Numbers:
    """The place of each in its group, where those of a group stand together."""
    begins = np.flatnonzero(np.diff(groups, prepend=-1))
    return np.arange(len(groups)) - np.repeat(begins, np.diff(begins, append=len(groups)))
