"""The page of a team's rules: the catalogue, whether it is as it was signed off, its gates and its use."""

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
        "problems": health.get("problems", []) if health else [],
    }  # fmt: skip
    return PageAnswer("rules.html", values)
