"""The interface of encoders: text in, whole numbers of eight bits out.

Rows are int8 and of any length as vectors; what is compared is their angle. Everything after the encoder is exact:
the dot of two rows is a whole number, so that a ranking is the same on every machine that has the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int8]
"""One vector a row."""
Row = npt.NDArray[np.int8]
Cosines = npt.NDArray[np.float64]
"""A number a row: cosines, or the whole numbers that they are made of."""
_EXACT_IN_SINGLE = 1024
"""Numbers in a row, of which the sum of 1,024 products of eight bits is below 2**24."""
_BLOCK_BYTES = 96 * 1024
"""Rows are widened in blocks of so much. Larger ones are taken from the system and given back each time: a search of
Django met 1,100 page faults."""


class Passage(NamedTuple):
    """A chunk of a file, as encoders see it."""

    path: str
    name: str
    """Of the symbol it is the text of, with the names around it, or its title."""
    terms: str
    """Its analysed text (words.py)."""
    text: str = ""
    """As it is written; given to encoders that read text."""


MOST_CHARACTERS = 6000
"""Of one text: some 1,500 tokens of code, and within the 8,192 that endpoints commonly take in any script."""


def passage_text(passage: Passage) -> str:
    """A passage for encoders that read text: its place, its name, then its content."""
    return readable("\n".join(part for part in (passage.path, passage.name, passage.text) if part))


def readable(text: str) -> str:
    """Cut to what is read of it; halves of surrogate pairs, which no encoding carries, are question marks."""
    return text[:MOST_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


class Encoder(Protocol):
    """Two encoders of one name give the same rows for the same text."""

    @property
    def name(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def is_quick(self) -> bool:
        """Whether it is waited for before what it encodes is shown; others follow after."""
        ...

    @property
    def reads_text(self) -> bool: ...
    @property
    def near(self) -> float:
        """The cosine from which on a passage has to do with a query; 0 where nobody measured it."""
        ...

    def passages(self, passages: Sequence[Passage]) -> Rows: ...
    def query(self, text: str) -> Row: ...


def quantise(vectors: npt.NDArray[np.float32] | npt.NDArray[np.float64]) -> Rows:
    """Each row scaled so that its largest number is 127, and rounded; what is no number is nothing."""
    vectors = vectors.astype(np.float64)
    most = _largest(vectors)
    if not np.isfinite(most).all():
        vectors = np.nan_to_num(vectors, nan=0.0, posinf=0.0, neginf=0.0)
        most = _largest(vectors)
    vectors *= 127.0 / np.where(most > 0, most, 1.0)
    return np.rint(vectors, out=vectors).astype(np.int8)


def _largest(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Of each row, regardless of its sign."""
    above = vectors.max(axis=-1, keepdims=True, initial=0.0)
    largest: npt.NDArray[np.float64] = np.maximum(above, -vectors.min(axis=-1, keepdims=True, initial=0.0))
    return largest


def cosines(rows: Rows | npt.NDArray[np.int64], query: Row) -> Cosines:
    """The angle of each row to the query."""
    return angles(dots(rows, query), squares(rows), query)


def angles(dots: Cosines, squares: Cosines, query: Row) -> Cosines:
    """The cosines of what has these dots with the query and with itself: the same numbers everywhere, as every sum in
    them is whole and small enough to be held exactly, in whatever order it is added up."""
    asked = query.astype(np.float64)
    norms = np.sqrt(squares * float(asked @ asked))
    found: Cosines = np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)
    return found


def dots(rows: Rows | npt.NDArray[np.int64], query: Row) -> Cosines:
    """The dot of each row with the query."""
    asked = query.astype(_wide_enough(rows))
    return _each_block(rows, lambda wide: wide @ asked)


def squares(rows: Rows | npt.NDArray[np.int64]) -> Cosines:
    """The dot of each row with itself."""
    return _each_block(rows, lambda wide: np.einsum("ij,ij->i", wide, wide))


def _each_block(rows: npt.NDArray[Any], work: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Cosines:
    found, kind = np.empty(len(rows)), np.dtype(_wide_enough(rows))
    step = max(1, _BLOCK_BYTES // (kind.itemsize * max(1, rows.shape[1])))
    for start in range(0, len(rows), step):
        found[start : start + step] = work(rows[start : start + step].astype(kind))
    return found


def _wide_enough(rows: npt.NDArray[Any]) -> type[np.float32 | np.float64]:
    return np.float32 if rows.dtype == np.int8 and rows.shape[1] <= _EXACT_IN_SINGLE else np.float64
