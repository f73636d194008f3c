"""The model that ships with the product: a table with one row a word, and no network to run.

A text is the words its analysis gives (words.py); before those of a passage come the words of its path, of the file's
name once more, and of the name it defines. Its vector is the sum of their rows, each times the word's learnt weight
(one as a word of a question, one as a word of code), times 1 + ln of how often it occurs, and more for a word of the
name. A word outside the vocabulary has one of the rows kept for such words, by its checksum, so that it finds at least
itself.

Every factor is rounded to a whole number first and a text has no more words than keep every sum below 2**24, so that
float32 holds it exactly and the order of adding, which differs between machines, changes nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, chain, islice, pairwise
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from zlib import crc32

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from codecairn.embed.encoder import Passage, Row, Rows, quantise
from codecairn.words import analyse

DATA = Path(__file__).parent / "data"
MOST_WORDS = 400
"""Of one text, the first ones: 400 * 127 * 255 is below 2**24."""
_BLOCK = 16
"""Passages whose rows are gathered at once: with a hundred they no longer fit the processor's cache."""
_QUANTISED = 16 * _BLOCK
"""Passages whose sums become small numbers at once: what that costs is mostly by call."""
_MOST_STRANGE = 20_000
"""Words outside the vocabulary whose rows are remembered: some three megabytes."""
_MOST_FACTOR = 255
_MOST_OFTEN = 127


class Card(Struct, frozen=True):
    """The description in model.json of the files beside it."""

    name: str
    dimensions: int
    buckets: int
    boost: float
    """How much more a word counts for being in the name that is defined."""


class TokenTable:
    """Opened in some milliseconds: the rows stay on disk until they are used."""

    is_quick = True
    reads_text = False
    near = 0.35
    """The nearest passage to a real question has 0.46 or more 19 times in 20; to one about another project's code 0.33
    or less every other time."""

    def __init__(self, folder: Path = DATA) -> None:
        self._folder = folder
        self._card = msgspec.json.decode((folder / "model.json").read_bytes(), type=Card)
        self._rows: Rows = np.load(folder / "table.npy", mmap_mode="r")
        self._plain_rows = np.asarray(self._rows)
        """The same, without what a memory map does at each look."""
        self._question, self.code_weights = np.load(folder / "weights.npy")
        self._ids = _Ids((folder / "vocabulary.txt").read_text(encoding="utf-8"), self._card.buckets)

    @property
    def name(self) -> str:
        return self._card.name

    @property
    def dimensions(self) -> int:
        return self._card.dimensions

    def query(self, text: str) -> Row:
        """A question with no word of the vocabulary has no direction: what is near it would be so by chance."""
        words = analyse(text).split()
        if not any(self._ids.has(word) for word in words):
            return np.zeros(self.dimensions, np.int8)
        return quantise(self._sum(words, frozenset(), self._question))

    def passages(self, passages: Sequence[Passage]) -> Rows:
        self._ids.take_apart()
        found: Rows = np.empty((len(passages), self.dimensions), np.int8)
        paths: dict[str, list[str]] = {}
        room = _Room.of(min(_BLOCK, len(passages)) * MOST_WORDS, self.dimensions)
        for first in range(0, len(passages), _QUANTISED):
            bags = [self._bag(each, paths) for each in passages[first : first + _QUANTISED]]
            found[first : first + len(bags)] = quantise(self._sums(bags, room))
        return found

    def _bag(self, passage: Passage, paths: dict[str, list[str]]) -> _Bag:
        around = paths.get(passage.path)
        if around is None:
            around = paths[passage.path] = analyse(f"{passage.path} {PurePosixPath(passage.path).stem}").split()
        names = analyse(passage.name).split()
        counts = Counter(around + names + passage.terms.split())
        ids, often = list(map(self._ids.__getitem__, counts)), list(counts.values())
        del ids[MOST_WORDS:], often[MOST_WORDS:]
        ahead = min(MOST_WORDS, len(around) + len(names)) if names else 0  # a word of the name stands no further behind
        wanted = frozenset(names)
        return _Bag(ids, often, [at for at, word in enumerate(islice(counts, ahead)) if word in wanted])

    def _sums(self, bags: list[_Bag], room: _Room) -> npt.NDArray[np.float32]:
        """One sum a bag. What a word counts is worked out for all at once, and rows are gathered by the block."""
        ids = np.fromiter(chain.from_iterable([each.ids for each in bags]), np.intp)
        counts = np.fromiter(chain.from_iterable([each.counts for each in bags]), np.intp)
        ends = list(accumulate([len(each.ids) for each in bags], initial=0))
        often = _LOGARITHM_ROW[np.minimum(counts, _MOST_OFTEN)]
        boosted = [start + at for start, each in zip(ends, bags, strict=False) for at in each.boosted]
        often[boosted] *= np.float32(self._card.boost)
        factors = np.minimum(np.rint(self.code_weights[ids] * often), _MOST_FACTOR).astype(np.float32)
        sums = np.empty((len(bags), self.dimensions), np.float32)
        for first in range(0, len(bags), _BLOCK):
            block = ends[first : first + _BLOCK + 1]
            wanted = ids[block[0] : block[-1]]
            rows = room.wide[: len(wanted)]
            np.copyto(rows, np.take(self._plain_rows, wanted, axis=0, out=room.narrow[: len(wanted)], mode="clip"))
            for at, (start, end) in enumerate(pairwise(block), first):
                np.matmul(factors[start:end], rows[start - block[0] : end - block[0]], out=sums[at])
        return sums

    def _sum(
        self, words: list[str], names: frozenset[str], weights: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32]:
        ids, factors = self.factors(words, names, weights)
        summed: npt.NDArray[np.float32] = factors @ self._rows[ids].astype(np.float32)
        return summed

    def factors(
        self, words: list[str], names: frozenset[str], weights: npt.NDArray[np.float32]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float32]]:
        """The row of each word, and how many times it is added: a whole number."""
        known, counts = self._ids, Counter(words)
        kept = list(counts)[:MOST_WORDS]
        ids = np.array([known[word] for word in kept], np.intp)
        often = np.array([_LOGARITHMS[min(counts[word], _MOST_OFTEN)] for word in kept], np.float32)
        if names:
            often[[at for at, word in enumerate(kept) if word in names]] *= np.float32(self._card.boost)
        return ids, np.minimum(np.rint(weights[ids] * often), _MOST_FACTOR).astype(np.float32)


