"""Names used: what kind of use, what stands before the name, and whose text it is in.

Sites are many (a file has more of them than lines), so they are kept as columns, one list for each field in the order
of the text, and become structs at the very end. All text is read from one string with a character for each byte:
a position there is a position in the file, and a slice costs no decoding.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, count, repeat
from operator import attrgetter, eq, itemgetter, sub
from typing import Any, cast

from msgspec.structs import replace

from codecairn.parse.definitions import RawDefinition
from codecairn.parse.facts import EdgeKind, Site, Symbol
from codecairn.parse.facts_query import Captures
from codecairn.parse.kinds import HOLDERS
from codecairn.parse.language import Language
from codecairn.parse.lines import SourceLines, spelt
from codecairn.parse.nodes import name_in
from codecairn.parse.symbols import Positions

EDGES: tuple[EdgeKind, ...] = ("calls", "imports", "implements", "extends", "references")
_LOOK_BACK = 120
_APPLIED = (b"(", b"!(", b"![", b"!{")
_JOINING = frozenset(".:>\\")
"""What a member's separator ends with, in any language."""
_byte_range = attrgetter("byte_range")


@dataclass(slots=True)
class _Uses:
    """Names used, by the byte they start at; what is added later is preferred."""

    stops: dict[int, int] = field(default_factory=dict)
    kinds: dict[int, EdgeKind] = field(default_factory=dict)
    paths: set[tuple[int, int]] = field(default_factory=set)

    def add(self, kind: EdgeKind, nodes: list[Any], paths: frozenset[str]) -> None:
        stops = dict(map(_byte_range, nodes))
        if any(map(eq, stops, stops.values())):  # the parser puts in empty names where a broken text leaves one out
            stops = {node.start_byte: node.end_byte for node in nodes if node.start_byte < node.end_byte}
        self.stops |= stops
        if kind != "references":
            self.kinds |= dict.fromkeys(stops, kind)
        if paths:
            self.paths.update(node.byte_range for node in nodes if node.type in paths)

    def drop(self, starts: Iterable[int]) -> None:
        for start in starts:
            self.stops.pop(start, None)
            self.kinds.pop(start, None)


class Enclosing:
    """Whose a site is: the innermost symbol around it, or the type in whose scope's head it stands (`impl A for T`)."""

    def __init__(self, symbols: list[Symbol], positions: Positions, definitions: list[RawDefinition]) -> None:
        self.around = positions.all_around
        self._types = {each.path: number for number, each in enumerate(symbols) if each.kind in HOLDERS}
        self._heads = [
            (each.node.start_byte, cast("int", each.body_start), each.name) for each in definitions if each.adds_to_type
        ]

    def heads(self, kinds: dict[int, EdgeKind]) -> Iterator[tuple[int, tuple[int, str]]]:
        """Names in the head of a block that adds to a type: that type's number, or its name where it is not here."""
        if not self._heads:
            return
        for byte, kind in kinds.items():
            start, stop, name = self._heads[max(bisect_right(self._heads, byte, key=itemgetter(0)) - 1, 0)]
            if kind in ("implements", "extends") and start <= byte < stop:
                found = self._types.get(name)
                yield byte, (-1, name) if found is None else (found, "")


def sites_of(
    language: Language, trees: list[Captures], text: SourceLines, names: set[int], enclosing: Enclosing
) -> list[Site]:
    uses = _uses(language, trees, text.source, names)
    starts = sorted(uses.stops)
    stops = list(map(uses.stops.__getitem__, starts))
    latin = text.latin
    spelling = [latin[start:stop] for start, stop in zip(starts, stops, strict=True)]
    qualifiers = _qualifiers(starts, stops, latin, language)
    _respell(spelling, qualifiers, starts, uses.paths, language, is_ascii=text.source.isascii())
    edges = map(uses.kinds.get, starts, repeat("references"))
    sites = list(map(Site, edges, spelling, qualifiers, *_places(starts, text), enclosing.around(starts)))
    for start, (symbol, owner) in enclosing.heads(uses.kinds):
        at = bisect_left(starts, start)
        sites[at] = replace(sites[at], symbol=sites[at].symbol if owner else symbol, owner=owner)
    return sites


def _places(starts: list[int], text: SourceLines) -> tuple[Iterator[int], Iterator[int]]:
    """The line and the column of each byte, ascending. Lines are fewer than names, so each is looked for among the
    names: the other way round takes twice the time."""
    firsts = list(map(bisect_left, repeat(starts), text.starts))
    counts = list(map(sub, firsts[1:], firsts))
    rows = chain.from_iterable(map(repeat, count(1), counts))
    begins = chain.from_iterable(map(repeat, text.starts, counts))
    return rows, map(sub, starts, begins)


