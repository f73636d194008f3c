"""Answers of many repositories made into one: merged by relevance, each row with its repository.

A row's score is its own repository's: signals are shares from 0 to 1 of the same kinds everywhere, so that the best of
one repository stands beside the best of another. Rows of one score keep the order of the repositories' names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from codecairn.budget import room_for
from codecairn.index.status import FRESHNESS, PROTOCOL_VERSION
from codecairn.names.lookup import Match
from codecairn.reading import PrintContext
from codecairn.tools import Answers, Tool
from codecairn.tools.context import ContextAnswer
from codecairn.tools.families import ToolReply
from codecairn.tools.truncation import fit_fields, to_json

Fields = dict[str, Any]
_MATCHES: tuple[Match, ...] = ("exact", "other_case", "inherited", "near")


@dataclass(frozen=True)
class Parts:
    """The answers of repositories by name, those that have nothing, and those that could not be asked."""

    answers: Mapping[str, Fields]
    without: int = 0
    warnings: Sequence[str] = ()
    is_partial: bool = False
    passed_over: int = 0
    """Those that promised less than others and were not ranked (shortlist.py)."""

    @property
    def asked(self) -> int:
        return len(self.answers) + self.without + self.passed_over


def merge(tool: Tool, parts: Parts, params: Mapping[str, Any], answers: Answers) -> ToolReply:
    value = _MERGERS[tool.name](parts, params)
    if tool.name == "context_search":
        return _context_reply(tool, value, params)
    structured = fit_fields(value, params)
    if answers == "json" or tool.reading is None:
        return ToolReply(to_json(structured), value, lambda: structured)
    text = tool.reading(_spell(tool.name, value), PrintContext(params, room_for(value, params)))
    return ToolReply(_with_repositories(text, parts), value, lambda: structured)


def _context_reply(tool: Tool, value: Fields, params: Mapping[str, Any]) -> ToolReply:
    structured = fit_fields(value, params)
    if params.get("format") == "json" or tool.markdown is None:
        return ToolReply(to_json(structured), value, lambda: structured)
    return ToolReply(tool.markdown(msgspec.convert(value, ContextAnswer), params), value, lambda: structured)


def _with_repositories(text: str, parts: Parts) -> str:
    head = f"{_scope(parts)} searched" if parts.asked != 1 else "1 repository searched"
    warned = [] if "\n! " in text else [f"! {warning}" for warning in parts.warnings]
    return "\n".join([head, *warned, text])


def _metadata(parts: Parts, *, is_cut: bool) -> Fields:
    """The worst of what the repositories say of themselves; warnings name theirs."""
    said = [each["metadata"] for each in parts.answers.values() if "metadata" in each]
    freshness = [FRESHNESS.index(each["freshness_status"]) for each in said]
    weighed = {"repositories_weighed": len(parts.answers)} if parts.passed_over else {}
    partial = parts.is_partial or any(each.get("result_completeness") == "partial" for each in said)
    warnings = [*parts.warnings, *_own_warnings(parts.answers)]
    return {
        "cruxe_protocol_version": PROTOCOL_VERSION, "freshness_status": FRESHNESS[max(freshness, default=0)],
        "indexing_status": "ready", "schema_status": "compatible", "ref": "",
        "result_completeness": "partial" if partial else "truncated" if is_cut else "complete",
        "repositories_searched": parts.asked, **weighed, **({"warnings": warnings} if warnings else {}),
    }  # fmt: skip


def _own_warnings(answers: Mapping[str, Fields]) -> Iterable[str]:
    for name, each in answers.items():
        for warning in each.get("metadata", {}).get("warnings", ()):
            yield f"{name}: {warning}"


def _rows(parts: Parts, rows: str, order: Callable[[Fields], Any], key: str = "repository") -> list[Fields]:
    found = [{**row, key: name} for name, each in sorted(parts.answers.items()) for row in each[rows]]
    return sorted(found, key=order)


def _search(parts: Parts, params: Mapping[str, Any]) -> Fields:
    rows = _rows(parts, "results", lambda row: -row["ranking_score"])[: params.get("limit", 10)]
    total = sum(each["statistics"]["total_results"] for each in parts.answers.values())
    ms = max((each["statistics"]["search_duration_ms"] for each in parts.answers.values()), default=0.0)
    return {
        "success": True, "query": params.get("query", ""),
        "results": [{**row, "rank": place} for place, row in enumerate(rows, 1)],
        "statistics": {
            "total_results": total, "returned_results": len(rows), "search_duration_ms": ms, "cache_hit": False,
        },
        "message": f"Found {total} results in {_scope(parts)}",
        "metadata": _metadata(parts, is_cut=len(rows) < total or parts.passed_over > 0),
    }  # fmt: skip


def _scope(parts: Parts) -> str:
    if not parts.passed_over:
        return f"{parts.asked} repositories"
    return f"the {len(parts.answers)} of {parts.asked} repositories that have most of the query"


def _context(parts: Parts, params: Mapping[str, Any]) -> Fields:
    rows = _rows(parts, "results", lambda row: -row["score"], "project")[: params.get("limit", 5)]
    total = sum(each["totalFound"] for each in parts.answers.values())
    ms = max((each["searchTime"] for each in parts.answers.values()), default=0.0)
    return {
        "results": rows, "query": params.get("query", ""), "totalFound": total, "searchTime": ms,
        "metadata": _metadata(parts, is_cut=len(rows) < total or parts.passed_over > 0),
    }  # fmt: skip


def _symbols(parts: Parts, params: Mapping[str, Any]) -> Fields:
    """Names that are nearly so are shown only where no repository has the name itself."""
    near = [name for name, each in parts.answers.items() if each["symbols"][0]["match"] == "near"]
    if len(near) < len(parts.answers):
        told = {name: each for name, each in parts.answers.items() if name not in near}
        parts = replace(parts, answers=told, without=parts.without + len(near))
    rows = _rows(parts, "symbols", lambda row: _MATCHES.index(row["match"]))[: params.get("limit", 10)]
    total = sum(each["total_symbols"] for each in parts.answers.values())
    return {"symbols": rows, "total_symbols": total, "metadata": _metadata(parts, is_cut=len(rows) < total)}


def _grep(parts: Parts, params: Mapping[str, Any]) -> Fields:
    rows = _rows(parts, "matches", lambda _: 0)[: params.get("limit", 50)]
    total = sum(each["totalMatches"] for each in parts.answers.values())
    said = [f"No matches found for pattern '{params.get('pattern', '')}'"] if not total else []
    message = ". ".join([*said, *parts.warnings]) or None
    return {
        "matches": rows, "pattern": params.get("pattern", ""), "totalMatches": total,
        "filesSearched": sum(each["filesSearched"] for each in parts.answers.values()),
        "searchTime": max((each["searchTime"] for each in parts.answers.values()), default=0.0),
        "engine": next((each["engine"] for each in parts.answers.values()), ""),
        "incomplete": parts.is_partial or any(each.get("incomplete") for each in parts.answers.values()),
        "metadata": _metadata(parts, is_cut=len(rows) < total), **({"message": message} if message else {}),
    }  # fmt: skip


def _references(parts: Parts, params: Mapping[str, Any]) -> Fields:
    """The symbol with the most uses first; those of other repositories are candidates beside it."""
    limit = params.get("limit", 20)
    found = [
        _tag_references(each, name)
        for name, answer in sorted(parts.answers.items())
        for each in (answer, *(answer.get("candidates") or ()))
    ]
    first, *others = sorted(found, key=lambda each: -each["total_references"])
    share = max(1, limit // len(found))
    cut = [{**each, "references": each["references"][:share]} for each in (first, *others)]
    is_cut = any(len(each["references"]) < each["total_references"] for each in cut)
    own = {name: value for name, value in cut[0].items() if name not in ("candidates", "next_cursor", "metadata")}
    kept = ("symbol", "references", "total_references", "unresolved_count", "elsewhere_count")
    return {
        **own, "metadata": _metadata(parts, is_cut=is_cut),
        **({"candidates": [{name: each[name] for name in kept} for each in cut[1:]]} if others else {}),
    }  # fmt: skip


def _tag_references(answer: Fields, name: str) -> Fields:
    rows = [{"repository": name, **row} for row in answer["references"]]
    return {**answer, "symbol": {**answer["symbol"], "repository": name}, "references": rows}


_MERGERS: Mapping[str, Callable[[Parts, Mapping[str, Any]], Fields]] = {
    "search_code": _search, "context_search": _context, "find_symbol": _symbols, "grep_codebase": _grep,
    "find_references": _references,
}  # fmt: skip


def _spell(tool: str, value: Fields) -> Fields:
    """The value with each path spelled `org/repo:path`, for reading."""
    if tool == "search_code":
        rows = [{**row, "file": _prefix(row["file"], row["repository"])} for row in value["results"]]
        return {**value, "results": rows}
    if tool == "find_symbol":
        return {**value, "symbols": [_prefix(row, row["repository"]) for row in value["symbols"]]}
    if tool == "grep_codebase":
        return {**value, "matches": [_prefix(row, row["repository"], "file") for row in value["matches"]]}
    spelled = _spell_references(value)
    others = [_spell_references(each) for each in value.get("candidates") or ()]
    return {**spelled, **({"candidates": others} if others else {})}


def _spell_references(value: Fields) -> Fields:
    rows = [_prefix(row, row["repository"]) for row in value["references"]]
    return {**value, "symbol": _prefix(value["symbol"], value["symbol"]["repository"]), "references": rows}


def _prefix(row: Fields, repository: str, name: str = "path") -> Fields:
    return {**row, name: f"{repository}:{row[name]}"}
