"""`cairn serve` as a process of its own: what reaches stdout, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.repo import Repo
from tests.support.serve_samples import SCRIPT
from tests.support.wait import SlowGit
from tests.support.wire import ENVELOPE, ServerProcess

SOON_S = 5.0
"""The promise is about a second; a busy machine is given more, an endless wait is not."""


def lines(*messages: Any) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def piped(sent: bytes, folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """printf '…' | cairn serve"""
    command = [sys.executable, "-m", "codecairn", "serve", *arguments]
    return subprocess.run(command, input=sent, cwd=folder, capture_output=True, timeout=30, check=False)


def health(id_: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": "health/check"}


def tool_call(id_: Any, name: str, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": name, "arguments": {}, **more}}


@pytest.mark.requirement("ruling/doors-stdio/exits-on-stdin-close")
def test_what_was_sent_before_the_input_ended_is_answered(repo: Repo) -> None:
    repo.commit("only", {"a.txt": "a\n"})
    sent = lines(*(health(number) for number in range(50)), tool_call("log", "git_log"), [health("in array")])
    done = piped(sent + b"nonsense\n" + lines(health("last")).rstrip(b"\n"), repo.path)
    assert done.returncode == 0
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    ids = [answer[0]["id"] if isinstance(answer, list) else answer["id"] for answer in answers]
    assert sorted(map(str, ids)) == sorted(map(str, [*range(50), "log", "in array", None, "last"]))
    (log,) = [answer for answer in answers if isinstance(answer, dict) and answer["id"] == "log"]
    assert log["result"]["structuredContent"]["count"] == 1


@pytest.mark.requirement("ruling/doors-stdio/exits-on-stdin-close")
@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_a_whole_conversation_may_come_through_a_pipe(repo: Repo, era: str) -> None:
    repo.commit("only", {"a.txt": "a\n"})
    info = {"name": "t", "version": "0"}
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    sent = [tool_call(2, "git_log", _meta=ENVELOPE)]
    if era == "handshake":
        first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}
        sent = [first, {"jsonrpc": "2.0", "method": "notifications/initialized"}, tool_call(2, "git_log")]
    done = piped(lines(*sent), repo.path)
    assert done.returncode == 0
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["result"]["structuredContent"]["commits"][0]["message"] == "only"


@pytest.mark.requirement("ruling/doors-stdio/exits-on-stdin-close")
def test_an_input_that_is_empty_ends_the_process_with_success(tmp_path: Path) -> None:
    done = piped(b"", tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.requirement("ruling/doors-stdio/exits-on-stdin-close")
@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28", "bare"])
def test_no_hung_child_outlives_the_input(repo: Repo, tmp_path: Path, era: str) -> None:
    slow = SlowGit(tmp_path / "slow")
    with ServerProcess(folder=repo.path, PATH=slow.path) as server:
        if era == "2025-11-25":
            server.initialize(era)
        server.send(tool_call(1, "git_log", **({"_meta": ENVELOPE} if era == "2026-07-28" else {})))
        slow.started()
        began = time.monotonic()
        assert server.close() == 0
        assert time.monotonic() - began < SOON_S
        slow.all_gone()
        assert "error" in (answer := server.take(1)) or answer["result"]["isError"]
        assert server.noise == []


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_ends_the_process_and_its_children(repo: Repo, tmp_path: Path, name: str) -> None:
    slow = SlowGit(tmp_path / "slow")
    number = getattr(signal, name)
    with ServerProcess(folder=repo.path, PATH=slow.path) as server:
        server.send(tool_call(1, "git_log"))
        slow.started()
        server.process.send_signal(number)
        assert server.process.wait(SOON_S) == 128 + number
        slow.all_gone()


@pytest.mark.requirement("ruling/doors-stdio/stdout-protocol-only")
@pytest.mark.parametrize("era", ["2025-11-25", "bare"])
def test_whatever_a_tool_prints_goes_to_stderr(repo: Repo, era: str) -> None:
    with ServerProcess(folder=repo.path, script=SCRIPT) as server:
        if era != "bare":
            server.initialize(era)
        ids = [server.start("tools/call", {"name": "sample_noise"}) for _ in range(3)]
        behind = [server.start("health/check") for _ in range(20)]
        assert all(server.take(id_)["result"]["structuredContent"] == {"text": "loud"} for id_ in ids)
        assert all(server.take(id_)["result"]["status"] == "ok" for id_ in behind)
        assert server.close() == 0
        assert server.noise == []
        stderr = "".join(server.stderr)
        for noise in ("printed noise", "written noise", "raw noise", "child noise"):
            assert stderr.count(noise) == 3


@pytest.mark.requirement("ruling/doors-stdio/stdout-protocol-only")
def test_bugs_warnings_and_bad_lines_leave_stdout_clean(repo: Repo) -> None:
    with ServerProcess("--log-level", "debug", folder=repo.path, script=SCRIPT) as server:
        server.send_bytes(b"nonsense")
        server.take(None)
        server.initialize()
        assert server.request("tools/call", {"name": "sample_bug"})["result"]["isError"]
        assert server.request("tools/call", {"name": 5})["error"]["code"] == -32602
        assert server.request("no/such")["error"]["code"] == -32601
        assert server.close() == 0
        assert (server.noise, server.received) == ([], [])
        assert "the sample is broken" in "".join(server.stderr)


def test_a_client_that_died_takes_the_server_along(repo: Repo, tmp_path: Path) -> None:
    """All three pipes break at once, with a call under way whose end cannot even be logged."""
    slow = SlowGit(tmp_path / "slow")
    with subprocess.Popen(
        [sys.executable, "-m", "codecairn", "serve"], cwd=repo.path, env={**os.environ, "PATH": slow.path},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        pipes = [pipe for pipe in (server.stdin, server.stdout, server.stderr) if pipe]
        pipes[0].write(lines(tool_call(1, "git_log")))
        pipes[0].flush()
        slow.started()
        for pipe in reversed(pipes):
            pipe.close()
        assert server.wait(SOON_S) == 0
        slow.all_gone()


def test_a_server_started_without_stderr_serves(repo: Repo) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -m codecairn serve 2>&-', sys.executable],
        input=lines(health(1)), cwd=repo.path, stdout=subprocess.PIPE, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert json.loads(done.stdout)["result"]["status"] == "ok"
