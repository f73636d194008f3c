"""The one path guard: what a caller may name, and what no answer may show.

Two questions are asked here and nowhere else. `Guard.inside` turns a project-relative path a caller gave into one
that is safe to use, or refuses it. `Guard.blocks` says whether a path (a caller's, or one that git reported) is
secret or internal, so that lists can leave it out and count what they left out.

Components are compared whole and without case, because `.GIT` and `.git` are one folder on half of all machines.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PureWindowsPath

from codecairn.errors import Denied, InvalidInput

BLOCKED_NAMES = frozenset({".git", "node_modules", ".env", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc"})
BLOCKED_PATTERNS = (".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk")

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Guard:
    """The rule for one project root; `extra` are the name patterns that the user's settings add."""

    root: Path
    extra: tuple[str, ...] = ()

    def inside(self, given: str, *, param: str = "path") -> str:
        """`given` as a POSIX path relative to the root; raises if it is absolute, climbs, escapes or is blocked."""
        reason = _malformed(given)
        if reason:
            raise InvalidInput(f"Invalid path: {printable(given)} ({reason})", param=param, reason=reason)
        # A backslash is a separator on Windows alone; elsewhere it is part of a file's name.
        relative = Path(given).as_posix()
        if self.blocks(relative):
            raise _denied(relative, "the path is secret or internal and is never read")
        if not self._contains(relative):
            raise _denied(relative, "the path leads outside the project root")
        return relative

    def blocks(self, path: str) -> bool:
        return any(_is_blocked_name(part, self.extra) for part in path.replace("\\", "/").split("/"))

    def _contains(self, relative: str) -> bool:
        try:
            return (self.root / relative).resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError):  # a loop of symbolic links
            return False


def _denied(path: str, details: str) -> Denied:
    return Denied(f"Permission denied: {path} ({details})", path=path, details=details)


def _is_blocked_name(name: str, extra: tuple[str, ...]) -> bool:
    # Windows drops trailing dots and spaces and reads `name::$DATA`; HFS+ ignores some Unicode points.
    bare = unicodedata.normalize("NFC", "".join(c for c in name if unicodedata.category(c) != "Cf"))
    bare = bare.split(":", 1)[0].rstrip(". ").casefold()
    if bare in BLOCKED_NAMES or bare == "git~1":
        return True
    return any(fnmatchcase(bare, pattern) for pattern in (*BLOCKED_PATTERNS, *extra))


def has_control(value: str) -> bool:
    return bool(_CONTROL.search(value))


def printable(value: str) -> str:
    """A caller's value, fit to be repeated in a message: no control characters, no lone surrogates, not endless."""
    clean = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", value).encode("utf-8", "replace").decode()
    return clean if len(clean) <= 200 else clean[:200] + "…"


def _malformed(given: str) -> str | None:
    if not given.strip():
        return "it is empty"
    if has_control(given):
        return "it holds a control character"
    if given.startswith("-"):
        return "it starts with '-'"
    windows = PureWindowsPath(given)
    if given.startswith(("/", "\\")) or windows.drive or windows.root:
        return "it is absolute; give it relative to the project root"
    if ".." in given.replace("\\", "/").split("/"):
        return "it climbs with '..'"
    return None
