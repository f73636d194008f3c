"""The files and folders of one state of a project, and those that a path in a rule may mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from posixpath import normpath


class PathTree:
    """Paths from the root, folders included."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = frozenset(files)

    @cached_property
    def folders(self) -> frozenset[str]:
        found: set[str] = set()
        for path in self.files:
            folder = path.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        named: defaultdict[str, list[str]] = defaultdict(list)
        for path in (*self.files, *self.folders):
            named[path.rpartition("/")[2].casefold()].append(path)
        return named

    def has(self, path: str) -> bool:
        return path in self.files or path in self.folders

    def places(self, written: str, folder: str) -> list[str]:
        """The files or folders that a path means, written in a file of a folder: from the root, from there, from a
        folder above, or as the end of a longer path. Letter case does not count in the last."""
        exact = [each for each in candidates(written, folder) if self.has(each)]
        if exact:
            return exact
        bare = written.strip("/")
        end = f"/{bare.casefold()}"
        return sorted(
            each for each in self._by_name.get(bare.rpartition("/")[2].casefold(), ())
            if f"/{each.casefold()}".endswith(end)
        )  # fmt: skip


def candidates(written: str, folder: str) -> list[str]:
    """A path from the root, from a folder, and from each folder above it."""
    bare, around = written.rstrip("/"), [""]
    for part in filter(None, folder.split("/")):
        around.append(f"{around[-1]}/{part}".lstrip("/"))
    found = (normpath(f"{each}/{bare}".lstrip("/")) for each in around)
    return [each for each in dict.fromkeys(found) if not each.startswith("..") and each != "."]
