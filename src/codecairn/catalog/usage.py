"""How often instructions are used: counts from the store, joined with the entries they are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from codecairn.catalog.entries import Catalog, CheckedEntry
from codecairn.errors import CairnError
from codecairn.store.memory import Memory, Usage
from codecairn.types import CatalogEntry, HotEntry


@dataclass(frozen=True)
class UsageCounts:
    """The counts there are; where the store cannot be read there are none, and `warnings` says so."""

    counts: Mapping[str, Usage]
    warnings: list[str] = field(default_factory=list)

    def with_usage(self, entry: CheckedEntry) -> CatalogEntry:
        used = self.counts.get(entry.value.id)
        if used is None:
            return entry.value
        return msgspec.structs.replace(entry.value, usage_count=used.count, last_used_at=used.last_used)


def read_usage(memory: Callable[[], Memory]) -> UsageCounts:
    """Rules must be readable where nothing can be counted: a full disk, a read-only home."""
    try:
        return UsageCounts(memory().usage())
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
