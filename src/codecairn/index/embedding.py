"""Vectors for what is indexed, each made once.

The shipped encoder is waited for: its rows are published with the versions they are of. Another one follows after, in
slices, so that nothing that can be searched by its words waits for a model; where it fails, what it made is kept and
the rest is tried again by the next run. Rows of an encoder that is used no more serve until all of the new ones are
there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from codecairn.cancel import Cancel
from codecairn.embed.encoder import Encoder, Passage
from codecairn.errors import EncoderFailed
from codecairn.parse.chunks import own_lines
from codecairn.parse.facts import Chunk
from codecairn.store.database import IndexStore
from codecairn.store.file_version import FileVersion, decompress, unpack_lines
from codecairn.store.vector_segments import Placement, Segment, Segments
from codecairn.store.vectors import VectorFiles

_SLICE = 512
"""Passages whose text is in memory at once; at least so many between two looks at whether the run was cancelled, and
two steps of what is kept."""
_LEAST_TO_COMPACT = 4096


class Vectors:
    """The vectors of one index, while one run writes them."""

    def __init__(self, store: IndexStore, folder: Path, encoder: Encoder, cancel: Cancel) -> None:
        self._store = store
        self._encoder = encoder
        self._cancel = cancel
        self._segments = Segments(store)
        self._files = VectorFiles(folder / "vectors")
        self.made = 0
        self._heal()

    def mend(self) -> None:
        """Forget rows that are not what was written; they are made again with what is missing."""
        for each in self._segments.all():
            if damaged := self._files.find_damage(each).tolist():
                self._segments.forget_rows(each, damaged)

    def _heal(self) -> None:
        segments = self._segments.all()
        for each in segments:
            if not self._files.is_whole(each) or not each.encoder:
                self._segments.drop(each)  # half of it is lost, or a copy was never finished
        self._files.sweep(each.number for each in segments)

    def of(self, versions: Sequence[FileVersion]) -> tuple[Segment, list[Placement]] | None:
        """Rows for versions on their way in, to be published with them; None where they are to follow."""
        return self._encode(versions) if self._encoder.is_quick and versions else None

    def _encode(self, versions: Sequence[FileVersion]) -> tuple[Segment, list[Placement]]:
        segment = self._segments.open(self._encoder.name, self._encoder.dimensions)
        passages = (passage for version in versions for passage in passages_of(version, self._encoder))
        rows = [self._encoder.passages(part) for part in iter(lambda: list(islice(passages, _SLICE)), [])]
        if rows:
            self._files.write(segment, np.concatenate(rows))
            self.made += sum(map(len, rows))
        counts = [len(version.chunks) for version in versions]
        ends = np.cumsum(counts) + segment.rows
        return segment, [
            Placement(version.id, int(end) - count, count)
            for version, count, end in zip(versions, counts, ends, strict=True)
        ]

    def catch_up(self, layer: int, *, is_whole: bool = True) -> list[str]:
        """Make what is missing; what went wrong, in words. After a save nothing is, where the encoder is quick."""
        if self._encoder.is_quick and not is_whole:
            return []
        try:
            segment = self._segments.open(self._encoder.name, self._encoder.dimensions)
            waiting = iter(self._segments.missing(layer, segment))
            while versions := self._slice(waiting):
                self._cancel.check()
                self._segments.add(layer, *self._encode(versions))
        except EncoderFailed as error:
            return [f"Vectors are missing: {error.message}. {error.remedy}"]
        self._retire()
        return []

    def _slice(self, waiting: Iterator[int]) -> list[FileVersion]:
        found: list[FileVersion] = []
        while sum(len(each.chunks) for each in found) < _SLICE:
            loaded = [each for each in map(self._store.load, islice(waiting, 1)) if each is not None]
            if not loaded:
                break
            found += loaded
        return found

    def _retire(self) -> None:
        """Drop what another encoder made, and copy what is left of a segment of which most is gone."""
        for each in self._segments.all():
            if each.encoder != self._encoder.name:
                self._segments.drop(each)
            elif each.rows > _LEAST_TO_COMPACT:
                kept = self._segments.placements(each)
                if sum(placed.rows for placed in kept) * 2 < each.rows:
                    self._compact(each, kept)

    def _compact(self, old: Segment, kept: list[Placement]) -> None:
        new = self._segments.begin(old)
        self._segments.replace(old, new, self._files.copy(old, kept, self._files, new))


def passages_of(version: FileVersion, encoder: Encoder) -> Iterator[Passage]:
    terms = unpack_lines(version.terms)
    texts = _texts(version) if encoder.reads_text else [""] * len(version.chunks)
    for chunk, term, text in zip(version.chunks, terms, texts, strict=False):
        name = version.symbols[chunk.symbol].path if chunk.symbol >= 0 else chunk.title
        yield Passage(version.path, name, term, text)


def _texts(version: FileVersion) -> list[str]:
    """The lines of each chunk that are in no chunk inside it, less the empty ones at its end."""
    lines = decompress(version.text).decode("utf-8", "replace").split("\n")
    chunks = [Chunk(each.start_line, each.end_line, each.symbol) for each in version.chunks]
    return ["\n".join(_lines_in(lines, ranges)).rstrip("\n") for ranges in own_lines(chunks)]


def _lines_in(lines: list[str], ranges: Iterable[tuple[int, int]]) -> Iterator[str]:
    for first, last in ranges:
        yield from lines[first - 1 : last]
