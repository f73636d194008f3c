"""What views ask beside the tools: discoveries as a list, and the state of what rules name.

Each is a function of a call and its project, with plain values in and out, so that a team server can ask the node that
has the repository. They are made of the functions that the tools and commands use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from codecairn.catalog.usage import read_usage
from codecairn.errors import InvalidInput
from codecairn.project import Project
from codecairn.tools import Call
from codecairn.tools.inquiry import glance
from codecairn.tools.memory import discoveries_on, list_discoveries

Fact = Callable[[Call, Project, Mapping[str, Any]], Any]


def find_fact(call: Call, project: Project, name: str, arguments: Mapping[str, Any]) -> Any:
    if name not in _FACTS:
        raise InvalidInput("There is no such fact", param="name")
    return msgspec.to_builtins(_FACTS[name](call, project, arguments))


def facts_json(call: Call, project: Project, name: str, arguments: Mapping[str, Any]) -> str:
    """A fact as text, for a node that asks another."""
    return msgspec.json.encode(find_fact(call, project, name, arguments)).decode()


def _discoveries(call: Call, project: Project, arguments: Mapping[str, Any]) -> Any:
    """Every discovery of the served project, whichever is looked at, as `remember` and `forget` are about it."""
    del project, arguments
    return list_discoveries(call.project)


def _discoveries_on(call: Call, project: Project, arguments: Mapping[str, Any]) -> Any:
    return discoveries_on(glance(call, project, arguments.get("ref")), arguments["paths"])


def _rules_check(call: Call, project: Project, arguments: Mapping[str, Any]) -> Any:
    """All that a check of the rules finds, as `cairn instructions check` says it."""
    from codecairn.anchors.check import Repository  # noqa: PLC0415 - 20 ms that few pages need
    from codecairn.anchors.findings import check_rules  # noqa: PLC0415 - as above

    del arguments
    repository = Repository(project.root, project.git, project.guard, call.cancel)
    shown = read_usage(lambda: project.memory).shown
    checked = check_rules(repository, project.catalog, project.criteria, shown)
    doubts = [each for each in checked.findings if not each.rule.startswith("anchor")]
    return {"anchors": checked.report.faults, "counts": checked.report.counts, "findings": doubts}


def _named_by_rules(call: Call, project: Project, arguments: Mapping[str, Any]) -> Any:
    """Every path and name of code that a rule speaks of, without a verdict."""
    from codecairn.anchors.check import Repository, rule_texts  # noqa: PLC0415 - as above
    from codecairn.anchors.entry_texts import entry_texts  # noqa: PLC0415 - as above
    from codecairn.anchors.extract import read_anchors  # noqa: PLC0415 - as above

    del arguments
    repository = Repository(project.root, project.git, project.guard, call.cancel)
    catalog = project.catalog.current_or_empty()
    texts = [*rule_texts(repository, repository.paths()[0]), *entry_texts(repository, catalog)]
    return [
        {"file": text.file, "line": text.line_of(each), "kind": each.kind, "anchor": each.text}
        for text in texts
        for each in read_anchors(text.text).anchors
        if each.kind != "command"
    ]


_FACTS: Mapping[str, Fact] = {
    "discoveries": _discoveries, "discoveries_on": _discoveries_on, "rules_check": _rules_check,
    "named_by_rules": _named_by_rules,
}  # fmt: skip
