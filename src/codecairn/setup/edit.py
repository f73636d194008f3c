"""Puts our entry into a text and takes it out, whatever the format, and checks that nothing else changed.

A receipt keeps the splice that added the entry. Where the text around it is as it was, the splice is undone, which
gives the bytes that were there before; where somebody has edited or formatted the file meanwhile, the entry alone goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from codecairn.setup import jsonc, section, toml
from codecairn.setup.splice import NotEditable


class Receipt(msgspec.Struct, frozen=True):
    keys: list[str]
    name: str
    shift: int
    """Where the splice begins, counted from where our entry stands."""
    old: str
    new: str
    replaced: bool = False
    """Whether an entry of our name was there before, and `old` is it."""
    made: int = 0
    """How many objects around the entry were made with it."""
    created: bool = False
    """Whether the file was."""
    folders: list[str] = []
    """The folders that were made for the file, the outermost first."""


@dataclass(frozen=True)
class ConfigEntry:
    path: Path
    keys: tuple[str, ...]
    name: str
    value: Any

    @property
    def format(self) -> Any:
        return format_of(self.path)


def format_of(path: Path) -> Any:
    return {".toml": toml, ".md": section}.get(path.suffix, jsonc)


def current(text: str, entry: ConfigEntry) -> Any:
    """The value of our entry as the text has it, or None."""
    return _member(entry.format.value_of(text), (*entry.keys, entry.name))


def add(text: str, entry: ConfigEntry, receipt: Receipt | None) -> tuple[str, Receipt]:
    """The text with our entry, and the receipt for it. An entry of ours that is there already is replaced."""
    form = entry.format
    bare = remove(text, entry.path, receipt) if receipt else text
    before = form.value_of(bare)
    splice = form.put(bare, entry.keys, entry.name, entry.value)
    after = splice.apply(bare)
    wanted, made = _with_member(before, entry)
    if form.value_of(after) != wanted or _style(form, after) > _style(form, bare):
        raise NotEditable("our entry has no safe place in it")
    place = form.find(after, entry.keys, entry.name)
    replaced = _member(before, (*entry.keys, entry.name)) is not None
    return after, Receipt(
        list(entry.keys), entry.name, splice.start - place, splice.old, splice.new, replaced=replaced, made=made,
        created=receipt.created if receipt else False, folders=receipt.folders if receipt else [],
    )  # fmt: skip


def remove(text: str, path: Path, receipt: Receipt) -> str:
    """The text as it was before our entry came, or at least without it."""
    form, keys, name = format_of(path), receipt.keys, receipt.name
    place = form.find(text, keys, name)
    if place is None:
        return text
    wanted = _without_member(form.value_of(text), receipt)
    start = place + receipt.shift
    if start >= 0 and text[start : start + len(receipt.new)] == receipt.new:
        undone = text[:start] + receipt.old + text[start + len(receipt.new) :]
        if _is_as_wanted(form, text, undone, None if receipt.replaced else wanted):
            return undone
    if receipt.replaced:
        return str(form.restore(text, keys, name, receipt.old))
    left: str = form.cut(text, keys, name, made=receipt.made)
    if not _is_as_wanted(form, text, left, wanted):
        raise NotEditable("our entry cannot be told from what stands around it")
    return left


def remove_unreceipted(text: str, entry: ConfigEntry) -> str:
    """The text without an entry of our name, of which no receipt was kept."""
    receipt = Receipt(list(entry.keys), entry.name, -len(text) - 1, "", "")
    return remove(text, entry.path, receipt)


def with_origin(receipt: Receipt, *, folders: Sequence[Path]) -> Receipt:
    return msgspec.structs.replace(receipt, created=True, folders=[str(each) for each in folders])


def _is_as_wanted(form: Any, before: str, after: str, wanted: Any) -> bool:
    try:
        return (wanted is None or form.value_of(after) == wanted) and _style(form, after) <= _style(form, before)
    except NotEditable:
        return False


def _style(form: Any, text: str) -> int:
    return jsonc.trailing_commas(text) if form is jsonc else 0


def _member(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _with_member(before: Any, entry: ConfigEntry) -> tuple[Any, int]:
    """The value with our entry in it, and how many objects had to be made for it."""
    after = holder = dict(before)
    made = 0
    for key in entry.keys:
        made += key not in holder
        holder[key] = holder = dict(holder.get(key, {}))
    holder[entry.name] = entry.value
    return after, made


def _without_member(before: Any, receipt: Receipt) -> Any:
    after = dict(before)
    holders = [after]
    for key in receipt.keys:
        holders[-1][key] = dict(holders[-1][key])
        holders.append(holders[-1][key])
    del holders[-1][receipt.name]
    for depth in range(len(receipt.keys) - 1, len(receipt.keys) - 1 - receipt.made, -1):
        if holders[depth + 1]:
            break
        del holders[depth][receipt.keys[depth]]
    return after
