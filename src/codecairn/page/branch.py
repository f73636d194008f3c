"""The page of a branch: what it changed by symbol, before and after, who calls that, and what was remembered of it."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import quote

from codecairn.page.asking import PageAnswer, PageRequest
from codecairn.page.broken_anchors import find_killed
from codecairn.page.memory import with_places
from codecairn.page.rules import commit_page
from codecairn.page.side_by_side import rows_of

_LIVE = "live"
_ORDER = {"added": 0, "modified": 1, "deleted": 2}


def branch(asked: PageRequest) -> PageAnswer:
    base, head = _ends(asked)
    refs = asked.try_tool("list_refs")
    known = [each["ref"] for each in refs["refs"]] if refs else []
    values = {
        "title": f"{head} against {base or 'the default branch'}",
        "base": base,
        "head": head,
        "known": known,
        "commits": [],
    }
    if not base and not head:
        return PageAnswer(
            "branch.html",
            {**values, "title": "Changes", "path": asked.text("path"), "diff": None, "commits": _latest(asked)},
        )
    found = asked.try_tool(
        "diff_context", base_ref=base, head_ref=head, path_filter=asked.text("path"), include_hunks=True,
        cursor=asked.text("cursor"),
    )  # fmt: skip
    if found is None:
        return PageAnswer("branch.html", {**values, "diff": None}, 400)
    changes = [_change(asked, each, head, base or found["base_ref"]) for each in found["changes"]]
    here = {"base": base, "head": head, "path": asked.text("path"), "ref": ""}
    return PageAnswer("branch.html", {
        **values, "diff": found, "changes": changes, **_files(found, changes),
        "counts": Counter(each["change_type"] for each in changes), "path": asked.text("path"),
        "drifting": _find_drift(asked, found, head), "killed": find_killed(asked, found), **_find_rules(asked, found),
        "next": asked.link("/branch", **here, cursor=found["next_cursor"]) if found["next_cursor"] else "",
    })  # fmt: skip


def _ends(asked: PageRequest) -> tuple[str, str]:
    """From where to where; of its own accord the working tree against the default branch, if there is one."""
    base, head = asked.text("base").strip(), asked.text("head").strip()
    if asked.has_working_tree:
        return base, head or _LIVE
    return base, head or ("HEAD" if base else "")


def _latest(asked: PageRequest) -> list[dict[str, Any]]:
    """The latest commits, of a file where one is named, for whoever has not said yet what to compare."""
    found = asked.try_tool("git_log", maxCount=20, filePath=asked.text("path"), format="json")
    return [{**each, "page": commit_page(asked, each["hash"])} for each in found["commits"]] if found else []


def _change(asked: PageRequest, each: dict[str, Any], head: str, base: str) -> dict[str, Any]:
    record = each["after"] or each["before"]
    ref = base if not each["after"] else "" if head == _LIVE else head
    remarks = [said for said, holds in (
        ("signature changed", each.get("signature_changed")), ("body changed", each.get("body_changed")),
        ("layout or comments only", each.get("whitespace_or_comments_only")),
        ("only its members", each.get("only_members")),
    ) if holds]  # fmt: skip
    # The members are shown by themselves, with the same lines.
    rows = [] if each.get("only_members") else rows_of(each.get("hunk") or [])
    return {
        **each, "record": record, "remarks": remarks, "rows": rows,
        "page": _page_at(asked, record, ref), "page_before": _page_at(asked, each["before"] or record, base),
        "caller_pages": [(name, asked.link("/symbol", name=name, ref=ref)) for name in each.get("callers") or []],
        "calls": each.get("callers_at_head") if each["after"] else each.get("callers_at_base"),
    }  # fmt: skip


def _page_at(asked: PageRequest, record: dict[str, Any], ref: str) -> str:
    place = {"path": record["path"], "line": record["line_start"], "ref": ref}
    return asked.link("/symbol", name=record["qualified_name"], **place)


def _files(found: dict[str, Any], changes: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The changed files with their changed symbols, and those in which none changed, which are no review's start."""
    by_path: dict[str, list[dict[str, Any]]] = {}
    for each in changes:
        by_path.setdefault(each["path"], []).append(each)
    listed = {each["path"]: each for each in found["file_changes"]}
    paths = sorted({*listed, *by_path})
    rows = [
        {**listed.get(path, {"path": path, "change_type": "modified"}), "changes": sorted(
            by_path.get(path, []), key=lambda each: (_ORDER.get(each["change_type"], 3), each["record"]["line_start"])
        )}
        for path in paths
    ]  # fmt: skip
    return {"files": [row for row in rows if row["changes"]], "silent": [row for row in rows if not row["changes"]]}


def _find_drift(asked: PageRequest, found: dict[str, Any], head: str) -> list[dict[str, Any]]:
    """What is remembered of the changed files and no longer stands as it was."""
    paths = {each[key] for each in found["file_changes"] for key in ("path", "old_path") if each.get(key)}
    rows: list[dict[str, Any]] = asked.fact("discoveries_on", paths=sorted(paths), ref=None if head == _LIVE else head)
    return with_places(asked, [each for each in rows if each["status"] != "fresh"])


def _find_rules(asked: PageRequest, found: dict[str, Any]) -> dict[str, Any]:
    """The rules that hold for the changed files, as the tool names them."""
    told = found.get("rules") or {"items": []}
    rows = [{**each, "page": f"{asked.at('/rules')}#{quote(each['id'])}"} for each in told["items"]]
    return {"rules": rows, "more_rules": told.get("more", 0)}
