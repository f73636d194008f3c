"""Where entries hold: from a file to its rules, the nearest first.

A glob is one of an ignore file: without a slash it is about names in any folder, with a leading slash about the root,
and one that names a folder is about everything below it. `languages` narrows the other conditions, or stands alone.

Asking every glob of 5,000 entries about a path would take longer than the answer may. So globs are kept by the folder
that their literal part names and by the ending they ask for, and a path asks only those of its own folders and ending.
Most globs need no expression: a folder, a name, an ending. The others run on RE2, in linear time. Braces are written
out where there are few alternatives, and left to RE2 where there are many.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from codecairn.errors import InvalidInput
from codecairn.globs import LONGEST_GLOB, compile_glob
from codecairn.paths import has_control
from codecairn.types import CatalogEntry, RuleScope

MOST_CONDITIONS = 200
_MOST_WRITTEN_OUT = 16
_WILD = re.compile(r"[*?\[{]")
_BRACES = re.compile(r"\{([^{}]*)\}")
_SYMBOL, _GLOB, _MODULE, _LANGUAGE, _EVERYWHERE = range(5)


class _Scoped(Protocol):
    @property
    def value(self) -> CatalogEntry: ...


class Subject(NamedTuple):
    """A file that rules are asked for."""

    path: str
    language: str = ""
    module: str = ""
    symbols: Collection[str] = ()
    """Of the symbols that scopes name, those that this file defines."""


def flaw_of(scope: RuleScope) -> str | None:
    """The reason why a scope cannot be used."""
    conditions = [*scope.globs, *scope.languages, *scope.symbols, *scope.modules]
    if not conditions and not scope.on_request:
        return "appliesTo: names nothing; leave it out for an entry that holds everywhere"
    if len(conditions) > MOST_CONDITIONS:
        return f"appliesTo: more than {MOST_CONDITIONS} conditions"
    if any(not each.strip() or has_control(each) or len(each) > LONGEST_GLOB for each in conditions):
        return f"appliesTo: a condition is empty, unprintable or longer than {LONGEST_GLOB} characters"
    return next(filter(None, map(_flaw_of_glob, scope.globs)), None)


def _flaw_of_glob(glob: str) -> str | None:
    if not _WILD.search(glob):
        return None
    try:
        for each in _plain_globs(glob):
            each.matcher()
    except InvalidInput as error:
        return f"appliesTo.globs: {error.message} ({error.data['reason']})"
    return None


@dataclass(frozen=True)
class PlainGlob:
    """A glob from the root: a literal folder, and what is asked of the rest of the path."""

    folder: str
    rest: str

    @property
    def depth(self) -> int:
        """Folders that it names, or folders and file where it names one file."""
        named = self.folder.count("/") + 1 if self.folder else 0
        return named + (not _WILD.search(self.rest) and bool(self.rest))

    @property
    def ending(self) -> str:
        """The ending that a path must have, where the glob asks for one."""
        last = self.rest.rpartition("/")[2]
        tail = last.rpartition(".")[2]
        return tail if "." in last and tail and not _WILD.search(tail) and "]" not in tail and "}" not in tail else ""

    def matcher(self) -> Callable[[str], bool]:
        """Asks about the part of a path below the folder."""
        rest = self.rest
        if rest in ("**", "**/*"):
            return bool
        if not _WILD.search(rest):
            return lambda path: path == rest or path.startswith(f"{rest}/")
        across, name = rest.startswith("**/"), rest.removeprefix("**/")
        if not _WILD.search(name):
            return lambda path: path == name or path.endswith(f"/{name}") or f"/{name}/" in f"/{path}"
        if "/" not in name and name.startswith("*") and not _WILD.search(name[1:]):
            return _by_ending(name[1:], across=across)
        expression, literal = compile_glob(rest, "appliesTo.globs"), _literal_in(rest)
        return lambda path: literal in path and expression.fullmatch(path) is not None


def _literal_in(glob: str) -> str:
    """The longest text that every path of a glob holds: looked for first, in a twentieth of the time."""
    plain = re.split(r"[*?]+", re.sub(r"\{.*\}|\[[^\]]*\]", "*", glob).replace("**/", "*"))
    return max(plain, key=len).strip("/")


def _by_ending(ending: str, *, across: bool) -> Callable[[str], bool]:
    return lambda path: path.endswith(ending) and (across or "/" not in path)


def _plain_globs(glob: str) -> Iterator[PlainGlob]:
    is_rooted = glob.startswith(("/", "./"))
    bare = glob.removeprefix("./").lstrip("/")
    below = f"{bare}**" if bare.endswith("/") else bare
    anchored = below if is_rooted or "/" in bare.rstrip("/") else f"**/{below}"
    for each in _write_out(anchored):
        parts = each.split("/")
        literal = next((at for at, part in enumerate(parts) if _WILD.search(part)), len(parts) - 1)
        yield PlainGlob("/".join(parts[:literal]), "/".join(parts[literal:]))


def _write_out(glob: str) -> list[str]:
    """The alternatives of braces, each by itself; the glob as it is where they are many or within one another."""
    found = _BRACES.findall(glob)
    count = 1
    for each in found:
        count *= each.count(",") + 1
        if count > _MOST_WRITTEN_OUT:
            return [glob]
    if not found or "{" in _BRACES.sub("", glob) or "[" in glob:
        return [glob]
    written = [glob]
    for _ in found:
        written = [
            f"{each[: at.start()]}{part}{each[at.end() :]}"
            for each in written
            if (at := _BRACES.search(each))
            for part in at[1].split(",")
        ]
    return written


class _Placed(NamedTuple):
    depth: int
    matcher: Callable[[str], bool]
    entries: list[Any]


class Holding(NamedTuple):
    """An entry that holds for a file, and how near: deeper and more exact conditions are nearer."""

    order: tuple[int, int, int, str]
    entry: Any

    @property
    def is_everywhere(self) -> bool:
        return self.order[1] == _EVERYWHERE


def _holding(depth: int, kind: int, entry: Any) -> Holding:
    return Holding((-depth, kind, entry.value.priority, entry.value.id), entry)


@dataclass
class ScopeTable:
    """The conditions of all entries, by what a file can ask for at once."""

    everywhere: list[Any] = field(default_factory=list)
    globs: dict[tuple[str, str], list[_Placed]] = field(default_factory=dict)
    modules: defaultdict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    symbols: defaultdict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    languages: defaultdict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, entries: Iterable[_Scoped]) -> ScopeTable:
        table, by_glob = cls(), dict[PlainGlob, _Placed]()
        for entry in entries:
            table._add(entry, by_glob)
        return table

    @property
    def is_scoped(self) -> bool:
        return bool(self.globs or self.modules or self.symbols or self.languages)

    def _add(self, entry: _Scoped, by_glob: dict[PlainGlob, _Placed]) -> None:
        scope = entry.value.applies_to
        if scope is None:
            self.everywhere.append(entry)
            return
        for glob in dict.fromkeys(each for pattern in scope.globs for each in _plain_globs(pattern)):
            placed = by_glob.get(glob)
            if placed is None:
                placed = by_glob[glob] = _Placed(glob.depth, glob.matcher(), [])
                self.globs.setdefault((glob.folder, glob.ending), []).append(placed)
            placed.entries.append(entry)
        for module in scope.modules:
            self.modules[module.casefold()].append(entry)
        for symbol in scope.symbols:
            self.symbols[symbol].append(entry)
        if scope.languages and not (scope.globs or scope.modules or scope.symbols):
            for language in scope.languages:
                self.languages[language.casefold()].append(entry)

    def holding(self, subject: Subject) -> list[Holding]:
        """The entries that hold for a file, the nearest first."""
        nearest: dict[str, Holding] = {}
        language = subject.language.casefold()
        for each in self._candidates(subject):
            known = nearest.get(each.order[3])
            if (known is None or each.order < known.order) and _speaks(each.entry, language):
                nearest[each.order[3]] = each
        return [*sorted(nearest.values(), key=itemgetter(0)), *self._held_everywhere]

    @cached_property
    def _held_everywhere(self) -> list[Holding]:
        return sorted((_holding(0, _EVERYWHERE, each) for each in self.everywhere), key=itemgetter(0))

    def _candidates(self, subject: Subject) -> Iterator[Holding]:
        whole = subject.path.count("/") + 1
        for name in subject.symbols:
            yield from (_holding(whole, _SYMBOL, entry) for entry in self.symbols.get(name, ()))
        yield from self._by_glob(subject.path)
        yield from (_holding(0, _MODULE, entry) for entry in self.modules.get(subject.module.casefold(), ()))
        yield from (_holding(0, _LANGUAGE, entry) for entry in self.languages.get(subject.language.casefold(), ()))

    def _by_glob(self, path: str) -> Iterator[Holding]:
        name = path.rpartition("/")[2]
        endings = ("", *({name.rpartition(".")[2]} if "." in name else ()))
        for folder, rest in _folders(path):
            for ending in endings:
                for placed in self.globs.get((folder, ending), ()):
                    if placed.matcher(rest):
                        yield from (_holding(placed.depth, _GLOB, entry) for entry in placed.entries)


def _speaks(entry: _Scoped, language: str) -> bool:
    scope = entry.value.applies_to
    return scope is None or not scope.languages or any(each.casefold() == language for each in scope.languages)


def _folders(path: str) -> Iterator[tuple[str, str]]:
    """Each folder of a path, the root included, with the part of the path below it."""
    yield "", path
    place = path.find("/")
    while place >= 0:
        yield path[:place], path[place + 1 :]
        place = path.find("/", place + 1)


def nearest_of(found: Iterable[Sequence[Holding]]) -> list[Holding]:
    """The entries that hold for any of several files, each once, as near as it stands to one of them."""
    best: dict[str, Holding] = {}
    for each in (holding for one in found for holding in one):
        known = best.setdefault(each.order[3], each)
        if each.order < known.order:
            best[each.order[3]] = each
    return sorted(best.values(), key=itemgetter(0))
