"""Instruction entries: one JSON file each in `instructions/`, strictly checked; a bad file never hides the others.

Claims of a file and computed values are kept apart. `sourceHash` in a file is a claim about its body, compared by
`drifted`; the hash that answers carry is always computed from the body, whose line ends are normalised once. The
aggregate hash covers `id:sourceHash` of every entry in the order of ids, so it depends on content alone.
"""

from __future__ import annotations

import hashlib
import re
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from codecairn.catalog.scope import ScopeTable, flaw_of
from codecairn.clock import timestamp
from codecairn.errors import CairnError
from codecairn.paths import printable
from codecairn.source.json_folder import NO_JSON, FileReading, JsonFolder
from codecairn.types import CatalogEntry, Requirement, RuleScope

GATES_FILE = "gates.json"
FOLDER = "instructions"

RISK = {"mandatory": 50, "critical": 60, "recommended": 20, "optional": 5, "deprecated": -30}

_Id = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f|]+$")]
_Category = Annotated[str, Meta(min_length=1, max_length=100)]


class EntryFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The content of a file. Computed fields are accepted, so that an answer can be saved as a file, and ignored."""

    id: _Id
    title: Annotated[str, Meta(min_length=1, max_length=500)]
    body: Annotated[str, Meta(min_length=1)]
    priority: Annotated[int, Meta(ge=1, le=100)]
    audience: Literal["individual", "group", "all"]
    requirement: Requirement
    categories: list[_Category]
    schema_version: str
    created_at: str
    updated_at: str
    rationale: str | None = None
    source_hash: Annotated[str, Meta(pattern="^[0-9a-fA-F]{64}$")] | None = None
    deprecated_by: _Id | None = None
    source: str | None = None
    applies_to: RuleScope | None = None
    usage_count: Any = None
    last_used_at: Any = None
    risk_score: Any = None
    shown_count: Any = None
    last_shown_at: Any = None
    binding: Any = None


@dataclass(frozen=True)
class CheckedEntry:
    """A checked entry and the texts that searching it needs."""

    value: CatalogEntry
    stored_hash: str | None
    file: str
    folded_title: str
    folded_body: str


@dataclass(frozen=True)
class Problem:
    """A file that is not (or not wholly) in the catalogue, by its path in the project, and why."""

    file: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


@dataclass(frozen=True)
class Haystack:
    """Title and body of every entry in one text, which is searched in half the time that asking each entry takes.

    UTF-8, as a single character beyond Latin-1 would make a string of all of it two or four times as long."""

    text: bytes
    starts: list[int]
    entries: list[CheckedEntry]

    @classmethod
    def of(cls, entries: Iterable[CheckedEntry]) -> Haystack:
        listed = list(entries)
        parts = [f"{entry.folded_title}\0{entry.folded_body}\0".encode() for entry in listed]
        return cls(b"".join(parts), list(accumulate((len(part) for part in parts), initial=0)), listed)

    def candidates(self, needle: str) -> Iterator[CheckedEntry]:
        """Every entry that contains the needle, and where the needle holds a NUL perhaps some that do not."""
        sought = needle.encode()
        place = self.text.find(sought)
        while 0 <= place < len(self.text):
            number = bisect_right(self.starts, place) - 1
            yield self.entries[number]
            place = self.text.find(sought, self.starts[number + 1])


@dataclass(frozen=True)
class Catalog:
    """The catalogue at one moment; everything one call does, it does with one of these."""

    entries: Mapping[str, CheckedEntry]
    problems: tuple[Problem, ...] = ()
    gates: FileReading | None = None

    @cached_property
    def hash(self) -> str:
        return aggregate_hash((entry.value.id, entry.value.source_hash) for entry in self.entries.values())

    @cached_property
    def haystack(self) -> Haystack:
        return Haystack.of(self.entries.values())

    @cached_property
    def scopes(self) -> ScopeTable:
        return ScopeTable.of(self.entries.values())

    def changes_since(self, known: Mapping[str, str]) -> tuple[list[CheckedEntry], list[CheckedEntry], list[str]]:
        """Entries to add, entries to update, ids to remove, for a client that holds `known` (id → sourceHash)."""
        added = [entry for identity, entry in self.entries.items() if identity not in known]
        held = [entry for identity, entry in self.entries.items() if identity in known]
        updated = [entry for entry in held if known[entry.value.id] != entry.value.source_hash]
        return added, updated, sorted(known.keys() - self.entries.keys())

    def entries_with_drift(self) -> list[CheckedEntry]:
        """Entries whose body is not the one their file's own hash was taken of."""
        return [e for e in self.entries.values() if e.stored_hash is not None and e.stored_hash != e.value.source_hash]

    def in_category(self, category: str | None) -> list[CheckedEntry]:
        wanted = category.strip().lower() if category is not None else None
        return [e for e in self.entries.values() if wanted is None or wanted in e.value.categories]


