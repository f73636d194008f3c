"""An embeddings endpoint over real HTTP, on this machine: what is sent, what is borne, and what is refused."""

from __future__ import annotations

import base64
import json
import logging
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import numpy as np
import pytest

from codecairn.embed import endpoint as endpoint_module
from codecairn.embed.encoder import MOST_CHARACTERS, Passage, Rows, quantise
from codecairn.embed.remote import MOST_OF_A_REQUEST, MOST_TEXTS, PAUSE_S, Clock, Patience, RemoteEncoder
from codecairn.errors import EncoderFailed

KEY = "key-7f3a91c2d4"
WIDTH = 8


def numbers(text: str) -> list[float]:
    """A vector as good as any: the first eight characters, as seen from the text's length."""
    codes = [ord(character) for character in text[:WIDTH].ljust(WIDTH)]
    return [code - len(text) % 7 - 60.5 for code in codes]


def rows_of(texts: list[str]) -> Rows:
    return quantise(np.array([numbers(text) for text in texts]))


def vectors(texts: list[str]) -> dict[str, Any]:
    return {"data": [{"index": at, "embedding": numbers(text)} for at, text in enumerate(texts)]}


class Canned(NamedTuple):
    status: int
    body: Any = b""
    headers: Mapping[str, str] = {}


class Asked(NamedTuple):
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        return list(self.body["input"])


@dataclass
class Endpoint:
    """Answers what `script` says, one answer a request, and when that is through as an endpoint should."""

    script: deque[Canned] = field(default_factory=deque)
    judge: Callable[[Asked], Canned | None] = lambda _asked: None
    """Another answer than the usual, for requests that are to have one."""
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    hangs_up: bool = False
    """Whether a connection is closed after an answer, without a word of it."""
    released: threading.Event = field(default_factory=threading.Event)
    """Until then an answer of status 0 is not given."""
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def sizes(self) -> list[int]:
        return [len(asked.texts) for asked in self.asked]

    def answer(self, asked: Asked) -> Canned:
        self.asked.append(asked)
        chosen = self.script.popleft() if self.script else self.judge(asked)
        return chosen or Canned(200, vectors(asked.texts))


def handler_for(endpoint: Endpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            endpoint.connections += 1

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer, headers = endpoint.answer(Asked(self.path, dict(self.headers), body))
            if status == 0:
                endpoint.released.wait(60)
                self.close_connection = True
                return
            payload = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(payload)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(payload)
            self.close_connection = self.close_connection or endpoint.hangs_up

        def log_message(self, *_said: Any) -> None: ...

    return Handler


class Time:
    """A clock that stands still but for who sleeps."""

    def __init__(self) -> None:
        self.at = 1000.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.at, date=lambda: self.at, sleep=self.sleep)


@pytest.fixture(autouse=True)
def _no_proxy_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    served = Endpoint()
    with ThreadingHTTPServer(("127.0.0.1", 0), handler_for(served)) as server:
        served.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield served
        served.released.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def time() -> Time:
    return Time()


Opening = Callable[..., RemoteEncoder]


@pytest.fixture
def opened(endpoint: Endpoint, time: Time) -> Iterator[Opening]:
    """Encoders of the endpoint, closed at the end before it is."""
    with ExitStack() as stack:

        def opening(url: str | None = None, **more: Any) -> RemoteEncoder:
            given = {"model": "small", "key": KEY, "clock": time.clock, **more}
            return stack.enter_context(closing(RemoteEncoder(endpoint.url if url is None else url, **given)))

        yield opening


@pytest.fixture
def encoder(opened: Opening) -> RemoteEncoder:
    return opened()


def passages(count: int, text: str = "body") -> list[Passage]:
    return [Passage(f"{at:03}.py", "name", "", text) for at in range(count)]


def texts_of(given: list[Passage]) -> list[str]:
    return [f"{each.path}\n{each.name}\n{each.text}" for each in given]


