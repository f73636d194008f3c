"""The stamp of a file, by which a change shows without reading it."""

from __future__ import annotations

import os
from pathlib import Path

Stamp = tuple[int, ...]
"""Times in nanoseconds, of the content and of the inode; size; inode. Empty where there is no file."""


class Stamps:
    """Whether any of some files was written, made or removed since it was last looked at."""

    def __init__(self, *files: Path) -> None:
        self._files = files
        self._seen = self._now()

    def look(self) -> None:
        """From here on, what differs from now has changed."""
        self._seen = self._now()

    def have_changed(self) -> bool:
        return self._now() != self._seen

    def _now(self) -> list[Stamp]:
        return [stamp_at(each) for each in self._files]


def stamp_at(path: Path | str, *, follow_links: bool = True) -> Stamp:
    try:
        return stamp_of(os.stat(path, follow_symlinks=follow_links))  # noqa: PTH116 - a Path costs as much as the stat
    except OSError:
        return ()


def stamp_of(info: os.stat_result) -> Stamp:
    return info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino
