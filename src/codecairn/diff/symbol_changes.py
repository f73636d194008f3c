"""The changes of symbols between two states, none missed and none invented.

Every symbol of a changed file is on exactly one of four accounts: added, deleted, modified, or unchanged, which is to
say the same content under the same path, kind and name. A container whose members changed is itself modified, as its
text is other; `only_members` says when that is all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from codecairn.cancel import Cancel
from codecairn.diff.matching import Id, Matching
from codecairn.diff.symbol_tokens import Event, SymbolTokens, TokenTable, are_alike, is_copy
from codecairn.diff.values import Difference, SymbolChange, SymbolPlace, VersionChange
from codecairn.store.file_version import SymbolRow

_SEPARATORS = frozenset({",", ";"})
"""Tokens that stand between members, and come and go with them."""


def symbol_changes(
    files: Sequence[VersionChange], cancel: Cancel, tokens: TokenTable | None = None
) -> list[SymbolChange]:
    """In the order of files and of lines, as a reader goes through them; what is gone comes where it was. The changes
    keep the table, and read from it what they are asked later."""
    tokens = tokens or TokenTable()
    matching = Matching(list(files), tokens, cancel)
    cancel.check()
    pairs = matching.found.items()
    rows = [change for pair in pairs if (change := _modification(matching, tokens, *pair)) is not None]
    rows += [SymbolChange("deleted", matching.old.place(id_), None) for id_ in matching.old.free]
    rows += [SymbolChange("added", None, matching.new.place(id_)) for id_ in matching.new.free]
    return sorted(rows, key=lambda each: (each.path, *each.place.lines, each.change_type, each.place.number))


def _modification(matching: Matching, tokens: TokenTable, old: Id, new: Id) -> SymbolChange | None:
    was, is_, pair = matching.old.row(old), matching.new.row(new), (matching.old.place(old), matching.new.place(new))
    moved = _old_place(*pair)
    renamed = was.name if was.name != is_.name else None
    if (was.content_hash, was.kind, moved, renamed) == (is_.content_hash, is_.kind, None, None):
        return None
    return SymbolChange("modified", *pair, moved, renamed, partial(_difference, tokens, *pair))


def _difference(tokens: TokenTable, base: SymbolPlace, head: SymbolPlace) -> Difference:
    before, old, after, new = tokens.of(base.version), base.number, tokens.of(head.version), head.number
    was, is_ = base.symbol, head.symbol
    if was.content_hash == is_.content_hash:
        return Difference()
    if is_copy(before, old, after, new):
        return Difference(whitespace_or_comments_only=was.name == is_.name)
    signature = _signature(was) != _signature(is_)
    return Difference(
        signature_changed=signature,
        body_changed=not are_alike(before, before.outside_signature(old), after, after.outside_signature(new)),
        only_members=not signature and _are_same_outside(before, old, after, new),
    )


def _old_place(before: SymbolPlace, after: SymbolPlace) -> str | None:
    """The old path where that is another; else the old place in the file where it has another container."""
    if before.version.path != after.version.path:
        return before.version.path
    was, is_ = before.symbol, after.symbol
    return was.path if was.path.removesuffix(was.name) != is_.path.removesuffix(is_.name) else None


def _signature(row: SymbolRow) -> str:
    """Without the name, which is told by itself."""
    return re.sub(rf"(?<!\w){re.escape(row.name)}(?!\w)", "\0", row.signature)


def _are_same_outside(before: SymbolTokens, old: int, after: SymbolTokens, new: int) -> bool:
    """Whether two containers differ in nothing that is their own."""
    if not before.inside(old) and not after.inside(new):
        return False
    return _outside_members(before, old) == _outside_members(after, new)


def _outside_members(reading: SymbolTokens, number: int) -> list[Event]:
    return [each for each in reading.own(number) if not isinstance(each, int) and each not in _SEPARATORS]
