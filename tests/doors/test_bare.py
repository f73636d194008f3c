"""JSON-RPC without a handshake: the codes, the envelope, health/check and metrics/snapshot."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from codecairn import __version__
from codecairn.serve import Service
from tests.support.doors import DOORS, READING_DOORS, Answer, RpcDoor, http_request, line_client, open_door
from tests.support.repo import Repo
from tests.support.wire import LineClient, ServerProcess

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def seconds_ago(timestamp: str) -> float:
    assert TIMESTAMP.fullmatch(timestamp), timestamp
    return (datetime.now(UTC) - datetime.fromisoformat(timestamp)) / timedelta(seconds=1)


def counts(client: LineClient) -> dict[str, int]:
    methods = client.request("metrics/snapshot")["result"]["methods"]
    return {row["method"]: row["count"] for row in methods}


@pytest.mark.requirement("ruling/doors-bare/no-initialize-needed", "003/conventions/one-object-per-line")
def test_the_first_line_of_a_process_may_be_a_method(repo: Repo) -> None:
    with ServerProcess(folder=repo.path) as server:
        server.send_bytes(b'{"jsonrpc": "2.0", "id": 1, "method": "health/check"}')
        answer = server.take(1)
        assert set(answer) == {"jsonrpc", "id", "result"}
        assert server.close() == 0
        assert server.noise == []


@pytest.mark.requirement("003/conventions/id-echoed")
@pytest.mark.parametrize("id_", [0, -1, 7, 2**53, 10**40, 1.5, "", "seven", "7", "\u00e9\u2603", "\ud800", "x" * 5000])
def test_an_id_comes_back_as_it_was(client: LineClient, id_: Any) -> None:
    client.send({"jsonrpc": "2.0", "id": id_, "method": "health/check"})
    answer = client.take(lambda message: True)
    assert answer["id"] == id_
    assert type(answer["id"]) is type(id_)


@pytest.mark.requirement("003/conventions/result-envelope", "003/conventions/error-envelope")
def test_an_answer_has_a_result_or_an_error_and_never_both(client: LineClient) -> None:
    success = client.request("health/check")
    assert set(success) == {"jsonrpc", "id", "result"}
    assert success["jsonrpc"] == "2.0"
    failure = client.request("sample/bug")
    assert set(failure) == {"jsonrpc", "id", "error"}
    assert isinstance(failure["error"]["code"], int)
    assert isinstance(failure["error"]["message"], str)


@pytest.mark.requirement("003/conventions/one-object-per-line")
def test_text_with_line_breaks_is_still_one_line(client: LineClient) -> None:
    text = "one\ntwo\r\nthree\u2028four\x85five"
    answer = client.request("sample/echo", {"text": text})
    assert answer["result"]["text"] == text
    assert client.noise == []


NOT_JSON = [
    b"{", b"}", b"nonsense", b'{"jsonrpc": "2.0", "id": 1, "method": "health/check"', b"[1,", b"'a'", b"NaN", b"01",
    b'{"id": NaN}', b"[Infinity]", b"\xff\xfe", b'"\xed\xa0\x80"', b"\x00", b'{"a": 1} {"b": 2}', b"\xef\xbb\xbf",
    b"[" * 100_000, b"{" * 100_000, b'{"a":' * 100_000, b"[" * 5_000 + b"]" * 5_000,
]  # fmt: skip


@pytest.mark.requirement("ruling/doors-bare/parse-error-32700", "ruling/doors-bare/stream-survives-bad-line")
@pytest.mark.parametrize("line", NOT_JSON, ids=lambda line: repr(line[:12]))
def test_a_line_that_is_not_json_is_answered_and_the_stream_goes_on(client: LineClient, line: bytes) -> None:
    client.send_bytes(line)
    error = client.take(None)
    assert error["error"]["code"] == -32700
    assert client.request("health/check")["result"]["status"] == "ok"
    assert client.received == []


def test_a_byte_order_mark_and_blank_lines_are_no_error(client: LineClient) -> None:
    client.send_bytes(b"\n   \n\r\n\t")
    client.send_bytes(b'\xef\xbb\xbf{"jsonrpc": "2.0", "id": 1, "method": "health/check"}\r')
    assert client.take(1)["result"]["status"] == "ok"
    assert client.received == []


NO_REQUEST = [
    1, "health/check", None, True, 1.5, {}, {"jsonrpc": "2.0"}, {"jsonrpc": "2.0", "id": 3},
    {"jsonrpc": "1.0", "id": 3, "method": "health/check"}, {"id": 3, "method": "health/check"},
    {"jsonrpc": 2.0, "id": 3, "method": "health/check"}, {"jsonrpc": "2.0", "id": 3, "method": 5},
    {"jsonrpc": "2.0", "id": 3, "method": None}, {"jsonrpc": "2.0", "id": 3, "method": "health/check", "params": 5},
    {"jsonrpc": "2.0", "id": 3, "method": "health/check", "params": "x"},
    {"jsonrpc": "2.0", "id": None, "method": "health/check"}, {"jsonrpc": "2.0", "id": True, "method": "health/check"},
    {"jsonrpc": "2.0", "id": {}, "method": "health/check"}, {"jsonrpc": "2.0", "id": [1], "method": "health/check"},
]  # fmt: skip


@pytest.mark.requirement("ruling/doors-bare/invalid-request-32600", "ruling/doors-bare/stream-survives-bad-line")
@pytest.mark.parametrize("message", NO_REQUEST, ids=repr)
def test_json_that_is_no_request_is_refused_under_its_id(client: LineClient, message: Any) -> None:
    client.send(message)
    usable = message.get("id") if isinstance(message, dict) and message.get("id") == 3 else None
    assert client.take(usable)["error"]["code"] == -32600
    assert client.request("health/check")["result"]["status"] == "ok"
    assert client.received == []


@pytest.mark.parametrize("number", [b"1e999", b"-1e999", b"9" * 5000])
def test_a_number_beyond_all_numbers_is_refused_where_it_stands(client: LineClient, number: bytes) -> None:
    client.send_bytes(b'{"jsonrpc": "2.0", "id": 4, "method": "sample/echo", "params": {"times": %b}}' % number)
    assert client.take(4)["error"]["data"]["param"] == "times"
    client.send_bytes(b'{"jsonrpc": "2.0", "id": %b, "method": "health/check"}' % number)
    assert client.take(None)["error"]["code"] == -32600


@pytest.mark.requirement("ruling/doors-bare/unknown-method-32601")
@pytest.mark.parametrize(
    "method", ["", "health", "health_check", "Health/Check", "health/check ", "rpc.discover", "\ud800"]
)
def test_an_unknown_method_is_not_found(client: LineClient, method: str) -> None:
    assert client.request(method)["error"]["code"] == -32601


@pytest.mark.requirement("ruling/doors-bare/invalid-params-32602", "ruling/errors-003/bare-json-rpc-error")
@pytest.mark.parametrize(
    ("params", "param"),
    [
        ({"times": "3"}, "times"), ({"times": 0}, "times"), ({"text": 5}, "text"), ({"tex": "a"}, "tex"),
        ([], "arguments"), (["a"], "arguments"), ({"text": "\ud800"}, "text"), ({"times": 1.5}, "times"),
    ],
)  # fmt: skip
def test_bad_params_are_named_with_the_reason(client: LineClient, params: Any, param: str) -> None:
    error = client.request("sample/echo", params)["error"]
    assert error["code"] == -32602
    assert error["data"]["param"] == param
    assert error["data"]["reason"]


@pytest.mark.requirement("ruling/doors-bare/internal-error-32603", "ruling/errors-003/bare-json-rpc-error")
def test_an_unforeseen_failure_is_an_internal_error_with_its_message(client: LineClient) -> None:
    error = client.request("sample/bug")["error"]
    assert error["code"] == -32603
    assert "the sample is broken" in error["data"]["message"]


@pytest.mark.requirement("ruling/errors-003/tool-is-error-json")
@pytest.mark.parametrize("door", [name for name in DOORS if name != "memory"])
def test_the_same_failure_as_a_tool_is_an_error_result(served: Service, door: str) -> None:
    with open_door(door, served) as opened:
        answer: Answer = opened.call("sample_bug")
    assert answer.is_error
    assert answer.value["error"]["code"] == -32603
    assert answer.value["error"]["message"]
    assert "the sample is broken" in answer.value["error"]["data"]["message"]
    assert '"code":-32603' in answer.text or door in READING_DOORS


@pytest.mark.requirement("ruling/doors-bare/notification-unanswered")
@pytest.mark.parametrize("method", ["health/check", "sample/bug", "no/such/method", "tools/list"])
def test_a_request_without_id_gets_no_answer(client: LineClient, method: str) -> None:
    client.send({"jsonrpc": "2.0", "method": method})
    client.send({"jsonrpc": "2.0", "method": method, "params": {"nonsense": 1}})
    client.request("health/check")
    assert client.received == []


def test_a_notification_is_carried_out_all_the_same(client: LineClient) -> None:
    client.send({"jsonrpc": "2.0", "method": "sample/echo"})
    client.request("health/check")
    assert counts(client)["sample/echo"] == 1


@pytest.mark.requirement("003/health_check/bare-and-tool-names", "003/metrics_snapshot/bare-and-tool-names")
@pytest.mark.parametrize(
    ("method", "tool"), [("health/check", "health_check"), ("metrics/snapshot", "metrics_snapshot")]
)
@pytest.mark.parametrize("door", ["stdio", "modern", "bare", "http"])
def test_bare_method_and_tool_have_the_same_fields(served: Service, door: str, method: str, tool: str) -> None:
    with line_client(served) as client, open_door(door, served) as opened:
        client.request(method)
        bare, called = client.request(method)["result"], opened.call(tool).value
    assert set(bare) == set(called)
    if tool == "metrics_snapshot":
        assert set(bare["methods"][0]) == set(called["methods"][0])


@pytest.mark.requirement("003/health_check/no-params-needed", "003/metrics_snapshot/no-params-needed")
@pytest.mark.parametrize("method", ["health/check", "metrics/snapshot"])
def test_params_may_be_left_out_empty_or_null(client: LineClient, method: str) -> None:
    assert "result" in client.request(method)
    assert "result" in client.request(method, {})
    client.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": None})
    assert "result" in client.take(1)


@pytest.mark.requirement(
    "003/health_check/status-ok", "003/health_check/timestamp-current", "003/health_check/version-present",
    "003/conventions/timestamps-iso-utc",
)  # fmt: skip
def test_health_says_ok_the_time_and_the_version(client: LineClient) -> None:
    result = client.request("health/check")["result"]
    assert set(result) == {"status", "timestamp", "version"}
    assert result["status"] == "ok"
    assert 0 <= seconds_ago(result["timestamp"]) < 30
    assert result["version"] == __version__


@pytest.mark.requirement("003/metrics_snapshot/generated-at", "003/conventions/timestamps-iso-utc")
def test_a_snapshot_says_when_it_was_taken(client: LineClient) -> None:
    assert 0 <= seconds_ago(client.request("metrics/snapshot")["result"]["generatedAt"]) < 30


@pytest.mark.requirement("003/metrics_snapshot/method-fields", "003/metrics_snapshot/max-not-below-avg")
def test_each_method_has_its_figures(client: LineClient) -> None:
    for number in range(20):
        client.request("sample/echo", {"text": "x" * number})
    methods = client.request("metrics/snapshot")["result"]["methods"]
    (row,) = [row for row in methods if row["method"] == "sample/echo"]
    assert {"method", "count", "avgMs", "maxMs"} <= set(row)
    assert 0 <= row["avgMs"] <= row["maxMs"]
    assert row["p50Ms"] <= row["p95Ms"] <= row["p99Ms"] <= row["maxMs"]


@pytest.mark.requirement("003/metrics_snapshot/counts-calls")
def test_each_call_counts_once_whatever_comes_of_it(client: LineClient) -> None:
    before = counts(client)
    for params in ({}, {"times": 99}, {}):
        client.request("sample/echo", params)
    client.request("tools/call", {"name": "sample_echo"})
    after = counts(client)
    assert after["sample/echo"] - before.get("sample/echo", 0) == 4
    assert after["metrics/snapshot"] - before.get("metrics/snapshot", 0) == 1


@pytest.mark.requirement("003/metrics_snapshot/counts-calls", "003/metrics_snapshot/max-not-below-avg")
def test_parallel_calls_are_all_counted(client: LineClient) -> None:
    for id_ in [client.start("sample/echo") for _ in range(100)]:
        client.take(id_)
    assert counts(client)["sample/echo"] == 100


@pytest.mark.requirement("003/metrics_snapshot/since-process-start")
def test_a_new_process_counts_from_zero(repo: Repo) -> None:
    for _ in range(2):
        with ServerProcess(folder=repo.path) as server:
            assert counts(server) == {}
            server.request("health/check")
            assert counts(server) == {"health/check": 1, "metrics/snapshot": 1}
            assert server.close() == 0


@pytest.mark.requirement("ruling/doors-http/rpc-endpoint")
def test_the_same_methods_answer_over_http(port: int) -> None:
    door = RpcDoor(port)
    assert door.request("health/check")["result"]["status"] == "ok"
    assert door.request("sample/echo", {"times": 9})["error"]["code"] == -32602
    assert door.request("no/such")["error"]["code"] == -32601
    assert door.request("tools/list")["result"]["tools"]
    mixed = [{"jsonrpc": "2.0", "id": 1, "method": "health/check"}, 5, [1], {"jsonrpc": "2.0", "method": "sample/echo"}]
    answers = http_request(port, "POST", "/rpc", mixed).json
    assert [(answer["id"], answer.get("error", {}).get("code")) for answer in answers] == [
        (1, None), (None, -32600), (None, -32600),
    ]  # fmt: skip
