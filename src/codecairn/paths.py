"""The one path guard: what a caller may name, and what no answer may show.

Two questions are asked here and nowhere else. `Guard.inside` turns a project-relative path a caller gave into one
that is safe to use, or refuses it; a symbolic link is judged by its own name and by what it leads to. `Guard.blocks`
says whether a path (a caller's, or one that git reported) is secret or internal, so that lists can leave it out and
count what they left out.

Components are compared whole and without case, because `.GIT` and `.git` are one folder on half of all machines. A
pattern of the user's that holds a slash stands for that many components, at any depth.
"""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from functools import cached_property, lru_cache
from pathlib import Path, PureWindowsPath

from codecairn.cache import Memo
from codecairn.errors import Denied, InvalidInput

BLOCKED_NAMES = frozenset(
    {
        ".git", "node_modules", ".env", ".netrc",
        "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
    }
)  # fmt: skip
BLOCKED_PATTERNS = (".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk")

_LONGEST_NAME, _LONGEST_PATH = 255, 4095
"""Bytes, as on Linux; what is longer names nothing, and asking the system about it is an error of its own."""

_DEEP = 50
"""Folders in each other, up to which each asks the one around it."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Guard:
    """The rule for one project root; `extra` are the name patterns that the user's settings add."""

    root: Path
    extra: tuple[str, ...] = ()

    def inside(self, given: str, *, param: str = "path") -> str:
        """`given` as a POSIX path relative to the root; raises if it is absolute, climbs, escapes or is blocked."""
        reason = _flaw(given)
        if reason:
            raise InvalidInput(f"Invalid path: {printable(given)} ({reason})", param=param, reason=reason)
        # A backslash is a separator on Windows alone; elsewhere it is part of a file's name.
        relative = Path(given).as_posix()
        if len(os.fsencode(self.root / relative)) > _LONGEST_PATH:
            raise InvalidInput("Invalid path: it is too long", param=param, reason="it is too long")
        destination = self._destination(relative)
        if self.blocks(relative) or (destination is not None and self.blocks(destination)):
            raise _denial(relative, "the path is secret or internal and is never read")
        if destination is None:
            raise _denial(relative, "the path leads outside the project root")
        return relative

    def blocks(self, path: str) -> bool:
        names = self._names
        if self._paths or "\\" in path:
            return _blocked[path, names, self._paths]
        # A listing asks about each file once, and its folder and its name are those of others.
        folder, _, name = path.rpartition("/")
        return (bool(folder) and _blocked[folder, names, ()]) or (bool(name) and _blocked_names[name, names])

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(pattern for pattern in map(_pattern, self.extra) if "/" not in pattern)

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        return tuple(pattern for pattern in map(_pattern, self.extra) if "/" in pattern)

    def _destination(self, relative: str) -> str | None:
        """The path from the root once links are followed; None if that is outside, or nowhere."""
        try:
            root = self.root.resolve()
            return (root / relative).resolve().relative_to(root).as_posix()
        except (OSError, RuntimeError, ValueError):  # RuntimeError: a loop of symbolic links
            return None


def _denial(path: str, details: str) -> Denied:
    return Denied(f"Permission denied: {path} ({details})", path=path, details=details)


def _is_blocked(question: tuple[str, tuple[str, ...], tuple[str, ...]]) -> bool:
    path, names, runs = question
    folder, _, name = path.replace("\\", "/").rpartition("/")
    if not runs and folder.count("/") < _DEEP:  # most files share their folder with others
        return bool(folder and _blocked[folder, names, runs]) or bool(name and _blocked_names[name, names])
    parts = [part for part in f"{folder}/{name}".split("/") if part]
    return any(_blocked_names[part, names] for part in parts) or _is_blocked_run(parts, runs)


def _is_blocked_run(parts: list[str], patterns: tuple[str, ...]) -> bool:
    if not patterns:
        return False
    folded = [_fold(part) for part in parts]
    heads = ["/" + "/".join(folded[:length]) for length in range(1, len(folded) + 1)]
    return any(fnmatchcase(head, f"*/{pattern}") for head in heads for pattern in patterns)


def _is_blocked_name(question: tuple[str, tuple[str, ...]]) -> bool:
    name, extra = question
    # Windows reads `name::$DATA` as `name`; elsewhere the colon is part of it.
    spellings = {_fold(name), _fold(name.split(":", 1)[0])}
    if spellings & BLOCKED_NAMES or "git~1" in spellings:
        return True
    return any(map(_patterns(extra).match, spellings))


@lru_cache(64)
def _patterns(extra: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, (*BLOCKED_PATTERNS, *extra))))


# A log of a hundred commits asks some five hundred times, mostly about the same files.
_blocked: Memo[tuple[str, tuple[str, ...], tuple[str, ...]], bool] = Memo("paths.blocked", 4_000_000, _is_blocked)
_blocked_names: Memo[tuple[str, tuple[str, ...]], bool] = Memo("paths.blocked_names", 2_000_000, _is_blocked_name)


def _fold(name: str) -> str:
    """One spelling for all that open the same file: Windows drops trailing dots and spaces, HFS+ some code points."""
    if name.isascii():
        return name.lower().rstrip(". ")
    visible = "".join(c for c in name if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFC", visible.casefold()).rstrip(". ")


def _pattern(given: str) -> str:
    """Folded as names are; `secrets/`, `/secrets` and `**/secrets` all mean `secrets`."""
    folded = unicodedata.normalize("NFC", given.strip().casefold()).replace("\\", "/")
    return folded.removeprefix("./").removeprefix("**/").strip("/")


def module_name(path: str, project: str) -> str:
    """The module a file belongs to: the folder it lies in; at the root, the project itself."""
    folder = path.rpartition("/")[0]
    return folder.rpartition("/")[2] or project


def has_control(value: str) -> bool:
    return bool(_CONTROL.search(value))


def printable(value: str) -> str:
    """A caller's value, fit to be repeated in a message: no control characters, no lone surrogates, not endless."""
    clean = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", value).encode("utf-8", "replace").decode()
    return clean if len(clean) <= 200 else clean[:200] + "…"


def _flaw(given: str) -> str | None:
    if not given.strip():
        return "it is empty"
    if has_control(given):
        return "it holds a control character"
    if any("\ud800" <= character <= "\udfff" for character in given):
        return "it is not valid Unicode"
    if given.startswith("-"):
        return "it starts with '-'"
    windows = PureWindowsPath(given)
    if given.startswith(("/", "\\")) or windows.drive or windows.root:
        return "it is absolute; give it relative to the project root"
    if ".." in given.replace("\\", "/").split("/"):
        return "it climbs with '..'"
    if any(len(part.encode()) > _LONGEST_NAME for part in given.split("/")):
        return "it holds a name that is too long"
    return None