class _Room(NamedTuple):
    """Where rows are gathered, taken from the system once: anew for each block that took twice the time."""

    narrow: Rows
    wide: npt.NDArray[np.float32]

    @classmethod
    def of(cls, words: int, dimensions: int) -> _Room:
        return cls(np.empty((words, dimensions), np.int8), np.empty((words, dimensions), np.float32))


class _Bag(NamedTuple):
    """The words of a passage: their rows, how often each occurs, and the places of those that are in its name."""

    ids: list[int]
    counts: list[int]
    boosted: list[int]


_LOGARITHMS = [0.0, *(1 + math.log(n) for n in range(1, _MOST_OFTEN + 1))]
_LOGARITHM_ROW = np.array(_LOGARITHMS, np.float32)


class _Ids(dict[str, int]):
    """The row of every word. A question has few, which are looked for in the text of the vocabulary; who has many takes
    it apart first. Of words outside of it so many are remembered, those that were met lately."""

    def __init__(self, vocabulary: str, buckets: int) -> None:
        super().__init__()
        self._text = f"\n{vocabulary}"
        self._size, self._buckets = vocabulary.count("\n"), buckets
        self._strange: list[str] = []

    def has(self, word: str) -> bool:
        return self[word] < self._size

    def take_apart(self) -> None:
        if self._text:
            self.update({word: number for number, word in enumerate(self._text.split("\n")[1:-1])})
            self._text = ""

    def __missing__(self, word: str) -> int:
        text = self._text
        at = text.find(f"\n{word}\n") if text else -1
        if at >= 0:
            row = self[word] = text.count("\n", 0, at)
            return row
        if not text and word in self:  # another thread took it apart meanwhile
            return self[word]
        row = self[word] = self._size + crc32(word.encode("utf-8", "surrogatepass")) % self._buckets
        self._strange.append(word)
        if len(self._strange) > _MOST_STRANGE:  # those of files long done
            strange, self._strange = self._strange, []
            for each in strange:
                self.pop(each, None)
        return row
