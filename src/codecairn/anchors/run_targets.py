"""Targets of Makefiles and scripts of package.json, by which `make x` and `npm run x` are held against the project."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

from codecairn.anchors.tree import candidates
from codecairn.suggestions import nearest

_MAKEFILES = frozenset({"Makefile", "makefile", "GNUmakefile"})
_MOST_FILES = 500
_TARGETS = re.compile(r"^([A-Za-z0-9_./ -][^:=#\t\n]{0,300}):(?!=)", re.MULTILINE)
_OPEN = re.compile(
    r"^[^\t\n#:=]{0,300}[%$][^\n:=]{0,300}:(?!=)|^-?s?include[ \t]|\$\((?:eval|call)\b|^\.DEFAULT", re.MULTILINE
)
_LONGEST_LINE = 2_000
Reader = Callable[[str], str | None]


class RunVerdict(NamedTuple):
    """Whether a command is there; None where that cannot be told."""

    is_there: bool | None
    near: str = ""


class RunTargets:
    """What can be run in a project, read when it is first asked for."""

    def __init__(self, files: Iterable[str], read: Reader) -> None:
        self._files = list(files)
        self._read = read

    def make(self, name: str, folder: str) -> RunVerdict:
        known, is_open = self._make
        if name in known or "." in name:
            return RunVerdict(is_there=name in known or None)
        if is_open or not self._is_around(_MAKEFILES, folder):
            return RunVerdict(is_there=None)
        return RunVerdict(is_there=False, near=next(iter(nearest(name, known, 1)), ""))

    def script(self, name: str, folder: str) -> RunVerdict:
        known, is_open = self._scripts
        if name in known:
            return RunVerdict(is_there=True)
        if is_open or not self._is_around({"package.json"}, folder):
            return RunVerdict(is_there=None)
        return RunVerdict(is_there=False, near=next(iter(nearest(name, known, 1)), ""))

    def _is_around(self, names: Iterable[str], folder: str) -> bool:
        """Whether such a file lies in a folder or above it, where the command would be run."""
        present = set(self._files)
        return any(each in present for name in names for each in candidates(name, folder))

    @cached_property
    def _make(self) -> tuple[frozenset[str], bool]:
        """The targets of all Makefiles, and whether some may have others: by a pattern, a variable or an include."""
        found: set[str] = set()
        paths = [each for each in self._files if each.rpartition("/")[2] in _MAKEFILES or each.endswith(".mk")]
        is_open = len(paths) > _MOST_FILES
        for path in paths[:_MOST_FILES]:
            text = _short_lines(self._read(path) or "")
            found.update(name for line in _TARGETS.findall(text) for name in line.split())
            is_open = is_open or _OPEN.search(text) is not None
        return frozenset(found), is_open

    @cached_property
    def _scripts(self) -> tuple[frozenset[str], bool]:
        found: set[str] = set()
        paths = [
            each for each in self._files if each.rpartition("/")[2] == "package.json" and "node_modules" not in each
        ]
        is_open = len(paths) > _MOST_FILES
        for path in paths[:_MOST_FILES]:
            scripts = _scripts_of(self._read(path) or "")
            is_open = is_open or scripts is None
            found.update(scripts or ())
        return frozenset(found), is_open


def _scripts_of(text: str) -> list[str] | None:
    try:
        scripts = json.loads(text).get("scripts", {})
    except (ValueError, RecursionError, AttributeError):
        return None
    return [each for each in scripts if isinstance(each, str)] if isinstance(scripts, dict) else []


def _short_lines(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if len(line) <= _LONGEST_LINE)
