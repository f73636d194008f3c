"""Whether any of some files was written, made or removed since it was last looked at, by their stamps."""

from __future__ import annotations

from pathlib import Path

_Stamp = tuple[int, int, int] | None


class Stamps:
    def __init__(self, *files: Path) -> None:
        self._files = files
        self._seen = self._now()

    def look(self) -> None:
        """From here on, what differs from now has changed."""
        self._seen = self._now()

    def have_changed(self) -> bool:
        return self._now() != self._seen

    def _now(self) -> list[_Stamp]:
        return [_stamp(each) for each in self._files]


def _stamp(path: Path) -> _Stamp:
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_mtime_ns, info.st_ctime_ns, info.st_ino
