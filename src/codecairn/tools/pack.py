"""Everything for one task in one answer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import accumulate
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, structs

from codecairn.context.pack import DEFAULT_TOKENS, ESTIMATE, LEAST_TOKENS, MOST_TOKENS, LeftOut, PackItem, fill_pack
from codecairn.context.task_material import Gatherer, Material, Note, rules
from codecairn.errors import InvalidInput, InvalidMaxTokens
from codecairn.memory.drift_check import verdict
from codecairn.project import Project
from codecairn.rank.query_plan import parse_query
from codecairn.rank.search import Question
from codecairn.reading.pack import print_pack
from codecairn.store.discoveries import DiscoveryRow
from codecairn.store.view import View
from codecairn.text import CHARACTERS_PER_TOKEN
from codecairn.tools import Call, tool
from codecairn.tools.binding_rules import RuleList, Rules, rules_for, scoped_entries
from codecairn.tools.inquiry import Ref, Workspace, inquire, project_of
from codecairn.tools.truncation import to_json

_LONGEST_TASK = 2_000
# The bounds are in the schema; breaking them has an error of its own.
_Tokens = Annotated[int, Meta(extra_json_schema={"minimum": LEAST_TOKENS, "maximum": MOST_TOKENS})]
_Task = Annotated[str, Meta(max_length=_LONGEST_TASK)]
_FRAME = 60
"""Characters that the numbers of the frame may grow by."""
_LONGEST_WARNING = 160
_MOST_RECALLED = 20
_MOST_DEFINING = 5
_RULES_SHARE, _LEAST_FOR_RULES = 0.08, 1_000
"""Of the whole, for the names of rules; in less than so many tokens they are among what is left out."""


class ContextPack(Struct, frozen=True, kw_only=True):
    items: list[PackItem]
    left_out: list[LeftOut]
    max_tokens: int
    tokens: int
    token_estimate: str
    metadata: dict[str, Any]
    rules: Rules = UNSET
    """Rules that bind the files of the definitions and are no items."""


@tool(family="refs", reading=print_pack)
def build_context_pack(
    call: Call,
    *,
    task: Annotated[_Task, Meta(description="What is to be done")],
    max_tokens: Annotated[_Tokens, Meta(description="Budget")] = DEFAULT_TOKENS,
    workspace: Workspace = None,
    ref: Ref = None,
) -> ContextPack:
    """Definitions, callers, tests, documents and rules for one task in a token budget. Use it first, instead of many
    searches."""
    if not task.strip():
        raise InvalidInput("No task is given", param="task", reason="it is empty")
    if not LEAST_TOKENS <= max_tokens <= MOST_TOKENS:
        reason = f"{LEAST_TOKENS} to {MOST_TOKENS}, not {max_tokens}"
        raise InvalidMaxTokens(f"max_tokens: {reason}", param="max_tokens", reason=reason)
    project = project_of(call, workspace)
    inquiry = inquire(call, project, ref)

    def reply(view: View) -> ContextPack:
        found, _ = project.searcher.rank(view, Question(task))
        known = partial(_notes_about, project, view, task)
        materials = Gatherer(view, task, call.cancel).gather(found.results, known)
        metadata = inquiry.metadata(found.warnings)
        if "warnings" in metadata:
            metadata["warnings"] = [each[:_LONGEST_WARNING] for each in metadata["warnings"]]
        binding = rules_for(call, project, _defining(materials), 0)
        return _pack(materials, max_tokens, metadata, binding)  # the materials read from the view as they are packed

    return inquiry.require(reply)


def _notes_about(project: Project, view: View, task: str, paths: set[str]) -> Iterator[Note]:
    """Rules, discoveries that a search for the task finds, and those about the files it leads to."""
    catalog = project.catalog.current()
    yield from rules(catalog, scoped_entries(view, project, catalog, paths))
    recalled, _ = project.recall.search(parse_query(task), project.searcher.statistics(view, task))
    best = sorted(recalled, key=lambda each: (-each.relevance, each.row.id))[:_MOST_RECALLED]
    yield from (_discovery(project, view, each.row, each.relevance) for each in best)
    known = {each.row.id for each in best}
    bound = [row for row in project.discoveries.on_paths(paths) if row.id not in known]
    yield from (_discovery(project, view, row, 0.0) for row in bound[:_MOST_RECALLED])


def _discovery(project: Project, view: View, row: DiscoveryRow, relevance: float) -> Note:
    stands = verdict(row, view, project.root)
    path = (stands.path if stands else row.path) or ""
    note = f"{row.type}, {stands.status}" if stands else row.type
    return Note("discovery", row.id, "", row.content, path, path, note, row.type == "rule", relevance)


def _defining(materials: list[Material]) -> list[str]:
    """The files of the first definitions."""
    return [each.path for each in materials if each.kind == "definition"][:_MOST_DEFINING]


def _pack(materials: list[Material], max_tokens: int, metadata: dict[str, Any], rules: Rules) -> ContextPack:
    empty = ContextPack(
        items=[], left_out=[], max_tokens=max_tokens, tokens=0, token_estimate=ESTIMATE,
        metadata={**metadata, "result_completeness": "truncated"}, rules=_few(rules, max_tokens),
    )  # fmt: skip
    room = int(max_tokens * CHARACTERS_PER_TOKEN) - len(to_json(empty)) - _FRAME
    items, left_out = fill_pack(materials, room)
    is_cut = bool(left_out) or any(each.content_cut for each in items)
    if is_cut and metadata["result_completeness"] == "complete":
        metadata = {**metadata, "result_completeness": "truncated"}
    pack = structs.replace(
        empty, items=items, left_out=left_out, tokens=max_tokens, metadata=metadata, rules=_others(empty.rules, items)
    )
    return structs.replace(pack, tokens=math.ceil(len(to_json(pack)) / CHARACTERS_PER_TOKEN))


def _few(rules: Rules, max_tokens: int) -> Rules:
    """The first rules that fit their share of the budget; the others are counted."""
    if not isinstance(rules, RuleList) or max_tokens < _LEAST_FOR_RULES:
        return UNSET
    sizes = accumulate(len(to_json(each)) + 1 for each in rules.items)
    kept = sum(1 for size in sizes if size <= max_tokens * CHARACTERS_PER_TOKEN * _RULES_SHARE)
    if not kept:
        return UNSET
    return RuleList(items=rules.items[:kept], more=rules.more + len(rules.items) - kept)


def _others(rules: Rules, items: list[PackItem]) -> Rules:
    """The rules that are not among the items whole."""
    if not isinstance(rules, RuleList):
        return rules
    packed = {each.name for each in items if each.kind == "rule"}
    left = [each for each in rules.items if each.id not in packed]
    return RuleList(items=left, more=rules.more) if left or rules.more else UNSET
