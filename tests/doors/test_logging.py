"""One line a call on stderr, and no secret in any of them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from codecairn import redact
from tests.support.repo import Repo
from tests.support.serve_samples import SCRIPT
from tests.support.wait import eventually
from tests.support.wire import ServerProcess

AWS = "AKIA" + "IOSFODNN7EXAMPLE"
GITHUB = "ghp_" + "a1B2c3D4e5" * 4
JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----"
OPENAI = "sk-" + "proj-abcdefghij0123456789"
SLACK = "xoxb-" + "123456789012-abcdefghij"

SECRETS = {
    "aws": (AWS, AWS),
    "github": (f"clone with {GITHUB}", GITHUB),
    "jwt": (f"cookie={JWT}", JWT),
    "huge jwt": ("eyJhbGciOiJIUzI1NiJ9." + "A" * 9000 + ".sig", "A" * 100),
    "pem": (PEM, "MIIEowIBAAKCAQEA7"),
    "unfinished pem": (PEM[:50], "MIIEow"),
    "provider": (OPENAI, OPENAI),
    "slack": (SLACK, SLACK),
    "url": ("https://x:hunter22@example.org/r.git", "hu"),
    "assigned": ("password=hunter22", "hunter22"),
    "quoted": ('"api_key": "hunter22"', "hunter22"),
    "header": ("Authorization: Bearer hunter22hunter22", "hunter22"),
    "basic header": ("authorization: Basic aHVudGVyMjI=", "aHVudGVyMjI"),
    "scheme alone": ("curl -H 'Bearer hunter22hunter22'", "hunter22"),
    "past the cut": ("x" * 190 + AWS, AWS[:12]),
}


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_known_by_its_shape(name: str) -> None:
    text, secret = SECRETS[name]
    for shown in (
        redact.mask_arguments(text),
        redact.mask_arguments({"query": [text]}),
        {"a": redact.mask(text)},
    ):
        assert secret not in json.dumps(shown, ensure_ascii=False)


@pytest.mark.parametrize("key", ["password", "apiKey", "API_KEY", "githubToken", "client_secret", "Authorization"])
@pytest.mark.parametrize("value", ["hunter22", ["hunter22"], {"inner": "hunter22"}, 22])
def test_a_secret_is_known_by_the_name_it_goes_under(key: str, value: Any) -> None:
    assert redact.mask_arguments({key: value}) == {key: "…"}


def test_a_secret_in_the_name_of_an_argument_is_masked_too() -> None:
    assert AWS not in str(redact.mask_arguments({AWS: 1, "nested": {GITHUB: 2}}))


def test_what_is_no_secret_stays_readable() -> None:
    arguments = {"filePath": "src/tokens.py", "maxCount": 3, "summary": True, "author": "ada@example.org", "ref": None}
    assert redact.mask_arguments(arguments) == arguments


def test_long_arguments_are_cut_and_large_ones_thinned() -> None:
    shown = redact.mask_arguments({"text": "ab " * 1000, "many": list(range(100)), "number": float("inf")})
    assert len(shown["text"]) < 300
    assert "3000 characters" in shown["text"]
    assert len(shown["many"]) == 20
    assert json.loads(json.dumps(shown, allow_nan=False))["number"] == "inf"


@pytest.mark.parametrize("text", ["eyJ" * 2_000_000, "token " * 1_000_000, "://a" * 1_000_000, "-----BEGIN" * 500_000])
def test_masking_takes_no_longer_for_a_hostile_text(text: str) -> None:
    assert len(redact.mask_arguments(text)) < 300


def started(repo: Repo, *options: str) -> ServerProcess:
    return ServerProcess(*options, folder=repo.path, script=SCRIPT)


def entries(server: ServerProcess) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.stderr]


def test_each_call_is_one_json_line_and_a_bug_another(repo: Repo) -> None:
    with started(repo, "--log-format", "json") as server:
        server.request("sample/echo", {"text": "hello"})
        server.initialize()
        server.request("tools/call", {"name": "sample_echo", "arguments": {"times": 9}})
        server.request("tools/call", {"name": "sample_bug"})
        assert server.close() == 0
        first, second, traceback, third = entries(server)
    assert first["tool"] == second["tool"] == "sample_echo"
    assert (first["error"], second["error"]) == (None, "InvalidInputError")
    assert first["arguments"] == {"text": "hello"}
    assert first["size"] == len('{"text":"hello"}')
    assert first["duration"] >= 0
    assert (first["door"], first["level"]) == ("stdio", "info")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["time"])
    assert traceback["level"] == "error"
    assert "RuntimeError: the sample is broken" in traceback["traceback"]
    assert third["error"] == "ProcessingError"


@pytest.mark.parametrize("style", ["json", "text"])
def test_no_secret_reaches_the_log_of_a_running_server(repo: Repo, style: str) -> None:
    spoken = {name: pair for name, pair in SECRETS.items() if name != "huge jwt"}
    with started(repo, "--log-format", style, "--log-level", "debug") as server:
        for text, _ in spoken.values():
            server.request("sample/echo", {"text": text})
            server.request("git/log", {"password": "hunter22"})
            server.request("tools/call", {"name": "git_log", "arguments": {"filePath": text, "token": "hunter22"}})
        server.request("sample/echo", {AWS: "a"})
        server.request("tools/call", {"name": AWS})
        server.request("sample/bug")
        assert server.close() == 0
        logged = "".join(server.stderr)
    for _, secret in spoken.values():
        assert secret not in logged
    assert "hunter22" not in logged
    if style == "json":
        assert all(isinstance(entry, dict) for entry in entries(server))


def test_text_lines_say_what_a_reader_wants_first(repo: Repo) -> None:
    with started(repo) as server:
        server.request("sample/echo", {"text": "line\nbreak"})
        (line,) = eventually(lambda: server.stderr)
        assert server.close() == 0
    assert re.search(r" info sample_echo ok [\d.]+ ms \d+ chars stdio \{", line)


def test_the_level_decides_what_is_written(repo: Repo) -> None:
    with started(repo, "--log-level", "warning") as server:
        server.request("sample/echo")
        server.request("sample/bug")
        assert server.close() == 0
        text = "".join(server.stderr)
    assert "sample_echo" not in text
    assert "the sample is broken" in text