def test_a_passage_is_sent_as_its_path_its_name_and_its_text(endpoint: Endpoint, encoder: RemoteEncoder) -> None:
    rows = encoder.passages([Passage("src/a.py", "Stack.push", "stack push", "def push(self):\n    …")])
    (asked,) = endpoint.asked
    sent = "src/a.py\nStack.push\ndef push(self):\n    …"
    assert asked.body == {"model": "small", "input": [sent], "encoding_format": "float"}
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert rows.dtype == np.int8
    assert np.array_equal(rows, rows_of([sent]))


@pytest.mark.parametrize(
    ("tail", "path"),
    [
        ("", "/v1/embeddings"),
        ("/", "/v1/embeddings"),
        ("/v1", "/v1/embeddings"),
        ("/v1/", "/v1/embeddings"),
        ("/v1beta/openai", "/v1beta/openai/embeddings"),
        ("/v1/embeddings", "/v1/embeddings"),
        ("/deployments/é/embeddings?version=1", "/deployments/%C3%A9/embeddings?version=1"),
    ],
)
def test_a_base_address_serves_as_well_as_the_whole(endpoint: Endpoint, opened: Opening, tail: str, path: str) -> None:
    opened(endpoint.url + tail).query("stack")
    assert endpoint.asked[0].path == path


def test_without_a_key_or_a_model_neither_is_sent(endpoint: Endpoint, opened: Opening) -> None:
    opened(model="", key="").query("stack")
    assert "Authorization" not in endpoint.asked[0].headers
    assert "model" not in endpoint.asked[0].body


def test_an_encoder_is_named_by_its_address_and_model_without_asking(endpoint: Endpoint, opened: Opening) -> None:
    names = {opened(f"{endpoint.url}{tail}", model=model).name for tail in ("", "/v1", "/v2") for model in ("a", "b")}
    assert {name.partition("#")[0] for name in names} == {f"127.0.0.1:{endpoint.port}/{model}" for model in "ab"}
    assert len(names) == 4
    assert endpoint.asked == []


def test_dimensions_are_asked_for_once(endpoint: Endpoint, encoder: RemoteEncoder) -> None:
    assert [encoder.dimensions, encoder.dimensions] == [WIDTH, WIDTH]
    assert len(endpoint.asked) == 1


def test_answers_are_taken_by_their_number_not_their_order(endpoint: Endpoint, encoder: RemoteEncoder) -> None:
    given = passages(5)
    answer = vectors(texts_of(given))
    endpoint.script.append(Canned(200, {"data": answer["data"][::-1]}))
    assert np.array_equal(encoder.passages(given), rows_of(texts_of(given)))


def test_answers_without_numbers_are_in_order_and_base64_is_read(endpoint: Endpoint, encoder: RemoteEncoder) -> None:
    given = passages(3)
    packed = [base64.b64encode(np.array(numbers(text), "<f4").tobytes()).decode() for text in texts_of(given)]
    endpoint.script.append(Canned(200, {"data": [{"embedding": each} for each in packed]}))
    assert np.array_equal(encoder.passages(given), rows_of(texts_of(given)))


def test_many_passages_go_in_batches_over_one_connection(endpoint: Endpoint, encoder: RemoteEncoder) -> None:
    given = passages(150)
    assert np.array_equal(encoder.passages(given), rows_of(texts_of(given)))
    assert endpoint.sizes == [MOST_TEXTS, MOST_TEXTS, 22]
    assert endpoint.connections == 1


