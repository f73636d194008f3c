"""How alike two symbols are, and when that is enough to call them one symbol that was renamed or moved.

Likeness is the share of adjacent token pairs that two texts have in common (Dice), comments, layout and the symbol's
own name apart. THRESHOLDS
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

_LEAST_TOKENS = 3

SKETCH = 12
"""How many of a symbol's hashed pairs stand for it when like ones are looked for among thousands."""


class Evidence(NamedTuple):
    exact: bool
    likeness: float
    size: int
    """Tokens of the smaller one."""
    same_name: bool
    same_container: bool
    name_likeness: float
    """The share of words that the names have in common."""
    family: str


class Bag:
    """The adjacent pairs of a token list."""

    def __init__(self, words: list[str]) -> None:
        self.size = len(words)
        self.pairs = Counter(pairwise(["\0", *words]))

    def likeness(self, other: Bag) -> float:
        shared = (self.pairs & other.pairs).total()
        return 2 * shared / max(1, self.pairs.total() + other.pairs.total())

    def sketch(self) -> list[int]:
        return sorted({_hashed(pair) for pair in self.pairs})[:SKETCH]


def _hashed(pair: tuple[str, str]) -> int:
    """The same in every process, as what is found must not depend on it."""
    text = "\0".join(pair).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def shared_share(left: Iterable[str], right: Iterable[str]) -> float:
    one, other = Counter(left), Counter(right)
    return 2 * (one & other).total() / max(1, one.total() + other.total())


def score(evidence: Evidence) -> float | None:
    """How sure it is that the two are one symbol; None where that is not said."""
    least = _least(evidence)
    if evidence.likeness < least or (evidence.exact and evidence.size < _LEAST_TOKENS):
        return None
    return evidence.likeness + 0.3 * evidence.same_name + 0.2 * evidence.same_container + 0.3 * evidence.name_likeness


def _least(evidence: Evidence) -> float:
    """The likeness asked for; over 1 where none is enough."""
    same_place, alike = evidence.same_container, evidence.name_likeness
    if evidence.family == "value":
        is_telling = evidence.size >= 8 and (same_place or evidence.same_name)
        return 1.0 if is_telling or (same_place and alike >= 0.2) else 2.0
    if evidence.family != "callable":
        if evidence.size < 15:
            return 1.0 if evidence.same_name else 2.0
        return 0.5 if evidence.same_name else 0.6 if same_place or alike >= 0.2 else 2.0
    if evidence.size < 15:
        if same_place:
            return 0.8 if alike >= 0.2 else 1.0
        return 1.0 if evidence.same_name and evidence.size >= 8 else 2.0
    if evidence.same_name:
        return 0.7
    return 0.6 if same_place else 0.8 if alike >= 0.5 else 0.9
