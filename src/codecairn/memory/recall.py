"""Finding discoveries: by their words and by their meaning, on the scale that code is found on.

A word weighs what it weighs in the code: by its rarity among all chunks and all discoveries together, so that a query
is told apart by the same words on both sides, and one that stands nowhere counts on neither. The part of those
weights that a discovery has, saturated as in BM25, is its share of words. The encoder that ships with the product
says how near it is in meaning, from the angle at which a passage begins to have to do with a question.

The two make a relevance of 0 to 1. Code has a name, a file and a folder to agree with a query as well, and nothing
agrees in all of them: the right answers to the questions of the ranking goldens have 0.15 to 0.45, half of them 0.25
or more, while other code stays below 0.2. So the evidence of a discovery is scaled by RIGHT_ANSWER, and one that says
what was asked stands beside the code that does it; a definition whose very name was asked for stands before both.

Everything is kept in memory while the store does not change, and what changed is read again by itself.
"""

from __future__ import annotations

import threading
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from codecairn.rank.candidate import LENGTH_NORM, SATURATION, SHORTEST_LENGTH, Statistics, rarity
from codecairn.rank.query_plan import QueryPlan
from codecairn.store.discoveries import Discoveries, DiscoveryRow
from codecairn.words import analyse

if TYPE_CHECKING:
    from codecairn.embed.encoder import Encoder

RIGHT_ANSWER = 0.31
"""The relevance of a discovery that has every word of the query and its meaning."""
WORDS, MEANING = 0.65, 0.35
MOST = 200
"""Discoveries that a query is answered from. Boosts move one past a few others, not past so many."""
_NEAREST = 0.75
"""The cosine of a passage that says what the question says."""
_LEAST = 0.02
_MOST_EMPTY = 1_000


class RecalledDiscovery(NamedTuple):
    row: DiscoveryRow
    relevance: float


class WordWeights(NamedTuple):
    """A query's words with what each weighs."""

    weights: Mapping[str, float]
    average_length: float

    @property
    def whole(self) -> float:
        return sum(self.weights.values()) or 1.0

    def norm(self, length: Any) -> Any:
        """BM25's norm for the length of a text, or of many."""
        return SATURATION * (1 - LENGTH_NORM + LENGTH_NORM * length / self.average_length)

    def share(self, counts: Mapping[str, int], length: int) -> float:
        norm = self.norm(max(length, SHORTEST_LENGTH))
        held = ((weight, counts[word]) for word, weight in self.weights.items() if word in counts)
        return float(sum(weight * n / (n + norm) for weight, n in held) * (1 + norm) / self.whole)


class _Table:
    """Discoveries taken apart, each at a place of its own. One that changed or went leaves its place empty."""

    def __init__(self) -> None:
        self.rows: list[DiscoveryRow] = []
        self.terms: list[str] = []
        self.at: dict[str, int] = {}
        self.holding: dict[str, tuple[array[int], array[int]]] = {}
        """For each word the places of the discoveries that have it, and how often each does."""
        self.frequency: Counter[str] = Counter()
        """How many discoveries have each word."""
        self.lengths = array("i")
        """Words of each; -1 at an empty place."""
        self.length = 0
        """Of all together."""

    def drop(self, identity: str) -> None:
        place = self.at.pop(identity, None)
        if place is not None:
            self.length -= self.lengths[place]
            self.lengths[place] = -1
            self.frequency.subtract(self._count_words(place)[0].keys())

    def add(self, row: DiscoveryRow) -> None:
        place = self.at[row.id] = len(self.rows)
        self.rows.append(row)
        self.terms.append(analyse(row.content))
        counts, length = self._count_words(place)
        self.lengths.append(length)
        self.length += length
        self.frequency.update(counts.keys())
        for word, times in counts.items():
            places, often = self.holding.setdefault(word, (array("i"), array("i")))
            places.append(place)
            often.append(times)

    def _count_words(self, place: int) -> tuple[dict[str, int], int]:
        row = self.rows[place]
        return count_words(self.terms[place], analyse(f"{row.module or ''} {row.name or ''}"))

    @property
    def is_sparse(self) -> bool:
        return len(self.rows) > 2 * len(self.at) + _MOST_EMPTY