def test_long_passages_are_cut_and_fewer_go_at_once(endpoint: Endpoint, encoder: RemoteEncoder) -> None:
    encoder.passages(passages(40, "x" * 10_000))
    assert {len(text) for asked in endpoint.asked for text in asked.texts} == {MOST_CHARACTERS}
    assert endpoint.sizes == [MOST_OF_A_REQUEST // MOST_CHARACTERS, 7]


@pytest.mark.parametrize(
    "refusal",
    [
        Canned(413),
        Canned(400, {"error": {"message": "This model's maximum context length is 8192 tokens"}}),
        Canned(422, {"error": "batch size 64 > maximum allowed batch size 32"}),
        Canned(500, {"error": {"message": "input is too large to process"}}),
    ],
    ids=lambda refusal: str(refusal.status),
)
def test_a_batch_that_is_too_large_is_halved(endpoint: Endpoint, encoder: RemoteEncoder, refusal: Canned) -> None:
    endpoint.judge = lambda asked: refusal if len(asked.texts) > 20 else None
    given = passages(64)
    assert np.array_equal(encoder.passages(given), rows_of(texts_of(given)))
    assert endpoint.sizes[:3] == [64, 32, 16]


def test_a_text_that_is_too_long_alone_is_cut(endpoint: Endpoint, encoder: RemoteEncoder, time: Time) -> None:
    endpoint.judge = lambda asked: Canned(413) if any(len(text) > 1000 for text in asked.texts) else None
    given = [*passages(3), Passage("long.py", "", "", "y" * 2000), *passages(3)]
    sent = texts_of(given)
    sent[3] = ("long.py\n" + "y" * 2000)[:502]
    assert np.array_equal(encoder.passages(given)[3], rows_of(sent)[3])
    assert time.slept == []


def test_what_is_too_large_however_small_is_a_failure(endpoint: Endpoint, encoder: RemoteEncoder) -> None:
    endpoint.judge = lambda asked: Canned(413)
    with pytest.raises(EncoderFailed, match="413"):
        encoder.passages(passages(64))
    assert len(endpoint.asked) < 10


def test_an_endpoint_that_says_when_to_come_back_is_left_alone_until_then(
    endpoint: Endpoint, encoder: RemoteEncoder, time: Time
) -> None:
    date = formatdate(time.at + 7 + 20, usegmt=True)
    endpoint.script += [Canned(429, headers={"Retry-After": "7"}), Canned(503, headers={"Retry-After": date})]
    assert encoder.passages(passages(1)).shape == (1, WIDTH)
    assert time.slept == [7.0, 20.0]


def test_an_endpoint_that_wants_too_long_a_wait_is_given_up(
    endpoint: Endpoint, encoder: RemoteEncoder, time: Time
) -> None:
    endpoint.script.append(Canned(429, {"error": {"message": "quota"}}, {"Retry-After": "3600"}))
    with pytest.raises(EncoderFailed, match="quota"):
        encoder.passages(passages(1))
    assert time.slept == []


@pytest.mark.parametrize("strange", ["soon", "nan", "-5", "", "Thu, 99 Jan 2026", "9" * 400])
def test_a_strange_time_to_come_back_does_no_harm(endpoint: Endpoint, encoder: RemoteEncoder, strange: str) -> None:
    endpoint.script.append(Canned(500, headers={"Retry-After": strange}))
    try:
        encoder.passages(passages(1))
    except EncoderFailed:
        assert strange.startswith("9")


def test_failures_that_pass_are_borne_with_growing_waits(
    endpoint: Endpoint, encoder: RemoteEncoder, time: Time
) -> None:
    endpoint.script += [Canned(status) for status in (500, 502, 429, 503)]
    assert encoder.passages(passages(2)).shape == (2, WIDTH)
    assert [low <= slept <= 2 * low for slept, low in zip(time.slept, (0.25, 0.5, 1.0, 2.0), strict=True)] == [True] * 4


def test_failures_that_do_not_pass_end_after_five_tries(endpoint: Endpoint, encoder: RemoteEncoder) -> None:
    endpoint.judge = lambda asked: Canned(500, {"error": {"message": "out of order"}})
    with pytest.raises(EncoderFailed, match=r"fails \(500\): out of order"):
        encoder.passages(passages(2))
    assert len(endpoint.asked) == 5


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405])
def test_a_refusal_is_final_at_once(endpoint: Endpoint, encoder: RemoteEncoder, status: int) -> None:
    endpoint.judge = lambda asked: Canned(status, {"error": {"message": "no"}})
    with pytest.raises(EncoderFailed, match=str(status)):
        encoder.passages(passages(2))
    assert len(endpoint.asked) == 1


def test_nobody_listening_is_a_failure_after_five_tries(opened: Opening, time: Time) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        lonely = opened(f"http://127.0.0.1:{unused.getsockname()[1]}", indexing=Patience(5, 60.0))
        with pytest.raises(EncoderFailed, match="cannot be reached"):
            lonely.passages(passages(1))
    assert len(time.slept) == 4


