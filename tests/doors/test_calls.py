"""Calls side by side: order, progress, and what becomes of one that its client withdraws."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from codecairn.serve import Service
from tests.support.doors import HttpDoor, http_request, http_server, line_client
from tests.support.repo import Repo
from tests.support.samples import GATES
from tests.support.wait import SlowGit, eventually
from tests.support.wire import ENVELOPE, LineClient

ERAS = ("2025-11-25", "2026-07-28", "bare")


class Caller:
    """One way of calling tools on a stdio connection."""

    def __init__(self, client: LineClient, era: str) -> None:
        self.client, self.era = client, era
        if era == "2025-11-25":
            client.initialize(era)

    def start(self, tool: str, **arguments: Any) -> int:
        if self.era == "bare" and tool.startswith("sample_"):
            return self.client.start(tool.replace("_", "/", 1), arguments)
        meta = {"_meta": ENVELOPE} if self.era == "2026-07-28" else {}
        return self.client.start("tools/call", {"name": tool, "arguments": arguments, **meta})

    def cancel(self, id_: int) -> None:
        params = {"requestId": id_, "reason": "no longer wanted"}
        self.client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})


@pytest.fixture(params=ERAS)
def caller(client: LineClient, request: pytest.FixtureRequest) -> Caller:
    return Caller(client, request.param)


def test_a_slow_call_holds_up_no_other(caller: Caller) -> None:
    slow = [caller.start("sample_hold", gate="slow") for _ in range(8)]
    GATES["slow"].started.wait(20)
    quick = [caller.start("sample_echo", text=str(number)) for number in range(20)]
    for id_ in reversed(quick):
        assert "result" in caller.client.take(id_)
    assert caller.client.received == []
    GATES["slow"].release.set()
    for id_ in slow:
        assert "result" in caller.client.take(id_)


def test_answers_come_as_they_are_ready(caller: Caller) -> None:
    first, second = caller.start("sample_hold", gate="first"), caller.start("sample_hold", gate="second")
    GATES["second"].release.set()
    assert "result" in caller.client.take(second)
    GATES["first"].release.set()
    assert "result" in caller.client.take(first)


def test_a_withdrawn_call_is_stopped_and_never_answered(caller: Caller) -> None:
    id_ = caller.start("sample_hold", gate="withdrawn")
    assert GATES["withdrawn"].started.wait(20)
    caller.cancel(id_)
    assert GATES["withdrawn"].cancelled.wait(20)
    caller.client.take(caller.start("sample_echo"))
    assert caller.client.received == []


def test_a_call_withdrawn_at_once_is_never_answered(caller: Caller) -> None:
    caller.client.take(caller.start("sample_echo"))
    ids = [caller.start("sample_hold", gate="at once") for _ in range(20)]
    for id_ in ids:
        caller.cancel(id_)
    caller.client.take(caller.start("sample_echo"))
    GATES["at once"].release.set()
    caller.client.take(caller.start("sample_echo"))
    assert caller.client.received == []


def test_a_withdrawn_call_kills_the_git_it_started(caller: Caller, slow_git: SlowGit) -> None:
    id_ = caller.start("git_log")
    slow_git.started()
    caller.cancel(id_)
    slow_git.all_gone()
    caller.client.take(caller.start("sample_echo"))
    assert caller.client.received == []


@pytest.mark.parametrize("named", [None, "nobody", 10**30, {}, [1], True])
def test_withdrawing_what_is_not_under_way_does_nothing(caller: Caller, named: Any) -> None:
    id_ = caller.start("sample_hold", gate="kept")
    assert GATES["kept"].started.wait(20)
    caller.cancel(named)
    caller.client.send({"jsonrpc": "2.0", "method": "notifications/cancelled"})
    GATES["kept"].release.set()
    assert "result" in caller.client.take(id_)


@pytest.mark.parametrize("era", ["fresh", "2025-03-26"])
@pytest.mark.parametrize("method", ["sample/hold", "tools/call"])
def test_a_member_of_an_array_may_be_withdrawn(client: LineClient, era: str, method: str) -> None:
    if era != "fresh":
        client.initialize(era)
    params: Any = {"gate": "member"}
    if method == "tools/call":
        params = {"name": "sample_hold", "arguments": params}
    held = {"jsonrpc": "2.0", "id": "held", "method": method, "params": params}
    client.send([held, {"jsonrpc": "2.0", "id": "kept", "method": "health/check"}])
    assert GATES["member"].started.wait(20)
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "held"}})
    (answer,) = client.take(lambda message: isinstance(message, list))
    assert answer["id"] == "kept"
    client.send([held])
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "held"}})
    client.request("health/check")
    assert client.received == []


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("token", ["my-token", 17])
def test_progress_reaches_the_client_under_its_token(client: LineClient, era: str, token: Any) -> None:
    meta: dict[str, Any] = {"progressToken": token}
    if era == "2026-07-28":
        meta |= ENVELOPE
    else:
        client.initialize(era)
    client.request("tools/call", {"name": "sample_progress", "arguments": {"steps": 4}, "_meta": meta})
    said = [client.take(lambda message: "method" in message) for _ in range(4)]
    assert {message["method"] for message in said} == {"notifications/progress"}
    assert [message["params"] for message in said] == [
        {"progressToken": token, "progress": step, "total": 4, "message": f"step {step}"} for step in (1, 2, 3, 4)
    ]


def test_nobody_who_did_not_ask_hears_of_progress(caller: Caller) -> None:
    if caller.era == "bare":
        id_ = caller.client.start("tools/call", {"name": "sample_progress", "_meta": {"progressToken": 1}})
    else:
        id_ = caller.start("sample_progress")
    assert caller.client.take(id_)["result"]["structuredContent"] == {"text": "done"}
    assert caller.client.received == []


def modern_headers(tool: str) -> dict[str, str]:
    return {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }


def modern_call(tool: str, **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments, "_meta": {**ENVELOPE, "progressToken": "t"}}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


def events(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[5:]) for line in body.splitlines() if line.startswith(b"data:") and line[5:].strip()]


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
def test_progress_reaches_the_client_over_http(port: int, era: str) -> None:
    headers, meta = modern_headers("sample_progress"), {"progressToken": "t", **ENVELOPE}
    if era == "2025-11-25":
        headers, meta = HttpDoor(port).headers(), {"progressToken": "t"}
    params = {"name": "sample_progress", "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}
    answer = http_request(port, "POST", "/mcp", message, **headers)
    said = [message["params"] for message in events(answer.body) if "method" in message]
    assert [(each["progressToken"], each["progress"]) for each in said] == [("t", 1), ("t", 2), ("t", 3)]
    assert events(answer.body)[-1]["result"]["structuredContent"] == {"text": "done"}


@contextmanager
def posted(port: int, path: str, body: bytes, headers: dict[str, str]) -> Iterator[None]:
    """A request whose sender goes away, at the end of the block, without having read the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", path, body, headers)
    yield
    connection.close()


