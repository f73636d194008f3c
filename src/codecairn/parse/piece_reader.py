"""Gives a text to a parser piece by piece, and frees the pieces.

tree-sitter 0.26.0 keeps a reference to every piece that its reader returned and never gives it back: a server that
parsed long files grew by their length each time (98 KB for a file of 60 KB). How many references are left over is
counted, not assumed, and just those are given back: with a version that keeps none, nothing is done.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any

_SIZE = 1024
"""Bytes. Smaller ones cost more than they tell: with these a parse takes as long as it does at once."""
_SHARED = 1
"""Bytes objects up to this length are shared by the whole process."""


class PieceReader:
    def __init__(self, source: bytes, is_over: Callable[[], bool]) -> None:
        self._source = source
        self._is_over = is_over
        self._given: list[bytes] = []

    def parse(self, parser: Any) -> Any:
        """The tree of the text; of what had been read, once the time is over."""
        try:
            return parser.parse(self._read)
        finally:
            self._free()

    def _read(self, at: int, _: object) -> bytes:
        piece = b"" if self._is_over() else self._source[at : at + _SIZE]
        if len(piece) > _SHARED and piece is not self._source:  # a slice of all of it is the text itself
            self._given.append(piece)
        return piece

    def _free(self) -> None:
        for left_over, piece in zip(_references(self._given), self._given, strict=True):
            for _ in range(left_over - _OWN):
                ctypes.pythonapi.Py_DecRef(ctypes.py_object(piece))
        self._given.clear()


def _references(pieces: Sequence[bytes]) -> list[int]:
    return [sys.getrefcount(piece) for piece in pieces]


(_OWN,) = _references([bytes(range(8))])
"""References to a piece that nobody else keeps, as they are counted here."""
