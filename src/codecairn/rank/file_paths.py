"""What the path of a file says of it: its telling name, its folders, its role, the version it lies under."""

from __future__ import annotations

import re
from collections.abc import Collection

from codecairn.cache import Memo
from codecairn.file_roles import PROSE, Role, folder_role, role_of
from codecairn.words import parts_of

_GENERIC_STEMS = frozenset({"__init__", "__main__", "index", "init", "lib", "main", "mod"})
_VERSION = re.compile(r"(^|.*/)v(\d+)/")
PENALTIES: dict[Role, float] = {"test": 0.8, "vendored": 0.3, "example": 0.3, "benchmark": 0.3, "legacy": 0.3}
_DOCUMENTATION, _PROSE = 0.3, 0.4
"""A page of the documentation has more to say than a text that lies among the code."""


def telling_stem(path: str) -> str:
    """The file's name; one that says nothing (`index`, `__init__`) gives way to its folder's."""
    folders, _, name = path.rpartition("/")
    own = name.split(".")[0] or name
    return folders.rpartition("/")[2] if own in _GENERIC_STEMS and folders else own


def folder_parts(path: str) -> list[str]:
    """The parts of its folders' names that are not in its telling name."""
    own = parts_of(telling_stem(path))
    return [part for part in parts_of(path.rpartition("/")[0]) if part not in own]


def penalty(path: str, language: str) -> float:
    """Files beside the product's code rarely do what the product does."""
    role = role_of(path, language)
    if role == "document" and folder_role(path) == "document":
        return _DOCUMENTATION
    return PENALTIES.get(role, _PROSE if language in PROSE else 0.0)


def path_mention(path: str, text: str) -> float:
    """The end of its path is spelled in a text, as a path or as a module: two parts and more, or the file's name."""
    name, parts = _endings[path]
    if parts[-1] not in text:
        return 0.0
    for count in range(min(len(parts), 3), 1, -1):
        if "/".join(parts[-count:]) in text or ".".join(parts[-count:]) in text:
            return min(1.0, (count + 1) / 3)
    return 0.5 if "." in name and name in text else 0.0


def _ending(path: str) -> tuple[str, tuple[str, ...]]:
    whole = path.lower()
    name = whole.rpartition("/")[2]
    return name, tuple(whole.removesuffix("." + name.rpartition(".")[2]).removesuffix("/__init__").split("/"))


_endings: Memo[str, tuple[str, tuple[str, ...]]] = Memo("paths.endings", 4_000_000, _ending)


def superseded(paths: Collection[str], spelled: Collection[str]) -> set[str]:
    """Those under `v3/` where there is a `v4/` beside it, if `v3` is not spelled."""
    found = {path: match for path in paths if (match := _VERSION.match(path))}
    newest: dict[str, int] = {}
    for match in found.values():
        newest[match[1]] = max(newest.get(match[1], 0), int(match[2]))
    return {path for path, match in found.items() if int(match[2]) < newest[match[1]] and f"v{match[2]}" not in spelled}
