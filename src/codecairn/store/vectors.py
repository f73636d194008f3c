"""Vectors: one row a chunk, the rows of a file version one after the other, in files that only grow.

    vectors/N.rows    int8, as many bytes a row as the encoder has dimensions
    vectors/N.signs   one bit a number: what a search looks at first
    vectors/N.sums    a checksum of each row, four bytes

A segment is a pair of such files with the rows of one encoder; index.db says how many rows it has and which of them
are whose (`segment`, `vector`). Rows are written here first and told there last: what stands behind the last row told
is nobody's, and the next writer writes over it. A segment of which most is nobody's any more is copied into a new one.
"""

from __future__ import annotations

import contextlib
import os
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from codecairn.embed.encoder import Row, Rows, angles, dots, squares
from codecairn.store.vector_segments import Placement, Segment

_GRACE_S = 60.0
_SUM_BYTES = 4
_SLICE = 256
"""Versions whose rows are in memory at a time while they are copied."""
_RESCORED = 1000
"""Rows at least whose angle is worked out, of those that share most signs with the query. With 400 of 100,000 the
twenty nearest are found 996 times in 1,000."""
_FAR = 1 << 14
_NEAREST_OF_FILE = 5


_Wanted = TypeVar("_Wanted")


class Near(NamedTuple):
    file: int
    number: int
    cosine: float


class Similarities(NamedTuple):
    """How near chunks and files are to a query; 0 for what has no vector."""

    chunks: npt.NDArray[np.float64]
    files: npt.NDArray[np.float64]
    """Each as a whole, by the sum of its rows."""
    best: npt.NDArray[np.float64]
    """The mean of each one's nearest rows."""


class VectorFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, segment: Segment, rows: Rows) -> None:
        """Rows behind the last one of a segment, on the disk when this returns."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        signs, rows = np.packbits(rows > 0, axis=1), np.ascontiguousarray(rows)
        for suffix, data in (("rows", rows), ("signs", signs), ("sums", _checksums(rows))):
            with _for_writing(self._path(segment, suffix)) as file:
                file.seek(segment.rows * data.shape[1])
                file.write(np.ascontiguousarray(data).tobytes())
                file.flush()
                os.fsync(file.fileno())

    def copy(self, segment: Segment, placed: Sequence[Placement], to: VectorFiles, new: Segment) -> list[Placement]:
        """Copy the rows of these versions behind the last one of another segment; returns where they stand there."""
        rows, moved, at = self.rows(segment), list[Placement](), new.rows
        for part in (placed[first : first + _SLICE] for first in range(0, len(placed), _SLICE)):
            taken = [rows[each.first : each.first + each.rows] for each in part]
            to.write(new._replace(rows=at), np.concatenate(taken))
            for each in part:
                moved.append(each._replace(first=at))
                at += each.rows
        return moved

    def rows(self, segment: Segment) -> Rows:
        return self._map(segment, "rows", segment.dimensions).view(np.int8)

    def signs(self, segment: Segment) -> npt.NDArray[np.uint8]:
        return self._map(segment, "signs", -(-segment.dimensions // 8))

    def _map(self, segment: Segment, suffix: str, width: int) -> npt.NDArray[np.uint8]:
        """Raises OSError or ValueError where the file is gone, or shorter than what was told of it."""
        if not segment.rows:
            return np.empty((0, width), np.uint8)
        return np.memmap(self._path(segment, suffix), np.uint8, "r", shape=(segment.rows, width))

    def is_whole(self, segment: Segment) -> bool:
        widths = {"rows": segment.dimensions, "signs": -(-segment.dimensions // 8), "sums": _SUM_BYTES}
        try:
            sizes = {suffix: self._path(segment, suffix).stat().st_size for suffix in widths}
        except OSError:
            return not segment.rows
        return all(sizes[suffix] >= segment.rows * width for suffix, width in widths.items())

    def find_damage(self, segment: Segment) -> npt.NDArray[np.intp]:
        """The rows that are not what was written, in order; of a segment that is whole."""
        rows, signs = self.rows(segment), self.signs(segment)
        sums = self._map(segment, "sums", _SUM_BYTES)
        is_same = (_checksums(rows) == sums).all(axis=1) & (np.packbits(rows > 0, axis=1) == signs).all(axis=1)
        return np.flatnonzero(~is_same)

    def sweep(self, used: Iterable[int]) -> None:
        """Remove the files of segments that are no more, once nobody who began before may still look for them."""
        kept = {str(number) for number in used}
        for path in self._folder.glob("*.*") if self._folder.is_dir() else ():
            with contextlib.suppress(OSError):
                if path.stem not in kept and time.time() - path.stat().st_mtime > _GRACE_S:
                    path.unlink()

    def _path(self, segment: Segment, suffix: str) -> Path:
        return self._folder / f"{segment.number}.{suffix}"


def _checksums(rows: Rows) -> npt.NDArray[np.uint8]:
    """The checksum of each row, as the bytes that are kept of it."""
    sums = np.fromiter((zlib.crc32(row) for row in np.ascontiguousarray(rows)), "<u4", len(rows))
    return sums.view(np.uint8).reshape(len(rows), _SUM_BYTES)


def _for_writing(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600), "r+b")


_PLACED_BYTES = 400
_BLOCK = 8_000
"""Rows. A column of so many takes less than the 128 kB from which on memory is taken from the system and given back."""


class VectorField:
    """The vectors of the versions that a view shows."""

    def __init__(self, files: VectorFiles, segment: Segment, placed: Sequence[Placement]) -> None:
        # An empty file has a place and no rows: the row that stands there is the next file's.
        files_of, first, counts = np.array(placed, np.int64).reshape(-1, 3).T
        ordered = np.argsort(first)
        ordered = ordered[counts[ordered] > 0]
        self.dimensions = segment.dimensions
        self._files, self._first, self._counts = files_of[ordered], first[ordered], counts[ordered]
        self.chunks = int(self._counts.sum())
        self._rows = np.asarray(files.rows(segment))  # what maps a file is slow to cut
        self._signs = _as_words(np.asarray(files.signs(segment)))
        self._at = {file: at for at, file in enumerate(self._files.tolist())}
        self._squares = np.full(segment.rows, -1, np.int32)
        self._file_squares = np.full(len(ordered), -1.0)
        """The dot of each row with itself, and of the sum of each file's rows: -1 until it is asked for."""
        edges = np.zeros(segment.rows + 1, np.int8)
        edges[self._first] += 1
        edges[self._first + self._counts] -= 1
        self._hidden = np.cumsum(edges[:-1], dtype=np.int8) == 0

    def nearest(
        self, query: Row, most: int, wanted: Callable[[list[Near]], list[_Wanted]], least: float = -1.0
    ) -> list[_Wanted]:
        """The wanted chunks nearest to a query, nearest first, none below the least cosine; `wanted` is asked about
        many at once."""
        if not self.chunks or not query.any():
            return []
        distance = _distances(self._signs, _as_words(np.packbits(query > 0)[None])[0])
        distance[self._hidden] = _FAR
        asked = min(most * 2, self.chunks)
        while True:
            best = self._best(query, distance, asked)
            near = [each for each in best if each.cosine >= least]
            found = wanted(near)
            if len(found) >= most or asked >= self.chunks or len(near) < len(best):
                return found[:most]
            asked = min(asked * 4, self.chunks)  # what is not wanted stood before what is

    def _best(self, query: Row, distance: npt.NDArray[np.int16], asked: int) -> list[Near]:
        """The nearest, of all that share as many signs with the query as the last one that is looked at: the same ones
        in whatever order the rows were written."""
        count = min(max(asked * 4, _RESCORED), self.chunks)
        near = np.flatnonzero(distance <= np.partition(distance, count - 1)[count - 1])
        cosine = angles(dots(self._rows[near], query), self._squares_of(near), query)
        places = np.searchsorted(self._first, near, side="right") - 1
        files, numbers = self._files[places], near - self._first[places]
        order = np.lexsort((numbers, files, -cosine))[:asked]
        found = zip(files[order].tolist(), numbers[order].tolist(), cosine[order].tolist(), strict=True)
        return [Near(*each) for each in found]

    def similar(self, query: Row, places: Sequence[tuple[int, int]], files: Sequence[int]) -> Similarities:
        """How near these chunks are, and these files, among which theirs are."""
        found = Similarities(np.zeros(len(places)), np.zeros(len(files)), np.zeros(len(files)))
        is_known = [at for at, file in enumerate(files) if file in self._at]
        if not is_known:
            return found
        known = np.array([self._at[files[at]] for at in is_known])
        counts = self._counts[known]
        ends = np.cumsum(counts)
        begins = ends - counts
        rows = np.arange(ends[-1]) + np.repeat(self._first[known] - begins, counts)
        products = dots(self._rows[rows], query)
        cosine = angles(products, self._squares_of(rows), query)
        before = dict(zip((files[at] for at in is_known), begins.tolist(), strict=True))
        has_vector = [at for at, (file, _) in enumerate(places) if file in before]
        found.chunks[has_vector] = cosine[[before[places[at][0]] + places[at][1] for at in has_vector]]
        # The dot of a sum is the sum of the dots.
        found.files[is_known] = angles(np.add.reduceat(products, begins), self._squares_of_files(known), query)
        found.best[is_known] = _best_of_each(cosine, ends)
        return found

    def _squares_of(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        missing = rows[self._squares[rows] < 0]
        if len(missing):
            self._squares[missing] = squares(self._rows[missing])
        return self._squares[rows].astype(np.float64)

    def _squares_of_files(self, known: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        for at in known[self._file_squares[known] < 0].tolist():
            rows = self._rows[self._first[at] : self._first[at] + self._counts[at]]
            self._file_squares[at] = squares(rows.sum(axis=0, dtype=np.int64)[None])[0]
        return self._file_squares[known]

    @property
    def memory_bytes(self) -> int:
        """Memory that it takes besides the mapped files."""
        return int(self._hidden.nbytes + self._squares.nbytes) + _PLACED_BYTES * len(self._files)


def _distances(
    signs: npt.NDArray[np.uint64] | npt.NDArray[np.uint8], query: npt.NDArray[np.uint64] | npt.NDArray[np.uint8]
) -> npt.NDArray[np.int16]:
    """In how many signs each row differs from the query: column by column, which is five times as fast as by row, and
    in blocks whose memory is at hand."""
    total = np.zeros(len(signs), np.int16)
    for start in range(0, len(signs), _BLOCK):
        block, counted = signs[start : start + _BLOCK], total[start : start + _BLOCK]
        for at, word in enumerate(query):
            counted += np.bitwise_count(block[:, at] ^ word)
    return total


def _best_of_each(cosine: npt.NDArray[np.float64], ends: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """The mean of the nearest rows of each file; rows stand file by file."""
    counts = np.diff(ends, prepend=0)
    file = np.repeat(np.arange(len(ends), dtype=np.uint16), counts)  # numbers of 16 bits are sorted by counting
    nearest = np.argsort(-cosine)
    order = nearest[np.argsort(file[nearest], kind="stable")]
    total = np.zeros(len(ends))
    for at in range(_NEAREST_OF_FILE):
        has = counts > at
        total[has] += cosine[order[(ends - counts)[has] + at]]
    return total / np.minimum(counts, _NEAREST_OF_FILE)


def _as_words(signs: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64] | npt.NDArray[np.uint8]:
    """Eight bytes at a time where the width allows it."""
    return signs.view(np.uint64) if signs.shape[1] % 8 == 0 else signs
