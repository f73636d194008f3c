"""The shell's door: `cairn call`, `cairn schemas`, and `cairn serve --tools`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codecairn import __version__, tools
from tests.support.doors import MemoryDoor, service
from tests.support.repo import Repo
from tests.support.serve_samples import SCRIPT
from tests.support.wire import ServerProcess


def cairn(folder: Path, *arguments: str, stdin: bytes = b"", script: Path | None = None) -> Any:
    command = [sys.executable, str(script)] if script else [sys.executable, "-m", "codecairn"]
    return subprocess.run([*command, *arguments], cwd=folder, input=stdin, capture_output=True, timeout=60, check=False)


@pytest.fixture
def written(repo: Repo) -> Repo:
    repo.commit("première", {"a.txt": "a\n"})
    return repo


def test_call_prints_the_text(written: Repo) -> None:
    done = cairn(written.path, "call", "git_log", '{"maxCount": 1}')
    assert done.returncode == 0
    assert done.stdout.decode() == MemoryDoor(service(written.path)).call("git_log", {"maxCount": 1}).text + "\n"
    assert done.stderr == b""


def test_call_prints_what_an_agent_reads_of_a_tool_whose_seed_answers_json(written: Repo) -> None:
    assert cairn(written.path, "call", "read_file", '{"path": "a.txt"}').stdout.decode().endswith("\na\n")
    refused = cairn(written.path, "call", "read_file", '{"path": "b.txt"}')
    assert refused.returncode == 1
    assert refused.stdout.decode().startswith("Error (file_not_found)")
    value = json.loads(cairn(written.path, "call", "read_file", '{"path": "a.txt"}', "--json").stdout)
    assert value["file"]["content"] == "a\n"


def test_call_prints_the_value_as_json_when_asked(written: Repo) -> None:
    done = cairn(written.path, "call", "git_log", "--json")
    assert json.loads(done.stdout) == MemoryDoor(service(written.path)).call("git_log").value
    assert "première" in done.stdout.decode()


def test_call_reads_its_arguments_from_stdin(written: Repo) -> None:
    done = cairn(written.path, "call", "git_blame", "-", "--json", stdin=b'{"filePath": "a.txt"}')
    assert json.loads(done.stdout)["filePath"] == "a.txt"


def test_call_knows_methods_by_their_slashed_name(tmp_path: Path) -> None:
    done = cairn(tmp_path, "call", "health/check", "--json")
    assert json.loads(done.stdout)["version"] == __version__


def test_call_takes_the_root_it_is_given(written: Repo, tmp_path: Path) -> None:
    done = cairn(tmp_path, "call", "git_log", "--root", str(written.path), "--json")
    assert json.loads(done.stdout)["count"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["git_blame", '{"filePath": "no.txt"}'], "Error: NotFoundError"),
        (["git_blame", "{}"], "Error: InvalidInputError"),
        (["git_log", "[]"], "Error: InvalidInputError"),
        (["git_log", '{"maxCount": 1e999}'], "Error: InvalidInputError"),
    ],
)
def test_a_call_that_fails_prints_its_error_and_exits_1(written: Repo, arguments: list[str], said: str) -> None:
    done = cairn(written.path, "call", *arguments)
    assert done.returncode == 1
    assert said in done.stdout.decode()
    assert b"Traceback" not in done.stderr


def test_a_bug_in_a_tool_exits_1_with_the_traceback_on_stderr(tmp_path: Path) -> None:
    done = cairn(tmp_path, "call", "sample_bug", "--json", script=SCRIPT)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == -32603
    assert b"the sample is broken" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (["git_log", "{"], b"", b"not JSON"),
        (["git_log", "-"], b"\xff\xfe", b"not JSON"),
        (["git_log", "-"], b"[" * 100_000, b"not JSON"),
        (["no_such_tool"], b"", b"git_log"),
        (["git_log", "--root", "/no/such/folder"], b"", b"/no/such/folder"),
        ([], b"", b"TOOL"),
    ],
    ids=["broken JSON", "not UTF-8", "too deep", "unknown tool", "bad root", "nothing"],
)
def test_a_call_that_cannot_be_made_exits_2_and_says_why(
    tmp_path: Path, arguments: list[str], stdin: bytes, said: bytes
) -> None:
    done = cairn(tmp_path, "call", *arguments, stdin=stdin)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr
    assert b"Traceback" not in done.stderr


def test_schemas_are_those_of_the_registry(tmp_path: Path) -> None:
    printed = json.loads(cairn(tmp_path, "schemas").stdout)
    known = tools.standard().tools
    assert set(printed) == set(known)
    assert printed["git_log"] == {"input": known["git_log"].input_schema, "output": known["git_log"].output_schema}
    assert set(json.loads(cairn(tmp_path, "schemas", "health/check").stdout)) == {"health_check"}
    assert cairn(tmp_path, "schemas", "no_such_tool").returncode == 2


@pytest.mark.parametrize(
    ("selection", "offered"),
    [("git_log", {"git_log"}), (" git_log , health_check", {"git_log", "health_check"}), ("history", {"git_log"})],
)
def test_serve_offers_only_the_tools_selected(repo: Repo, selection: str, offered: set[str]) -> None:
    with ServerProcess("--tools", selection, folder=repo.path) as server:
        server.initialize()
        listed = {tool["name"] for tool in server.request("tools/list")["result"]["tools"]}
        assert listed == offered if selection != "history" else {"git_log", "git_blame", "git_diff"} <= listed
        assert server.request("tools/call", {"name": "metrics_snapshot"})["error"]["code"] == -32602
        expected = "result" if "health_check" in listed else "error"
        assert expected in server.request("health/check")


def test_the_command_says_its_version_and_its_commands(tmp_path: Path) -> None:
    assert cairn(tmp_path, "--version").stdout.decode().split()[-1] == __version__
    said = cairn(tmp_path, "--help").stdout.decode()
    assert all(command in said for command in ("call", "schemas", "serve"))


def test_candidates_of_an_ambiguous_name_stand_one_a_line(repo: Repo) -> None:
    repo.commit("many", {f"m{n}.py": f"class C{n}:\n    def run(self):\n        pass\n" for n in range(9)})
    done = cairn(repo.path, "refs", "run")
    assert done.returncode == 1
    assert b"\n  m0.C0.run  m0.py:2\n  m1.C1.run  m1.py:2\n" in done.stderr


def test_memory_add_remembers(written: Repo) -> None:
    done = cairn(written.path, "memory", "add", "Runs", "are never nested here", "--type", "rule")
    assert done.stdout.startswith(b"Stored as d-")
    assert b"rule" in cairn(written.path, "memory", "list").stdout
    assert cairn(written.path, "memory", "add", "short").returncode == 1
