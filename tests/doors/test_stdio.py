"""MCP over stdio in both eras, bare methods beside it, and arrays."""

from __future__ import annotations

from typing import Any

import pytest

from codecairn import __version__
from codecairn.serve import Service
from tests.support.doors import line_client
from tests.support.repo import Repo
from tests.support.wire import ENVELOPE, LineClient, ServerProcess

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_META = {"_meta": ENVELOPE}


def enveloped(**params: Any) -> dict[str, Any]:
    return {**params, **MODERN_META}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def request(id_: Any, method: str, params: Any = None) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": id_, "method": method}
    return message if params is None else {**message, "params": params}


def open_era(client: LineClient, era: str) -> None:
    """Bring a fresh connection into an era; "fresh" leaves it alone."""
    if era == "2026-07-28":
        client.request("server/discover", MODERN_META)
    elif era != "fresh":
        client.initialize(era)


@pytest.mark.requirement("ruling/doors-stdio/handshake-versions", "ruling/doors-stdio/tools-capability")
@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_initialize_agrees_to_every_handshake_version(client: LineClient, version: str) -> None:
    result = client.initialize(version)["result"]
    assert result["protocolVersion"] == version
    assert "tools" in result["capabilities"]
    listed = client.request("tools/list")["result"]["tools"]
    assert {"git_log", "health_check"} <= {tool["name"] for tool in listed}


@pytest.mark.requirement("ruling/doors-stdio/server-name")
def test_the_server_says_its_name_and_version(client: LineClient) -> None:
    info = client.initialize()["result"]["serverInfo"]
    assert (info["name"], info["version"]) == ("codecairn", __version__)


@pytest.mark.parametrize("version", ["1999-01-01", "2026-07-28", "soon", ""])
def test_a_version_nobody_shakes_hands_in_is_answered_with_the_latest_that_does(
    client: LineClient, version: str
) -> None:
    assert client.initialize(version)["result"]["protocolVersion"] == HANDSHAKE_VERSIONS[-1]
    assert client.request("tools/call", call("sample_echo", text="ok"))["result"]["structuredContent"]["text"] == "ok"


@pytest.mark.requirement("ruling/doors-stdio/discover-2026-07-28", "ruling/doors-stdio/server-name")
def test_discover_needs_no_handshake(client: LineClient) -> None:
    result = client.request("server/discover", MODERN_META)["result"]
    assert "2026-07-28" in result["supportedVersions"]
    assert "tools" in result["capabilities"]
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "codecairn"


def test_a_modern_call_may_be_the_first_line(client: LineClient) -> None:
    answer = client.request("tools/call", enveloped(**call("sample_echo", text="first")))
    assert answer["result"]["structuredContent"] == {"text": "first"}
    assert answer["result"]["content"][0]["text"] == "text: first"
    assert "error" in client.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})


@pytest.mark.requirement("ruling/doors-stdio/slashed-name-in-call")
@pytest.mark.parametrize("era", [*HANDSHAKE_VERSIONS, "2026-07-28", "fresh"])
def test_a_tool_answers_to_its_slashed_name(client: LineClient, era: str) -> None:
    open_era(client, era)
    meta = MODERN_META if era == "2026-07-28" else {}
    for name in ("health_check", "health/check"):
        result = client.request("tools/call", {**call(name), **meta})["result"]
        assert result["structuredContent"]["status"] == "ok"


@pytest.mark.requirement("ruling/errors-003/tool-is-error-json", "ruling/doors-stdio/slashed-name-in-call")
@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28", "fresh"])
def test_an_error_under_a_slashed_name_has_code_message_and_data(client: LineClient, era: str) -> None:
    open_era(client, era)
    meta = MODERN_META if era == "2026-07-28" else {}
    result = client.request("tools/call", {**call("sample/echo", times=9), **meta})["result"]
    assert result["isError"] is True
    error = result["structuredContent"]["error"]
    assert error["code"] == -32602
    assert error["message"]
    assert error["data"]["param"] == "times"


def test_an_unknown_tool_is_named_and_the_nearest_offered(client: LineClient) -> None:
    client.initialize()
    error = client.request("tools/call", call("git_lgo"))["error"]
    assert error["code"] == -32602
    assert "git_lgo" in error["data"]["reason"]
    assert "git_log" in error["data"]["remedy"]


