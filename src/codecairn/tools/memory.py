"""Recording what was learnt of a project, and taking it back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from codecairn.cancel import Cancel
from codecairn.errors import NotFound
from codecairn.index.status import index_status
from codecairn.memory import discoveries
from codecairn.memory.discoveries import LONGEST, SHORTEST, UNBOUND, DiscoveryBinding, Draft, Type
from codecairn.memory.drift_check import Verdict, bind_to_file, bind_to_symbol, verdict
from codecairn.paths import module_name
from codecairn.project import Project
from codecairn.reading.memory import print_forgotten, print_remembered
from codecairn.store.discoveries import DiscoveryRow
from codecairn.store.view import View
from codecairn.tools import Call, tool
from codecairn.tools.inquiry import Inquiry, glance, inquire
from codecairn.tools.suggestions import suggest_paths
from codecairn.tools.symbols import LONGEST_NAME, check_name


class Discovery(Struct, frozen=True, kw_only=True):
    """A discovery as it is shown: what it says, what it is about, and whether that is still so."""

    id: str
    type: str
    content: str
    module: str | None
    session: str | None
    date: str
    path: str | None
    symbol: str | None
    status: Literal["fresh", "drifted", "orphaned", "unknown"] | None
    status_reason: str | None


class RememberedDiscovery(Struct, frozen=True, kw_only=True):
    action: Literal["stored", "updated"]
    message: str
    discovery: Discovery
    metadata: dict[str, Any]


class ForgottenDiscovery(Struct, frozen=True, kw_only=True):
    forgotten: Literal[True]
    id: str
    content: str
    metadata: dict[str, Any]


@tool(family="refs", read_only=False, idempotent=True, reading=print_remembered)
def remember(
    call: Call,
    *,
    type: Annotated[Type, Meta(description="Kind")],  # noqa: A002 - the contract's name
    content: Annotated[str, Meta(description="10-1,000 characters", min_length=SHORTEST, max_length=LONGEST)],
    module: Annotated[str | None, Meta(description="Folder name")] = None,
    path: Annotated[str | None, Meta(description="About this file")] = None,
    symbol: Annotated[
        Annotated[str, Meta(max_length=LONGEST_NAME)] | None, Meta(description="About this symbol")
    ] = None,
) -> RememberedDiscovery:
    """Keep what you learnt and the code does not say, for later sessions. Use it with path or symbol: then it tells
    when that changed."""
    project = call.project
    inquiry = inquire(call, project) if symbol is not None else glance(call, project)
    with suggest_paths(project, path, call.cancel):
        binding = _binding(inquiry, path, symbol)
    inferred = module_name(binding.path, project.name) if binding.path else None
    session = call.registry.sessions.id_of(call.connection, project)
    draft = Draft(type, content, module or inferred, binding)
    row, action = discoveries.remember(project.discoveries, draft, session)
    return RememberedDiscovery(
        action=action, message=_message(row, action), discovery=judge_discoveries(inquiry, [row])[0],
        metadata=inquiry.metadata(),
    )  # fmt: skip


@tool(family="refs", read_only=False, idempotent=False, destructive=True, reading=print_forgotten)
def forget(
    call: Call,
    *,
    id: Annotated[str, Meta(description="Of the discovery", min_length=1)],  # noqa: A002 - as above
) -> ForgottenDiscovery:
    """Delete a discovery. Use it on what is wrong."""
    inquiry = glance(call, call.project)
    row = discoveries.forget(call.project.discoveries, id)
    return ForgottenDiscovery(forgotten=True, id=row.id, content=row.content, metadata=inquiry.metadata())


def describe_discovery(row: DiscoveryRow, stands: Verdict | None) -> Discovery:
    return Discovery(
        id=row.id, type=row.type, content=row.content, module=row.module, session=row.session, date=row.updated,
        path=(stands and stands.path) or row.path, symbol=row.symbol, status=stands.status if stands else None,
        status_reason=(stands.reason or None) if stands else None,
    )  # fmt: skip


def _binding(inquiry: Inquiry, path: str | None, symbol: str | None) -> DiscoveryBinding:
    project = inquiry.project
    place = project.guard.inside(path) if path is not None else None
    if symbol is not None:
        check_name(symbol)
        found = inquiry.answer(lambda view: bind_to_symbol(view, symbol, place, inquiry.cancel))
        return found[0] if found else DiscoveryBinding(path=place, symbol=symbol, name=symbol)
    if place is None:
        return UNBOUND
    binding = bind_to_file(project.root, place)
    if binding is None:
        raise NotFound(f"File not found: {place}", path=place, param="path")
    return binding


def judge_discoveries(inquiry: Inquiry, rows: Sequence[DiscoveryRow]) -> list[Discovery]:
    """Discoveries with how each stands, by the newest view there is; where there is none, as far as files tell."""

    def judge(view: View | None) -> list[Discovery]:
        return [describe_discovery(row, verdict(row, view, inquiry.project.root)) for row in rows]

    found = inquiry.answer(judge)
    return found if found is not None else judge(None)


def list_discoveries(project: Project, type_: str | None = None, module: str | None = None) -> list[Discovery]:
    """Every discovery, newest first, judged by the index as it is, without waiting for it."""
    rows = project.discoveries.all(type_, module)
    return judge_discoveries(Inquiry(project, index_status(project.index, Cancel())), rows)


def discoveries_on(inquiry: Inquiry, paths: Iterable[str]) -> list[Discovery]:
    """The discoveries about some files, or about symbols in them, judged at the ref that the inquiry is about."""
    return judge_discoveries(inquiry, inquiry.project.discoveries.on_paths(paths))


def _message(row: DiscoveryRow, action: str) -> str:
    about = row.symbol or row.path
    bound = f", bound to {about}" if about else ""
    if action == "updated":
        return f"Known already as {row.id}{bound}: updated instead of stored twice."
    return f"Stored as {row.id}{bound}."
