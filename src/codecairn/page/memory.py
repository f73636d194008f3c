"""The pages of what is remembered: listed, searched, added, edited, forgotten and brought back.

They are about the served project whichever is looked at elsewhere, as `remember` and `forget` are.
"""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import quote

from codecairn.errors import ResultNotFound
from codecairn.memory.discoveries import LONGEST, SHORTEST, TYPES
from codecairn.page.asking import PageAnswer, PageRequest, Redirect
from codecairn.page.side_by_side import hunks_at, rows_of

_STATES = ("fresh", "drifted", "orphaned", "unknown")
_CHANGED = ("drifted", "orphaned")
_FIELDS = ("type", "content", "module", "path", "symbol")


def memory(asked: PageRequest) -> PageAnswer:
    found = _all(asked)
    type_, state, query = asked.text("type"), asked.text("state"), asked.text("q").strip()
    shown = _search(asked, query, found) if query else found
    shown = [each for each in shown if type_ in ("", each["type"]) and state in ("", each["status"])]
    values = {
        "title": "Memory", "q": asked.text("q"), "type": type_, "state": state, "types": TYPES, "states": _STATES,
        "rows": [{**each, **_pages(asked, each)} for each in shown], "total": len(found),
        "by_type": Counter(each["type"] for each in found), "by_state": Counter(each["status"] for each in found),
    }  # fmt: skip
    return PageAnswer("memory.html", values)


def _all(asked: PageRequest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = asked.fact("discoveries")
    return found


def _pages(asked: PageRequest, each: dict[str, Any]) -> dict[str, str]:
    about = asked.link("/symbol", name=each["symbol"], path=each["path"]) if each["symbol"] else ""
    if each["path"] and not about:
        about = asked.link("/file", path=each["path"])
    return {
        "about": about, "edit": asked.link("/memory/edit", id=each["id"]),
        "drift": asked.link("/memory/drift", id=each["id"]) if each["status"] in _CHANGED and each["path"] else "",
    }  # fmt: skip


def with_places(asked: PageRequest, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Discoveries as other pages name them, each with its place among all of them."""
    return [{**each, "place": f"{asked.at('/memory')}#{quote(each['id'])}"} for each in rows]


def _search(asked: PageRequest, query: str, known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """In the order in which context_search ranks discoveries, which it does a type at a time."""
    scores = {
        each["id"]: each["score"]
        for type_ in TYPES
        for each in asked.tool("context_search", query=query, type=type_, limit=20, format="json")["results"]
        if each["source"] == "discovery"
    }
    return sorted((each for each in known if each["id"] in scores), key=lambda each: -scores[each["id"]])


def edit(asked: PageRequest) -> PageAnswer:
    """The form, empty for a new discovery or filled with one that is there."""
    identity = asked.text("id")
    if identity:
        row = _one(asked, identity)
        fields = {name: row[name] or "" for name in _FIELDS}
    else:
        fields = {name: asked.text(name) for name in _FIELDS}
        fields["type"] = fields["type"] or "decision"
    values = {
        "title": "Edit" if identity else "Remember", "id": identity, "fields": fields, "types": TYPES,
        "shortest": SHORTEST, "longest": LONGEST,
    }  # fmt: skip
    return PageAnswer("memory_edit.html", values)


def save(asked: PageRequest) -> Redirect:
    """Remember what the form says; one that is edited gives way to what it became."""
    given = {name: asked.text(name).strip() for name in _FIELDS}
    stored = asked.tool("remember", **given)
    before = asked.text("id")
    if before and stored["discovery"]["id"] != before:
        asked.tool("forget", id=before)
        return Redirect(asked.link("/memory"), "Saved. It is bound to the code as it is now.")
    return Redirect(asked.link("/memory"), stored["message"])


def forget(asked: PageRequest) -> Redirect:
    asked.forget(asked.text("id"))
    return Redirect(asked.link("/memory"), "Forgotten.")


def restore(asked: PageRequest) -> Redirect:
    asked.restore(asked.text("id"))
    return Redirect(asked.link("/memory"), "Brought back.")


def drift(asked: PageRequest) -> PageAnswer:
    """The code that a discovery is about, as it was when that was recorded, beside the code as it is."""
    row = _one(asked, asked.text("id"))
    values: dict[str, Any] = {
        "title": "What changed since", "row": {**row, **_pages(asked, row)}, "commit": None, "files": [], "whole": "",
    }  # fmt: skip
    log = asked.try_tool("git_log", filePath=row["path"], until=row["date"], maxCount=1, format="json")
    if not log or not log["commits"]:
        return PageAnswer("memory_drift.html", values)
    commit = log["commits"][0]
    diff = asked.try_tool("git_diff", ref1=commit["hash"], filePath=row["path"], format="json")
    files = diff["files"] if diff else []
    lines = [(each["diff"] or "").split("\n") for each in files]
    meant = [] if asked.text("whole") else [_of_symbol(asked, row, each) for each in lines]
    shown = meant if any(meant) else lines
    rows = [{**each, "rows": rows_of(part)} for each, part in zip(files, shown, strict=True)]
    is_part = sum(map(len, shown)) < sum(map(len, lines))
    whole = asked.link("/memory/drift", id=row["id"], whole=1) if is_part else ""
    return PageAnswer("memory_drift.html", {**values, "commit": commit, "files": rows, "whole": whole})


def _of_symbol(asked: PageRequest, row: dict[str, Any], lines: list[str]) -> list[str]:
    """The hunks that touch the symbol as it stands now; of one that is gone, or of a file, all of them."""
    if not row["symbol"] or row["status"] != "drifted":
        return lines
    found = asked.try_tool("find_symbol", symbol_name=row["symbol"], path=row["path"], limit=1)
    return hunks_at(lines, *(found["symbols"][0][end] for end in ("line_start", "line_end"))) if found else lines


def _one(asked: PageRequest, identity: str) -> dict[str, Any]:
    found = next((each for each in _all(asked) if each["id"] == identity), None)
    if found is None:
        raise ResultNotFound(
            "There is no such discovery", remedy="It may have been forgotten; the list has all there are."
        )
    return found