class Recall:
    """The discoveries of one project, ready to be searched."""

    def __init__(self, discoveries: Discoveries, encoders: Callable[[], Sequence[Encoder]]) -> None:
        self._discoveries = discoveries
        self._encoders = encoders
        self._lock = threading.Lock()
        self._revision = 0
        self._table = _Table()
        self._vectors: Any = None
        """A row a place; as single floats, which hold their whole numbers and what they add up to exactly."""
        self._squares: Any = None

    def search(
        self, plan: QueryPlan, code: Statistics | None, is_wanted: Callable[[DiscoveryRow], bool] | None = None
    ) -> tuple[list[RecalledDiscovery], int]:  # fmt: skip
        """The best of the wanted discoveries that have to do with a query, and how many there are."""
        import numpy as np  # noqa: PLC0415

        with self._lock:
            self._catch_up()
            rows = self._table.rows
            share, meant = self._shares(self._weigh(plan, code)), self._similarities(plan.subject)
        relevance = np.minimum(1.0, RIGHT_ANSWER * (WORDS * np.minimum(1.0, share) + MEANING * meant))
        near = np.flatnonzero(relevance >= _LEAST)
        order = near[np.argsort(-relevance[near], kind="stable")]
        wanted = [at for at in order.tolist() if is_wanted is None or is_wanted(rows[at])]
        return [RecalledDiscovery(rows[at], round(float(relevance[at]), 6)) for at in wanted[:MOST]], len(wanted)

    def weigh(self, plan: QueryPlan, code: Statistics | None) -> WordWeights:
        """The weights of the query's words, among the chunks of the code and the discoveries together."""
        with self._lock:
            return self._weigh(plan, code)

    def _weigh(self, plan: QueryPlan, code: Statistics | None) -> WordWeights:
        table = self._table
        everything = len(table.at) + (code.chunks if code else 0)
        frequency = {word: table.frequency[word] for word in plan.weights}
        if code is not None:
            frequency = {word: count + code.frequency.get(word, 0) for word, count in frequency.items()}
        weights = {word: plan.weights[word] * rarity(everything, n) for word, n in frequency.items() if n}
        return WordWeights(weights, max(SHORTEST_LENGTH, table.length / max(1, len(table.at))))

    def _shares(self, weighed: WordWeights) -> Any:
        """The share of each place in the weight of the query's words."""
        import numpy as np  # noqa: PLC0415

        table = self._table
        lengths = np.frombuffer(table.lengths, np.int32) if table.lengths else np.zeros(0, np.int32)
        norm = weighed.norm(np.maximum(lengths, SHORTEST_LENGTH))
        share = np.zeros(len(lengths))
        for word, weight in weighed.weights.items():
            if word in table.holding:
                places, often = (np.frombuffer(each, np.int32) for each in table.holding[word])
                share[places] += weight * often / (often + norm[places])
        return np.where(lengths >= 0, share * (1 + norm) / weighed.whole, -1.0)

    def _similarities(self, query: str) -> Any:
        """How near each place is in meaning, from where a passage begins to have to do with a question."""
        import numpy as np  # noqa: PLC0415

        encoder, count = self._quick(), len(self._table.rows)
        if encoder is None or self._vectors is None:
            return 0.0
        asked = encoder.query(query).astype(np.float32)
        dots = (self._vectors[:count] @ asked).astype(np.float64)
        lengths = np.sqrt(self._squares[:count] * float(asked @ asked))
        angles = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
        from_near = np.clip((angles - encoder.near / 2) / (_NEAREST - encoder.near / 2), 0.0, 1.0)
        return np.where(angles >= encoder.near, from_near, 0.0)

    def _catch_up(self) -> None:
        revision = self._discoveries.revision()
        if revision == self._revision:
            return
        if self._table.is_sparse:
            self._table, self._vectors, self._revision = _Table(), None, 0
        table, changed = self._table, self._discoveries.since(self._revision)
        for row in changed:
            table.drop(row.id)
            table.add(row)
        if self._discoveries.count() != len(table.at):
            present = self._discoveries.stamps().keys()
            for gone in [each for each in table.at if each not in present]:
                table.drop(gone)
        self._encode(len(table.rows) - len(changed))
        self._revision = revision

    def _encode(self, first: int) -> None:
        encoder, table = self._quick(), self._table
        if encoder is None or first == len(table.rows):
            return
        import numpy as np  # noqa: PLC0415

        from codecairn.embed.encoder import Passage  # noqa: PLC0415

        later = zip(table.rows[first:], table.terms[first:], strict=True)
        rows = encoder.passages([Passage(row.path or "", row.name or "", terms) for row, terms in later])
        vectors, last = rows.astype(np.float32), len(table.rows)
        if self._vectors is None or last > len(self._vectors):
            self._make_room(first, 2 * last, vectors.shape[1])
        self._vectors[first:last] = vectors
        self._squares[first:last] = np.einsum("ij,ij->i", vectors, vectors)

    def _make_room(self, kept: int, places: int, dimensions: int) -> None:
        """Twice what is needed, so that one more seldom moves all of them."""
        import numpy as np  # noqa: PLC0415

        vectors, squares = np.zeros((places, dimensions), np.float32), np.zeros(places)
        if self._vectors is not None:
            vectors[:kept], squares[:kept] = self._vectors[:kept], self._squares[:kept]
        self._vectors, self._squares = vectors, squares

    def _quick(self) -> Encoder | None:
        """The encoder that needs no waiting for: the shipped one, unless vectors are switched off."""
        return next((each for each in self._encoders() if each.is_quick and not each.reads_text), None)


def count_words(*texts: str) -> tuple[dict[str, int], int]:
    """The words of analysed texts, how often each is there, and how many they are in all."""
    counts: dict[str, int] = {}
    for text in texts:
        for word in text.split():
            counts[word] = counts.get(word, 0) + 1
    return counts, sum(counts.values())
