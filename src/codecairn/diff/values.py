"""The values that go into a comparison and come out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from codecairn.store.file_version import FileVersion, SymbolRow, decompress

ChangeType = Literal["added", "modified", "deleted"]
FileStatus = Literal["added", "modified", "deleted", "renamed"]


class Version(NamedTuple):
    """One content of a file, with the symbols in it."""

    path: str
    language: str
    package: str
    symbols: list[SymbolRow]
    text: bytes

    @classmethod
    def of(cls, file: FileVersion, prefix: str = "") -> Version:
        """Of a file whose path is seen from the prefix."""
        return cls(file.path.removeprefix(prefix), file.language, file.package, file.symbols, decompress(file.text))


class VersionChange(NamedTuple):
    """A file that is not the same on both sides. A side without a version holds no symbols, and `reason` says why:
    `binary`, `generated`, `data`, `too large` and the like; nothing where the file is not there."""

    status: FileStatus
    path: str
    """The later one; of a deleted file its own."""
    old_path: str
    before: Version | None
    after: Version | None
    reason: str = ""


class SymbolPlace(NamedTuple):
    """A symbol in a version."""

    version: Version
    number: int

    @property
    def symbol(self) -> SymbolRow:
        return self.version.symbols[self.number]

    @property
    def lines(self) -> tuple[int, int]:
        """For the order of a reader: what holds others comes before them."""
        return self.symbol.start_line, -self.symbol.end_line


class Difference(NamedTuple):
    """In what the two sides of a symbol differ."""

    signature_changed: bool = False
    body_changed: bool = False
    """Whether anything but the signature and but comments and layout is other: decorators and annotations included."""
    whitespace_or_comments_only: bool = False
    only_members: bool = False
    """Whether nothing of it is other than the symbols inside it, which have rows of their own."""


@dataclass(frozen=True)
class SymbolChange:
    """One symbol that is not what it was. Both sides are there exactly where it is `modified`."""

    change_type: ChangeType
    before: SymbolPlace | None
    after: SymbolPlace | None
    moved_from: str | None = None
    """Where it was: the old path, or its old path in the file where it only stands in another container now."""
    renamed_from: str | None = None
    """The old name."""
    look: Callable[[], Difference] = Difference

    @cached_property
    def difference(self) -> Difference:
        """Looked for when it is asked for: who shows a page of a thousand rows pays for the page."""
        return self.look()

    @property
    def path(self) -> str:
        return self.place.version.path

    @property
    def place(self) -> SymbolPlace:
        """Where to look for it: as it is now, or as it last was."""
        place = self.after or self.before
        assert place is not None
        return place
