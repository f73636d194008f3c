"""How often instructions are used: counts from the store, joined with the entries they are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from codecairn.catalog.entries import Catalog, CheckedEntry
from codecairn.errors import CairnError
from codecairn.store.memory import Memory, Usage
from codecairn.types import CatalogEntry, HotEntry


def note_shown(memory: Callable[[], Memory], ids: Sequence[str], now: str) -> None:
    """Count entries that were shown; where nothing can be counted, showing them goes on."""
    with suppress(CairnError):
        memory().note_shown(ids, now)


@dataclass(frozen=True)
class UsageCounts:
    """The counts there are; where the store cannot be read there are none, and `warnings` says so."""

    counts: Mapping[str, Usage]
    warnings: list[str] = field(default_factory=list)
    shown: Mapping[str, Usage] = field(default_factory=dict)

    def with_usage(self, entry: CheckedEntry) -> CatalogEntry:
        used, shown, value = self.counts.get(entry.value.id), self.shown.get(entry.value.id), entry.value
        if used is not None:
            value = msgspec.structs.replace(value, usage_count=used.count, last_used_at=used.last_used)
        if shown is not None:
            value = msgspec.structs.replace(value, shown_count=shown.count, last_shown_at=shown.last_used)
        return value


def read_usage(memory: Callable[[], Memory]) -> UsageCounts:
    """Rules must be readable where nothing can be counted: a full disk, a read-only home."""
    try:
        return UsageCounts(memory().usage(), shown=memory().shown())
    except CairnError as error:
        return UsageCounts({}, [f"Usage is not shown. {error.message}. {error.remedy}"])


def hotset(catalog: Catalog, usage: Mapping[str, Usage], limit: int) -> list[HotEntry]:
    """The most used entries that still exist: by count, then the latest use, then id."""
    used = [
        HotEntry(id=identity, usage_count=each.count, last_used_at=each.last_used)
        for identity, each in usage.items()
        if identity in catalog.entries
    ]
    used.sort(key=lambda each: each.id)
    used.sort(key=lambda each: (each.usage_count, each.last_used_at), reverse=True)
    return used[:limit]