def test_a_connection_that_was_closed_meanwhile_is_opened_anew(endpoint: Endpoint, encoder: RemoteEncoder) -> None:
    endpoint.hangs_up = True
    for text in ("a", "b", "c"):
        assert np.array_equal(encoder.query(text), rows_of([text])[0])
    assert endpoint.connections == 3


def hanging(above: int) -> Callable[[Asked], Canned | None]:
    return lambda asked: Canned(0) if len(asked.texts) > above else None


def test_a_query_that_is_not_answered_in_time_is_a_failure(endpoint: Endpoint, opened: Opening) -> None:
    endpoint.judge = hanging(above=0)
    with pytest.raises(EncoderFailed, match="did not answer in"):
        opened(searching=Patience(1, 0.2)).query("stack")


def test_a_batch_that_is_not_answered_in_time_is_sent_in_parts(endpoint: Endpoint, opened: Opening) -> None:
    endpoint.judge = hanging(above=8)
    given = passages(16)
    assert np.array_equal(opened(indexing=Patience(5, 0.5)).passages(given), rows_of(texts_of(given)))
    assert endpoint.sizes == [16, 4, 5, 6, 1]


def test_an_endpoint_that_answers_nothing_is_given_up(endpoint: Endpoint, opened: Opening) -> None:
    endpoint.judge = hanging(above=0)
    with pytest.raises(EncoderFailed, match="did not answer in time"):
        opened(indexing=Patience(1, 0.1)).passages(passages(16))
    assert endpoint.sizes == [16, 4, 1]


def test_after_a_failed_query_words_have_to_do_for_a_while(
    endpoint: Endpoint, encoder: RemoteEncoder, time: Time
) -> None:
    endpoint.script.append(Canned(503))
    for _ in range(3):
        with pytest.raises(EncoderFailed, match="503"):
            encoder.query("stack")
    assert (len(endpoint.asked), time.slept) == (1, [])
    time.at += PAUSE_S
    assert np.array_equal(encoder.query("stack"), rows_of(["stack"])[0])
    assert np.array_equal(encoder.query("queue"), rows_of(["queue"])[0])


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>not here</html>", "not here"),
        (b"\xff\xfe\x00", "no vectors"),
        (b"[" * 100_000, "no vectors"),
        ({"error": {"message": "model is loading"}}, "model is loading"),
        ({"data": []}, "0 for 2 texts"),
        ({"data": vectors(["a", "b", "c"])["data"]}, "3 for 2 texts"),
        ({"data": [{"index": 0, "embedding": [1.0]}] * 2}, "not numbered"),
        ({"data": [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}]}, "lengths differ"),
        ({"data": [{"embedding": []}, {"embedding": []}]}, "empty"),
        ({"data": [{"embedding": [None]}, {"embedding": [1.0]}]}, "no vectors"),
        ({"data": [{"embedding": "AAA"}, {"embedding": "AAAA"}]}, "base64"),
        ({"data": [{"embedding": "AADAfw=="}, {"embedding": "AADAfw=="}]}, "no number"),
        (b'{"data": [{"embedding": [NaN]}, {"embedding": [1]}]}', "no vectors"),
    ],
)
def test_an_answer_that_is_none_is_refused(
    endpoint: Endpoint, encoder: RemoteEncoder, body: object, reason: str
) -> None:
    endpoint.script.append(Canned(200, body))
    with pytest.raises(EncoderFailed, match=reason):
        encoder.passages(passages(2))
    assert len(endpoint.asked) == 1


def test_dimensions_that_change_are_refused(endpoint: Endpoint, encoder: RemoteEncoder) -> None:
    assert encoder.dimensions == WIDTH
    endpoint.script.append(Canned(200, {"data": [{"embedding": [1.0, 2.0]}]}))
    with pytest.raises(EncoderFailed, match="2 dimensions"):
        encoder.passages(passages(1))


def test_an_answer_without_end_is_not_kept(
    endpoint: Endpoint, encoder: RemoteEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_module, "LARGEST_REPLY", 10_000)
    endpoint.script += [
        Canned(200, b" " * 20_000),
        Canned(200, b"4e20\r\n" + b" " * 20_000 + b"\r\n0\r\n\r\n", CHUNKED),
    ]
    for _ in range(2):
        with pytest.raises(EncoderFailed, match="more than anyone would keep"):
            encoder.passages(passages(1))


