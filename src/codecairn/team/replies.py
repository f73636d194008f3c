"""What a team server says in its own name: refusals, repositories that are not ready, and names instead of folders."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from codecairn.errors import CairnError, InvalidInput, NotFound
from codecairn.team.peers import ReplicaAbsent
from codecairn.team.repositories import TeamRepository
from codecairn.tools import Answers, Tool
from codecairn.tools.families import FAMILIES, ToolReply, reading_error


def refusal(tool: Tool, answers: Answers, error: CairnError) -> ToolReply:
    """An error in the envelope of the tool's family."""
    reply = FAMILIES[tool.family].failure(error, tool.name, None)
    return reply if answers == "json" else reading_error(reply)


def not_ready(repository: TeamRepository) -> ReplicaAbsent:
    """No node can answer for it at this moment, and why."""
    name = repository.name
    if repository.state == "quarantined":
        return ReplicaAbsent(f"{name} is quarantined", remedy="An administrator adds it anew, once it can be indexed.")
    if repository.generation == 0:
        return ReplicaAbsent(f"{name} was added and is not indexed yet")
    return ReplicaAbsent(f"{name} is on its way to another node")


def is_absence(error: CairnError) -> bool:
    """Whether a repository simply has no such thing."""
    return isinstance(error, NotFound)


def rename_root(reply: ToolReply, root: str, name: str) -> ToolReply:
    """The folder of the replica is nothing to callers: they read the repository's name in its place."""
    if reply.error is not None:
        reply.error.message = reply.error.message.replace(root, name)
        reply.error.remedy = reply.error.remedy.replace(root, name)
        reply.error.data = _with_name(reply.error.data, root, name)
    if root not in reply.text and msgspec.json.encode(root)[1:-1] not in msgspec.json.encode(reply.value):
        return reply  # as nearly always
    text = reply.text.replace(root, name)
    value = _with_name(reply.value, root, name)
    return replace(reply, text=text, value=value, cut=lambda: _with_name(reply.structured, root, name))


def _with_name(value: Any, root: str, name: str) -> Any:
    if isinstance(value, str):
        return value.replace(root, name) if root in value else value
    if isinstance(value, dict):
        return {key: _with_name(each, root, name) for key, each in value.items()}
    return [_with_name(each, root, name) for each in value] if isinstance(value, list) else value


def project_in(tool: Tool, given: dict[str, Any]) -> str | None:
    """Take the repository's name out of the arguments: `project`, or the parameter that names a root elsewhere."""
    named = [given.pop(name) for name in ("project", "workspace", *_root(tool)) if name in given]
    found = next((each for each in named if each is not None), None)
    if found is not None and not isinstance(found, str):
        raise InvalidInput("project: expected a text", param="project", reason="expected a text")
    return found


def _root(tool: Tool) -> list[str]:
    return [tool.root_param] if tool.family == "index" else []