@pytest.mark.requirement("ruling/doors-bare/shares-mcp-stream")
@pytest.mark.parametrize("era", [*HANDSHAKE_VERSIONS, "2026-07-28"])
def test_bare_methods_are_answered_before_and_after_an_era_has_begun(client: LineClient, era: str) -> None:
    assert client.request("health/check")["result"]["status"] == "ok"
    open_era(client, era)
    assert client.request("health/check")["result"]["status"] == "ok"
    meta = MODERN_META if era == "2026-07-28" else {}
    assert "tools" in client.request("tools/list", meta)["result"]
    assert client.request("health/check", {"_meta": {"progressToken": 1}})["result"]["status"] == "ok"


@pytest.mark.parametrize("era", [*HANDSHAKE_VERSIONS, "2026-07-28"])
@pytest.mark.parametrize(
    "prelude",
    [
        [("health/check", None), ("nobody/has/this", None), ("tools/list", None)],
        [("tools/call", {**call("sample_echo"), "_meta": {"progressToken": 7}})],
        [("health/check", enveloped()), ("tools/list", {"_meta": {}})],
    ],
    ids=["bare methods", "a bare call that wants progress", "bare methods with metadata"],
)
def test_nothing_bare_decides_the_era(client: LineClient, era: str, prelude: list[tuple[str, Any]]) -> None:
    for method, params in prelude:
        client.request(method, params)
    open_era(client, era)
    meta = MODERN_META if era == "2026-07-28" else {}
    answer = client.request("tools/call", {**call("sample_echo", text="here"), **meta})
    assert answer["result"]["structuredContent"] == {"text": "here"}
    client.send([request(1, "health/check")])
    answered = client.take(lambda message: isinstance(message, list) or message.get("id") is None)
    assert isinstance(answered, list) == (era == "2025-03-26")


def test_a_refused_handshake_may_be_tried_again(client: LineClient) -> None:
    assert client.request("initialize", {"protocolVersion": 5})["error"]["code"] == -32602
    assert client.request("health/check")["result"]["status"] == "ok"
    assert client.request("tools/list")["result"]["tools"]
    assert client.initialize("2025-06-18")["result"]["protocolVersion"] == "2025-06-18"
    assert client.request("tools/list")["result"]["tools"]


def test_lines_sent_behind_initialize_without_waiting_find_the_era_agreed(client: LineClient) -> None:
    info = {"name": "test", "version": "0"}
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    lines = [request(1, "initialize", opening), [request(2, "health/check")], request(3, "tools/list")]
    for line in lines:
        client.send(line)
    assert client.take(1)["result"]["protocolVersion"] == "2025-11-25"
    assert client.take(None)["error"]["code"] == -32600
    assert client.take(3)["result"]["tools"]


MIXED: list[Any] = [
    request("good", "health/check"),
    request("unknown", "no/such"),
    request("bad", "sample/echo", {"times": "many"}),
    {"jsonrpc": "2.0", "method": "sample/echo"},
    {"jsonrpc": "1.0", "id": "old", "method": "health/check"},
    [request("nested", "health/check")],
    17,
    None,
    {},
]


def by_id(answers: list[dict[str, Any]]) -> dict[Any, list[int | None]]:
    found: dict[Any, list[int | None]] = {}
    for answer in answers:
        found.setdefault(answer["id"], []).append(answer.get("error", {}).get("code"))
    return found


@pytest.mark.requirement("ruling/doors-bare/batch-member-by-member", "ruling/doors-bare/notification-unanswered")
def test_an_array_is_answered_member_by_member(client: LineClient) -> None:
    client.send(MIXED)
    answers = client.take(lambda message: isinstance(message, list))
    assert by_id(answers) == {
        "good": [None], "unknown": [-32601], "bad": [-32602], "old": [-32600], None: [-32600] * 4,
    }  # fmt: skip