class CatalogFolder:
    """The folder on disk; `current` is always a whole catalogue."""

    def __init__(self, root: Path) -> None:
        self._folder = JsonFolder(root / FOLDER, root)
        self._lock = threading.Lock()
        self._generation = -1
        self._parsed: dict[str, tuple[FileReading, CheckedEntry | Problem]] = {}
        self._catalog = Catalog({})

    def current(self) -> Catalog:
        with self._lock:
            readings = self._folder.readings()
            if self._generation != self._folder.generation:
                self._catalog = self._assemble(readings)
                self._generation = self._folder.generation
            return self._catalog

    def current_or_empty(self) -> Catalog:
        """The catalogue for answers that can do without one."""
        try:
            return self.current()
        except CairnError:
            return Catalog({})

    def _assemble(self, readings: Mapping[str, FileReading]) -> Catalog:
        self._parsed = {name: self._outcome(name, reading) for name, reading in readings.items() if name != GATES_FILE}
        entries: dict[str, CheckedEntry] = {}
        problems: list[Problem] = []
        for _, outcome in self._parsed.values():
            if isinstance(outcome, Problem):
                problems.append(outcome)
            elif outcome.value.id in entries:
                first = entries[outcome.value.id].file
                problems.append(Problem(outcome.file, f"id {printable(outcome.value.id)!r} is already that of {first}"))
            else:
                entries[outcome.value.id] = outcome
        return Catalog(dict(sorted(entries.items())), tuple(problems), readings.get(GATES_FILE))

    def _outcome(self, name: str, reading: FileReading) -> tuple[FileReading, CheckedEntry | Problem]:
        before = self._parsed.get(name)
        if before is not None and before[0].same_as(reading):
            return before
        return reading, parse(printable(f"{FOLDER}/{name}"), reading)


def parse(name: str, reading: FileReading) -> CheckedEntry | Problem:
    if reading.content is None:
        return Problem(name, reading.problem or "cannot be read")
    try:
        file = msgspec.json.decode(reading.content, type=EntryFile)
    except NO_JSON as error:
        return Problem(name, _plain(str(error)))
    reason = _contradiction(file)
    return Problem(name, reason) if reason else _entry(name, file)


def _contradiction(file: EntryFile) -> str | None:
    if file.requirement == "deprecated" and file.deprecated_by is None:
        return "deprecatedBy: required while requirement is deprecated"
    if file.deprecated_by == file.id:
        return "deprecatedBy: names the entry itself"
    if file.applies_to is not None and (flaw := flaw_of(file.applies_to)):
        return printable(flaw)
    for name, text in (("createdAt", file.created_at), ("updatedAt", file.updated_at)):
        if _in_utc(text) is None:
            return f"{name}: not an ISO 8601 timestamp"
    return None


def _entry(name: str, file: EntryFile) -> CheckedEntry:
    body = normalise_lines(file.body)
    value = CatalogEntry(
        id=file.id, title=file.title, body=body, rationale=file.rationale, priority=file.priority,
        audience=file.audience, requirement=file.requirement, schema_version=file.schema_version,
        categories=sorted({category.strip().lower() for category in file.categories if category.strip()}),
        source_hash=source_hash(body), deprecated_by=file.deprecated_by, source=file.source,
        created_at=_in_utc(file.created_at) or "", updated_at=_in_utc(file.updated_at) or "",
        risk_score=100 - file.priority + RISK[file.requirement], applies_to=file.applies_to,
    )  # fmt: skip
    stored = file.source_hash.lower() if file.source_hash else None
    return CheckedEntry(value, stored, name, normalise_lines(file.title).casefold(), body.casefold())


def normalise_lines(body: str) -> str:
    return body.replace("\r\n", "\n").replace("\r", "\n")


def source_hash(body: str) -> str:
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def aggregate_hash(pairs: Iterable[tuple[str, str]]) -> str:
    joined = "|".join(f"{identity}:{hash_}" for identity, hash_ in sorted(pairs))
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()


def _in_utc(text: str) -> str | None:
    """The moment a timestamp names, in UTC, which one without a zone is taken to be in; None where it names none."""
    if re.match(r"\d{4}-\d{2}-\d{2}", text) is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None and not moment.utcoffset():
            return text
        moment = moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return timestamp(moment)


def _plain(message: str) -> str:
    found = re.fullmatch(r"(.*) - at `\$\.?([^`]*)`", message, re.DOTALL)
    text = f"{found[2]}: {found[1]}" if found and found[2] else message
    return printable(text.replace("`", ""))