def _uses(language: Language, trees: list[Captures], source: bytes, names: set[int]) -> _Uses:
    uses = _Uses()
    for kind in reversed(EDGES):
        for captures in reversed(trees):
            uses.add(kind, _capture_nodes(kind, captures, source), language.data.paths)
    uses.drop(names)
    uses.drop(node.start_byte for captures in trees for node in captures.get("ignored", ()))
    return uses


def _capture_nodes(kind: EdgeKind, captures: Any, source: bytes) -> list[Any]:
    """The nodes of a kind, last first."""
    nodes = list(captures.get(kind, ()))
    if kind == "calls":
        nodes += [node for node in captures.get("applied", ()) if source.startswith(_APPLIED, node.end_byte)]
    return nodes[::-1]


def _qualifiers(starts: list[int], stops: list[int], text: str, language: Language) -> list[str]:
    """What stands before each name; most are a name that directly follows another, which is read off the text."""
    backwards = _backwards(language.data.member_separator, language.data.sigils)
    part_of_path = _path_characters(language.data.sigils)
    qualifiers = [""] * len(starts)
    befores = map(text.__getitem__, map((-1).__add__, starts))
    for at in [at for at, before in enumerate(befores) if before in _JOINING]:
        start, ahead = starts[at], starts[at - 1]
        if text[start - 1] != ".":
            qualifiers[at] = _qualifier(text, start, backwards)
        elif text[start - 2] in ")]":
            qualifiers[at] = "()"
        elif stops[at - 1] != start - 1 or start - ahead > _LOOK_BACK:
            qualifiers[at] = _qualifier(text, start, backwards)
        elif (told := qualifiers[at - 1]) == "()" or not (told or (ahead and text[ahead - 1] in part_of_path)):
            qualifiers[at] = text[ahead : start - 1]
        elif told and text.startswith(f"{told}.", ahead - 1 - len(told)) and start - ahead + len(told) < _LOOK_BACK:
            qualifiers[at] = f"{told}.{text[ahead : start - 1]}"
        else:
            qualifiers[at] = _qualifier(text, start, backwards)
    return qualifiers


@cache
def _path_characters(sigils: str) -> frozenset[str]:
    return frozenset(chr(code) for code in range(256) if chr(code).isalnum() or chr(code) in "_.:\\>?&" + sigils)


@cache
def _backwards(member_separator: str, sigils: str) -> re.Pattern[str]:
    """Read backwards from a member: its separator, then the plain path before that, if it is one."""
    own = "|" + re.escape(member_separator[::-1]) if member_separator else ""
    path = r"(?:>-\??|\.[?&]|[\w.:\\" + re.escape(sigils) + r"])*"
    return re.compile(r"(?:\.(?!\.)[?&]?|::|>-\??|\\" + own + r")(" + path + r")", re.ASCII)


def _qualifier(text: str, start: int, backwards: re.Pattern[str]) -> str:
    if start == 0:
        return ""
    stop = start - 1 - _LOOK_BACK
    found = backwards.match(text[start - 1 : stop if stop >= 0 else None : -1])
    if found is None:
        return ""
    return found[1][::-1].lstrip(".:\\") or ("\\" if found[0] == "\\" else "()")


def _respell(
    names: list[str], qualifiers: list[str], starts: list[int], paths: set[tuple[int, int]], language: Language,
    *, is_ascii: bool,
) -> None:  # fmt: skip
    """Names that are no plain identifiers: other alphabets, quotes taken off, whole paths taken apart."""
    separator = language.data.separator
    are_ascii = is_ascii or (all(map(str.isascii, names)) and all(map(str.isascii, qualifiers)))
    if are_ascii and all(map(str.isidentifier, names)):
        return  # as in nearly every file, which a loop would take ten times as long to find out
    for at in [at for at, name in enumerate(names) if not (name.isidentifier() and name.isascii())]:
        name = names[at]
        names[at] = name_in(spelt(name))
        if paths and (starts[at], starts[at] + len(name)) in paths and separator in names[at]:
            prefix, _, names[at] = names[at].rpartition(separator)
            qualifiers[at] = prefix or qualifiers[at]
    if not all(map(str.isascii, qualifiers)):
        qualifiers[:] = map(spelt, qualifiers)