CHUNKED = {"Transfer-Encoding": "chunked"}


def test_an_answer_that_breaks_off_is_asked_for_again(endpoint: Endpoint, encoder: RemoteEncoder, time: Time) -> None:
    endpoint.script.append(Canned(200, b'{"data": [', {"Content-Length": "500", "Connection": "close"}))
    assert encoder.passages(passages(1)).shape == (1, WIDTH)
    assert len(time.slept) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_refused_and_the_key_goes_nowhere(
    endpoint: Endpoint, encoder: RemoteEncoder, status: int
) -> None:
    endpoint.script.append(Canned(status, headers={"Location": f"http://localhost:{endpoint.port}/elsewhere"}))
    with pytest.raises(EncoderFailed, match="another address"):
        encoder.query("stack")
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 413, 429, 500])
def test_no_message_repeats_the_key(
    endpoint: Endpoint, encoder: RemoteEncoder, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.judge = lambda asked: Canned(status, {"error": {"message": f"{asked.headers['Authorization']} is wrong"}})
    with caplog.at_level(logging.DEBUG), pytest.raises(EncoderFailed) as refused:
        encoder.passages(passages(1))
    assert KEY not in f"{refused.value!r} {refused.value.remedy} {refused.value.data} {encoder!r} {caplog.text}"


@pytest.mark.parametrize("key", ["sk-ä", "two\nlines", "nul\x00"])
def test_a_key_that_no_header_can_carry_is_refused_unsaid(endpoint: Endpoint, opened: Opening, key: str) -> None:
    with pytest.raises(EncoderFailed) as refused:
        opened(key=key).passages(passages(1))
    assert key not in str(refused.value)
    assert endpoint.asked == []


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:11434",
        "ftp://host/v1",
        "http://",
        "http://user:secret@host/v1",
        "http://host:99999/",
        "http://[::1",
    ],
)
def test_an_address_that_is_none_is_refused_when_it_is_first_used(url: str) -> None:
    encoder = RemoteEncoder(url, "small", KEY)
    with pytest.raises(EncoderFailed) as refused:
        _ = encoder.name
    assert "CAIRN_EMBEDDINGS_URL" in refused.value.remedy
    assert "secret" not in refused.value.message


def test_texts_in_any_script_and_halves_of_characters_are_sent(endpoint: Endpoint, encoder: RemoteEncoder) -> None:
    encoder.passages([Passage("日本.py", "größe", "", "🪨\x00\udcff")])
    assert endpoint.asked[0].texts == ["日本.py\ngröße\n🪨\x00?"]


def test_texts_without_content_have_rows_without_and_are_not_sent(endpoint: Endpoint, encoder: RemoteEncoder) -> None:
    rows = encoder.passages([Passage("", "", "", " \n"), *passages(1), Passage("", "", "", "")])
    assert endpoint.sizes == [1]
    assert [bool(row.any()) for row in rows] == [False, True, False]
    assert not encoder.query("  ").any()


def test_no_passages_are_no_rows(encoder: RemoteEncoder) -> None:
    assert encoder.passages([]).shape == (0, WIDTH)


def test_a_proxy_of_the_environment_is_used(
    endpoint: Endpoint, opened: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://me:pass%20word@127.0.0.1:{endpoint.port}")
    opened("http://embeddings.invalid/v1").query("stack")
    (asked,) = endpoint.asked
    assert asked.path == "http://embeddings.invalid/v1/embeddings"
    assert asked.headers["Host"] == "embeddings.invalid"
    assert base64.b64decode(asked.headers["Proxy-Authorization"].removeprefix("Basic ")) == b"me:pass word"


def test_queries_of_many_threads_do_not_disturb_each_other(endpoint: Endpoint, encoder: RemoteEncoder) -> None:
    texts = [f"question {at}" for at in range(24)]
    found: dict[str, bool] = {}

    def ask(text: str) -> None:
        found[text] = np.array_equal(encoder.query(text), rows_of([text])[0])

    threads = [threading.Thread(target=ask, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(texts, True)
