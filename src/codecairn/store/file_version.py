"""A file version: everything the index keeps of one content at one path, as workers send it and the store keeps it.

Its id is derived from what it is (path, content, the version of the extractor that read it), never handed out by a
database, so every store may refer to it and nothing is confused after a crash. Sixty-three bits: with a million
versions two share an id once in ten million indexes.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import msgspec
import zstandard
from blake3 import blake3
from msgspec import Struct

from codecairn.parse.facts import Import, Site, TypeBinding

LINES = "\n"
LEVEL = 3
"""Of compression. Every frame has a checksum, so that a damaged one is not taken for a text."""


class _Frames(threading.local):
    """Each thread has its own: two at once in one compressor overwrite each other's memory."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        self.decompressor = zstandard.ZstdDecompressor()


_frames = _Frames()


class Stat(NamedTuple):
    """The stamp of a file: another one means that it may be another than was read."""

    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int


class SymbolRow(Struct, frozen=True, array_like=True):
    number: int
    kind: str
    name: str
    path: str
    signature: str
    doc: str
    start_line: int
    end_line: int
    name_line: int
    parent: int
    ordinal: int
    returns: str
    tags: str
    """Its roles in domain-driven design, comma-separated: aggregate, entity, value_object, repository, service."""
    content_hash: bytes


class ChunkRow(Struct, frozen=True, array_like=True):
    number: int
    start_line: int
    end_line: int
    symbol: int
    title: str
    length: int
    """How many terms its text has."""


class Links(Struct, frozen=True, array_like=True):
    """The references of a file to others, as they are written."""

    sites: list[Site]
    imports: list[Import]
    bindings: list[TypeBinding]


class LinkTable(Struct, frozen=True, array_like=True):
    """Links as they are kept, of which the larger parts stay packed until they are asked for."""

    _sites: msgspec.Raw
    imports: list[Import]
    _bindings: msgspec.Raw

    def sites(self) -> list[Site]:
        return msgspec.msgpack.decode(self._sites, type=list[Site])

    def bindings(self) -> list[TypeBinding]:
        return msgspec.msgpack.decode(self._bindings, type=list[TypeBinding])


class FileVersion(Struct, frozen=True, array_like=True):
    id: int
    path: str
    """Relative to the repository, so that every checkout of it shares the version."""
    blob: bytes
    language: str
    package: str
    lines: int
    size: int
    error_nodes: int
    complaint: str
    """Why part of the file could not be read, or nothing."""
    symbols: list[SymbolRow]
    chunks: list[ChunkRow]
    text: bytes
    links: bytes
    terms: bytes
    uses: bytes
    """Compressed: `text` is the source, `links` the Links, `terms` and `uses` one line a chunk: its analysed text
    (words.py), and the identifiers in it."""
    head: str
    """The lines that name its package and its imports, for who reads a part of it."""
    on_branch: bool = False
    """Whether it was first read for a ref other than the base: its documents are told from the others (documents.py).
    It stays so when another ref, or the base, has it too."""


SYMBOL_COLUMNS = ", ".join(SymbolRow.__struct_fields__)
CHUNK_COLUMNS = ", ".join(ChunkRow.__struct_fields__)
PARTS = ("text", "links", "terms", "uses", "head")
"""Of a version's body, as the database has them in columns."""


def version_id(path: str, blob: bytes, extractor: str) -> int:
    digest = blake3(msgspec.msgpack.encode((path.encode("utf-8", "surrogateescape"), blob, extractor))).digest(8)
    return int.from_bytes(digest, "big") >> 1


def compress(data: bytes) -> bytes:
    return _frames.compressor.compress(data)


def decompress(data: bytes) -> bytes:
    return _frames.decompressor.decompress(data)


def pack_version(version: FileVersion) -> bytes:
    """A version as it travels between machines."""
    return compress(msgspec.msgpack.encode(version))


def unpack_version(content: bytes) -> FileVersion:
    return msgspec.msgpack.decode(decompress(content), type=FileVersion)


def pack_links(links: Links) -> bytes:
    return compress(msgspec.msgpack.encode(links))


def link_table(data: bytes) -> LinkTable:
    return msgspec.msgpack.decode(data, type=LinkTable)


def names_in(links: bytes, name: str) -> bool:
    """Whether a name may stand in links, without decoding them: whether it is there as MessagePack writes it."""
    return msgspec.msgpack.encode(name) in links


def unpack_lines(data: bytes) -> list[str]:
    return lines_of(decompress(data))


def lines_of(data: bytes) -> list[str]:
    return data.decode("utf-8", "surrogateescape").split(LINES)
