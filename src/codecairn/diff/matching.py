"""Which symbol of the one side is which of the other.

First by identity, file by file: kind and path, and among same-named siblings by content, so that an inserted overload
makes no other one modified. Then among what is left: containers before what they hold, since the members of a moved or
renamed class go where it goes; the surest pair first, each symbol once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from heapq import nlargest
from typing import NamedTuple

from codecairn.cancel import Cancel
from codecairn.diff.similarity import Bag, Evidence, overlap, score
from codecairn.diff.symbol_tokens import SymbolTokens, TokenTable, is_copy
from codecairn.diff.values import SymbolPlace, VersionChange
from codecairn.parse.kinds import CALLABLE, HOLDERS, TYPES
from codecairn.store.file_version import SymbolRow
from codecairn.words import words_of

_MOST_CANDIDATES = 8
_MOST_NAMESAKES = 10_000
"""Pairs of one name in one container; more are in files that a program wrote, and are paired in their order."""
_MOST_SHARING = 60
"""A hashed pair of tokens that more symbols share says nothing of any of them."""


_Key = Callable[[SymbolRow], Hashable]


class Id(NamedTuple):
    file: int
    number: int


class Side:
    """All symbols of one side of the changed files."""

    def __init__(self, readings: list[SymbolTokens | None], cancel: Cancel) -> None:
        self.readings = readings
        self._cancel = cancel
        self.free = {
            Id(file, number)
            for file, reading in enumerate(readings)
            if reading is not None
            for number in range(len(reading.version.symbols))
        }
        self._bags: dict[Id, Bag] = {}

    def reading(self, id_: Id) -> SymbolTokens:
        reading = self.readings[id_.file]
        assert reading is not None
        return reading

    def place(self, id_: Id) -> SymbolPlace:
        return SymbolPlace(self.reading(id_).version, id_.number)

    def row(self, id_: Id) -> SymbolRow:
        return self.reading(id_).version.symbols[id_.number]

    def in_file(self, file: int) -> list[Id]:
        reading = self.readings[file]
        rows = range(len(reading.version.symbols)) if reading is not None else ()
        return [Id(file, number) for number in rows if Id(file, number) in self.free]

    def bag(self, id_: Id) -> Bag:
        if id_ not in self._bags:
            self._cancel.check()
            self._bags[id_] = Bag(self.reading(id_).words(id_.number))
        return self._bags[id_]

    def members(self, id_: Id) -> list[Id]:
        rows = self.reading(id_).version.symbols
        return [Id(id_.file, row.number) for row in rows if row.parent == id_.number]

    def container(self, id_: Id) -> Id:
        """The symbol around it; number -1 is the file."""
        return Id(id_.file, self.row(id_).parent)


class Matching:
    def __init__(self, changes: list[VersionChange], tokens: TokenTable, cancel: Cancel) -> None:
        self._cancel = cancel
        self.old = Side([tokens.of(each.before) if each.before else None for each in changes], cancel)
        self.new = Side([tokens.of(each.after) if each.after else None for each in changes], cancel)
        self.found: dict[Id, Id] = {}
        """By the old one."""
        for file in range(len(changes)):
            cancel.check()
            if self.old.readings[file] and self.new.readings[file]:
                self._pair_within(file)
        self._pair_across(lambda row: row.kind in HOLDERS)
        self._pair_across(lambda row: row.kind not in HOLDERS)
        self._pair_emptied()

    def _take(self, old: Id, new: Id) -> None:
        self.found[old] = new
        self.old.free.discard(old)
        self.new.free.discard(new)

    def _surest(self, scored: list[tuple[float, Id, Id]]) -> Iterator[tuple[Id, Id]]:
        """The pairs with the highest score first, as long as both are still free."""
        for _, one, other in sorted(scored, key=lambda each: (-each[0], each[1], each[2])):
            if one in self.old.free and other in self.new.free:
                yield one, other

    def _pair_within(self, file: int) -> None:
        keys: list[_Key] = [lambda row: (row.kind, row.path), lambda row: (_family(row), row.path)]
        for key in keys:
            self._pair_groups(self.old.in_file(file), self.new.in_file(file), key, key)

    def _pair_groups(self, old: list[Id], new: list[Id], old_key: _Key, new_key: _Key) -> None:
        groups = _group(new, lambda id_: new_key(self.new.row(id_)))
        for key, members in _group(old, lambda id_: old_key(self.old.row(id_))).items():
            if key in groups:
                self._align(members, groups[key])

    def _align(self, old: list[Id], new: list[Id]) -> None:
        """Pair same-named siblings: those of equal content, then of equal signature, then the most alike, then the
        rest in order, since one that stays of its name stays itself."""
        keys: list[_Key] = [lambda row: row.content_hash, lambda row: row.signature]
        for key in keys:
            old, new = self._align_by(key, old, new)
        if len(old) * len(new) > _MOST_NAMESAKES:
            for one, other in zip(old, new, strict=False):
                self._take(one, other)
        elif len(old) > 1 or len(new) > 1:
            alike = [(self.old.bag(o).likeness(self.new.bag(n)), o, n) for o in old for n in new]
            for one, other in self._surest(alike):
                self._take(one, other)
        elif old and new:
            self._take(old[0], new[0])

    def _align_by(self, key: _Key, old: list[Id], new: list[Id]) -> tuple[list[Id], list[Id]]:
        waiting = _group(new, lambda id_: key(self.new.row(id_)))
        for one in old:
            if others := waiting.get(key(self.old.row(one))):
                self._take(one, others.pop(0))
        return [id_ for id_ in old if id_ in self.old.free], [id_ for id_ in new if id_ in self.new.free]

    def _pair_across(self, is_wanted: Callable[[SymbolRow], bool]) -> None:
        old = sorted(id_ for id_ in self.old.free if is_wanted(self.old.row(id_)))
        new = sorted(id_ for id_ in self.new.free if is_wanted(self.new.row(id_)))
        if not old or not new:
            return
        scored = []
        for one, other in self._candidates(old, new):
            self._cancel.check()
            if (sure := score(self._evidence(one, other))) is not None:
                scored.append((sure, one, other))
        for one, other in self._surest(scored):
            self._take(one, other)
            self._follow(one, other)

    def _candidates(self, old: list[Id], new: list[Id]) -> Iterator[tuple[Id, Id]]:
        """Pairs worth comparing: of one name, of one container, or with tokens in common that few others have."""
        by_name = _group(new, lambda id_: self.new.row(id_).name)
        by_container = _group(new, self.new.container)
        by_sketch: dict[int, list[Id]] = defaultdict(list)
        for id_ in new:
            for each in self.new.bag(id_).sketch():
                by_sketch[each].append(id_)
        for one in old:
            row, around = self.old.row(one), self.old.container(one)
            other = self.found.get(around) if around.number >= 0 else around
            sharing = (by_sketch.get(each, []) for each in self.old.bag(one).sketch())
            counts = Counter(id_ for ids in sharing if len(ids) <= _MOST_SHARING for id_ in ids)
            near = [
                *by_name.get(row.name, [])[:_MOST_SHARING],
                *by_container.get(other, [])[:_MOST_SHARING],
                *nlargest(_MOST_CANDIDATES, counts, key=lambda id_: (counts[id_], id_)),
            ]
            family = _family(row)
            yield from ((one, each) for each in dict.fromkeys(near) if _family(self.new.row(each)) == family)

    def _pair_emptied(self) -> None:
        """A container that is gone is the new one to which most of its members went, if most there came from it."""
        went = Counter(
            (self.old.container(one), self.new.container(other))
            for one, other in self.found.items()
            if self.old.container(one) in self.old.free and self.new.container(other) in self.new.free
        )
        for one, other in self._surest([(count, *pair) for pair, count in went.items()]):
            most = max(len(self.old.members(one)), len(self.new.members(other)))
            is_alike = _family(self.old.row(one)) == _family(self.new.row(other))
            if is_alike and 2 * went[one, other] > most:
                self._take(one, other)
                self._follow(one, other)

    def _follow(self, old: Id, new: Id) -> None:
        """The members of a container go with it."""
        was, is_ = self.old.row(old), self.new.row(new)
        olds = [id_ for id_ in self.old.in_file(old.file) if _is_below(self.old.row(id_).path, was.path)]
        news = [id_ for id_ in self.new.in_file(new.file) if _is_below(self.new.row(id_).path, is_.path)]
        if olds and news:
            self._pair_groups(olds, news, lambda row: _within(was, row), lambda row: _within(is_, row))

    def _evidence(self, old: Id, new: Id) -> Evidence:
        was, is_ = self.old.row(old), self.new.row(new)
        mine, theirs = self.old.bag(old), self.new.bag(new)
        exact = is_copy(self.old.reading(old), old.number, self.new.reading(new), new.number)
        return Evidence(
            exact, 1.0 if exact else mine.likeness(theirs), min(mine.size, theirs.size), was.name == is_.name,
            self._are_containers_paired(old, new), overlap(words_of(was.name), words_of(is_.name)), _family(was),
        )  # fmt: skip

    def _are_containers_paired(self, old: Id, new: Id) -> bool:
        around, other = self.old.container(old), self.new.container(new)
        if around.number < 0 or other.number < 0:
            return around.number == other.number and old.file == new.file
        return self.found.get(around) == other


def _family(row: SymbolRow) -> str:
    if row.kind in TYPES:
        return "type"
    return "callable" if row.kind in CALLABLE else "module" if row.kind == "module" else "value"


def _within(container: SymbolRow, row: SymbolRow) -> tuple[str, str]:
    """The kind and the name of a member inside its container; a constructor may have the name of the type."""
    rest = row.path[len(container.path) :]
    return row.kind, rest.removesuffix(row.name) if row.name == container.name else rest


def _is_below(path: str, container: str) -> bool:
    return path.startswith(container) and len(path) > len(container) and not path[len(container)].isidentifier()


def _group(ids: Iterable[Id], key: Callable[[Id], Hashable]) -> dict[Hashable, list[Id]]:
    groups: dict[Hashable, list[Id]] = defaultdict(list)
    for id_ in ids:
        groups[key(id_)].append(id_)
    return groups