@pytest.mark.requirement("ruling/doors-stdio/batch-2025-03-26")
def test_on_2025_03_26_an_array_may_hold_mcp_messages_too(client: LineClient) -> None:
    client.initialize("2025-03-26")
    members = [
        *MIXED,
        request("list", "tools/list"),
        request("call", "tools/call", call("sample_echo", text="hi")),
        request("no tool", "tools/call", call("no_such_tool")),
        request("ping", "ping"),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "nobody"}},
        {"jsonrpc": "2.0", "id": 99, "result": {}},
    ]
    client.send(members)
    answers = client.take(lambda message: isinstance(message, list))
    assert by_id(answers) == {
        "good": [None], "unknown": [-32601], "bad": [-32602], "old": [-32600], None: [-32600] * 4,
        "list": [None], "call": [None], "no tool": [-32602], "ping": [None],
    }  # fmt: skip
    assert client.request("ping")["result"] == {}


@pytest.mark.requirement("ruling/doors-stdio/batch-elsewhere-refused")
@pytest.mark.parametrize("era", ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"])
def test_elsewhere_an_array_gets_one_refusal(client: LineClient, era: str) -> None:
    open_era(client, era)
    client.send(MIXED)
    refusal = client.take(lambda message: isinstance(message, list) or message.get("id") is None)
    assert refusal["id"] is None
    assert refusal["error"]["code"] == -32600
    assert client.request("health/check")["result"]["status"] == "ok"
    assert client.received == []


@pytest.mark.requirement("ruling/doors-bare/empty-array-32600")
@pytest.mark.parametrize("era", ["fresh", "2025-03-26", "2025-11-25", "2026-07-28"])
def test_an_empty_array_is_no_request(client: LineClient, era: str) -> None:
    open_era(client, era)
    client.send([])
    assert client.take(None)["error"]["code"] == -32600


@pytest.mark.parametrize("era", ["fresh", "2025-03-26"])
def test_an_array_of_notifications_gets_no_answer(client: LineClient, era: str) -> None:
    open_era(client, era)
    odd = {"jsonrpc": "2.0", "method": "notifications/initialized", "params": ["MCP allows no list here"]}
    client.send(odd)
    client.send([odd, odd])
    client.send(
        [{"jsonrpc": "2.0", "method": "health/check"}, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    )
    client.request("health/check")
    assert client.received == []


def test_an_id_used_twice_is_answered_twice(client: LineClient) -> None:
    client.initialize("2025-03-26")
    client.send([request(5, "tools/call", call("sample_echo", text="a")), request(5, "ping")])
    client.send(request(5, "ping"))
    client.send([request(5, "health/check"), request("5", "ping")])
    answers = [client.take(lambda message: True) for _ in range(3)]
    assert sorted(len(answer) if isinstance(answer, list) else 1 for answer in answers) == [1, 2, 2]


@pytest.mark.parametrize("era", ["2025-03-26", "2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("id_", [1.5, -0.0, 1e300])
def test_an_id_that_mcp_forbids_is_refused_and_not_ignored(client: LineClient, era: str, id_: float) -> None:
    open_era(client, era)
    client.send(request(id_, "tools/list", MODERN_META if era == "2026-07-28" else {}))
    assert client.take(id_)["error"]["code"] == -32600


@pytest.mark.requirement("ruling/doors-stdio/handshake-versions", "ruling/doors-stdio/slashed-name-in-call")
def test_a_real_process_shakes_hands_and_answers(repo: Repo) -> None:
    repo.commit("only", {"a.txt": "a\n"})
    with ServerProcess(folder=repo.path) as server:
        assert server.initialize("2025-06-18")["result"]["protocolVersion"] == "2025-06-18"
        log = server.request("tools/call", call("git_log"))["result"]
        assert log["structuredContent"]["commits"][0]["message"] == "only"
        assert server.request("tools/call", call("metrics/snapshot"))["result"]["structuredContent"]["methods"]
        assert server.close() == 0
        assert server.noise == []


def test_a_connection_outlives_calls_of_every_era_on_another(served: Service) -> None:
    with line_client(served) as one, line_client(served) as other:
        one.initialize("2025-11-25")
        open_era(other, "2026-07-28")
        assert one.request("ping")["result"] == {}
        assert other.request("tools/list", MODERN_META)["result"]["tools"]
