"""Ignore files in gitignore's syntax, read as git reads them.

One file's rules speak about what lies below its folder; the last line that matches a path decides, a file deeper down
outranks those above it, and what lies in an ignored folder is ignored whatever else is said. So a caller asks about a
folder before it asks about anything in it, and only about what lies in folders that are not ignored.

A pattern is translated to a regular expression over the whole path from the folder of its file, and all patterns of a
file are matched in one pass by RE2, in linear time: a project's patterns are somebody else's data.

Rules may lie outside a project's folder: a project in a subfolder obeys the `.gitignore` of the folders above it, and
every repository the user's own file (`core.excludesFile`). No watch of the folder tells of them, so their stamps are
compared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codecairn import config
from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.source.file_stamps import Stamps
from codecairn.source.git import Git

_CLASSES = frozenset(
    {"alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"}
)
_MEMORY = 64 << 20
_MOST_PATTERNS = 5_000


class IgnoreRules:
    """The rules of one ignore file, and of those above it where it is silent."""

    def __init__(self, folder: str = "", text: str = "", above: IgnoreRules | None = None) -> None:
        self._start = len(folder) + 1 if folder else 0
        self._above = above
        self._meanings: list[tuple[bool, bool]] = []
        self._set: Any = self._compile(text) if text else None

    def drops(self, path: str, *, folder: bool) -> bool:
        """Whether a path below the file's folder, none of whose parents is ignored, is ignored."""
        rules: IgnoreRules | None = self
        while rules is not None:
            verdict = rules._verdict(path, folder)
            if verdict is not None:
                return verdict
            rules = rules._above
        return False

    def _verdict(self, path: str, folder: bool) -> bool | None:
        if self._set is None:
            return None
        for number in sorted(self._set.Match(path[self._start :]) or (), reverse=True):
            taken_back, folders_only = self._meanings[number]
            if folder or not folders_only:
                return not taken_back
        return None

    def _compile(self, text: str) -> Any:
        import re2  # noqa: PLC0415 - 15 ms, and most projects in git have no rules of their own

        options = re2.Options()
        options.log_errors, options.dot_nl, options.max_mem = False, True, _MEMORY
        patterns = re2.Set.FullMatchSet(options)
        for taken_back, expression, folders_only in _rules(text):
            try:
                patterns.Add(expression)
            except re2.error:  # too large, or a range that is none
                continue
            self._meanings.append((taken_back, folders_only))
        if not self._meanings:
            return None
        patterns.Compile()
        return patterns


def _rules(text: str) -> Iterator[tuple[bool, str, bool]]:
    """Each readable line as (whether it takes back, expression, whether it is about folders only)."""
    for line in text.split("\n")[:_MOST_PATTERNS]:
        pattern = _without_trailing_spaces(line.removesuffix("\r"))
        if not pattern or pattern.startswith("#"):
            continue
        taken_back = pattern.startswith("!")
        pattern = pattern.removeprefix("!") if taken_back else pattern
        folders_only = pattern.endswith("/")
        expression = _expression(pattern.removesuffix("/"))
        if expression is not None:
            yield taken_back, expression, folders_only


def _without_trailing_spaces(line: str) -> str:
    bare = line.rstrip(" ")
    escaped = (len(bare) - len(bare.rstrip("\\"))) % 2
    return bare + " " if escaped and len(bare) < len(line) else bare


def _expression(pattern: str) -> str | None:
    """Over a whole path; a pattern without a slash before its end is about names at any depth."""
    if not pattern:
        return None
    parts = pattern.removeprefix("/").split("/")
    expression = "" if "/" in pattern else "(?:.*/)?"
    for part in parts[:-1]:
        translated = "(?:.*/)?" if part == "**" else _name(part, "/")
        if translated is None:
            return None
        expression += translated
    last = ".*" if parts[-1] == "**" and "/" in pattern else _name(parts[-1], "")
    return None if last is None else expression + last


def _name(part: str, end: str) -> str | None:
    """One name's pattern; None where git would match nothing."""
    expression, at = "", 0
    while at < len(part):
        character = part[at]
        at += 1
        if character == "\\":
            if at == len(part):
                return None
            expression += re.escape(part[at])
            at += 1
        elif character == "[":
            bracket, at = _bracket(part, at)
            if bracket is None:
                return None
            expression += bracket
        else:
            expression += {"*": "[^/]*", "?": "[^/]"}.get(character) or re.escape(character)
    return expression + end


def _bracket(part: str, at: int) -> tuple[str | None, int]:
    """A set of characters that opened just before `at`, and where it ends; None where it never does."""
    negated = part[at : at + 1] in ("!", "^")
    at += negated
    members, first = "", True
    while at < len(part):
        if part[at] == "]" and not first:
            return f"[{'^/' if negated else ''}{members}]", at + 1
        member, at = _member(part, at)
        if member is None:
            return None, at
        members, first = members + member, False
    return None, at


def _member(part: str, at: int) -> tuple[str | None, int]:
    if part.startswith("[:", at):
        end = part.find(":]", at)
        name = part[at + 2 : end]
        return (f"[:{name}:]", end + 2) if end > 0 and name in _CLASSES else (None, at)
    if part[at] == "\\" and at + 1 < len(part):
        return re.escape(part[at + 1]), at + 2
    return ("-" if part[at] == "-" else re.escape(part[at])), at + 1


def outer_rules(git: Git) -> Stamps:
    try:
        depth = git.layout(Cancel()).prefix.count("/")
        named = git.run("config", "--type=path", "--get", "core.excludesFile", cancel=Cancel()).output.strip()
    except CairnError:
        return Stamps()
    own = Path(os.fsdecode(named)) if named else _own_rules()
    return Stamps(*(each / ".gitignore" for each in git.root.parents[:depth]), *((own,) if own else ()))


def _own_rules() -> Path | None:
    """Where git looks for the user's own rules if nothing else is configured."""
    folder = config.child_environment().get("XDG_CONFIG_HOME")
    try:
        return Path(folder or Path.home() / ".config") / "git/ignore"
    except RuntimeError:
        return None
