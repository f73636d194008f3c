"""The page of a team's rules: the catalogue, whether it is as it was signed off, its gates, its use, dead anchors."""

from __future__ import annotations

from typing import Any

from codecairn.page.asking import PageAnswer, PageRequest


def rules(asked: PageRequest) -> PageAnswer:
    query = asked.text("q").strip()
    listed = asked.tool("instructions_search", q=query) if query else asked.tool("instructions_list")
    integrity = asked.try_tool("integrity_verify")
    gates = asked.try_tool("gates_evaluate")
    tampered = {each["id"] for each in integrity["issues"]} if integrity else set()
    every = sorted({name for each in listed["items"] for name in each["categories"]})
    category = asked.text("category")
    items = [each for each in listed["items"] if not category or category in each["categories"]]
    health = asked.try_tool("health_check")
    values: dict[str, Any] = {
        "title": "Rules", "q": asked.text("q"), "items": items, "hash": listed["hash"], "categories": every,
        "category": category, "tampered": tampered, "integrity": integrity, "gates": gates,
        "hot": (asked.try_tool("usage_hotset", limit=10) or {}).get("items", []),
        "problems": health.get("problems", []) if health else [], **_rule_check(asked),
    }  # fmt: skip
    return PageAnswer("rules.html", values)


def _rule_check(asked: PageRequest) -> dict[str, Any]:
    """What rules name and is not there any more, and whatever else a check of them finds."""
    found = asked.try_fact("rules_check")
    if found is None:
        return {"dead": [], "anchors": {}, "doubts": []}
    dead = [
        {
            **each, "page": asked.file_link(each["file"], each["line"]),
            "commit": commit_page(asked, each["since"]) if each.get("since") else "",
        }
        for each in found["anchors"]
    ]  # fmt: skip
    return {"dead": dead, "anchors": found["counts"], "doubts": found["findings"]}


def commit_page(asked: PageRequest, commit: str) -> str:
    return asked.link("/branch", base=f"{commit}^", head=commit, ref="")