def test_hanging_up_on_a_modern_http_call_stops_it(port: int) -> None:
    with posted(port, "/mcp", modern_call("sample_hold", gate="http"), modern_headers("sample_hold")):
        assert GATES["http"].started.wait(20)
    assert GATES["http"].cancelled.wait(20)


def test_hanging_up_on_a_modern_http_call_kills_its_git(port: int, slow_git: SlowGit) -> None:
    with posted(port, "/mcp", modern_call("git_log"), modern_headers("git_log")):
        slow_git.started()
    slow_git.all_gone()


def test_hanging_up_on_rpc_stops_the_call(port: int) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "sample/hold", "params": {"gate": "rpc"}}).encode()
    with posted(port, "/rpc", body, {"Content-Type": "application/json"}):
        assert GATES["rpc"].started.wait(20)
    assert GATES["rpc"].cancelled.wait(20)


def test_a_handshake_client_over_http_may_withdraw_a_call(port: int) -> None:
    door = HttpDoor(port)
    params = {"name": "sample_hold", "arguments": {"gate": "session"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": params}).encode()
    headers = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in door.headers().items()}}
    with posted(port, "/mcp", body, headers):
        assert GATES["session"].started.wait(20)
        withdrawn = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 50}}
        assert http_request(port, "POST", "/mcp", withdrawn, **door.headers()).status == 202
        assert GATES["session"].cancelled.wait(20)


def test_one_slow_http_call_holds_up_no_other(port: int) -> None:
    with posted(port, "/mcp", modern_call("sample_hold", gate="busy"), modern_headers("sample_hold")):
        assert GATES["busy"].started.wait(20)
        assert HttpDoor(port).call("sample_echo", {"text": "quick"}).value == {"text": "quick"}
        assert http_request(port, "GET", "/health").status == 200


def test_input_that_ends_stops_what_is_under_way_and_answers_it_with_an_error(served: Service) -> None:
    with line_client(served) as client:
        client.initialize()
        id_ = client.start("tools/call", {"name": "sample_hold", "arguments": {"gate": "left"}})
        assert GATES["left"].started.wait(20)
        client.writes.close()
        assert "error" in client.take(id_)
        assert GATES["left"].cancelled.wait(20)


def test_a_server_that_shuts_down_stops_what_is_under_way(served: Service, repo: Repo, slow_git: SlowGit) -> None:
    with http_server(served) as port:
        with posted(port, "/mcp", modern_call("git_log"), modern_headers("git_log")):
            slow_git.started()
        eventually(lambda: http_request(port, "GET", "/health").status == 200)
    slow_git.all_gone()
