"""A repository that a token may not read does not exist: in no answer, error, suggestion, page, list or metric."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from codecairn import tools
from codecairn.team.offered_tools import WRITING
from tests.support.repo import Repo
from tests.support.team import Team, TeamDoor, open_team
from tests.team.conftest import fresh_database

CANARY = "xylophonic"
"""In the name, the paths, the symbols, the texts, the branches, the authors and the memory of what is unreadable."""
OPEN, HIDDEN = "org/open", f"lab/{CANARY}-repo"


def fill(repo: Repo, word: str) -> None:
    repo.git("checkout", "--quiet", "-b", f"{word}-branch")
    repo.commit(
        f"the {word} commit", {f"{word}_more.py": f"class {word.title()}Thing:\n    pass\n"},
        author=(f"{word} author", f"{word}@example.org"),
    )  # fmt: skip
    repo.git("checkout", "--quiet", "main")


@pytest.fixture(scope="module")
def team(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with fresh_database(postgres) as url, open_team(url, tmp_path_factory.mktemp("rights")) as opened:
        for name, word in ((OPEN, "plain"), (HIDDEN, CANARY)):
            files: dict[str, str | bytes] = {
                f"{word}.py": f"def {word}_function(value):\n    return value  # {word} text\n",
                f"{word}_use.py": f"from {word} import {word}_function\n\n{word}_function(1)\n",
                "README.md": f"# {word}\n\nAbout {word}.\n",
            }
            fill(opened.repository(name, files, ("**",)), word)
        opened.work("worker")
        opened.start_node("a")
        opened.await_ready()
        owner = opened.door(opened.token("owner"))
        said = {"type": "rule", "content": f"The {CANARY} rule of the house.", "project": HIDDEN}
        assert not owner.call("remember", said).is_error
        assert CANARY in owner.call("search_code", {"query": CANARY}).text
        yield opened


@pytest.fixture(scope="module")
def reader(team: Team) -> TeamDoor:
    return team.door(team.token("reader", "org/*", role="reader"))


@pytest.fixture(scope="module")
def nobody(team: Team) -> TeamDoor:
    return team.door(team.token("nobody", "other/*", role="reader"))


def some_arguments(tool: tools.Tool, chance: random.Random) -> dict[str, Any]:
    """Arguments of a tool, many of them near the names of what is hidden, none of them its canary."""
    texts = ["plain", "xylophon", "xylo", "function", "plain.py", "lab", "README.md", "**", "main", "live", "rule"]
    given: dict[str, Any] = {}
    for name, form in tool.input_schema["properties"].items():
        if name in ("project", "repositories", "cursor") or chance.random() < 0.5:
            continue
        if "enum" in form:
            given[name] = chance.choice(form["enum"])
        elif form.get("type") == "integer":
            given[name] = chance.randint(1, 5)
        elif form.get("type") == "boolean":
            given[name] = chance.random() < 0.5
        elif form.get("type") == "string":
            given[name] = chance.choice(texts)
    for name in tool.input_schema.get("required", []):
        given.setdefault(name, 1 if tool.input_schema["properties"][name].get("type") == "integer" else "xylophon")
    return given


def projects(chance: random.Random) -> dict[str, Any]:
    near = ["lab/xylophon-repo", "lab/*", "lab/xylophonik-repo", OPEN, "xylophon", "../lab", "**", "", "lab"]
    way = chance.choice(["project", "workspace", "path", "repositories", "none"])
    return {} if way == "none" else {way: chance.choice(near)}


def test_nothing_of_an_unreadable_repository_appears_anywhere(
    team: Team, reader: TeamDoor, nobody: TeamDoor, trials: Callable[[int], int], seeded: random.Random
) -> None:
    offered = list(team.nodes[0].service.registry.tools.values())
    errors = 0
    for _ in range(trials(4_000)):
        tool, door = seeded.choice(offered), seeded.choice([reader, nobody])
        arguments = {**some_arguments(tool, seeded), **projects(seeded)}
        status, said = door.post("/rpc", json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool.name, "arguments": arguments}}
        ))  # fmt: skip
        assert status == 200
        assert CANARY not in said.lower(), (tool.name, arguments)
        errors += '"isError":true' in said or '"error":{' in said
    assert errors > 10


@pytest.mark.parametrize("tool", sorted(tools.standard().tools))
def test_hidden_and_missing_are_the_same_error(reader: TeamDoor, tool: str) -> None:
    """Byte for byte, but for the name that the caller gave."""
    needed = tools.standard().tools[tool].input_schema.get("required", [])
    given = {
        name: 1 if name == "result_line_start" else "decision" if name == "type" else "some text" for name in needed
    }
    if tool == "metrics_snapshot":
        return
    answers = [
        json.dumps(reader.send("tools/call", {"name": tool, "arguments": {**given, "project": name}})).replace(
            name, "N"
        )
        for name in (HIDDEN, "lab/nothing-there")
    ]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("tool", sorted(WRITING))
def test_a_reader_does_not_write(reader: TeamDoor, tool: str) -> None:
    given = {"remember": {"type": "rule", "content": "A rule of the house."}, "forget": {"id": "d-1"}}.get(tool, {})
    answer = reader.call(tool, {**given, "project": OPEN})
    assert answer.is_error
    assert "writer" in json.dumps(answer.value)


def test_pages_prompts_lists_and_metrics_show_what_may_be_read(team: Team, reader: TeamDoor) -> None:
    said = [mcp(reader, method, params) for method, params in (
        ("resources/list", {}), ("resources/templates/list", {}), ("prompts/list", {}), ("tools/list", {}),
        ("resources/read", {"uri": f"context://project/overview?project={OPEN}"}),
        ("resources/read", {"uri": "context://project/overview?project=lab/xylophon-repo"}),
        ("resources/read", {"uri": "context://module/xylophon"}),
        ("prompts/get", {"name": "onboard", "arguments": {"project": "lab/xylophon"}}),
        ("completion/complete", {
            "ref": {"type": "ref/prompt", "name": "onboard"}, "argument": {"name": "project", "value": ""},
        }),
    )]  # fmt: skip
    said += [reader.ask("GET", path, None, {})[1] for path in ("/health", "/metrics")]
    for each in said:
        assert CANARY not in each.lower()
    assert OPEN in said[0]
    assert "# plain" in said[4] or "plain" in said[4]


def mcp(door: TeamDoor, method: str, params: Any) -> str:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    status, said = door.post(
        "/mcp", body, accept="application/json, text/event-stream", **{"mcp-protocol-version": "2025-06-18"}
    )
    assert status in (200, 400), (method, status, said)
    return said


@pytest.mark.parametrize("token", ["", "cairn_" + "0" * 64, "x", "cairn_é"])
@pytest.mark.parametrize("path", ["/mcp", "/rpc", "/metrics", "/nothing"])
def test_without_a_token_there_is_nothing(team: Team, token: str, path: str) -> None:
    door = TeamDoor(team.ports[team.nodes[0].id], token.encode().decode("latin-1"))
    status, said = door.ask("POST" if path != "/metrics" else "GET", path, "{}", {"content-type": "application/json"})
    assert status == 401
    assert said == "Unauthorized"


@pytest.mark.parametrize("headers", [{}, {"x-cairn-signature": "0" * 64, "x-cairn-sent-at": "1"}])
def test_only_nodes_ask_as_nodes(team: Team, reader: TeamDoor, headers: dict[str, str]) -> None:
    question = {"kind": "call", "name": "git_log", "arguments": {}, "repositories": [HIDDEN],
                "caller": [1, "me", ["**"], "admin"], "answers": "json", "request": ""}  # fmt: skip
    assert reader.post("/node/ask", json.dumps(question), **headers) == (401, "Unauthorized")


def test_a_revoked_token_ends_within_seconds(team: Team) -> None:
    from tests.support.wait import eventually

    door = team.door(team.token("leaver"))
    assert door.call("list_repositories").value["total"] == 2
    team.record.tokens.revoke("leaver")
    eventually(lambda: door.post("/rpc", "{}")[0] == 401, 15)


def test_a_foreign_host_or_origin_is_refused(reader: TeamDoor) -> None:
    assert reader.post("/rpc", "{}", host="evil.example")[0] == 403
    assert reader.post("/rpc", "{}", origin="https://evil.example")[0] == 403
