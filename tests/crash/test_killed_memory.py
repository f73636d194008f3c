"""A server that is killed while it writes memory or links keeps everything that it has acknowledged."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codecairn.config import Settings
from codecairn.project import Project, Projects
from tests.support.repo import Repo
from tests.support.wire import LineClient

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="about SIGKILL")


def start(root: Path, home: Path) -> tuple[subprocess.Popen[bytes], LineClient]:
    command = [sys.executable, "-m", "codecairn", "serve", "--root", str(root), "--log-level", "error"]
    environment = {**os.environ, "CAIRN_HOME": str(home)}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    assert process.stdin is not None
    assert process.stdout is not None
    client = LineClient(process.stdout, process.stdin)
    client.initialize()
    return process, client


def remember(client: LineClient, number: int) -> dict[str, Any]:
    said = {"type": "decision", "content": f"Decision number {number} about the ledger of things", "path": "a.py"}
    answer: dict[str, Any] = client.request("tools/call", {"name": "remember", "arguments": said})["result"]
    stored: dict[str, Any] = answer["structuredContent"]
    return stored


def reopened(root: Path, home: Path) -> Project:
    return Projects(Settings(roots=(root,), data=home)).current()


def test_killed_while_discoveries_are_written(
    tmp_path: Path, seeded: random.Random, trials: Callable[[int], int]
) -> None:
    repo = Repo.create(tmp_path / "repo")
    repo.commit("start", {"a.py": "def a():\n    return 1\n"})
    home, acknowledged, number = tmp_path / "home", set[str](), 0
    for _ in range(trials(40)):
        process, client = start(repo.path, home)
        for _ in range(seeded.randint(1, 12)):
            acknowledged.add(remember(client, number)["discovery"]["id"])
            number += 1
        client.start(
            "tools/call", {"name": "remember", "arguments": {"type": "rule", "content": f"Last {number} ones"}}
        )
        kill(process)
        assert acknowledged <= {row.id for row in reopened(repo.path, home).discoveries.all()}


def test_killed_while_projects_are_linked(tmp_path: Path, seeded: random.Random, trials: Callable[[int], int]) -> None:
    """`cairn link` is killed at a moment of its run, or ends; what it has said is linked stays."""
    home, root = tmp_path / "home", Repo.create(tmp_path / "repo")
    root.commit("start", {"a.py": "x = 1\n"})
    others = [Repo.create(tmp_path / f"other{number}").path for number in range(10)]
    said = set[Path]()
    environment = {**os.environ, "CAIRN_HOME": str(home)}
    for number in range(trials(30)):
        other = others[number % len(others)]
        verb = "link" if number // len(others) % 2 == 0 else "unlink"
        command = [sys.executable, "-m", "codecairn", verb, str(other)]
        process = subprocess.Popen(
            command, cwd=root.path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(seeded.uniform(0.0, 1.2))
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
        linked = {Path(link.root) for link in reopened(root.path, home).links.all()}
        after = said | {other} if verb == "link" else said - {other}
        assert linked in ([after] if process.returncode == 0 else [said, after])
        said = linked


def test_killed_while_a_pack_is_built(tmp_path: Path, seeded: random.Random, trials: Callable[[int], int]) -> None:
    """A pack stores nothing of its own: the next server builds the same one, from the same index and discoveries."""
    repo = Repo.create(tmp_path / "repo")
    parts = {f"part{n}.py": f"def ledger_{n}(thing):\n    return thing + {n}\n" for n in range(30)}
    repo.commit("start", {"a.py": "def a():\n    return 1\n", **parts})
    home, ask = tmp_path / "home", {"name": "build_context_pack", "arguments": {"task": "change ledger_7 of a thing"}}
    process, client = start(repo.path, home)
    client.request("tools/call", {"name": "index_codebase", "arguments": {"path": str(repo.path)}})
    kept = remember(client, 1)["discovery"]["id"]
    first = items_of(client.request("tools/call", ask))
    for _ in range(trials(30)):
        client.start("tools/call", ask)
        time.sleep(seeded.uniform(0.0, 0.1))
        kill(process)
        assert kept in {row.id for row in reopened(repo.path, home).discoveries.all()}
        process, client = start(repo.path, home)
        assert items_of(client.request("tools/call", ask)) == first
    kill(process)


def items_of(answer: dict[str, Any]) -> list[tuple[str, str]]:
    items: list[dict[str, Any]] = answer["result"]["structuredContent"]["items"]
    assert items
    return [(each["path"], each["content"]) for each in items]


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()
