"""Columns: what the signals need of chunks and of paths, in arrays that every search of the process shares.

A file version never changes, so a chunk becomes a row once, whatever the branch, generation or project. Only chunks
that a search proposes become rows: to add the others of their files made a search of files that nobody had met three
times as long, and saved later ones nothing. A row is a chunk, or a symbol inside one that filters ask for. Words and
names are kept as checksums of 32 bits, of which two of a hundred thousand words share one on average; the parts of
names and paths are numbers of a vocabulary, because abbreviations are compared letter by letter.

Arrays only grow, and who took them before reads on in what he took. At the bound everything is forgotten at once: a
search that is under way keeps its own.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from codecairn.cache import Cache, CacheState, NamedCache
from codecairn.rank.candidate import LONGEST_DOC, Place
from codecairn.rank.file_paths import folder_parts, penalty, telling_stem
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import ChunkHead, FileRow, View
from codecairn.words import analyse, bare, fresh_parts_of, parts_of

Numbers = npt.NDArray[np.int64]
_OPENING = 3
_FILE_BYTES, _ROW_BYTES, _PATH_BYTES, _PART_BYTES = 300, 80, 700, 300
"""Of Python's own objects for each."""


def checksum(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))


def checksums(words: Iterable[str]) -> Numbers:
    return np.array([checksum(each) for each in words], np.int64)


