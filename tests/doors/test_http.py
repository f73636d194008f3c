"""HTTP: who may speak to the server, what each path answers, and whose limits are whose."""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codecairn import tools
from codecairn.serve.http import LARGEST_BODY, Address, HttpAccess, app
from tests.support.asgi import posted
from tests.support.doors import HttpAnswer, HttpDoor, RpcDoor, http_request, http_server, service
from tests.support.repo import Repo
from tests.support.samples import sampled_registry
from tests.support.wire import ENVELOPE

HEALTH = {"jsonrpc": "2.0", "id": 1, "method": "health/check"}
LIMITED = {"jsonrpc": "2.0", "id": 1, "method": "sample/limited"}
TOKEN = "correct-horse"
ACCEPT = {"Accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}

Serve = Callable[..., int]


@pytest.fixture
def serve(repo: Repo, enter: Callable[[Any], Any]) -> Serve:
    """Start a server with its own rule of access; returns its port."""

    def start(token: str | None = None, host: str = "127.0.0.1", hosts: frozenset[str] = frozenset()) -> int:
        access = HttpAccess(Address(host, 0), token, hosts)
        port: int = enter(http_server(service(repo.path, sampled_registry(), local=False), access))
        return port

    return start


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def modern(port: int, tool: str, **headers: str) -> HttpAnswer:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "_meta": ENVELOPE}}
    era = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": tool}
    return http_request(port, "POST", "/mcp", message, **ACCEPT, **era, **headers)


PATHS = [("POST", "/mcp", INITIALIZE), ("POST", "/rpc", HEALTH), ("GET", "/health", None), ("GET", "/metrics", None)]
each_path = pytest.mark.parametrize(("method", "path", "body"), PATHS, ids=[path for _, path, _ in PATHS])


@pytest.mark.requirement("ruling/doors-http/bad-host-403")
@each_path
def test_only_a_host_that_is_this_machine_is_served(port: int, method: str, path: str, body: Any) -> None:
    ours = [f"127.0.0.1:{port}", "127.0.0.1", f"localhost:{port}", "LOCALHOST", f"[::1]:{port}", "[::1]", "127.0.0.2"]
    foreign = [
        "evil.example", f"evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.0.7",
        "[2001:db8::1]", "0.0.0.0", "", ":", "[", "localhost,evil.example", "2130706433",
    ]  # fmt: skip
    for host in ours:
        assert http_request(port, method, path, body, **ACCEPT, Host=host).status == 200, host
    for host in foreign:
        assert http_request(port, method, path, body, **ACCEPT, Host=host).status in (400, 403), host
    assert http_request(port, method, path, body, **ACCEPT, Host="evil.example").status == 403


@pytest.mark.requirement("ruling/doors-http/bad-origin-403")
@each_path
def test_only_a_page_of_this_machine_may_call(port: int, method: str, path: str, body: Any) -> None:
    ours = [f"http://127.0.0.1:{port}", "http://localhost:3000", "https://localhost", "http://[::1]:8080"]
    foreign = [
        "https://evil.example", "http://localhost.evil.example", "null", "", "file://", "localhost", "http://",
        "chrome-extension://abcdefgh", "http://[", "http://localhost@evil.example", "ftp://localhost",
    ]  # fmt: skip
    for origin in ours:
        assert http_request(port, method, path, body, **ACCEPT, Origin=origin).status == 200, origin
    for origin in foreign:
        assert http_request(port, method, path, body, **ACCEPT, Origin=origin).status == 403, origin


def test_a_refusal_says_nothing_of_what_it_guards(port: int) -> None:
    answer = http_request(port, "GET", "/metrics", Host="evil.example")
    assert answer.headers["content-type"].startswith("text/plain")
    assert b"cairn_" not in answer.body
    assert "access-control-allow-origin" not in answer.headers


def test_names_beyond_loopback_are_those_the_server_was_given(serve: Serve) -> None:
    port = serve(token=TOKEN, host="0.0.0.0", hosts=frozenset({"cairn.example"}))
    served = ["cairn.example", "CAIRN.example:443", "192.168.0.7", socket.gethostname(), "localhost", "[2001:db8::1]"]
    for host in served:
        assert http_request(port, "POST", "/rpc", HEALTH, Host=host, **bearer(TOKEN)).status == 200, host
    for host in ("evil.example", "cairn.example.evil"):
        assert http_request(port, "POST", "/rpc", HEALTH, Host=host, **bearer(TOKEN)).status == 403, host


