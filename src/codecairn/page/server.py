"""The page of the server itself: projects, index, branches, calls, and the two verbs that rebuild and prune."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

import msgspec

from codecairn.cancel import Cancel
from codecairn.config import KEPT_DAYS
from codecairn.errors import CairnError, InvalidInput
from codecairn.index.ref_pruning import prune
from codecairn.index.status import index_status
from codecairn.journal import CallJournal, CallRecord
from codecairn.page.addresses import address
from codecairn.page.asking import PageAnswer, PageRequest, Redirect
from codecairn.tools import Call
from codecairn.tools.index import get_status

_MOST_CALLS = 60
VERBS = {"rebuild": "Rebuild the index", "prune": "Prune branches"}


def server(asked: PageRequest) -> PageAnswer:
    every = asked.text("all") == "1"
    metrics = asked.try_tool("metrics_snapshot")
    values = {
        "title": "Server", "projects": _projects(asked), "refs": _refs(asked), "overlays": _overlays(asked),
        "metrics": metrics, "errors": _errors(metrics), "every": every,
        "is_one_of_several": journal_of(asked.call).is_one_of_several,
        "every_page": asked.link("/server", all="" if every else "1"),
        "health": asked.try_tool("health_check"), **status_values(asked), **traffic_values(asked, every=every),
    }  # fmt: skip
    return PageAnswer("server.html", values)


def status_values(asked: PageRequest) -> dict[str, Any]:
    """How the index stands, from the tool's own function: a look every second is no call to be counted."""
    project = asked.text("project")
    found: dict[str, Any] = msgspec.to_builtins(get_status(asked.call, workspace=project or None))
    return {"status": found}


def traffic_values(asked: PageRequest, *, every: bool = False) -> dict[str, Any]:
    journal = journal_of(asked.call)
    calls = [each for each in journal.since(0) if every or each.door != "page"]
    minutes = journal.minutes()
    return {
        "calls": calls[: -_MOST_CALLS - 1 : -1], "minutes": minutes, "now": time.time(), "last": journal.last,
        "hour": {"calls": sum(each.calls for each in minutes), "errors": sum(each.errors for each in minutes)},
    }  # fmt: skip


def new_calls(call: Call, after: int) -> list[CallRecord]:
    return [each for each in journal_of(call).since(after) if each.door != "page"]


def journal_of(call: Call) -> CallJournal:
    assert call.registry.journal is not None
    return call.registry.journal


def _errors(metrics: dict[str, Any] | None) -> list[tuple[str, int]]:
    kinds: Counter[str] = Counter()
    for each in metrics["methods"] if metrics else []:
        kinds.update(each["errors"])
    return kinds.most_common()


def _projects(asked: PageRequest) -> list[dict[str, Any]]:
    """The projects this server was given, each with how its index stands."""
    projects = asked.call.projects
    roots = projects.settings.roots or (projects.current().root,)
    return [_project(asked, str(root)) for root in roots]


def _project(asked: PageRequest, root: str) -> dict[str, Any]:
    row: dict[str, Any] = {"root": root, "page": address("/server", project=root), "problem": "", "status": None}
    try:
        found = asked.call.projects.project_at(root, param="project")
        return {**row, "name": found.name, "status": index_status(found.index, asked.call.cancel).metadata()}
    except CairnError as error:
        return {**row, "name": root, "problem": error.message}


def _refs(asked: PageRequest) -> list[dict[str, Any]]:
    found = asked.try_tool("list_refs")
    return found["refs"] if found else []


def _overlays(asked: PageRequest) -> dict[str, dict[str, Any]]:
    """Every indexed ref but the default branch, with its cost: the files it does not share."""
    try:
        found = prune(asked.project.index, 0, Cancel(), dry_run=True)
    except CairnError as error:
        asked.failures.append(error)
        return {}
    return {each.ref: msgspec.to_builtins(each) for each in (*found.dropped, *found.kept)}


def confirm(asked: PageRequest) -> PageAnswer:
    """What a verb would do, before it is done."""
    verb = asked.text("verb")
    if verb not in VERBS:
        raise InvalidInput("There is no such action", param="verb", reason="rebuild or prune")
    would = prune(asked.project.index, _days(asked), Cancel(), dry_run=True) if verb == "prune" else None
    values = {"title": VERBS[verb], "verb": verb, "would": would, "days": _days(asked), **status_values(asked)}
    return PageAnswer("server_confirm.html", values)


def _days(asked: PageRequest) -> float:
    return float(asked.number("days") or KEPT_DAYS)


def rebuild(asked: PageRequest) -> Redirect:
    """Begin to read every file anew; the page shows how far that is."""
    if asked.project.index.activity is not None:
        return Redirect(asked.link("/server"), "The index is being made already.")
    run = threading.Thread(
        target=asked.try_tool,
        args=("index_codebase",),
        kwargs={"force_reindex": True},
        name="cairn-rebuild",
        daemon=True,
    )
    run.start()
    return Redirect(asked.link("/server"), "Rebuilding: every file is read anew.")


def prune_refs(asked: PageRequest) -> Redirect:
    found = prune(asked.project.index, _days(asked), asked.call.cancel)
    dropped = ", ".join(each.ref for each in found.dropped) or "none was idle for so long"
    return Redirect(asked.link("/server"), f"{len(found.dropped)} dropped ({dropped}), {len(found.kept)} kept.")
