"""The instruction catalogue as tools and as bare methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field, structs

from codecairn.catalog import governance
from codecairn.catalog import search as catalog_search
from codecairn.catalog.entries import Catalog, CheckedEntry
from codecairn.catalog.usage import UsageCounts, hotset, read_usage
from codecairn.clock import timestamp
from codecairn.tools import Call, tool
from codecairn.tools.binding_rules import holding
from codecairn.tools.cursor import Cursor, offset_of
from codecairn.tools.schema import UNLISTED
from codecairn.types import (
    CamelStruct,
    CatalogEntry,
    CodeBinding,
    GateResult,
    GateSummary,
    HotEntry,
    PromptIssue,
    Requirement,
    ReviewSummary,
    RuleScope,
)

FieldName = Literal[
    "id", "title", "body", "rationale", "priority", "audience", "requirement", "categories", "sourceHash",
    "schemaVersion", "deprecatedBy", "createdAt", "updatedAt", "usageCount", "lastUsedAt", "riskScore", "source",
    "shownCount", "lastShownAt", "appliesTo",
]  # fmt: skip
Limit = Annotated[Annotated[int, Meta(ge=1, le=1000)] | None, Meta(description="Most items (default all)")]
HoldsFor = Annotated[str | None, Meta(description="A file they hold for")]
UnlistedHoldsFor = Annotated[str | None, Meta(description="A file they hold for", extra_json_schema={UNLISTED: True})]
Fields = Annotated[list[FieldName] | None, Meta(description="Fields of each item")]


class KnownEntry(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    id: str
    source_hash: str


class ProjectedEntry(CamelStruct, frozen=True, kw_only=True):
    """An entry of which only some fields were asked for."""

    id: str
    title: str | UnsetType = UNSET
    body: str | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    audience: Literal["individual", "group", "all"] | UnsetType = UNSET
    requirement: Requirement | UnsetType = UNSET
    categories: list[str] | UnsetType = UNSET
    source_hash: str | UnsetType = UNSET
    schema_version: str | UnsetType = UNSET
    created_at: str | UnsetType = UNSET
    updated_at: str | UnsetType = UNSET
    risk_score: int | UnsetType = UNSET
    rationale: str | UnsetType = UNSET
    deprecated_by: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    usage_count: int | UnsetType = UNSET
    last_used_at: str | UnsetType = UNSET
    shown_count: int | UnsetType = UNSET
    last_shown_at: str | UnsetType = UNSET
    applies_to: RuleScope | UnsetType = UNSET


class EntryPage(CamelStruct, frozen=True, kw_only=True, omit_defaults=True):
    hash: str
    count: int
    items: list[CatalogEntry]
    total: int | None = None
    """How many there are in all, where these are not all."""
    next_cursor: str | None = None
    warnings: list[str] = field(default_factory=list)


class ProjectedPage(CamelStruct, frozen=True, kw_only=True, omit_defaults=True):
    hash: str
    count: int
    items: list[ProjectedEntry]
    total: int | None = None
    next_cursor: str | None = None
    warnings: list[str] = field(default_factory=list)


class EntryFound(CamelStruct, frozen=True, kw_only=True, omit_defaults=True):
    hash: str
    item: CatalogEntry
    warnings: list[str] = field(default_factory=list)


class EntryMissing(CamelStruct, frozen=True, kw_only=True):
    not_found: Literal[True]
    hash: str


class UpToDate(CamelStruct, frozen=True, kw_only=True):
    up_to_date: Literal[True]
    hash: str


class EntryChanges(CamelStruct, frozen=True, kw_only=True, omit_defaults=True):
    hash: str
    added: list[CatalogEntry]
    updated: list[CatalogEntry]
    removed: list[str]
    warnings: list[str] = field(default_factory=list)


class EntriesChanged(CamelStruct, frozen=True, kw_only=True, omit_defaults=True):
    hash: str
    changed: list[CatalogEntry]
    warnings: list[str] = field(default_factory=list)


class Review(CamelStruct, frozen=True, kw_only=True):
    issues: list[PromptIssue]
    summary: ReviewSummary


class PromptTooLong(CamelStruct, frozen=True, kw_only=True):
    truncated: Literal[True]
    message: str
    max: int


class Drift(CamelStruct, frozen=True, kw_only=True):
    id: str
    expected: str
    actual: str


class Integrity(CamelStruct, frozen=True, kw_only=True):
    hash: str
    count: int
    issues: list[Drift]
    issue_count: int


class UseCounted(CamelStruct, frozen=True, kw_only=True):
    id: str
    usage_count: int
    last_used_at: str
    hash: str
    shown_count: int | UnsetType = UNSET


class HotSet(CamelStruct, frozen=True, kw_only=True):
    hash: str
    count: int
    limit: int
    items: list[HotEntry]


class GateReport(CamelStruct, frozen=True, kw_only=True):
    generated_at: str
    results: list[GateResult]
    summary: GateSummary


class NotConfigured(CamelStruct, frozen=True, kw_only=True):
    not_configured: Literal[True]


@tool(family="catalog", method="instructions/list")
def instructions_list(
    call: Call,
    *,
    category: Annotated[str | None, Meta(description="Only this category")] = None,
    limit: Limit = None,
    cursor: Cursor = None,
    fields: Fields = None,
    path: HoldsFor = None,
) -> EntryPage | ProjectedPage:
    """Rules: the team's rules, all or those of a file. Use it before a change."""
    catalog = call.project.catalog.current()
    return _page(call, catalog, _near(call, catalog, catalog.in_category(category), path), cursor, limit, fields)


