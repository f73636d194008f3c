"""Discoveries as lines of JSON, to be kept elsewhere or given to somebody else.

Importing is the same however often it is done: what is known already is left as it is, unless the line was updated
later. Every line is looked at before the first is stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from codecairn.errors import CairnError, InvalidInput
from codecairn.memory.discoveries import UNBOUND, DiscoveryBinding, Type, check_content, check_module, find_same
from codecairn.paths import Guard
from codecairn.store.discoveries import Discoveries, DiscoveryRow

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LONGEST_NAME = 2_000


class DiscoveryLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A discovery on one line; the names are those of the store, a hash is in hexadecimal digits."""

    id: str
    type: Type
    content: str
    created: str
    updated: str
    module: str | None = None
    session: str | None = None
    path: str | None = None
    symbol: str | None = None
    name: str | None = None
    kind: str | None = None
    stable_id: str | None = None
    content_hash: str | None = None
    origin: str | None = None


class ImportCounts(NamedTuple):
    added: int
    updated: int
    unchanged: int


def export_lines(rows: Iterable[DiscoveryRow]) -> Iterator[str]:
    for row in rows:
        fields = asdict(row) | {"content_hash": row.content_hash.hex() if row.content_hash else None}
        yield msgspec.json.encode(DiscoveryLine(**fields)).decode()


def parse_lines(lines: Iterable[str], guard: Guard) -> list[DiscoveryRow]:
    """The discoveries on these lines; raises with the number of the first that is none."""
    rows: dict[str, DiscoveryRow] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = row_of(line, guard)
        except (CairnError, msgspec.DecodeError, ValueError) as error:
            said = error.message if isinstance(error, CairnError) else str(error)
            raise InvalidInput(f"Line {number}: {said}; nothing was imported", line=number) from error
        if row.id in rows:
            raise InvalidInput(f"Line {number}: {row.id} stands twice; nothing was imported", line=number)
        rows[row.id] = row
    return list(rows.values())


def import_rows(known: Discoveries, rows: Iterable[DiscoveryRow]) -> ImportCounts:
    counts = dict.fromkeys(ImportCounts._fields, 0)
    due = []
    for row in rows:
        step = _step(known, row)
        counts[step] += 1
        if step != "unchanged":
            due.append(row)
    if due:
        known.put(due)
    return ImportCounts(**counts)


def _step(known: Discoveries, row: DiscoveryRow) -> Literal["added", "updated", "unchanged"]:
    same = known.get(row.id)
    if same is not None:
        return "updated" if row.updated > same.updated else "unchanged"
    about = DiscoveryBinding(path=row.path, symbol=row.symbol) if row.is_bound else UNBOUND
    return "unchanged" if find_same(known, row.type, row.content, about) else "added"


def row_of(line: str, guard: Guard) -> DiscoveryRow:
    """The discovery on a line, checked as one that is recorded here; raises where it is none."""
    read = msgspec.json.decode(line, type=DiscoveryLine)
    if not _ID.fullmatch(read.id):
        raise ValueError("id: letters, digits, '.', '_' and '-', at most 64")
    for moment in (read.created, read.updated):
        datetime.fromisoformat(moment.replace("Z", "+00:00"))
    for text in (read.session, read.symbol, read.name, read.kind, read.stable_id, read.origin):
        if text is not None and (len(text) > _LONGEST_NAME or any(ord(each) < 32 for each in text)):
            raise ValueError("a name is too long, or holds a control character")
    fields: dict[str, Any] = asdict(read) | {
        "content": check_content(read.content), "module": check_module(read.module),
        "path": guard.inside(read.path) if read.path is not None else None,
        "content_hash": bytes.fromhex(read.content_hash) if read.content_hash else None,
    }  # fmt: skip
    return DiscoveryRow(**fields)