@pytest.mark.requirement("ruling/doors-http/token-checked")
@each_path
def test_without_the_token_only_health_is_open(serve: Serve, method: str, path: str, body: Any) -> None:
    port = serve(token=TOKEN)
    wrong = [
        {}, bearer(""), bearer("wrong"), bearer(TOKEN[:-1]), bearer(TOKEN + "x"), {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"}, {"Authorization": ""}, {"Authorization": "Bearer"}, bearer("\u00e9"),
    ]  # fmt: skip
    for headers in wrong:
        answer = http_request(port, method, path, body, **ACCEPT, **headers)
        assert answer.status == (200 if path == "/health" else 401), headers
        if path != "/health":
            assert answer.headers["www-authenticate"].startswith("Bearer")
    for headers in (bearer(TOKEN), {"Authorization": f"bearer  {TOKEN} "}):
        assert http_request(port, method, path, body, **ACCEPT, **headers).status == 200


def test_a_token_may_be_written_in_any_script(serve: Serve) -> None:
    port = serve(token="пароль-☃")
    as_sent = "пароль-☃".encode().decode("latin-1")
    assert http_request(port, "POST", "/rpc", HEALTH, **bearer(as_sent)).status == 200


@pytest.mark.requirement("ruling/doors-http/mcp-endpoint")
@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_mcp_is_served_in_both_eras(port: int, era: str) -> None:
    if era == "modern":
        result = modern(port, "health_check").json["result"]
        assert result["structuredContent"]["status"] == "ok"
        return
    assert HttpDoor(port).call("health_check").value["status"] == "ok"


@pytest.mark.requirement("ruling/doors-http/handshake-session-header")
def test_a_handshake_opens_a_session_that_later_requests_must_name(port: int) -> None:
    door = HttpDoor(port)
    assert re.fullmatch(r"[!-~]+", door.session)
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    version = {"MCP_Protocol_Version": "2025-11-25"}
    assert http_request(port, "POST", "/mcp", message, **ACCEPT, **version).status == 400
    assert http_request(port, "POST", "/mcp", message, **ACCEPT, **version, Mcp_Session_Id="nobody").status == 404
    assert http_request(port, "POST", "/mcp", message, **door.headers()).status == 200
    assert http_request(port, "DELETE", "/mcp", **door.headers()).status == 200
    assert http_request(port, "POST", "/mcp", message, **door.headers()).status == 404


def test_a_modern_answer_has_no_session(port: int) -> None:
    assert "mcp-session-id" not in modern(port, "health_check").headers


def refused(answer: dict[str, Any]) -> bool:
    return bool(answer.get("error", {}).get("data", {}).get("limit") == 2)


def over_rpc(port: int, source: str = "127.0.0.1", **headers: str) -> bool:
    """Whether POST /rpc, coming from an address of our choice, was refused for its rate."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30, source_address=(source, 0))
    given = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    try:
        connection.request("POST", "/rpc", json.dumps(LIMITED), given)
        return refused(json.loads(connection.getresponse().read()))
    finally:
        connection.close()


def over_mcp(port: int, **headers: str) -> bool:
    value = modern(port, "sample_limited", **headers).json["result"]["structuredContent"]
    return refused(value)


def test_each_session_has_limits_of_its_own(port: int) -> None:
    one, other = HttpDoor(port), HttpDoor(port)
    assert [one.call("sample_limited").is_error for _ in range(3)] == [False, False, True]
    assert [other.call("sample_limited").is_error for _ in range(3)] == [False, False, True]
    assert not over_rpc(port)


@pytest.mark.requirement("ruling/doors-http/stateless-key-order")
def test_without_a_token_the_peer_address_is_who_calls(port: int) -> None:
    assert [over_rpc(port), over_mcp(port), over_rpc(port), over_mcp(port)] == [False, False, True, True]
    assert not over_rpc(port, source="127.0.0.2")
    assert over_rpc(port)


@pytest.mark.requirement("ruling/doors-http/stateless-key-order")
def test_with_a_token_its_holder_is_who_calls_from_wherever(serve: Serve) -> None:
    port = serve(token=TOKEN)
    assert not over_rpc(port, **bearer(TOKEN))
    assert not over_rpc(port, source="127.0.0.2", **bearer(TOKEN))
    assert over_rpc(port, source="127.0.0.3", **bearer(TOKEN))
    assert over_mcp(port, **bearer(TOKEN))


@pytest.mark.requirement("ruling/doors-http/stateless-key-order")
def test_without_a_peer_address_the_process_is_who_calls(repo: Repo) -> None:
    """A server behind a Unix socket sees no address at all."""
    application = app(service(repo.path, sampled_registry(), local=False), HttpAccess(Address("127.0.0.1", 0)))
    assert [refused(posted(application, "/rpc", LIMITED)) for _ in range(3)] == [False, False, True]


@pytest.mark.requirement("ruling/doors-http/stateless-key-order")
def test_nobody_becomes_somebody_new_by_saying_so(port: int) -> None:
    disguises = [{"Mcp_Session_Id": "made-up"}, bearer("made-up"), {"Forwarded": "for=203.0.113.9"}]
    assert not over_rpc(port)
    assert not over_mcp(port)
    for disguise in disguises:
        assert over_rpc(port, **disguise), disguise
        assert over_mcp(port, **disguise), disguise


@pytest.mark.requirement("ruling/doors-http/rpc-endpoint")
def test_rpc_takes_json_by_post_and_nothing_else(port: int) -> None:
    assert http_request(port, "GET", "/rpc").status == 405
    assert http_request(port, "PUT", "/rpc", HEALTH).status == 405
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"):
        assert http_request(port, "POST", "/rpc", HEALTH, Content_Type=content_type).status == 415, content_type
    for content_type in ("application/json; charset=utf-8", "Application/JSON"):
        assert http_request(port, "POST", "/rpc", HEALTH, Content_Type=content_type).status == 200


@pytest.mark.parametrize("body", [b"", b"{", b"nonsense", b"\xff", b"[" * 100_000, b'{"id": NaN}'], ids=repr)
def test_a_body_that_is_not_json_is_a_parse_error(port: int, body: bytes) -> None:
    answer = http_request(port, "POST", "/rpc", body)
    assert answer.status == 400
    assert answer.json["error"]["code"] == -32700
    assert RpcDoor(port).request("health/check")["result"]["status"] == "ok"


def test_what_wants_no_answer_is_accepted_and_gets_none(port: int) -> None:
    for message in ({"jsonrpc": "2.0", "method": "health/check"}, [{"jsonrpc": "2.0", "method": "no/such"}]):
        answer = http_request(port, "POST", "/rpc", message)
        assert (answer.status, answer.body) == (202, b"")


@pytest.mark.parametrize("path", ["/rpc", "/mcp"])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_refused(port: int, path: str, chunked: bool) -> None:
    filler = b'"' + b"x" * LARGEST_BODY + b'"'
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    body = iter([filler[: 1 << 20]] * 4 + [b"end"]) if chunked else filler
    connection.request("POST", path, body, {"Content-Type": "application/json", **ACCEPT}, encode_chunked=chunked)
    assert connection.getresponse().status == 413
    connection.close()
    assert http_request(port, "GET", "/health").status == 200


def test_a_body_at_the_limit_is_read(port: int) -> None:
    message = {**HEALTH, "padding": ""}
    message["padding"] = "x" * (LARGEST_BODY - len(json.dumps(message)))
    answer = http_request(port, "POST", "/rpc", message)
    assert (answer.status, answer.json["result"]["status"]) == (200, "ok")


@pytest.mark.requirement("ruling/doors-http/health-endpoint")
def test_health_has_the_fields_of_health_check(port: int) -> None:
    answer = http_request(port, "GET", "/health")
    assert answer.status == 200
    assert set(answer.json) == {"status", "timestamp", "version"}
    assert answer.json["status"] == "ok"
    assert http_request(port, "POST", "/health", HEALTH).status == 405


def test_health_without_a_project_is_503_and_says_why(tmp_path: Path, enter: Callable[[Any], Any]) -> None:
    port = enter(http_server(service(None, working_dir=tmp_path, home=tmp_path, local=False)))
    answer = http_request(port, "GET", "/health")
    assert answer.status == 503
    assert answer.json["status"] == "degraded"
    assert answer.json["problems"]


def test_health_answers_even_where_its_tool_is_not_offered(repo: Repo, enter: Callable[[Any], Any]) -> None:
    port = enter(http_server(service(repo.path, tools.standard(("git_log",)), local=False)))
    assert http_request(port, "GET", "/health").json["status"] == "ok"
    assert RpcDoor(port).request("health/check")["error"]["code"] == -32601


_SAMPLE = re.compile(
    r'(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?P<labels>[a-z]+="[^"\\\n]*"(?:,[a-z]+="[^"\\\n]*")*)\})? (?P<value>\S+)'
)


def exposition(text: str) -> tuple[dict[str, str], dict[str, float]]:
    """The metric types and samples of a Prometheus text, read as strictly as Prometheus does."""
    types: dict[str, str] = {}
    samples: dict[str, float] = {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types
            types[name] = kind
        elif not line.startswith("# HELP "):
            found = _SAMPLE.fullmatch(line)
            assert found, line
            family = re.sub(r"_(bucket|sum|count)$", "", found["name"])
            assert found["name"] in types or types.get(family) == "histogram", line
            key = f"{found['name']}{{{found['labels']}}}"
            assert key not in samples
            samples[key] = float(found["value"])
    return types, samples


@pytest.mark.requirement("ruling/doors-http/metrics-endpoint")
def test_metrics_are_prometheus_text_and_agree_with_the_calls(port: int) -> None:
    rpc = RpcDoor(port)
    for params in ({}, {}, {"times": 9}):
        rpc.request("sample/echo", params)
    for _ in range(3):
        rpc.request("sample/limited")
    answer = http_request(port, "GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    types, samples = exposition(answer.body.decode())
    assert types["cairn_calls_total"] == "counter"
    assert types["cairn_call_duration_seconds"] == "histogram"
    assert samples['cairn_calls_total{method="sample/echo"}'] == 3
    assert samples['cairn_errors_total{method="sample/echo",type="InvalidInputError"}'] == 1
    assert samples['cairn_rate_limited_total{method="sample/limited"}'] == 1


@pytest.mark.requirement("ruling/doors-http/metrics-endpoint")
def test_histogram_buckets_grow_to_the_count(port: int) -> None:
    for _ in range(5):
        RpcDoor(port).request("sample/echo")
    _, samples = exposition(http_request(port, "GET", "/metrics").body.decode())
    buckets = [value for key, value in samples.items() if key.startswith("cairn_call_duration_seconds_bucket")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == samples['cairn_call_duration_seconds_count{method="sample/echo"}'] == 5


def test_metrics_of_a_server_nobody_has_called_parse_too(port: int) -> None:
    types, samples = exposition(http_request(port, "GET", "/metrics").body.decode())
    assert types
    assert not [name for name in samples if "method=" in name]
    assert samples["cairn_calls_under_way{None}"] == 0


def test_paths_nobody_serves_are_not_found(port: int) -> None:
    for path in ("/mcp/../rpc", "/rpc/x", "/.git/config", "//rpc"):
        assert http_request(port, "GET", path).status == 404, path


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8417", "127.0.0.1", 8417), ("9000", "127.0.0.1", 9000), (":9000", "127.0.0.1", 9000),
        ("localhost", "localhost", 8417), ("0.0.0.0", "0.0.0.0", 8417), ("[::1]:80", "::1", 80), ("[::1]", "::1", 8417),
        ("::1", "::1", 8417), ("::", "::", 8417), ("example.org:0", "example.org", 0),
    ],
)  # fmt: skip
def test_an_address_may_be_written_in_every_usual_way(text: str, host: str, port: int) -> None:
    assert Address.parse(text) == Address(host, port)


@pytest.mark.parametrize("text", ["127.0.0.1:", "127.0.0.1:http", "host:65536", "host:-1", "70000"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Address.parse(text)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("::", False)],
)
def test_loopback_is_what_only_this_machine_reaches(host: str, loopback: bool) -> None:
    assert Address(host, 80).is_loopback is loopback
