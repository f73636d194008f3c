"""Files written to stretch whoever reads them: each is answered in bounded time, or said to be unreadable."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codecairn import tools
from codecairn.config import Settings
from codecairn.connection import Connection
from codecairn.context import resources
from codecairn.index.worker import Job, write_frame
from codecairn.project import Projects
from codecairn.serve import Service
from codecairn.tools import Call
from tests.support.doors import Door, open_door, service
from tests.support.repo import Repo

MANY = 400_000
HOSTILE: dict[str, str | bytes] = {
    "pyproject.toml": "a." * (MANY // 2) + "b = 1\n",
    "Cargo.toml": "[package]\n" + "a." * (MANY // 2) + "b = 1\n",
    "go.mod": f"module {'x/' * 20_000}\n\nrequire {'a.' * 80_000}\n",
    "Gemfile": "\n" * MANY,
    "Makefile": ("a" * 60 + "\n") * (MANY // 61),
    "package.json": "{" + "/*" * 20_000,
    "tsconfig.json": "{" + '"\\' * 20_000,
    "brackets.md": "# " + "[" * MANY + "\n",
    "angles.md": "# " + "<" * MANY + "\n",
    "braces.md": "# " + "{#" * (MANY // 2) + "\n",
    "spaces.md": "# " + " " * MANY + "x\n",
    "nested.json": "[" * MANY,
    "nested.py": "x = " + "(" * 50_000 + ")" * 50_000 + "\n",
    "a.ts": "import {b} from './b'\nexport const a = b\n",
    "b.ts": "export const b = 1\n",
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Service, Door]]:
    folder = tmp_path_factory.mktemp("hostile")
    repo = Repo.create(folder / "repo")
    repo.commit("all", HOSTILE)
    served = Service(tools.standard(), Projects(Settings(roots=(repo.path,), data=folder / "home")))
    with open_door("memory", served) as door:
        answer = door.call("index_codebase", {"path": str(repo.path)})
        assert not answer.is_error, answer.text
        yield repo.path, served, door


@pytest.mark.timeout(60)
def test_manifests_of_endless_keys_and_lines_do_not_stop_the_overview(hostile: tuple[Path, Service, Door]) -> None:
    _, served, _ = hostile
    call = Call(served.projects, Connection("test"), served.registry, "memory")
    page = resources.read(call, "context://project/overview")
    assert "cannot be read" in page
    assert len(page) < 40_000


@pytest.mark.timeout(60)
def test_comments_and_strings_that_never_end_do_not_stop_the_resolver(hostile: tuple[Path, Service, Door]) -> None:
    _, _, door = hostile
    found = door.call("find_references", {"symbol_name": "b", "path": "b.ts"})
    assert [each["path"] for each in found.value["references"]] == ["a.ts", "a.ts"]


def test_headings_of_open_brackets_are_indexed(hostile: tuple[Path, Service, Door]) -> None:
    root, _, door = hostile
    status = door.call("get_status", {"path": str(root)}).value
    assert "slow to parse" not in {each["reason"] for each in status["statistics"]["skipped"]}
    assert len(status["project"]["module_name"]) <= 500


@pytest.mark.parametrize("pattern", ["(a|a)*b", "(a+)+$", "(x+x+)+y"])
def test_a_runaway_expression_on_a_commit_is_named_as_one(tmp_path: Path, pattern: str) -> None:
    repo = Repo.create(tmp_path / "repo")
    repo.commit("wide", {"a.txt": "a" * 200_000 + "!\n" + "x" * 200_000 + "\n"})
    with open_door("memory", service(repo.path)) as door:
        answer = door.call("grep_codebase", {"pattern": pattern, "ref": "HEAD"})
        assert not answer.is_error or answer.value["error"] == "Invalid regex pattern", answer.text


@pytest.mark.parametrize("param", ["path_filter", "file_pattern"])
def test_a_glob_that_is_refused_says_why_in_words(tmp_path: Path, param: str) -> None:
    repo = Repo.create(tmp_path / "repo")
    repo.commit("one", {"a.py": "x = 1\n"})
    given: dict[str, Any] = {"path_filter": "[z-a]"} if param == "path_filter" else {"filters": {param: "[z-a]"}}
    with open_door("modern", service(repo.path)) as door:
        answer = door.call("search_code", {"path": str(repo.path), "query": "x", **given})
        assert answer.is_error
        assert "b'" not in answer.text


@pytest.mark.skipif(sys.platform == "win32", reason="about named pipes and sockets")
def test_pipes_and_sockets_are_neither_read_nor_waited_for(tmp_path: Path) -> None:
    repo = Repo.create(tmp_path / "repo")
    repo.commit("one", {"a.py": "def a(): ...\n"})
    os.mkfifo(repo.path / "pipe.py")
    (repo.path / "instructions").mkdir()
    os.mkfifo(repo.path / "instructions" / "rule.json")
    os.mkfifo(repo.path / "AGENTS.md")
    os.mkfifo(repo.path / "pyproject.toml")
    os.mkfifo(repo.path / ".cairnignore")
    where = Path.cwd()
    os.chdir(repo.path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("sock.py")
        os.chdir(where)
        served = service(repo.path, data=tmp_path / "home")
        with open_door("memory", served) as door:
            assert not door.call("index_codebase", {"path": str(repo.path)}).is_error
            for tool, arguments in (
                ("instructions_list", {}), ("grep_codebase", {"pattern": "def"}), ("git_diff", {}),
                ("context_search", {"query": "def a"}), ("build_context_pack", {"task": "a"}),
            ):  # fmt: skip
                assert not door.call(tool, arguments).is_error, tool
            for path in ("pipe.py", "sock.py"):
                assert door.call("read_file", {"path": path}).is_error
        call = Call(served.projects, Connection("test"), served.registry, "memory")
        assert resources.read(call, "context://project/overview")


@pytest.mark.skipif(sys.platform == "win32", reason="about SIGKILL")
def test_a_worker_whose_server_was_killed_does_not_read_one_file_for_ever(
    tmp_path: Path,
) -> None:
    """The child waits for ever in a file; who started it is gone and cannot end it."""
    program = (
        "import time\n"
        "from codecairn.index import worker\n"
        "worker._LONGEST_FILE_S = 0.2\n"
        "worker._digest = lambda *_: time.sleep(1_000)\n"
        "worker.main()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.read(4) == bytes(4)
    write_frame(child.stdin, msgspec.msgpack.encode(Job(str(tmp_path), "", "sha1", ["a.py"], {})))
    try:
        assert child.wait(timeout=30) == -signal.SIGALRM
    finally:
        child.send_signal(signal.SIGKILL)
        child.stdin.close()
        child.stdout.close()
        child.wait()
