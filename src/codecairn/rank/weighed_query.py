"""A query weighed by the view that is searched, beside the columns of its candidates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from codecairn.rank.candidate import Statistics, rarity
from codecairn.rank.columns import Numbers, Parts, Table, checksum, checksums
from codecairn.rank.query_plan import QueryPlan
from codecairn.store.view import FileRow
from codecairn.words import bare, parts_of

Shares = npt.NDArray[np.float64]
"""A number a candidate, or a file, in the order of both."""
_SHORTEST_OPENING = 3
"""Letters that two words must share from the first for one to stand for the other."""
_LOW = 0xFFFF


class Candidates(Struct, frozen=True):
    """The chunks to weigh: rows of the table, in the order in which they were proposed."""

    table: Table
    rows: Numbers
    files: Sequence[FileRow]
    file: Numbers
    """The place of each one's file among the files."""
    paths: Numbers
    """The rows of the files' paths."""
    importers: Numbers
    similarity: Shares
    """How near each is to the query in meaning: the cosine of the two, 0 where one of them has no vector."""
    file_similarity: Shares
    """The same of all of its file, and of the five chunks of it that are nearest, on average: a number a file."""
    best_similarity: Shares


class WeighedQuery:
    """A plan weighed by a view's statistics."""

    def __init__(
        self, plan: QueryPlan, statistics: Statistics, candidates: Candidates, recent: frozenset[str] = frozenset()
    ) -> None:
        self.plan = plan
        self.candidates = candidates
        self.recent = recent
        self.recent_folders = frozenset(path.rpartition("/")[0] for path in recent)
        self.average_length = statistics.average_length
        found = {word: statistics.frequency.get(word, 0) for word in plan.weights}
        # A word found nowhere tells nothing apart, and must not thin out those that do.
        known = self._in_paths() if 0 in found.values() else frozenset()
        self.weights = {
            word: weight * rarity(statistics.chunks, found[word])
            for word, weight in plan.weights.items()
            if found[word] or word in known
        }
        self.whole = sum(self.weights.values()) or 1.0

    def _in_paths(self) -> frozenset[str]:
        return frozenset(part for file in self.candidates.files for part in parts_of(file.path))

    @cached_property
    def counts(self) -> list[tuple[float, Numbers]]:
        """Each word's weight, and how often it is in the text of each candidate."""
        terms = self.candidates.table.terms.take(self.candidates.rows)
        which, word = self._matches(terms)
        words, rows = len(self.weights), len(self.candidates.rows)
        times = np.bincount(word * rows + terms.owner[which], minlength=words * rows).reshape(words, rows)
        return list(zip(self.weights.values(), times, strict=True))

    @cached_property
    def documented(self) -> list[tuple[float, npt.NDArray[np.bool_]]]:
        """Each word's weight, and whether it is in the comment of each candidate."""
        doc = self.candidates.table.doc.take(self.candidates.rows)
        which, word = self._matches(doc)
        is_there = np.zeros((len(self.weights), len(self.candidates.rows)), np.bool_)
        is_there[word, doc.owner[which]] = True
        return list(zip(self.weights.values(), is_there, strict=True))

    def _matches(self, parts: Parts) -> tuple[Numbers, Numbers]:
        """Which of many checksums are of the query's words, and the place of the word of each."""
        words = checksums(self.weights)
        if not len(words):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        order = np.argsort(words)
        is_possible = np.zeros(_LOW + 1, np.bool_)
        is_possible[words & _LOW] = True
        which = np.flatnonzero(is_possible[parts.value & np.uint32(_LOW)])
        value = parts.value[which].astype(np.int64)
        place = np.minimum(np.searchsorted(words[order], value), len(words) - 1)
        is_same = words[order][place] == value
        return which[is_same], order[place[is_same]]

    def share(self, parts: Parts, rows: int) -> Shares:
        """The weight of the query's words among these parts, over that of all."""
        return np.bincount(parts.owner, self._weights_of_parts[parts.value], rows) / self.whole

    @cached_property
    def _weights_of_parts(self) -> Shares:
        """For each part of a name the weight of the query's word that it is."""
        vocabulary = self.candidates.table.vocabulary
        weight = np.zeros(len(vocabulary))
        for word, worth in self.weights.items():
            number = vocabulary.find(word)
            if number is not None and number < len(weight):
                weight[number] = worth
        return weight

    def agreement(self, parts: Parts, rows: int) -> Shares:
        """How much of the query a name accounts for, times how much of the name the query accounts for."""
        weight = self._nearest[parts.value]
        size, found = np.bincount(parts.owner, minlength=rows), np.bincount(parts.owner, weight > 0, rows)
        whole = np.minimum(1.0, np.bincount(parts.owner, weight, rows) / self.whole)
        return whole * found / np.maximum(1, size)

    @cached_property
    def _nearest(self) -> Shares:
        """For each part of a name the weight of the query's word that it is, opens or continues: names abbreviate
        (`util`, `auth`). Only what begins alike is compared."""
        vocabulary = self.candidates.table.vocabulary
        size = len(vocabulary)
        nearest = np.zeros(size)
        openings = vocabulary.opening.all[:size]
        is_alike = np.zeros(int(openings.max(initial=-1)) + 1, np.bool_)
        is_alike[[each for each in vocabulary.openings(self.weights) if each < len(is_alike)]] = True
        for number in np.flatnonzero(is_alike[openings]).tolist():
            nearest[number] = self._weight_near(vocabulary.words[number])
        return nearest

    def _weight_near(self, part: str) -> float:
        longer = self._prefix_weights.get(part, 0.0) if len(part) >= _SHORTEST_OPENING else 0.0
        shorter = (self.weights.get(part[:end], 0.0) for end in range(_SHORTEST_OPENING, len(part)))
        return max(self.weights.get(part, 0.0), longer, max(shorter, default=0.0))

    @cached_property
    def _prefix_weights(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for word, weight in self.weights.items():
            for end in range(_SHORTEST_OPENING, len(word)):
                found[word[:end]] = max(weight, found.get(word[:end], 0.0))
        return found

    @cached_property
    def names(self) -> Numbers:
        return self.candidates.table.name.take(self.candidates.rows)

    @cached_property
    def bare_names(self) -> Numbers:
        return self.candidates.table.bare.take(self.candidates.rows)

    @cached_property
    def lengths(self) -> Numbers:
        return self.candidates.table.length.take(self.candidates.rows)

    @cached_property
    def name_parts(self) -> Parts:
        return self.candidates.table.name_parts.take(self.candidates.rows)

    @cached_property
    def spelled_weights(self) -> tuple[Numbers, Shares]:
        """The checksum of each word as the query spells it, and its weight; NaN for one that is no word of its own."""
        spelled = [word for word in self.plan.spelled if word]
        return checksums(spelled), np.array([self.weights.get(word, np.nan) for word in spelled])

    @cached_property
    def lower_text(self) -> str:
        return self.plan.text.lower().replace("\\", "/")

    @cached_property
    def kinds(self) -> Numbers:
        return checksums(self.plan.kinds)

    @cached_property
    def bare_symbol(self) -> int:
        return checksum(bare(self.plan.symbol))