@tool(family="catalog", method="instructions/get")
def instructions_get(
    call: Call,
    *,
    id: Annotated[str, Meta(min_length=1, description="The entry's id")],  # noqa: A002
) -> EntryFound | EntryMissing:
    """Rules: one rule, whole. Use it when you know its id."""
    catalog = call.project.catalog.current()
    entry = catalog.entries.get(id)
    if entry is None:
        return EntryMissing(not_found=True, hash=catalog.hash)
    usage = _usage(call)
    item, binding = usage.with_usage(entry), _binding(call, entry)
    item = structs.replace(item, binding=binding) if binding is not None else item
    return EntryFound(hash=catalog.hash, item=item, warnings=usage.warnings)


@tool(family="catalog", method="instructions/search")
def instructions_search(
    call: Call,
    *,
    q: Annotated[str, Meta(min_length=1, max_length=1000, description="Words of title or body")],
    limit: Limit = None,
    cursor: Cursor = None,
    fields: Fields = None,
    path: UnlistedHoldsFor = None,
) -> EntryPage | ProjectedPage:
    """Rules: rules that speak of some words. Use it before a change."""
    catalog = call.project.catalog.current()
    return _page(call, catalog, _near(call, catalog, catalog_search.search(catalog, q), path), cursor, limit, fields)


@tool(family="catalog", method="instructions/diff")
def instructions_diff(
    call: Call,
    *,
    clientHash: Annotated[str | None, Meta(description="Aggregate hash held")] = None,
    known: Annotated[list[KnownEntry] | None, Meta(description="Held: id and sourceHash each")] = None,
) -> UpToDate | EntryChanges | EntriesChanged:
    """Rules: what changed since a hash. Use it to update a copy."""
    catalog = call.project.catalog.current()
    if known is None and clientHash == catalog.hash:
        return UpToDate(up_to_date=True, hash=catalog.hash)
    usage = _usage(call)
    if known is not None:
        added, updated, removed = catalog.changes_since({each.id: each.source_hash for each in known})
        return EntryChanges(
            hash=catalog.hash,
            added=[usage.with_usage(entry) for entry in added],
            updated=[usage.with_usage(entry) for entry in updated],
            removed=removed,
            warnings=usage.warnings,
        )
    changed = [usage.with_usage(entry) for entry in catalog.entries.values()]
    return EntriesChanged(hash=catalog.hash, changed=changed, warnings=usage.warnings)


@tool(family="catalog", method="prompt/review", unlogged=("prompt",))
def prompt_review(
    call: Call, *, prompt: Annotated[str, Meta(description="The prompt to check, at most 10,000 characters")]
) -> Review | PromptTooLong:
    """Rules: secrets and policy breaches in a prompt. Use it before sending one on."""
    longest = governance.LONGEST_PROMPT
    if len(prompt) > longest:
        message = f"The prompt has {len(prompt):,} characters; at most {longest:,} are reviewed. Split it."
        return PromptTooLong(truncated=True, message=message, max=longest)
    issues, summary = governance.review(prompt, call.project.criteria.current())
    return Review(issues=issues, summary=summary)


@tool(family="catalog", method="integrity/verify")
def integrity_verify(call: Call) -> Integrity:
    """Rules: rules that were tampered with. Use it before trusting them."""
    catalog = call.project.catalog.current()
    issues = [
        Drift(id=entry.value.id, expected=entry.stored_hash or "", actual=entry.value.source_hash)
        for entry in catalog.entries_with_drift()
    ]
    return Integrity(hash=catalog.hash, count=len(catalog.entries), issues=issues, issue_count=len(issues))


