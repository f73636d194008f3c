"""What rules name and a change takes away: paths that are deleted or renamed, names of code that are gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codecairn.page.asking import PageRequest


def find_killed(asked: PageRequest, found: dict[str, Any]) -> list[dict[str, Any]]:
    """The anchors of rules that are alive before a change, as far as its page shows it, and not after."""
    paths, names = dict(_gone_paths(found)), dict(_gone_names(found))
    if not paths and not names:
        return []
    named = asked.try_fact("named_by_rules") or []
    killed = [{**each, "gone": gone} for each in named if (gone := _fate(each, paths, names))]
    return [{**each, "page": asked.file_link(each["file"], each["line"])} for each in killed]


def _gone_paths(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for each in found["file_changes"]:
        if each["change_type"] == "deleted":
            yield each["path"], "is deleted"
        if each.get("old_path"):
            yield each["old_path"], f"is {each['path']} now"


def _gone_names(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names that the change removes, and defines nowhere again."""
    defined = {each["after"]["qualified_name"].rpartition(".")[2] for each in found["changes"] if each["after"]}
    for each in found["changes"]:
        name = each.get("renamed_from") or (each["symbol"] if each["change_type"] == "deleted" else "")
        if name and name not in defined:
            yield name, f"is {each['symbol']} now" if each.get("renamed_from") else f"is deleted from {each['path']}"


def _fate(named: dict[str, Any], paths: dict[str, str], names: dict[str, str]) -> str:
    text = named["anchor"].strip("./").removesuffix("()")
    if named["kind"] == "symbol":
        return names.get(text.replace("::", ".").replace("#", ".").rpartition(".")[2], "")
    return next((said for path, said in paths.items() if path == text or path.endswith(f"/{text}")), "")