class _Growing:
    """An array that grows at its end."""

    def __init__(self, kind: Any) -> None:
        self._held: npt.NDArray[Any] = np.empty(1024, kind)
        self.size = 0

    def extend(self, values: Sequence[float] | npt.NDArray[Any]) -> None:
        end = self.size + len(values)
        if end > len(self._held):
            larger = np.empty(max(end, self.size * 3 // 2), self._held.dtype)
            larger[: self.size] = self._held[: self.size]
            self._held = larger
        self._held[self.size : end] = values
        self.size = end

    @property
    def all(self) -> npt.NDArray[Any]:
        return self._held[: self.size]

    def take(self, rows: Numbers) -> Numbers:
        return self.all[rows].astype(np.int64)

    @property
    def nbytes(self) -> int:
        return self.size * self._held.itemsize


class Parts(NamedTuple):
    """Several numbers a row: `owner` says the row's place among those that were asked for."""

    owner: Numbers
    value: npt.NDArray[Any]


class _Ragged:
    """A column with any number of values a row."""

    def __init__(self, kind: Any) -> None:
        self.values = _Growing(kind)
        self._ends = _Growing(np.int64)
        self._ends.extend([0])

    def extend(self, rows: Sequence[Sequence[int]]) -> None:
        self.extend_flat(list(chain.from_iterable(rows)), list(map(len, rows)))

    def extend_flat(self, values: Sequence[int] | npt.NDArray[Any], sizes: Sequence[int]) -> None:
        """The same of rows whose values stand one after the other."""
        size = self.values.size
        self.values.extend(values)
        self._ends.extend(list(accumulate(sizes, initial=size))[1:])

    def take(self, rows: Numbers) -> Parts:
        ends = self._ends.all
        start = ends[rows]
        count = ends[rows + 1] - start
        before = np.cumsum(count) - count
        at = np.arange(int(count.sum())) + np.repeat(start - before, count)
        return Parts(np.repeat(np.arange(len(rows)), count), self.values.all[at])

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + self._ends.nbytes


class Vocabulary:
    """The parts of names and paths, each with a number."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._numbers: dict[str, int] = {}
        self._openings: dict[str, int] = {}
        self.opening = _Growing(np.int32)

    def numbers(self, rows: Sequence[Sequence[str]]) -> list[list[int]]:
        """The numbers of the words of each row."""
        known = self._numbers
        self._add([word for row in rows for word in row if word not in known])
        return [[known[word] for word in row] for row in rows]

    def find(self, word: str) -> int | None:
        return self._numbers.get(word)

    def openings(self, words: Iterable[str]) -> list[int]:
        """The numbers of the first letters of words, as far as any part begins with them."""
        return [self._openings[each] for each in {word[:_OPENING] for word in words} if each in self._openings]

    def _add(self, words: Iterable[str]) -> None:
        first = len(self.words)
        self.words += dict.fromkeys(words)
        new, known = self.words[first:], self._openings
        self.opening.extend([known.setdefault(word[:_OPENING], len(known)) for word in new])
        self._numbers.update(zip(new, range(first, len(self.words)), strict=True))

    def __len__(self) -> int:
        return len(self.words)


class Table:
    """Everything that was met since the last time it was forgotten. Rows are added by one thread at a time."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self._rows: dict[int, dict[int, int]] = {}
        """The rows of a file version's chunks by their numbers."""
        self._inside: dict[tuple[int, int, int], int] = {}
        self._paths: dict[tuple[str, str], int] = {}
        self.number, self.symbol, self.start, self.length = (_Growing(np.int32) for _ in range(4))
        self.name, self.bare, self.kind = (_Growing(np.uint32) for _ in range(3))
        self.terms, self.doc = _Ragged(np.uint32), _Ragged(np.uint32)
        self.name_parts, self.qualifier_parts = _Ragged(np.int32), _Ragged(np.int32)
        self.stem_parts, self.folder_parts = _Ragged(np.int32), _Ragged(np.int32)
        self.penalty = _Growing(np.float64)

    def missing(self, places: Iterable[Place]) -> dict[int, set[int]]:
        """The chunks that are no rows yet, by their file."""
        found: dict[int, set[int]] = {}
        for file, number in places:
            if number not in self._rows.get(file, ()):
                found.setdefault(file, set()).add(number)
        return found

    def rows(self, places: Iterable[Place]) -> Numbers:
        return np.array([self._rows[file][number] for file, number in places], np.int64)

    def row_inside(self, file: int, number: int, symbol: int) -> int | None:
        return self._inside.get((file, number, symbol))

    def paths(self, files: Collection[FileRow]) -> Numbers:
        known = self._paths
        new = list({key: None for each in files if (key := (each.path, each.language)) not in known})
        if new:
            self._add_paths(new)
        return np.array([known[each.path, each.language] for each in files], np.int64)

    def add_chunks(self, heads: Sequence[ChunkHead], terms: Mapping[int, Sequence[bytes]]) -> None:
        """All at once: an array grows in one step for a hundred chunks as for one."""
        first = self.number.size
        self._add(heads, [terms[each.file][each.number].split() for each in heads])
        for row, each in enumerate(heads, first):
            self._rows.setdefault(each.file, {})[each.number] = row

    def add_inside(self, file: int, number: int, symbol: SymbolRow) -> int:
        """A symbol that is not its chunk's: by its own lines, and the words of its head and its comment."""
        words = analyse(f"{symbol.signature} {symbol.doc[:LONGEST_DOC]}").encode("utf-8", "surrogateescape").split()
        row = self._inside[file, number, symbol.number] = self.number.size
        head = ChunkHead(
            file, number, symbol.start_line, symbol.number, len(words), symbol.kind, symbol.name, symbol.path,
            symbol.doc,
        )  # fmt: skip
        self._add([head], [words])
        return row

    def _add(self, heads: Sequence[ChunkHead], words: Sequence[Sequence[bytes]]) -> None:
        self.number.extend([each.number for each in heads])
        self.start.extend([each.start_line for each in heads])
        self.symbol.extend([each.symbol for each in heads])
        self.length.extend([each.length for each in heads])
        self.kind.extend([checksum(each.kind) for each in heads])
        self.name.extend([checksum(each.name) for each in heads])
        self.bare.extend([checksum(bare(each.name)) for each in heads])
        # A word as often as it is there: a query counts its own, which are few.
        sizes = list(map(len, words))
        self.terms.extend_flat(np.fromiter(map(crc32, chain.from_iterable(words)), np.uint32, sum(sizes)), sizes)
        self.doc.extend([_doc_words(each.doc[:LONGEST_DOC]) for each in heads])
        own = [fresh_parts_of(each.name) for each in heads]
        self.name_parts.extend(self.vocabulary.numbers(own))
        around = [_qualifier(each, parts) for each, parts in zip(heads, own, strict=True)]
        self.qualifier_parts.extend(self.vocabulary.numbers(around))

    def _add_paths(self, new: Sequence[tuple[str, str]]) -> None:
        self.stem_parts.extend(self.vocabulary.numbers([parts_of(telling_stem(path)) for path, _ in new]))
        self.folder_parts.extend(self.vocabulary.numbers([folder_parts(path) for path, _ in new]))
        first = self.penalty.size
        self.penalty.extend([penalty(path, language) for path, language in new])
        self._paths.update(zip(new, range(first, self.penalty.size), strict=True))

    @property
    def entries(self) -> int:
        return self.number.size

    @property
    def nbytes(self) -> int:
        arrays = (
            self.number, self.symbol, self.start, self.length, self.name, self.bare, self.kind, self.terms, self.doc,
            self.name_parts, self.qualifier_parts, self.stem_parts, self.folder_parts, self.penalty,
        )  # fmt: skip
        kept = _FILE_BYTES * (len(self._rows) + len(self._inside)) + _PATH_BYTES * len(self._paths)
        kept += _ROW_BYTES * self.number.size
        return sum(each.nbytes for each in arrays) + kept + _PART_BYTES * len(self.vocabulary)


def _doc_words(doc: str) -> list[int]:
    return list(map(crc32, set(analyse(doc).encode("utf-8", "surrogatepass").split()))) if doc else []


def _qualifier(head: ChunkHead, own: tuple[str, ...]) -> list[str]:
    """The parts of the names around its own."""
    if not head.name or head.path == head.name:
        return []
    around = head.path.removesuffix(head.name)  # many have it in common
    parts = parts_of(around) if not around[-1:].isalnum() and around != head.path else fresh_parts_of(head.path)
    return [part for part in parts if part not in own]


_terms: Cache[int, list[bytes]] = Cache("search.terms", 3_000_000, lambda lines: sum(map(len, lines)) + 50 * len(lines))
"""The words of the long files whose chunks became rows lately. Searches come back to them for other chunks: of what two
hundred searches of Django would unpack, a hundred files are two thirds."""
_MANY_CHUNKS = 16


def _terms_of(view: View, files: Collection[int]) -> dict[int, list[bytes]]:
    known = {file: _terms.get(file) for file in files}
    read = view.packed_terms([file for file, lines in known.items() if lines is None])
    for file, lines in read.items():
        if len(lines) > _MANY_CHUNKS:
            _terms.put(file, lines)
    return {file: read[file] if lines is None else lines for file, lines in known.items()}


class Columns(NamedCache):
    """The table of the process, under a bound."""

    def __init__(self, name: str, most_bytes: int) -> None:
        super().__init__(name, most_bytes)
        self._lock = threading.Lock()
        self._table = Table()

    def meet(
        self, view: View, files: Collection[FileRow], places: Collection[Place],
        inside: Collection[tuple[Place, SymbolRow]],
    ) -> Meeting:  # fmt: skip
        """The table with these chunks of these files, and with these symbols inside of chunks."""
        with self._lock:
            if self._table.nbytes > self.most_bytes:
                self._table = Table()
            table = self._table
            missing = table.missing(places)
            if missing:
                terms = _terms_of(view, missing)
                wanted = [(file, number) for file, numbers in missing.items() for number in sorted(numbers)]
                table.add_chunks(view.chunk_heads(wanted), terms)
            for (file, number), symbol in inside:
                if table.row_inside(file, number, symbol.number) is None:
                    table.add_inside(file, number, symbol)
            return Meeting(table, table.paths(files))

    def clear(self) -> None:
        with self._lock:
            self._table = Table()

    def state(self) -> CacheState:
        with self._lock:
            return CacheState(self.name, self._table.entries, self._table.nbytes, self.most_bytes)


class Meeting(NamedTuple):
    table: Table
    paths: Numbers
    """Of the files, in their order."""


columns = Columns("search.columns", 32_000_000)
"""Some 1,300,000 lines of code, or the parts of more that are searched."""
