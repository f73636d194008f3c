"""Filling a budget of tokens with what was gathered, in order of worth.

A token is reckoned as 3.5 characters of the answer's JSON, names, line numbers and escapes included, so what is
promised is what a client pays; measured tokenisers need fewer. First each kind may fill its share, so that one long
class does not leave a task without its tests; what then has no room waits, and fills in order of worth what others left
free. Nothing is shown twice, also inside something else. Materials that are left out are counted by
kind, and the best of them named.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
from msgspec import Struct

from codecairn.context.task_material import KINDS, FittedText, Kind, Material, by_worth
from codecairn.text import CHARACTERS_PER_TOKEN

LEAST_TOKENS, DEFAULT_TOKENS, MOST_TOKENS = 500, 2_200, 20_000
"""Below the least the frame leaves room for nothing; the default is an ordinary answer, at most 8,000 characters; above
the most clients cut an answer."""
ESTIMATE = "1 token = 3.5 characters of this JSON"
_SHARES: dict[Kind, float] = {
    "definition": 0.6, "caller": 0.3, "test": 0.1, "doc": 0.15, "discovery": 0.15, "rule": 0.15,
}  # fmt: skip
_LARGEST_SHARE = 0.4
"""Of the whole that one item may have, so that there are several."""
_NAMED_SHARE = 0.08
"""Of the whole, for the names of what was left out."""
_SMALLEST = 120
"""Characters of text below which an item says nothing."""


class PackItem(Struct, frozen=True, kw_only=True):
    kind: Kind
    name: str
    path: str | None
    line_start: int | None
    line_end: int | None
    why: str
    tokens: int
    content: str
    content_start_line: int | None
    content_cut: bool


class LeftOut(Struct, frozen=True, kw_only=True):
    kind: Kind
    count: int
    best: list[str]
    """Where the best of them stand, as far as there was room to say."""


def fill_pack(materials: list[Material], room: int) -> tuple[list[PackItem], list[LeftOut]]:
    """The materials that go into so many characters of JSON, and the names of the rest."""
    names = int(room * _NAMED_SHARE)
    packing = _Packing(room - names)
    waiting = [each for each in materials if not packing.take(each, within_share=True)]
    left = [each for each in waiting if not packing.take(each, within_share=False)]
    items = [item for _, item in sorted(packing.packed, key=lambda pair: by_worth(pair[0]))]
    return items, _left_out(left, names + packing.room)


class _Packing:
    def __init__(self, room: int) -> None:
        self.room = room
        self._whole = room
        self._used: dict[Kind, int] = dict.fromkeys(KINDS, 0)
        self.packed: list[tuple[Material, PackItem]] = []

    def take(self, each: Material, *, within_share: bool) -> bool:
        """Whether an item is in the pack, now or as part of another."""
        if any(_holds(other, item, each) for other, item in self.packed):
            return True
        most = min(self.room, int(self._whole * _LARGEST_SHARE))
        if within_share:
            most = min(most, int(self._whole * _SHARES[each.kind]) - self._used[each.kind])
        item = _item(each, most, only_telling=within_share)
        if item is None:
            return False
        size = _size(item)
        self.room -= size
        self._used[each.kind] += size
        self.packed.append((each, item))
        return True


def _holds(other: Material, item: PackItem, each: Material) -> bool:
    """Whether something is shown already, in the whole text of what is around it."""
    return (
        not item.content_cut
        and other.path == each.path
        and each.line_start > 0
        and other.line_start <= each.line_start
        and each.line_end <= other.line_end
        and other.kind not in ("caller",)
    )


def _item(each: Material, most: int, *, only_telling: bool) -> PackItem | None:
    """The longest form that has room. JSON lengthens a text by its escapes, which are known once it is written: a
    text that came out too long is asked for again, shorter by so much."""
    frame = _size(_pack_item(each, FittedText("", each.line_start, is_cut=False)))
    room = most - frame
    while room >= _SMALLEST or (room > 0 and each.kind in ("rule", "discovery")):
        shown = each.fit(room)
        if shown is None or (only_telling and not shown.is_telling):
            return None
        item = _pack_item(each, shown)
        excess = _size(item) - most
        if excess <= 0:
            return item
        room = min(room, len(shown.text)) - excess
    return None


def _pack_item(each: Material, shown: FittedText) -> PackItem:
    lines = (each.line_start, each.line_end, shown.start_line) if each.line_start > 0 else (None, None, None)
    item = PackItem(
        kind=each.kind, name=each.name, path=each.path or None, line_start=lines[0], line_end=lines[1], why=each.why,
        tokens=0, content=shown.text, content_start_line=lines[2], content_cut=shown.is_cut,
    )  # fmt: skip
    return msgspec.structs.replace(item, tokens=math.ceil(_size(item) / CHARACTERS_PER_TOKEN))


def _size(value: Any) -> int:
    """Characters of JSON, with the comma after it; of a number that is not known yet as many as it may have."""
    return len(msgspec.json.encode(value).decode()) + 6


def _left_out(left: list[Material], room: int) -> list[LeftOut]:
    found = {kind: [each for each in left if each.kind == kind] for kind in KINDS}
    rows = {kind: LeftOut(kind=kind, count=len(each), best=[]) for kind, each in found.items() if each}
    room -= sum(map(_size, rows.values()))
    for each in sorted(left, key=by_worth):
        said = f"{each.name} ({each.path}:{each.line_start})" if each.line_start > 0 else each.name
        room -= _size(said)
        if room < 0:
            break
        rows[each.kind].best.append(said)
    return list(rows.values())
