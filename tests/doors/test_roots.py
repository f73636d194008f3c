"""The folders a client says it works in: asked for when nothing else names the project, and only then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from codecairn.serve import client_roots
from tests.support.doors import HttpDoor, http_request, http_server, line_client, service
from tests.support.repo import Repo
from tests.support.samples import sampled_registry
from tests.support.wire import ENVELOPE, LineClient, ServerProcess

ROOTS = {"roots": {"listChanged": True}}


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder to start the server in that is not the client's project."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


@pytest.fixture
def client(elsewhere: Path) -> Iterator[LineClient]:
    with line_client(service(None, sampled_registry(), working_dir=elsewhere)) as connected:
        yield connected


def where(client: LineClient) -> int:
    return client.start("tools/call", {"name": "sample_where"})


def told(client: LineClient, id_: int) -> str:
    text: str = client.take(id_)["result"]["structuredContent"]["text"]
    return text


def asked(client: LineClient) -> Any:
    return client.take(lambda message: message.get("method") == "roots/list")["id"]


def answer_roots(client: LineClient, *uris: str) -> None:
    roots = [{"uri": uri} for uri in uris]
    client.send({"jsonrpc": "2.0", "id": asked(client), "result": {"roots": roots}})


@pytest.fixture
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_roots, "_TIMEOUT_S", 0.1)


def test_the_first_root_of_the_client_is_the_project(client: LineClient, repo: Repo, elsewhere: Path) -> None:
    client.initialize(capabilities=ROOTS)
    first = where(client)
    answer_roots(client, repo.path.as_uri(), elsewhere.as_uri())
    assert told(client, first) == str(repo.path)
    assert told(client, where(client)) == str(repo.path)
    assert client.received == []


def test_a_root_with_spaces_and_other_scripts_in_its_name(client: LineClient, tmp_path: Path) -> None:
    named = tmp_path / "mon dépôt 100% ☃"
    named.mkdir()
    client.initialize(capabilities=ROOTS)
    first = where(client)
    answer_roots(client, named.as_uri())
    assert told(client, first) == str(named)


@pytest.mark.parametrize(
    "uri",
    ["https://example.org/repo", "file:///", "file:///no/such/folder", "file://server/share", "nonsense", "file:", ""],
)
def test_a_root_that_is_no_project_here_is_passed_over(client: LineClient, elsewhere: Path, uri: str) -> None:
    client.initialize(capabilities=ROOTS)
    first = where(client)
    answer_roots(client, uri)
    assert told(client, first) == str(elsewhere)


def test_calls_sent_together_all_wait_for_the_one_question(client: LineClient, repo: Repo) -> None:
    client.initialize(capabilities=ROOTS)
    ids = [where(client) for _ in range(5)]
    answer_roots(client, repo.path.as_uri())
    assert {told(client, id_) for id_ in ids} == {str(repo.path)}
    assert client.received == []


def test_a_client_whose_roots_changed_is_asked_again(client: LineClient, repo: Repo, tmp_path: Path) -> None:
    other = Repo.create(tmp_path / "other")
    client.initialize(capabilities=ROOTS)
    first = where(client)
    answer_roots(client, repo.path.as_uri())
    assert told(client, first) == str(repo.path)
    client.send({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
    client.request("ping")
    second = where(client)
    answer_roots(client, other.path.as_uri())
    assert told(client, second) == str(other.path)


@pytest.mark.usefixtures("short_wait")
def test_a_client_that_never_answers_costs_one_wait(client: LineClient, elsewhere: Path) -> None:
    client.initialize(capabilities=ROOTS)
    first = where(client)
    asked(client)
    assert told(client, first) == str(elsewhere)
    assert told(client, where(client)) == str(elsewhere)
    assert not any(message.get("method") == "roots/list" for message in client.received)


def test_a_client_that_refuses_is_served_all_the_same(client: LineClient, elsewhere: Path) -> None:
    client.initialize(capabilities=ROOTS)
    first = where(client)
    client.send({"jsonrpc": "2.0", "id": asked(client), "error": {"code": -32601, "message": "no"}})
    assert told(client, first) == str(elsewhere)


def test_a_client_that_answers_nonsense_is_served_all_the_same(client: LineClient, elsewhere: Path) -> None:
    client.initialize(capabilities=ROOTS)
    first = where(client)
    client.send({"jsonrpc": "2.0", "id": asked(client), "result": {"roots": "everywhere"}})
    assert told(client, first) == str(elsewhere)


def test_a_first_call_withdrawn_while_the_client_is_asked_leaves_the_question_open(
    client: LineClient, repo: Repo
) -> None:
    client.initialize(capabilities=ROOTS)
    first = where(client)
    asked(client)
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": first}})
    second = where(client)
    answer_roots(client, repo.path.as_uri())
    assert told(client, second) == str(repo.path)


def test_a_client_without_roots_is_not_asked(client: LineClient, elsewhere: Path) -> None:
    client.initialize()
    assert told(client, where(client)) == str(elsewhere)
    assert client.received == []


def test_a_modern_client_is_not_asked(client: LineClient, elsewhere: Path) -> None:
    meta = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": {"roots": {}}}
    answer = client.request("tools/call", {"name": "sample_where", "_meta": meta})
    assert answer["result"]["structuredContent"]["text"] == str(elsewhere)
    assert client.received == []


@pytest.mark.parametrize("order", ["root", "environment", "client"])
def test_nobody_is_asked_when_something_else_names_the_project(repo: Repo, elsewhere: Path, order: str) -> None:
    arguments = ["--root", str(repo.path)] if order == "root" else []
    variables = {"environment": "CAIRN_ROOT", "client": "CLAUDE_PROJECT_DIR"}
    environment: dict[str, Any] = {variables[order]: str(repo.path)} if order in variables else {}
    with ServerProcess(*arguments, folder=elsewhere, **environment) as server:
        repo.commit("found", {})
        server.initialize(capabilities=ROOTS)
        log = server.request("tools/call", {"name": "git_log"})["result"]["structuredContent"]
        assert log["commits"][0]["message"] == "found"
        assert server.received == []


@contextmanager
def listening(door: HttpDoor, heard: list[bytes]) -> Iterator[None]:
    """The stream on which a server of the handshake era would put a question of its own."""
    headers = {name.replace("_", "-"): value for name, value in door.headers().items()}

    def listen() -> None:
        heard.append(http_request(door.port, "GET", "/mcp", **headers).body)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    yield
    http_request(door.port, "DELETE", "/mcp", **headers)
    thread.join(20)


def test_over_http_no_client_may_say_where_the_project_is(elsewhere: Path, enter: Callable[[Any], Any]) -> None:
    port = enter(http_server(service(None, sampled_registry(), working_dir=elsewhere, local=False)))
    door, heard = HttpDoor(port, ROOTS), list[bytes]()
    with listening(door, heard):
        assert door.call("sample_where").value == {"text": str(elsewhere)}
    assert b"roots/list" not in b"".join(heard)
