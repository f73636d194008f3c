"""Bringing a client's copy of the catalogue up to date: three forms, by what the client says it has."""

from __future__ import annotations

from collections.abc import Mapping

from codecairn.catalog.entries import Catalog, Entry


def precise(catalog: Catalog, known: Mapping[str, str]) -> tuple[list[Entry], list[Entry], list[str]]:
    """What to add, what to update, what to remove, for a client that holds `known` (id → sourceHash)."""
    entries = catalog.entries
    added = [entry for identity, entry in entries.items() if identity not in known]
    updated = [e for identity, e in entries.items() if known.get(identity, e.value.source_hash) != e.value.source_hash]
    removed = sorted(identity for identity in known if identity not in entries)
    return added, updated, removed
