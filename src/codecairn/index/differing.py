"""Which versions are kept as a difference to another of the same path (store/schema.py), and what the two share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from codecairn.parse.chunks import own_lines
from codecairn.parse.facts import Chunk
from codecairn.store.index import IndexStore
from codecairn.store.version import FileVersion, unpacked, unpacked_lines


def kept_as(version: FileVersion, store: IndexStore, bases: Mapping[str, int]) -> FileVersion:
    """A version in the form it is to be kept in: in the one it has, else as a difference where its path has a basis."""
    form = store.form(version.id)
    basis = form.basis if form else bases.get(version.path)
    loaded = store.load(basis) if basis is not None else None
    if loaded is None or loaded.language != version.language:
        return version
    return replace(version, basis=basis, shared=_shared(version, loaded))


def _shared(version: FileVersion, basis: FileVersion) -> list[int]:
    """For each chunk the number of the basis's chunk of which documents and vectors would be the same, or -1. A chunk
    stands for one other only: how many have a word is counted."""
    there: dict[tuple[str, ...], list[int]] = {}
    for number, said in enumerate(_said(basis)):
        there.setdefault(said, []).append(number)
    return [there[said].pop(0) if there.get(said) else -1 for said in _said(version)]


def _said(version: FileVersion) -> Iterator[tuple[str, ...]]:
    terms, uses, texts = unpacked_lines(version.terms), unpacked_lines(version.uses), texts_of(version)
    for number, chunk in enumerate(version.chunks):
        name = version.symbols[chunk.symbol].path if chunk.symbol >= 0 else chunk.title
        yield name, terms[number], uses[number], texts[number]


def texts_of(version: FileVersion) -> list[str]:
    """The lines of each chunk that are in no chunk inside it, less the empty ones at its end: what follows a chunk
    says how many those are."""
    lines = unpacked(version.text).decode("utf-8", "replace").split("\n")
    chunks = [Chunk(each.start_line, each.end_line, each.symbol) for each in version.chunks]
    return ["\n".join(_own(lines, ranges)).rstrip("\n") for ranges in own_lines(chunks)]


def _own(lines: list[str], ranges: Iterable[tuple[int, int]]) -> Iterator[str]:
    for first, last in ranges:
        yield from lines[first - 1 : last]
