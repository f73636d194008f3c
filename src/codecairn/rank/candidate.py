"""A chunk that was weighed, its score and what the score is made of; the statistics that words are weighed by."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct

Place = tuple[int, int]
"""A file version and the number of a chunk in it."""
SATURATION = 1.2
LENGTH_NORM = 0.75
"""BM25's customary constants; no other value was better on both kinds of query."""
SHORTEST_LENGTH = 20
"""Words. A one-line declaration is not a better answer than the function for being short."""

LONGEST_DOC = 600
"""Characters of a comment whose words count."""


class Candidate(Struct, frozen=True):
    """A chunk as the index knows it."""

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
    imported_by: int
    """Other files that import its file, by the last count."""
    symbol: int


class Ranked(Struct, frozen=True):
    candidate: Candidate
    contributions: dict[str, float]
    total: float
    relevance: float
    """In 0..1, as it is shown and filtered by."""


class Statistics(Struct, frozen=True):
    """Of the view that is searched, never of the whole store: other branches change no score."""

    chunks: int
    average_length: float
    frequency: Mapping[str, int]
    """In how many chunks each of the query's words is."""


def rarity(chunks: int, frequency: int) -> float:
    return math.log(1 + (chunks - frequency + 0.5) / (frequency + 0.5))
