"""How alike two symbols are, and when that is enough to call them one symbol that was renamed or moved.

Likeness is the share of adjacent token pairs that two texts have in common (Dice), comments, layout and the symbol's
own name apart. How much is asked for was read off 800 commits of a published oracle of refactorings in Java, Python,
Kotlin and JavaScript (benchmarks/refactorings.py), as the round number above which most of the best candidates are
true. Of functions that keep their container under another name they are from 0.6 on (0.6 to 0.7: 26 of 36, from 0.9
on: 185 of 191), between 0.5 and 0.6 less than half, below that almost none; of functions that change both name and
place it takes 0.9, or 0.8 and a name of which half is kept. Under 15 tokens everything is like everything (7 of 1,088
true where name and place are other), so there only copies count, or what keeps its container and part of its name.
On the half of the Java commits that was
not looked at, precision and recall are 0.99 and 0.91 for types, 0.81 and 0.87 for functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

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
        return sorted({_hash(pair) for pair in self.pairs})[:SKETCH]


def _hash(pair: tuple[str, str]) -> int:
    """The same in every process, as what is found must not depend on it."""
    return crc32("\0".join(pair).encode("utf-8", "surrogatepass"))


def overlap(left: Iterable[str], right: Iterable[str]) -> float:
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
