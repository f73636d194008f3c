"""The corpus as arrays: read once, analysed by many processes, the same whatever their number.

A first pass counts words and chooses the vocabulary; a second makes the examples and turns each side into a bag of
word ids and, for a teacher, into its word pieces. Rows of differing length lie end to end in one array.
"""

from __future__ import annotations

import json
import lzma
import multiprocessing
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from codecairn.words import analyse
from training.views import examples_of
from training.vocabulary import Bag, Counts, Vocabulary, chosen, counted, spellings

Array = npt.NDArray[Any]

LONGEST_QUERY = 64
LONGEST_CODE = 160
"""Word pieces."""

_STRETCH = 1_000
"""Records that one task reads: in one language nearly always, in one package often."""

_HELD_OUT = 1_500
"""Documented functions of a language that are not learnt from, in whole packages, where a twentieth is as many."""


_HALF_A_PAIR = re.compile(rb"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]")


@dataclass(frozen=True)
class Ragged:
    flat: Array
    offsets: Array

    @staticmethod
    def of(rows: list[list[int]], kind: Any) -> Ragged:
        lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
        flat = np.fromiter((each for row in rows for each in row), kind, int(lengths.sum()))
        return Ragged(flat, np.concatenate([np.zeros(1, np.int64), lengths.cumsum()]))

    @staticmethod
    def joined(parts: list[Ragged]) -> Ragged:
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        offsets = np.concatenate([np.zeros(1, np.int64), lengths.cumsum()])
        return Ragged(np.concatenate([part.flat for part in parts]), offsets)

    def __getitem__(self, row: int) -> Array:
        return self.flat[self.offsets[row] : self.offsets[row + 1]]


@dataclass(frozen=True)
class Side:
    """The queries or the code of all examples."""

    ids: Ragged
    times: Ragged
    pieces: Ragged | None


@dataclass(frozen=True)
class Prepared:
    views: Array
    packages: Array
    files: Array
    asked: Array
    """A checksum of the query: two examples that ask the same are no negatives of each other."""
    queries: Side
    code: Side

    def __len__(self) -> int:
        return len(self.views)


@dataclass(frozen=True)
class Words:
    vocabulary: list[str]
    spelled: list[str]
    held_out: frozenset[str]
    """Packages that are not learnt from."""


class Workers:
    """Processes that each hold what every task needs, given once."""

    def __init__(self, count: int) -> None:
        self.count = count

    def each(self, task: Callable[[list[bytes], Any], Any], stretches: list[list[bytes]], given: Any) -> Iterator[Any]:
        if self.count < 2:
            yield from (task(stretch, given) for stretch in stretches)
            return
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        with ProcessPoolExecutor(self.count, context, _hold, (task, given)) as pool:
            yield from pool.map(_run, stretches)


_held: list[Any] = []


def _hold(task: Callable[[list[bytes], Any], Any], given: Any) -> None:
    _held[:] = [task, given]


def _run(stretch: list[bytes]) -> Any:
    task, given = _held
    return task(stretch, given)


def stretches_of(paths: list[Path]) -> list[list[bytes]]:
    lines = [line for path in paths for line in _lines(path)]
    return [lines[at : at + _STRETCH] for at in range(0, len(lines), _STRETCH)]


def _lines(path: Path) -> list[bytes]:
    with lzma.open(path) as stream:
        return stream.readlines()


def records_of(stretch: list[bytes]) -> Iterator[dict[str, Any]]:
    """Less those with half of a surrogate pair: no tokenizer takes them."""
    return (json.loads(line) for line in stretch if not _HALF_A_PAIR.search(line))


def words_of_corpus(stretches: list[list[bytes]], workers: Workers) -> Words:
    counts = Counts()
    for part in workers.each(_count, stretches, None):
        counts.add(part)
    vocabulary = chosen(counts)
    return Words(vocabulary, spellings(vocabulary, counts), held_out(counts.documented))


