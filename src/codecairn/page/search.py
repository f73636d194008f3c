"""The search page: a question, filters, results with their code, and why each stands where it stands."""

from __future__ import annotations

from typing import Any, get_args

from codecairn.file_roles import is_test
from codecairn.page.asking import PageAnswer, PageRequest
from codecairn.page.highlight import Mark, code_lines, mark_query
from codecairn.parse.language import languages
from codecairn.tools.search import SymbolKind

_FILTERS = ("kind", "lang", "path", "mode", "ref")
_MOST_SHOWN = 16
"""Lines of a result; the rest is behind its name."""
_KINDS = get_args(SymbolKind)
MODES = {"": "words and meaning", "keyword": "words", "vector": "meaning"}


def search(asked: PageRequest) -> PageAnswer:
    query, values = asked.text("q").strip(), {**search_values(asked), "filters": _filters(asked)}
    if not query:
        return PageAnswer("home.html", {**values, **_overview(asked)}, part="part_home.html")
    return PageAnswer("search.html", {**values, **_results(asked, query)}, part="part_results.html")


def search_values(asked: PageRequest) -> dict[str, Any]:
    """What the box and its filters show."""
    query = asked.text("q")
    return {
        "title": query.strip() or "Search", "q": query, "kinds": _KINDS, "modes": MODES,
        "languages": sorted(languages()),
    }  # fmt: skip


def arguments(asked: PageRequest) -> dict[str, Any]:
    """The arguments that a search and its explanation share."""
    kind = asked.text("kind")
    return {
        "language": asked.text("lang"), "path_filter": asked.text("path"), "ref": asked.text("ref"),
        "search_mode": asked.text("mode"), "filters": {"symbol_types": [kind]} if kind else None,
    }  # fmt: skip


def _overview(asked: PageRequest) -> dict[str, Any]:
    return {"status": asked.try_tool("get_status"), "commits": asked.try_tool("git_log", maxCount=6)}


def _results(asked: PageRequest, query: str) -> dict[str, Any]:
    found = asked.tool("search_code", query=query, limit=10, cursor=asked.text("cursor"), **arguments(asked))
    mark, cursor = mark_query(query), found["next_cursor"]
    return {
        "results": [result_row(asked, query, each, mark) for each in found["results"]],
        "total": found["statistics"]["total_results"], "took": found["statistics"]["search_duration_ms"],
        "metadata": found["metadata"],
        "next": asked.link("/", q=query, cursor=cursor, **_filters(asked)) if cursor else "",
    }  # fmt: skip


def _filters(asked: PageRequest) -> dict[str, str]:
    return {name: asked.text(name) for name in _FILTERS}


def result_row(asked: PageRequest, query: str, each: dict[str, Any], mark: Mark) -> dict[str, Any]:
    file, symbol, first = each["file"], each["symbol"], each["content_start_line"]
    text = "\n".join(each["content"].split("\n")[:_MOST_SHOWN])
    lines = code_lines(text, file["language"], first, mark)
    more = each["content"].count("\n") + 1 - _MOST_SHOWN
    at = {"path": file["path"], "line": file["start_line"]}
    page = asked.file_link(file["path"], file["start_line"], end=file["end_line"])
    if symbol:
        page = asked.link("/symbol", name=symbol["qualified_name"], **at)
    return {
        **each, "lines": lines, "more": max(0, more), "is_test": is_test(file["path"]), "page": page,
        "file_page": asked.file_link(file["path"], file["start_line"]),
        "why": asked.link("/why", q=query, at=file["path"], line=file["start_line"], **_filters(asked)),
    }  # fmt: skip


def why(asked: PageRequest) -> PageAnswer:
    """Why a result stands where it stands: every signal, with what it added or took."""
    query = asked.text("q")
    found = asked.tool(
        "explain_ranking", query=query, result_path=asked.text("at"), result_line_start=asked.number("line") or 1,
        **arguments(asked),
    )  # fmt: skip
    scoring = dict(found["scoring"])
    total = scoring.pop("total")
    reasons = found["scoring_details"]
    rows = [
        {"signal": name, "value": value, "reason": reasons.get(f"{name}_reason") or reasons.get(f"{name}_source", "")}
        for name, value in sorted(scoring.items(), key=lambda each: -abs(each[1]))
    ]
    values = {
        "title": f"Why {found['result']['name'] or found['result']['path']}", "q": query, "total": total,
        "result": found["result"], "rows": [each for each in rows if each["value"]],
        "silent": [each for each in rows if not each["value"]],
        "most": max((abs(each["value"]) for each in rows), default=0.0),
        "back": asked.link("/", q=query, **_filters(asked)),
    }  # fmt: skip
    return PageAnswer("why.html", values, part="part_why.html")
