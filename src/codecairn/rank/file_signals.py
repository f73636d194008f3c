"""Signals of a whole file for its chunks: its name, its folder, how much of it matches, its role."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from codecairn.cache import Memo
from codecairn.file_roles import PROSE, Role, folder_role, role_of
from codecairn.rank.candidate import WeighedQuery
from codecairn.words import parts_of

_GENERIC_STEMS = frozenset({"__init__", "__main__", "index", "init", "lib", "main", "mod"})
_VERSION = re.compile(r"(^|.*/)v(\d+)/")
SUPERSEDED = 0.3
PENALTIES: dict[Role, float] = {"test": 0.8, "vendored": 0.3, "example": 0.3, "benchmark": 0.3, "legacy": 0.3}
_DOCUMENTATION, _PROSE = 0.3, 0.4
"""A page of the documentation has more to say than a text that lies among the code."""


def file_stem(path: str, asked: WeighedQuery) -> float:
    """The file's name agrees with the query. One that says nothing (`index`, `__init__`) gives way to its folder's."""
    return asked.agreement(parts_of(telling_stem(path)))


def telling_stem(path: str) -> str:
    return _stems[path]


def _telling(path: str) -> str:
    folders, _, name = path.rpartition("/")
    own = name.split(".")[0] or name
    return folders.rpartition("/")[2] if own in _GENERIC_STEMS and folders else own


_stems: Memo[str, str] = Memo("paths.stems", 4_000_000, _telling)


def folder(path: str, asked: WeighedQuery) -> float:
    own = parts_of(telling_stem(path))
    return asked.share(part for part in parts_of(path.rpartition("/")[0]) if part not in own)


def path_mention(path: str, asked: WeighedQuery) -> float:
    """The end of its path is spelled in the query, as a path or as a module: two parts and more, or the file's name."""
    text, whole = asked.lower_text, path.lower()
    name = whole.rpartition("/")[2]
    parts = whole.removesuffix("." + name.rpartition(".")[2]).removesuffix("/__init__").split("/")
    if parts[-1] not in text:
        return 0.0
    for count in range(min(len(parts), 3), 1, -1):
        if "/".join(parts[-count:]) in text or ".".join(parts[-count:]) in text:
            return min(1.0, (count + 1) / 3)
    return 0.5 if "." in name and name in text else 0.0


def penalty(path: str, language: str) -> float:
    """Files beside the product's code rarely do what the product does."""
    role = role_of(path, language)
    if role == "document" and folder_role(path) == "document":
        return _DOCUMENTATION
    return PENALTIES.get(role, _PROSE if language in PROSE else 0.0)


def is_superseded(path: str, paths: Iterable[str], asked: WeighedQuery) -> bool:
    """It is under `v3/` where there is a `v4/` beside it, and the query does not name `v3`."""
    own = _VERSION.match(path)
    if own is None or f"v{own[2]}" in asked.plan.spelled:
        return False
    others = (_VERSION.match(other) for other in paths if other.startswith(own[1] + "v"))
    return any(other[1] == own[1] and int(other[2]) > int(own[2]) for other in others if other)


COHERENCE_DECAY = 0.8
COHERENCE_DEPTH = 12


def coherence(scores: list[float]) -> float:
    """How well the file's other chunks match, from the second best on, each counting 0.8 of the one before."""
    rest = sorted(scores, reverse=True)[1:COHERENCE_DEPTH]
    return sum(score * COHERENCE_DECAY**at for at, score in enumerate(rest))


def popularity(imported_by: int) -> float:
    return min(1.0, math.log1p(imported_by) / 5)