@tool(family="catalog", method="usage/track", read_only=False, idempotent=False)
def usage_track(
    call: Call,
    *,
    id: Annotated[str, Meta(min_length=1, description="The entry that was used")],  # noqa: A002
) -> UseCounted | EntryMissing:
    """Rules: count a use of a rule. Use it after applying one."""
    catalog = call.project.catalog.current()
    if id not in catalog.entries:
        return EntryMissing(not_found=True, hash=catalog.hash)
    mail = call.project.mail
    used = mail.track(id) if mail is not None else call.project.memory.track(id, timestamp())
    shown = call.project.memory.shown().get(id)
    return UseCounted(
        id=id, usage_count=used.count, last_used_at=used.last_used, hash=catalog.hash,
        shown_count=shown.count if shown else UNSET,
    )  # fmt: skip


@tool(family="catalog", method="usage/hotset")
def usage_hotset(call: Call, *, limit: Annotated[int, Meta(ge=1, le=100, description="Most items")] = 10) -> HotSet:
    """Rules: the rules used most. Use it to see what matters."""
    catalog = call.project.catalog.current()
    items = hotset(catalog, call.project.memory.usage(), limit)
    return HotSet(hash=catalog.hash, count=len(items), limit=limit, items=items)


@tool(family="catalog", method="gates/evaluate")
def gates_evaluate(call: Call) -> GateReport | NotConfigured:
    """Rules: policies over the rules. Use it in CI."""
    catalog = call.project.catalog.current()
    evaluated = governance.evaluate(catalog, lambda: _count_anchors(call, catalog))
    if evaluated is None:
        return NotConfigured(not_configured=True)
    results, summary = evaluated
    return GateReport(generated_at=timestamp(), results=results, summary=summary)


def _near(call: Call, catalog: Catalog, found: list[CheckedEntry], path: str | None) -> list[CheckedEntry]:
    """Of the entries found, those that hold for a file, the nearest first; all as they are where none is named."""
    if path is None:
        return found
    inside, ids = call.project.guard.inside(path), {each.value.id for each in found}
    near = holding(call, call.project, catalog, [inside])
    return [each.entry for each in near if each.entry.value.id in ids]


def _binding(call: Call, entry: CheckedEntry) -> CodeBinding | None:
    if entry.value.applies_to is None:
        return None
    from codecairn.anchors.binding import binding_of  # noqa: PLC0415 - 20 ms that few calls need
    from codecairn.anchors.check import Repository  # noqa: PLC0415 - as above

    return binding_of(Repository(call.project.root, call.project.git, call.project.guard, call.cancel), entry)


def _count_anchors(call: Call, catalog: Catalog) -> governance.AnchorCounts:
    from codecairn.anchors.check import Repository  # noqa: PLC0415 - as above
    from codecairn.anchors.findings import anchors_of  # noqa: PLC0415 - as above

    repository = Repository(call.project.root, call.project.git, call.project.guard, call.cancel)
    return anchors_of(repository, catalog).counts


def _usage(call: Call) -> UsageCounts:
    return read_usage(lambda: call.project.memory)


def _page(
    call: Call, catalog: Catalog, found: Sequence[CheckedEntry], cursor: str | None, limit: int | None,
    fields: Sequence[FieldName] | None,
) -> EntryPage | ProjectedPage:  # fmt: skip
    call.sequence = catalog.hash
    start, usage = offset_of(cursor), _usage(call)
    chosen = found[start : start + limit] if limit is not None else found[start:]
    end, items = start + len(chosen), [usage.with_usage(entry) for entry in chosen]
    about: dict[str, Any] = {
        "hash": catalog.hash, "count": len(items), "total": len(found) if len(chosen) < len(found) else None,
        "next_cursor": str(end) if end < len(found) else None, "warnings": usage.warnings,
    }  # fmt: skip
    if fields is None:
        return EntryPage(items=items, **about)
    names = {_ATTRIBUTES[name] for name in fields} | {"id"}
    return ProjectedPage(items=[_project(entry, names) for entry in items], **about)


_ATTRIBUTES = dict(zip(CatalogEntry.__struct_encode_fields__, CatalogEntry.__struct_fields__, strict=True))


def _project(entry: CatalogEntry, names: Iterable[str]) -> ProjectedEntry:
    values = {name: getattr(entry, name) for name in names}
    return ProjectedEntry(**{name: value for name, value in values.items() if value is not None})
