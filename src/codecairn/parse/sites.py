"""Names used: what kind of use, what stands before the name, and whose text it is in."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any, cast

from codecairn.parse.definitions import Definition
from codecairn.parse.facts import EdgeKind, Site, Symbol
from codecairn.parse.kinds import HOLDERS
from codecairn.parse.language import Language
from codecairn.parse.nodes import path_and_name
from codecairn.parse.symbols import Positions

EDGES: tuple[EdgeKind, ...] = ("calls", "imports", "implements", "extends", "references")


_LOOK_BACK = 120


_APPLIED = (b"(", b"!(", b"![", b"!{")


class Enclosing:
    """Whose a site is: the innermost symbol around it, or the type in whose scope's head it stands (`impl A for T`)."""

    def __init__(self, symbols: list[Symbol], positions: Positions, definitions: list[Definition]) -> None:
        self._around = positions.around
        self._types = {each.path: number for number, each in enumerate(symbols) if each.kind in HOLDERS}
        self._heads = [
            (each.node.start_byte, cast("int", each.body_start), each.name) for each in definitions if each.adds_to_type
        ]

    def symbol(self, byte: int, kind: EdgeKind) -> tuple[int, str]:
        around = self._around(byte)
        if self._heads and kind in ("implements", "extends"):
            start, stop, name = self._heads[max(bisect_right(self._heads, byte, key=itemgetter(0)) - 1, 0)]
            if start <= byte < stop:
                found = self._types.get(name)
                return (around, name) if found is None else (found, "")
        return around, ""


def sites_of(language: Language, roots: list[Any], source: bytes, names: set[int], enclosing: Enclosing) -> list[Site]:
    from tree_sitter import QueryCursor  # noqa: PLC0415

    trees = [QueryCursor(language.references).captures(root) for root in roots]
    backwards = _backwards(language.data.member_separator, language.data.sigils)
    taken = names | {node.start_byte for captures in trees for node in captures.get("ignored", ())}
    sites: list[tuple[int, Site]] = []
    for kind in EDGES:
        for node in chain.from_iterable(_captured(kind, captures, source) for captures in trees):
            start = node.start_byte
            if start in taken or start == node.end_byte:
                continue
            taken.add(start)
            row, column = node.start_point
            prefix, name = path_and_name(node, language, source)
            qualifier = prefix or _qualifier(source, start, backwards)
            symbol, owner = enclosing.symbol(start, kind)
            site = Site(kind, name, qualifier, row + 1, column, symbol, owner)
            sites.append((start, site))
    sites.sort(key=lambda pair: pair[0])
    return [site for _, site in sites]


def _captured(kind: EdgeKind, captures: Any, source: bytes) -> list[Any]:
    nodes = list(captures.get(kind, ()))
    if kind == "calls":
        nodes += [node for node in captures.get("applied", ()) if source.startswith(_APPLIED, node.end_byte)]
    return nodes


@cache
def _backwards(member_separator: str, sigils: str) -> re.Pattern[bytes]:
    """Read backwards from a member: its separator, then the plain path before that, if it is one."""
    own = rb"|" + re.escape(member_separator[::-1].encode()) if member_separator else b""
    path = rb"(?:>-\??|\.[?&]|[\w.:\\" + re.escape(sigils.encode()) + rb"])*"
    return re.compile(rb"(?:\.(?!\.)[?&]?|::|>-\??|\\" + own + rb")(" + path + rb")")


def _qualifier(source: bytes, start: int, backwards: re.Pattern[bytes]) -> str:
    if start == 0 or source[start - 1] not in b".:>\\":
        return ""
    stop = start - 1 - _LOOK_BACK
    found = backwards.match(source[start - 1 : stop if stop >= 0 else None : -1])
    if found is None:
        return ""
    return found[1][::-1].decode("utf-8", "replace").lstrip(".:\\") or ("\\" if found[0] == b"\\" else "()")
