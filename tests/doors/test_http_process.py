"""`cairn serve --http` as a process of its own: where it listens, what it refuses to start as, how it ends."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from codecairn.serve.http import DEFAULT_ADDRESS, Address
from tests.support.doors import HttpDoor, http_request
from tests.support.repo import Repo
from tests.support.serve_samples import SCRIPT
from tests.support.wait import SlowGit, eventually
from tests.support.wire import ENVELOPE, ServerProcess


def announced(server: ServerProcess) -> int:
    """The port a server says it listens on, once it says so."""

    def look() -> str | None:
        found = re.search(r"serving http://\S+:(\d+)/mcp", "".join(server.stderr))
        assert found or server.process.poll() is None, server.stderr
        return found and found[1]

    return int(eventually(look, 30) or 0)


def limited(port: int, **headers: str) -> bool:
    answer = http_request(port, "POST", "/rpc", {"jsonrpc": "2.0", "id": 1, "method": "sample/limited"}, **headers)
    return "error" in answer.json


@pytest.mark.requirement("ruling/doors-http/loopback-by-default", "ruling/doors-http/health-endpoint")
def test_without_a_host_only_this_machine_is_served(repo: Repo) -> None:
    assert Address.parse(DEFAULT_ADDRESS).host == "127.0.0.1"
    with ServerProcess("--http", ":0", folder=repo.path, script=SCRIPT) as server:
        port = announced(server)
        assert http_request(port, "GET", "/health").json["status"] == "ok"
        assert HttpDoor(port).call("sample_where").value == {"text": str(repo.path)}
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=5)
        disguised = [limited(port, X_Forwarded_For=f"203.0.113.{number}") for number in range(3)]
        assert disguised == [False, False, True]
        server.process.terminate()
        assert server.process.wait(10) == 128 + signal.SIGTERM
        assert server.noise == []


def test_a_signal_ends_the_server_its_open_streams_and_its_children(repo: Repo, tmp_path: Path) -> None:
    slow = SlowGit(tmp_path / "slow")
    with ServerProcess("--http", "127.0.0.1:0", folder=repo.path, PATH=slow.path) as server:
        port = announced(server)
        listening = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        headers = {name.replace("_", "-"): value for name, value in HttpDoor(port).headers().items()}
        listening.request("GET", "/mcp", headers=headers)
        calling = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "git_log", "_meta": ENVELOPE}}
        calling.request("POST", "/rpc", json.dumps(message), {"Content-Type": "application/json"})
        slow.started()
        server.process.terminate()
        assert server.process.wait(10) == 128 + signal.SIGTERM
        slow.all_gone()
        listening.close()
        calling.close()


def refusal(folder: Path, *arguments: str, **environment: str) -> str:
    """What `cairn serve` says when it will not start."""
    command = [sys.executable, "-m", "codecairn", "serve", *arguments]
    done = subprocess.run(
        command, cwd=folder, env={"PATH": "/usr/bin:/bin", "HOME": str(folder.parent), **environment},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.requirement("ruling/doors-http/public-bind-needs-token", "ruling/doors-http/public-bind-needs-roots")
def test_beyond_loopback_nothing_starts_without_a_token_and_roots(repo: Repo) -> None:
    assert "CAIRN_TOKEN" in refusal(repo.path, "--http", "0.0.0.0:0", "--root", str(repo.path))
    assert "--root" in refusal(repo.path, "--http", "[::]:0", CAIRN_TOKEN="t", CAIRN_ROOT=str(repo.path))


@pytest.mark.requirement("ruling/doors-http/token-checked")
def test_beyond_loopback_the_token_opens_the_door(repo: Repo) -> None:
    options = ("--http", "0.0.0.0:0", "--root", str(repo.path), "--allow-host", "cairn.example")
    with ServerProcess(*options, folder=repo.path, CAIRN_TOKEN="correct-horse") as server:
        port = announced(server)
        health = {"jsonrpc": "2.0", "id": 1, "method": "health/check"}
        assert http_request(port, "POST", "/rpc", health).status == 401
        token = {"Authorization": "Bearer correct-horse"}
        assert http_request(port, "POST", "/rpc", health, **token, Host="cairn.example").status == 200
        assert http_request(port, "POST", "/rpc", health, **token, Host="evil.example").status == 403
        server.process.terminate()
        server.process.wait(10)
        server._drain.join(5)
        assert "correct-horse" not in "".join(server.stderr)


def test_what_cannot_be_served_is_said_in_a_sentence(repo: Repo, tmp_path: Path) -> None:
    assert "not HOST:PORT" in refusal(repo.path, "--http", "127.0.0.1:http")
    assert "nothing" in refusal(repo.path, "--tools", "no_such_tool")
    assert "no/such" in refusal(repo.path, "--root", str(tmp_path / "no/such"))


def test_a_port_that_is_taken_ends_the_start(repo: Repo) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with ServerProcess("--http", f"127.0.0.1:{port}", folder=repo.path) as server:
            assert server.process.wait(30) not in (0, None)
            server._drain.join(5)
            assert "address already in use" in "".join(server.stderr)
            assert "serving" not in "".join(server.stderr)


def test_ipv6_loopback_is_served_too(repo: Repo) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    with ServerProcess("--http", "[::1]:0", folder=repo.path) as server:
        port = announced(server)
        connection = http.client.HTTPConnection("::1", port, timeout=30)
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200
        connection.close()
        assert f"http://[::1]:{port}/mcp" in "".join(server.stderr)
