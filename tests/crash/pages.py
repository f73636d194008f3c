"""Pages of an SQLite database, and harm that leaves them pages."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

LEAVES = {0x0A: 8, 0x0D: 8}
"""The kinds of leaf pages, of indexes and of tables, with the length of their header."""
_FIRST = 100
"""Bytes of the first page that are the header of the file."""


class Pages:
    def __init__(self, path: Path) -> None:
        self._path = path
        data = path.read_bytes()
        (self.size,) = struct.unpack(">H", data[16:18])
        self.pages = [data[at : at + self.size] for at in range(0, len(data), self.size)]

    def kind(self, number: int) -> int:
        return self.pages[number][_FIRST if number == 0 else 0]

    @property
    def leaves(self) -> list[int]:
        return [number for number in range(1, len(self.pages)) if self.kind(number) in LEAVES]

    def write(self, number: int, page: bytes) -> None:
        self._path.write_bytes(b"".join([*self.pages[:number], page, *self.pages[number + 1 :]]))


def blank(pages: Pages, number: int) -> bytes:
    return bytes(pages.size)


def blank_second_half(pages: Pages, number: int) -> bytes:
    """Cells stay, and what is in most of them does not."""
    return pages.pages[number][: pages.size // 2] + bytes(pages.size // 2)


def empty(pages: Pages, number: int) -> bytes:
    """A leaf without rows, which SQLite takes for one; another page is left as it is."""
    page = pages.pages[number]
    if number not in pages.leaves:
        return page
    return struct.pack(">BHHHB", page[0], 0, 0, pages.size % 65536, 0) + page[8:]


def swap(pages: Pages, number: int) -> bytes:
    """The content of the next page of the same kind."""
    alike = [each for each in range(1, len(pages.pages)) if pages.kind(each) == pages.kind(number)]
    return pages.pages[alike[(alike.index(number) + 1) % len(alike)]] if number else pages.pages[0]


HARMS: tuple[Callable[[Pages, int], bytes], ...] = (blank, blank_second_half, empty, swap)
