"""The first answers in a fresh clone: given by the team server, until the index that it sends is in use here.

Only a question about the working tree is passed on, and only where HEAD is a commit that the team server has published:
the answer is then the one that this machine would give, but for changes that are not committed, and it says so.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from codecairn.errors import CairnError
from codecairn.project import Project
from codecairn.team_client import TeamClient
from codecairn.team_wire import ANSWER_PATH, ASKED_OF_TEAM, RemoteAnswer, RemoteQuestion
from codecairn.tools import Call, Tool

log = logging.getLogger("codecairn.call")

_PATIENCE_S = 5.0


def ask_team(tool: Tool, call: Call, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The value of a call, from the team server; None where it is to be answered here."""
    if tool.name not in ASKED_OF_TEAM or call.door == "cli" or given.get("ref") or given.get("cursor"):
        return None
    project = call.project_in(given, tool.root_param)
    if project.team is None or not _is_new(project) or call.ref_for(project, None) is not None:
        return None
    try:
        answer = _ask(project, project.team, tool, call, given)
    except (CairnError, msgspec.MsgspecError) as error:
        log.info("the team server gave no first answer: %s", error)
        return None
    return _label(answer, project, call) if answer is not None else None


def _is_new(project: Project) -> bool:
    """Whether the working tree is being indexed and never was to the end."""
    layer = project.index.checkout()
    return (layer is None or not layer.complete) and project.index.failure is None


def _ask(project: Project, team: TeamClient, tool: Tool, call: Call, given: Mapping[str, Any]) -> RemoteAnswer | None:
    head = project.index.source.head(call.cancel)
    if not head or not team.remote or project.index.source.prefix(call.cancel):
        return None
    roots = ("workspace", tool.root_param)
    arguments = {name: msgspec.to_builtins(each) for name, each in given.items() if name not in roots}
    told = {name: each for name, each in arguments.items() if each is not None}
    asked = RemoteQuestion(remote=team.remote, head=head, tool=tool.name, arguments=told)
    body = team.post(ANSWER_PATH, msgspec.json.encode(asked), read_s=_PATIENCE_S)
    return msgspec.json.decode(body, type=RemoteAnswer)


def _label(answer: RemoteAnswer, project: Project, call: Call) -> dict[str, Any]:
    """The value as an answer of this machine, with where it comes from. Its pages are the team server's to cut."""
    note = (
        f"Answered by the team server from {answer.repository} at {answer.commit[:12]}: this clone is being indexed, "
        "and changes that are not committed are not in it yet."
    )
    said = answer.value.get("metadata", {})
    metadata = {
        **said, "freshness_status": "syncing", "indexing_status": "indexing",
        "ref": project.index.source.ref(call.cancel), "warnings": [note, *said.get("warnings", [])],
    }  # fmt: skip
    paged = {"next_cursor": None} if "next_cursor" in answer.value else {}
    return {**answer.value, **paged, "metadata": metadata}
