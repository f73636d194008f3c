"""Finding discoveries: by their words and by their meaning, on the scale that code is found on.

A word weighs what it weighs in the code: by its rarity among all chunks and all discoveries together, so that a query
is told apart by the same words on both sides, and one that stands nowhere counts on neither. What a discovery has of
those weights, saturated as BM25 has it, is its share of words; how near it is in meaning is told by the encoder that
ships with the product, from the angle at which a passage begins to have to do with a question.

The two make a relevance of 0 to 1. Code has a name, a file and a folder to agree with a query as well, and nothing
agrees in all of them: the right answers to the questions of the ranking goldens have 0.15 to 0.45, half of them 0.25
or more, while other code stays below 0.2. So the evidence of a discovery is scaled by RIGHT_ANSWER, and one that says
what was asked stands beside the code that does it; a definition whose very name was asked for stands before both.

Everything is kept in memory while the store does not change, and what changed is read again by itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from codecairn.rank.candidate import Statistics, rarity
from codecairn.rank.plan import Plan
from codecairn.rank.signals import LENGTH_NORM, SATURATION, SHORTEST_LENGTH
from codecairn.store.discoveries import Discoveries, DiscoveryRow
from codecairn.words import analysed

if TYPE_CHECKING:
    from codecairn.embed.encoder import Encoder, Rows

RIGHT_ANSWER = 0.31
"""What a discovery comes to that has every word of the query and its meaning."""
WORDS, MEANING = 0.65, 0.35
_NEAREST = 0.75
"""The cosine of a passage that says what the question says."""
_LEAST = 0.02


class Entry(NamedTuple):
    """A discovery taken apart."""

    row: DiscoveryRow
    counts: Mapping[str, int]
    length: int


class Recalled(NamedTuple):
    row: DiscoveryRow
    relevance: float


class Weighed(NamedTuple):
    """A query's words with what each weighs."""

    weights: Mapping[str, float]
    average_length: float

    @property
    def whole(self) -> float:
        return sum(self.weights.values()) or 1.0

    def share(self, counts: Mapping[str, int], length: int) -> float:
        norm = SATURATION * (1 - LENGTH_NORM + LENGTH_NORM * max(length, SHORTEST_LENGTH) / self.average_length)
        held = ((weight, counts[word]) for word, weight in self.weights.items() if word in counts)
        return sum(weight * n / (n + norm) for weight, n in held) * (1 + norm) / self.whole


def relevance(share: float, similarity: float, near: float) -> float:
    """Of a text that has this share of a query's words, at this angle to it."""
    meant = min(1.0, max(0.0, similarity - near / 2) / (_NEAREST - near / 2))
    return round(min(1.0, RIGHT_ANSWER * (WORDS * min(1.0, share) + MEANING * meant)), 6)


class Recall:
    """The discoveries of one project, ready to be searched."""

    def __init__(self, discoveries: Discoveries, encoders: Callable[[], Sequence[Encoder]]) -> None:
        self._discoveries = discoveries
        self._encoders = encoders
        self._lock = threading.Lock()
        self._revision = 0
        self._entries: dict[str, Entry] = {}
        self._length = 0
        self._holding: dict[str, set[str]] = {}
        self._vectors: dict[str, bytes] = {}
        self._rows: tuple[list[str], Rows | None] | None = None

    def found(self, plan: Plan, code: Statistics | None) -> list[Recalled]:
        """Every discovery that has to do with a query; the caller orders them among other things."""
        with self._lock:
            self._catch_up()
            similar, near = self._similar(plan.subject)
            weighed = self._weighed(plan, code)
            by_words = {each for word in weighed.weights for each in self._holding.get(word, ())}
            entries = [self._entries[each] for each in by_words | similar.keys()]
        scored = (
            Recalled(each.row, relevance(weighed.share(each.counts, each.length), similar.get(each.row.id, 0.0), near))
            for each in entries
        )
        return [each for each in scored if each.relevance >= _LEAST]

    def weighed(self, plan: Plan, code: Statistics | None) -> Weighed:
        """What the query's words weigh, among the chunks of the code and the discoveries together."""
        with self._lock:
            return self._weighed(plan, code)

    def _weighed(self, plan: Plan, code: Statistics | None) -> Weighed:
        everything = len(self._entries) + (code.chunks if code else 0)
        frequency = {word: len(self._holding.get(word, ())) for word in plan.weights}
        if code is not None:
            frequency = {word: count + code.frequency.get(word, 0) for word, count in frequency.items()}
        weights = {word: plan.weights[word] * rarity(everything, n) for word, n in frequency.items() if n}
        return Weighed(weights, max(SHORTEST_LENGTH, self._length / max(1, len(self._entries))))

    def _catch_up(self) -> None:
        revision = self._discoveries.revision()
        if revision == self._revision:
            return
        changed = self._discoveries.since(self._revision)
        present = self._discoveries.stamps().keys()
        for gone in [each for each in self._entries if each not in present]:
            self._drop(gone)
        for row in changed:
            self._drop(row.id)
            self._add(row)
        self._encode(changed)
        self._revision, self._rows = revision, None

    def _drop(self, identity: str) -> None:
        entry = self._entries.pop(identity, None)
        if entry is not None:
            self._length -= entry.length
            for word in entry.counts:
                self._holding[word].discard(identity)
            self._vectors.pop(identity, None)

    def _add(self, row: DiscoveryRow) -> None:
        counts, length = counted(text_of(row))
        self._entries[row.id] = Entry(row, counts, length)
        self._length += length
        for word in counts:
            self._holding.setdefault(word, set()).add(row.id)

    def _encode(self, rows: Iterable[DiscoveryRow]) -> None:
        encoder = self._quick()
        if encoder is None:
            return
        from codecairn.embed.encoder import Passage  # noqa: PLC0415 - numpy

        found = list(rows)
        passages = [Passage(row.path or "", row.name or "", analysed(row.content)) for row in found]
        vectors = encoder.passages(passages) if passages else ()
        self._vectors |= {row.id: vector.tobytes() for row, vector in zip(found, vectors, strict=True)}

    def _similar(self, query: str) -> tuple[dict[str, float], float]:
        """How near each discovery is that is near at all, and from which angle on it is."""
        encoder = self._quick()
        if encoder is None or not self._vectors:
            return {}, 0.0
        import numpy as np  # noqa: PLC0415

        from codecairn.embed.encoder import cosines  # noqa: PLC0415

        if self._rows is None:
            flat = np.frombuffer(b"".join(self._vectors.values()), np.int8)
            self._rows = list(self._vectors), flat.reshape(len(self._vectors), -1)
        ids, rows = self._rows
        assert rows is not None
        angles = cosines(rows, encoder.query(query))
        near = np.flatnonzero(angles >= encoder.near)
        return {ids[at]: float(angles[at]) for at in near}, encoder.near

    def _quick(self) -> Encoder | None:
        """The encoder that needs no waiting for: the shipped one, unless vectors are switched off."""
        return next((each for each in self._encoders() if each.is_quick and not each.reads_text), None)


def text_of(row: DiscoveryRow) -> str:
    """All that a discovery is found by."""
    return " ".join(filter(None, (row.content, row.module, row.name)))


def counted(text: str) -> tuple[dict[str, int], int]:
    counts: dict[str, int] = {}
    words = analysed(text).split()
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts, len(words)
