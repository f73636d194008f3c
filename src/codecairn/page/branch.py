"""The page of a branch: what it changed by symbol, before and after, who calls that, and what was remembered of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from codecairn.page.asking import PageAnswer, PageRequest
from codecairn.page.side_by_side import rows_of
from codecairn.tools.inquiry import glance
from codecairn.tools.memory import discoveries_on

_LIVE = "live"
_ORDER = {"added": 0, "modified": 1, "deleted": 2}


def branch(asked: PageRequest) -> PageAnswer:
    base, head = asked.text("base").strip(), asked.text("head").strip() or _LIVE
    refs = asked.try_tool("list_refs")
    known = [each["ref"] for each in refs["refs"]] if refs else []
    values = {"title": f"{head} against {base or 'the default branch'}", "base": base, "head": head, "known": known}
    found = asked.try_tool(
        "diff_context", base_ref=base, head_ref=head, path_filter=asked.text("path"), include_hunks=True,
        cursor=asked.text("cursor"),
    )  # fmt: skip
    if found is None:
        return PageAnswer("branch.html", {**values, "diff": None}, 400)
    changes = [_change(asked, each, head, base) for each in found["changes"]]
    here = {"base": base, "head": head, "path": asked.text("path"), "ref": ""}
    return PageAnswer("branch.html", {
        **values, "diff": found, "changes": changes, "files": _files(found, changes),
        "counts": Counter(each["change_type"] for each in changes), "path": asked.text("path"),
        "drifting": _find_drift(asked, found, head),
        "next": asked.link("/branch", **here, cursor=found["next_cursor"]) if found["next_cursor"] else "",
    })  # fmt: skip


def _change(asked: PageRequest, each: dict[str, Any], head: str, base: str) -> dict[str, Any]:
    record = each["after"] or each["before"]
    ref = "" if head == _LIVE else head
    if not each["after"]:
        ref = base
    at = {"path": record["path"], "line": record["line_start"], "ref": ref}
    remarks = [said for said, holds in (
        ("signature changed", each.get("signature_changed")), ("body changed", each.get("body_changed")),
        ("layout or comments only", each.get("whitespace_or_comments_only")),
        ("only its members", each.get("only_members")),
    ) if holds]  # fmt: skip
    # The members are shown by themselves, with the same lines.
    rows = [] if each.get("only_members") else rows_of(each.get("hunk") or [])
    return {
        **each, "record": record, "remarks": remarks, "rows": rows,
        "page": asked.link("/symbol", name=record["qualified_name"], **at),
        "caller_pages": [(name, asked.link("/symbol", name=name, ref=ref)) for name in each.get("callers") or []],
        "calls": each.get("callers_at_head") if each["after"] else each.get("callers_at_base"),
    }  # fmt: skip


def _files(found: dict[str, Any], changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The changed files, each with its changed symbols."""
    by_path: dict[str, list[dict[str, Any]]] = {}
    for each in changes:
        by_path.setdefault(each["path"], []).append(each)
    listed = {each["path"]: each for each in found["file_changes"]}
    paths = sorted({*listed, *by_path})
    return [
        {**listed.get(path, {"path": path, "change_type": "modified"}), "changes": sorted(
            by_path.get(path, []), key=lambda each: (_ORDER.get(each["change_type"], 3), each["record"]["line_start"])
        )}
        for path in paths
    ]  # fmt: skip


def _find_drift(asked: PageRequest, found: dict[str, Any], head: str) -> list[dict[str, Any]]:
    """What is remembered of the changed files and no longer stands as it was."""
    paths = {each[key] for each in found["file_changes"] for key in ("path", "old_path") if each.get(key)}
    inquiry = glance(asked.call, asked.project, None if head == _LIVE else head)
    rows: list[dict[str, Any]] = msgspec.to_builtins(discoveries_on(inquiry, paths))
    return [each for each in rows if each["status"] != "fresh"]
