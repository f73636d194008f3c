"""The checksums that tantivy writes behind its files.

    body, footer as JSON ({"version": …, "crc": …}), length of the footer, 1337      the last two in four bytes each

A file of a segment is written once, so each is looked at once; which there are, meta.json says.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

_END = struct.Struct("<II")
_MAGIC = 1337
_LONGEST_FOOTER = 4096
_PART = 1 << 20
_SETTLED_NS = 100_000_000
"""Stamps of files are told apart by some milliseconds at best."""


Stamp = tuple[int, int, int]
"""Time, size and inode of meta.json, which each commit writes anew."""


class _Deletes(Struct):
    opstamp: int


class _Segment(Struct):
    segment_id: str
    deletes: _Deletes | None = None


class _Meta(Struct):
    segments: list[_Segment]


class _Footer(Struct):
    crc: int


class Footers:
    """The files of one index, each checked before it is first used."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._meta = folder / "meta.json"
        self._seen: Stamp | None = None
        self._sound: frozenset[str] = frozenset()

    def check(self) -> Stamp | None:
        """Raise ValueError if a file of the last commit is not what was written. Returns the stamp of the commit; None
        for one so young that the next could have the same."""
        stat = self._meta.stat()
        seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        if seen != self._seen:
            names = frozenset(self._names())
            for name in names - self._sound:
                _check(self._folder / name)
            self._sound, self._seen = names, seen
        return seen if time.time_ns() - stat.st_mtime_ns > _SETTLED_NS else None

    def _names(self) -> Iterator[str]:
        meta = msgspec.json.decode(self._meta.read_bytes(), type=_Meta)
        held = [each.name for each in self._folder.iterdir()]
        for segment in meta.segments:
            id_ = segment.segment_id.replace("-", "")
            deletes = f"{id_}.{segment.deletes.opstamp}.del" if segment.deletes else ""
            yield from (name for name in held if name.startswith(id_) and (name == deletes or name[-4:] != ".del"))


def _check(path: Path) -> None:
    try:
        file = path.open("rb")
    except FileNotFoundError:  # merged away meanwhile; where it is needed, opening the index says so
        return
    with file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LONGEST_FOOTER))
        tail = file.read()
        length, magic = _END.unpack(tail[-_END.size :]) if len(tail) >= _END.size else (0, 0)
        if magic != _MAGIC or not 0 < length <= len(tail) - _END.size:
            raise ValueError(f"{path.name} is cut short")
        footer = msgspec.json.decode(tail[-_END.size - length : -_END.size], type=_Footer)
        file.seek(0)
        left, crc = size - _END.size - length, 0
        while left and (part := file.read(min(left, _PART))):
            crc, left = zlib.crc32(part, crc), left - len(part)
    if crc != footer.crc:
        raise ValueError(f"{path.name} has another checksum than when it was written")
