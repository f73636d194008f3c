"""Whatever arrives, the server answers what it owes, says nothing else, and takes the next request."""

from __future__ import annotations

import http.client
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import pytest

from codecairn.greeting import line_stream
from codecairn.serve import Service
from tests.support.doors import HttpDoor, line_client
from tests.support.fuzz import Lines, Owed, owed
from tests.support.wire import ENVELOPE, LineClient

LONGEST = 1 << 20
KINDS = ("fresh", "bare", "2025-03-26", "2025-11-25", "2026-07-28")


def opened(client: LineClient, kind: str) -> None:
    if kind == "bare":
        client.request("health/check")
    elif kind == "2026-07-28":
        client.request("server/discover", {"_meta": ENVELOPE})
    elif kind != "fresh":
        client.initialize(kind)


def id_key(id_: Any) -> str:
    """Ids as JSON compares them: 1 and 1.0 are one number, 1 and "1" are not."""
    return json.dumps(int(id_) if isinstance(id_, float) and id_.is_integer() else id_)


def said_by(message: Any) -> str:
    """One received line as a word to count."""
    if isinstance(message, list):
        return "array"
    code = message.get("error", {}).get("code")
    if message["id"] is None:
        return "array" if code == -32600 else f"null {code}"
    return f"id {id_key(message['id'])}"


def due(each: Owed) -> str:
    if each.kind == "array":
        return "array"
    if each.kind == "error" and each.id is None:
        return "array" if each.code == -32600 else f"null {each.code}"
    return f"id {id_key(each.id)}"


def is_answer(message: Any) -> bool:
    return isinstance(message, list) or "method" not in message


def sent_and_answered(client: LineClient, lines: Sequence[bytes]) -> None:
    """Send, and compare what comes with what is owed. An array that is refused counts as an array answered."""
    for line in lines:
        client.send_bytes(line)
    expected = Counter(due(each) for line in lines if (each := owed(line, LONGEST)).kind != "nothing")
    got: Counter[str] = Counter()
    while missing := expected - got:
        try:
            got[said_by(client.take(is_answer))] += 1
        except AssertionError:
            pytest.fail(f"never answered: {missing} of {lines}")
    got.update(said_by(message) for message in rest(client))
    if unasked := got - expected:
        pytest.fail(f"nobody asked for {unasked} among {lines}")
    assert client.noise == []


def sent_a_response(client: LineClient, line: bytes) -> None:
    """A response nobody asked for is dropped, or refused on the spot if it is not even a response."""
    client.send_bytes(line)
    assert [said_by(message) for message in rest(client)] in ([], ["array"]), line


def rest(client: LineClient) -> list[Any]:
    """The answers that come before a last request has been answered."""
    assert client.request("health/check")["result"]["status"] == "ok"
    answers = [message for message in client.received if is_answer(message)]
    client.received.clear()
    return answers


@pytest.mark.requirement("ruling/doors-bare/stream-survives-bad-line", "ruling/doors-stdio/stdout-protocol-only")
@pytest.mark.parametrize("kind", KINDS)
def test_the_stdio_door_owes_nothing_to_anybody(
    served: Service,
    kind: str,
    seeded: random.Random,
    trials: Callable[[int], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(line_stream, "LONGEST_LINE", LONGEST)
    lines = Lines(seeded, modern=kind == "2026-07-28", longest=LONGEST)
    with line_client(served) as client:
        opened(client, kind)
        supply = lines.take(trials(10_000 // len(KINDS)))
        while some := list(islice(supply, 25)):
            responses = [line for line in some if owed(line, LONGEST).kind == "maybe"]
            sent_and_answered(client, [line for line in some if line not in responses])
            for line in responses:
                sent_a_response(client, line)


def test_a_line_over_the_real_limit_is_refused_and_the_next_is_read(client: LineClient) -> None:
    client.send_bytes(b'{"a":"' + b"x" * line_stream.LONGEST_LINE + b'"}')
    assert client.take(None)["error"]["code"] == -32700
    padding = line_stream.LONGEST_LINE - len(b'{"jsonrpc":"2.0","id":1,"method":"health/check","x":""}') - 1
    client.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"health/check","x":"' + b"x" * padding + b'"}')
    assert client.take(1)["result"]["status"] == "ok"


class Poster:
    """One kept connection; each body is posted on it."""

    def __init__(self, port: int, path: str, **headers: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self._path = path
        self._headers = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}

    def post(self, body: bytes) -> tuple[int, list[Any]]:
        """The status, and the JSON messages of the answer, be it a document or a stream."""
        self._connection.request("POST", self._path, body, self._headers)
        response = self._connection.getresponse()
        raw = response.read()
        if response.headers.get("Content-Type", "").startswith("text/event-stream"):
            return response.status, [
                json.loads(line[5:]) for line in raw.splitlines() if line[:5] == b"data:" and line[5:].strip()
            ]
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        return response.status, [json.loads(raw)] if is_json and raw else []

    def __enter__(self) -> Poster:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def check_rpc_answer(line: bytes, status: int, messages: list[Any]) -> None:
    debt = owed(line, 1 << 30) if line.strip() else Owed("error", None, -32700)
    if debt.kind == "nothing":
        assert (status, messages) == (202, []), line
    elif debt.kind == "error" and debt.code == -32700:
        assert (status, messages[0]["error"]["code"], messages[0]["id"]) == (400, -32700, None), line
    elif debt.kind in ("error", "answer"):
        assert (status, id_key(messages[0]["id"])) == (200, id_key(debt.id)), line
    else:
        assert status in (200, 202), line


def test_rpc_answers_every_body(port: int, seeded: random.Random, trials: Callable[[int], int]) -> None:
    with Poster(port, "/rpc") as poster:
        for line in Lines(seeded).take(trials(2_000)):
            check_rpc_answer(line, *poster.post(line))
        _, (answer,) = poster.post(b'{"jsonrpc":"2.0","id":1,"method":"health/check"}')
        assert answer["result"]["status"] == "ok"


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_mcp_answers_every_body(port: int, era: str, seeded: random.Random, trials: Callable[[int], int]) -> None:
    headers = HttpDoor(port).headers()
    if era == "modern":
        headers = {"Accept": "application/json, text/event-stream", "MCP_Protocol_Version": "2026-07-28"}
    with Poster(port, "/mcp", **headers) as poster:
        for line in Lines(seeded, modern=era == "modern").take(trials(2_000)):
            status, messages = poster.post(line)
            assert status < 500, (status, line)
            debt = owed(line, 1 << 30)
            if debt.kind == "answer" and status == 200:
                assert id_key(debt.id) in [id_key(message.get("id")) for message in messages], line
    assert HttpDoor(port).call("health_check").value["status"] == "ok"
