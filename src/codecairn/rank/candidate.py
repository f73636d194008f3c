"""A chunk as the index knows it, and a query weighed by the view that is searched."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from msgspec import Struct

from codecairn.rank.query_plan import QueryPlan
from codecairn.words import parts_of

SHORTEST_OPENING = 3
"""Letters that two words must share from the first for one to stand for the other."""


class Candidate(Struct, frozen=True):
    """A chunk as the index knows it, with the query's words counted in it."""

    file: int
    number: int
    path: str
    start_line: int
    end_line: int
    kind: str
    """Of the symbol it is the text of; empty for the rest of a file."""
    name: str
    qualified: str
    """The names around it and its own, joined as the language joins them."""
    counts: Mapping[str, int]
    """The query's words in its text, and how often."""
    documented: frozenset[str]
    """Those of them that its doc comment has."""
    length: int
    """Words in its text."""
    language: str
    imported_by: int
    """Other files that import its file, by the last count."""
    symbol: int
    similarity: float = 0.0
    """How near it is to the query in meaning: the cosine of the two, 0 where one of them has no vector."""
    file_similarity: float = 0.0
    """The same of all of its file."""
    best_similarity: float = 0.0
    """The same of the five chunks of its file that are nearest, on average."""


class Statistics(Struct, frozen=True):
    """Of the view that is searched, never of the whole store: other branches change no score."""

    chunks: int
    average_length: float
    frequency: Mapping[str, int]
    """In how many chunks each of the query's words is."""


class WeighedQuery:
    """A plan weighed by a view's statistics."""

    def __init__(
        self,
        plan: QueryPlan,
        statistics: Statistics,
        candidates: Collection[Candidate],
        recent: frozenset[str] = frozenset(),
    ) -> None:
        self.plan = plan
        self.recent = recent
        self.recent_folders = frozenset(path.rpartition("/")[0] for path in recent)
        self.average_length = statistics.average_length
        self.nearest_similarity = max((each.similarity for each in candidates), default=0.0)
        self.nearest_file = max((each.file_similarity for each in candidates), default=0.0)
        self.nearest_best = max((each.best_similarity for each in candidates), default=0.0)
        known = {part for path in {each.path for each in candidates} for part in parts_of(path)}
        frequency = {word: statistics.frequency.get(word, 0) for word in plan.weights}
        # A word found nowhere tells nothing apart, and must not thin out those that do.
        self.weights = {
            word: weight * rarity(statistics.chunks, frequency[word])
            for word, weight in plan.weights.items()
            if frequency[word] or word in known
        }
        self.whole = sum(self.weights.values()) or 1.0
        self._nearest: dict[str, float] = {}
        self._agreement: dict[tuple[str, ...], float] = {}

    def share(self, words: Iterable[str]) -> float:
        return sum(self.weights.get(word, 0.0) for word in words) / self.whole

    def agreement(self, parts: tuple[str, ...]) -> float:
        """How much of the query a name accounts for, times how much of the name the query accounts for."""
        if parts not in self._agreement:
            weights = [weight for weight in map(self.nearest, parts) if weight]
            self._agreement[parts] = min(1.0, sum(weights) / self.whole) * len(weights) / max(1, len(parts))
        return self._agreement[parts]

    def nearest(self, part: str) -> float:
        """The weight of the query's word that this is, opens or continues: names abbreviate (`util`, `auth`)."""
        if part not in self._nearest:
            longer = self._prefix_weights.get(part, 0.0) if len(part) >= SHORTEST_OPENING else 0.0
            shorter = (self.weights.get(part[:end], 0.0) for end in range(SHORTEST_OPENING, len(part)))
            self._nearest[part] = max(self.weights.get(part, 0.0), longer, max(shorter, default=0.0))
        return self._nearest[part]

    @cached_property
    def _prefix_weights(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for word, weight in self.weights.items():
            for end in range(SHORTEST_OPENING, len(word)):
                found[word[:end]] = max(weight, found.get(word[:end], 0.0))
        return found

    @cached_property
    def lower_text(self) -> str:
        return self.plan.text.lower().replace("\\", "/")


def rarity(chunks: int, frequency: int) -> float:
    return math.log(1 + (chunks - frequency + 0.5) / (frequency + 0.5))