def _count(stretch: list[bytes], _: None) -> Counts:
    return counted(records_of(stretch))


def held_out(documented: Counter[tuple[str, str]]) -> frozenset[str]:
    """Whole packages, in the order of their checksums, until each language has enough to be measured by."""
    of_language: dict[str, list[tuple[str, int]]] = {}
    for (language, package), count in documented.items():
        of_language.setdefault(language, []).append((package, count))
    packages: set[str] = set()
    for found in of_language.values():
        whole = sum(count for _, count in found)
        wanted = min(_HELD_OUT, whole // 20)
        for package, count in sorted(found, key=lambda each: zlib.crc32(each[0].encode())):
            if wanted > 0 and count <= max(whole // 8, 1):
                packages.add(package)
                wanted -= count
    return frozenset(packages)


@dataclass(frozen=True)
class _Given:
    vocabulary: tuple[str, ...]
    held_out: frozenset[str]
    tokenizer: Path | None


def prepared(stretches: list[list[bytes]], words: Words, tokenizer: Path | None, workers: Workers) -> Prepared:
    given = _Given(tuple(words.vocabulary), words.held_out, tokenizer)
    parts = [part for part in workers.each(_prepare, stretches, given) if len(part)]

    def side(pick: Callable[[Prepared], Side]) -> Side:
        sides = [pick(part) for part in parts]
        pieces = [each.pieces for each in sides if each.pieces]
        return Side(
            Ragged.joined([each.ids for each in sides]),
            Ragged.joined([each.times for each in sides]),
            Ragged.joined(pieces) if pieces else None,
        )

    def column(name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in parts])

    return Prepared(
        column("views"),
        column("packages"),
        column("files"),
        column("asked"),
        side(lambda part: part.queries),
        side(lambda part: part.code),
    )


class _Tools:
    """What a process makes of what it was given."""

    def __init__(self, given: _Given) -> None:
        self.vocabulary = Vocabulary(list(given.vocabulary))
        self.held_out = given.held_out
        self.tokenizer = tokenizer_of(given.tokenizer) if given.tokenizer else None


_tools = lru_cache(1)(_Tools)


def _prepare(stretch: list[bytes], given: _Given) -> Prepared:
    tools = _tools(given)
    records = [record for record in records_of(stretch) if record["package"] not in tools.held_out]
    found = [each for record in records for each in examples_of(record) if analyse(each.query)]
    queries = [tools.vocabulary.of_query(each.query) for each in found]
    code = [tools.vocabulary.of_code(each.code) for each in found]
    return Prepared(
        np.array([each.view for each in found], np.uint8),
        _checksums([each.package for each in found]),
        _checksums([each.file for each in found]),
        _checksums([" ".join(each.query.lower().split()) for each in found]),
        _side(queries, tools.tokenizer, [each.query for each in found], LONGEST_QUERY),
        _side(code, tools.tokenizer, [each.code.brief for each in found], LONGEST_CODE),
    )


def _checksums(keys: list[str]) -> Array:
    return np.array([zlib.crc32(key.encode()) for key in keys], np.uint32).astype(np.int64)


def _side(bags: list[Bag], tokenizer: Any, texts: list[str], longest: int) -> Side:
    ids = Ragged.of([bag.ids for bag in bags], np.int16)
    times = Ragged.of([bag.times for bag in bags], np.uint8)
    return Side(ids, times, pieces_of(tokenizer, texts, longest) if tokenizer else None)


def tokenizer_of(folder: Path) -> Any:
    tokenizer = import_module("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    return tokenizer


def pieces_of(tokenizer: Any, texts: list[str], longest: int) -> Ragged:
    tokenizer.enable_truncation(longest)
    # A word piece is at least one character and seldom many: what is cut here is never read.
    cut = [text[: longest * 12] for text in texts]
    return Ragged.of([each.ids for each in tokenizer.encode_batch(cut)], np.int16)
