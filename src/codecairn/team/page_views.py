"""The pages that only a team server has: all repositories, a search over them, the server, the state of one."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from codecairn.errors import ProjectNotFound
from codecairn.page.asking import PageAnswer, PageRequest
from codecairn.page.highlight import mark_query
from codecairn.page.search import arguments, result_row, search_values
from codecairn.team.call_log import CallLog, CallScope, hour_of
from codecairn.team.database import RecordUnavailable
from codecairn.team.page_requests import TeamPageRequest, repository_address
from codecairn.team.repositories import TeamRepository

_MOST_LISTED = 300
_MOST_RESULTS = 20
_MOST_CALLS = 60
_FILTERS = ("kind", "lang", "path", "mode", "repositories")


def team_request(asked: PageRequest) -> TeamPageRequest:
    assert isinstance(asked, TeamPageRequest)
    return asked


def home(given: PageRequest) -> PageAnswer:
    """All repositories that a caller may read, or a search over them."""
    asked = team_request(given)
    query = asked.text("q").strip()
    filters = {name: asked.text(name) for name in _FILTERS}
    values = {**search_values(asked), "filters": filters, "is_everywhere": True}
    if not query:
        return PageAnswer("team_home.html", {**values, **_chooser(asked)}, part="part_repositories.html")
    found = _search(asked, query, _pattern(filters["repositories"]))
    mark = mark_query(query)
    rows = [_result(asked, query, each, mark) for each in found["results"]]
    statistics = found["statistics"]
    results = {"results": rows, "total": statistics["total_results"], "took": statistics["search_duration_ms"]}
    shown = {**values, **results, "metadata": found["metadata"], "next": ""}
    return PageAnswer("search.html", shown, part="part_results.html")


def _pattern(given: str) -> str:
    """The repositories that a person means: all, those of a pattern, or those whose names have a text in them."""
    text = given.strip()
    return text if "*" in text else f"**{text}**" if text else "**"


def _search(asked: TeamPageRequest, query: str, repositories: str) -> dict[str, Any]:
    given = {name: value for name, value in arguments(asked).items() if name != "ref"}
    try:
        return asked.tool("search_code", query=query, limit=_MOST_RESULTS, repositories=repositories, **given)
    except ProjectNotFound as error:
        remedy = "Leave the field empty for all, or give a pattern such as org/* of repositories that you may read."
        raise ProjectNotFound(error.message, remedy=remedy) from error


def _result(asked: TeamPageRequest, query: str, each: dict[str, Any], mark: Any) -> dict[str, Any]:
    """A row whose addresses are those of its own repository."""
    repository = asked.answers.directory.state.find(asked.caller, each["repository"])
    return {
        **result_row(replace(asked, repository=repository), query, each, mark),
        "repository_page": f"{repository_address(repository.name)}/",
    }


def _chooser(asked: TeamPageRequest) -> dict[str, Any]:
    found = asked.tool("list_repositories", glob=_pattern(asked.text("repositories")))["repositories"]
    rows = [{**each, "page": f"{repository_address(each['repository'])}/"} for each in found[:_MOST_LISTED]]
    return {"rows": rows, "listed": len(found), "most": _MOST_LISTED}


def server(given: PageRequest) -> PageAnswer:
    """What this token may see of the server: its repositories, its calls; for administrators those of all."""
    asked = team_request(given)
    state = asked.answers.directory.state
    readable = state.readable(asked.caller)
    values = {
        "title": "Server", "me": asked.caller, "is_admin": asked.caller.role == "admin",
        "repositories": [_standing(asked, each) for each in readable[:_MOST_LISTED]], "listed": len(readable),
        "nodes": _nodes(asked), "silent_s": asked.answers.directory.silent_s,
        "is_silent": asked.answers.directory.is_silent, "repository": "", **call_values(asked),
    }  # fmt: skip
    return PageAnswer("team_server.html", values)


def _standing(asked: TeamPageRequest, each: TeamRepository) -> dict[str, Any]:
    """How a repository stands; why it fails is for those who may mend it."""
    state = asked.answers.directory.state
    ready = state.replicas.get(each.id, {})
    fresh = sum(1 for node, generation in ready.items() if node in state.nodes and generation == each.generation)
    return {
        "name": each.name, "page": f"{repository_address(each.name)}/server", "branch": each.default_branch,
        "state": each.state, "reason": each.reason if asked.caller.role == "admin" else "", "fresh": fresh,
        "owners": len(state.owners(each)),
    }  # fmt: skip


def _nodes(asked: TeamPageRequest) -> list[dict[str, Any]]:
    """Names and addresses of machines are for administrators."""
    if asked.caller.role != "admin":
        return []
    state = asked.answers.directory.state
    held = [node for replicas in state.replicas.values() for node in replicas]
    return [{"id": each.id, "url": each.url, "replicas": held.count(each.id)} for each in state.nodes.values()]


def call_values(asked: TeamPageRequest) -> dict[str, Any]:
    """Calls, plots and errors of the last hour; the page goes on without them while the record is silent."""
    every = asked.text("all") == "1"
    values = {
        "every": every, "every_page": asked.link("/server", all="" if every else "1"), "now": time.time(),
        **latest_calls(asked),
    }  # fmt: skip
    scope, log = _scope(asked), CallLog(asked.answers.database)
    try:
        minutes = log.minutes(scope)
        return {**values, "minutes": minutes, "hour": hour_of(minutes), "errors": log.errors(scope)}
    except RecordUnavailable:
        return {**values, "minutes": [], "hour": hour_of([]), "errors": []}


def latest_calls(asked: TeamPageRequest) -> dict[str, Any]:
    scope, with_pages = _scope(asked), asked.text("all") == "1"
    try:
        calls = CallLog(asked.answers.database).latest(scope, _MOST_CALLS, with_pages=with_pages)
    except RecordUnavailable as error:
        asked.failures.append(error)
        calls = []
    return {"calls": calls, "is_admin": scope.is_admin}


def _scope(asked: TeamPageRequest) -> CallScope:
    readable = [each.name for each in asked.answers.directory.state.readable(asked.caller)]
    return CallScope(asked.caller, readable, asked.repository_name)


def repository_state(given: PageRequest) -> PageAnswer:
    """How one repository stands: its index, its refs, the calls about it."""
    asked = team_request(given)
    assert asked.repository is not None
    refs = asked.try_tool("list_refs")
    values = {
        "title": asked.repository.name, "status": asked.try_tool("get_status"), "refs": refs["refs"] if refs else [],
        "standing": _standing(asked, asked.repository), "health": asked.try_tool("health_check"),
        "repository": asked.repository.name, **call_values(asked),
    }  # fmt: skip
    return PageAnswer("team_state.html", values)
