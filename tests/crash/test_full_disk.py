"""A disk that is full at any moment: acknowledged writes stay, the failure is said, and with room again all goes on."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.doors import Answer, MemoryDoor, service
from tests.support.repo import Repo

BRANCHES = 6
DISK = 64_000_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    size = ["-t", "tmpfs", "-o", f"size={DISK}", "none", str(place)]
    if sys.platform != "linux" or subprocess.run(["mount", *size], capture_output=True, check=False).returncode != 0:
        pytest.skip("only who may mount can have a disk of this size")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def repo_with_branches(repo: Repo) -> Repo:
    repo.commit("start", {f"part{number}.py": _functions(number, 0, 120) for number in range(12)})
    for branch in range(1, BRANCHES + 1):
        repo.git("checkout", "-q", "-b", f"branch{branch}", "main")
        repo.commit(f"branch {branch}", {f"part{branch}.py": _functions(branch, branch, 200)})
    repo.git("checkout", "-q", "main")
    return repo


def _functions(number: int, branch: int, count: int) -> str:
    return "".join(f"def f{number}_{branch}_{n}(a, b):\n    return a + b\n\n" for n in range(count))


class Trial:
    def __init__(self, repo: Repo, disk: Path, seeded: random.Random) -> None:
        self._repo = repo
        self._disk = disk
        self._choice = seeded
        self._filler = disk / "filler"
        self.remembered = set[str]()
        self.failed = 0

    def run(self, name: str) -> None:
        """Fill the disk, do one thing, look; make room, do it again, look."""
        (self._disk / "home").mkdir(exist_ok=True)
        self._fill(self._choice.choice([0, 4_096, self._choice.randrange(200_000)]))
        try:
            self.failed += getattr(self, f"_{name}")().is_error
        finally:
            self._filler.unlink()
        self._look(name)
        done: Answer = getattr(self, f"_{name}")()
        assert not done.is_error, (name, done.text)
        self._look(name)

    def _fill(self, left: int) -> None:
        room = os.statvfs(self._disk)
        size = room.f_bavail * room.f_frsize - left
        with self._filler.open("wb") as file, suppress(OSError):  # a run that was begun before takes room meanwhile
            if size > 0:
                os.posix_fallocate(file.fileno(), 0, size)

    def _door(self) -> MemoryDoor:
        return MemoryDoor(service(self._repo.path, data=self._disk / "home"))

    def _call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        answer = self._door().call(tool, arguments)
        if answer.is_error:
            assert any(words in answer.text for words in ("disk is full", "Free space", "No space")), answer.text
        return answer

    def _remember(self) -> Answer:
        number = self._choice.randrange(10**9)
        said = {"type": "decision", "content": f"Decision {number} about the ledger", "path": "part1.py"}
        answer = self._call("remember", said)
        if not answer.is_error:
            self.remembered.add(answer.value["discovery"]["id"])
        return answer

    def _index(self) -> Answer:
        self._repo.write(f"part{self._choice.randrange(12)}.py", _functions(1, self._choice.randrange(99), 200))
        return self._call("index_codebase", {"path": str(self._repo.path)})

    def _branch(self) -> Answer:
        ref = f"branch{self._choice.randint(1, BRANCHES)}"
        return self._call("index_codebase", {"path": str(self._repo.path), "ref": ref})

    def _compare(self) -> Answer:
        ref = f"branch{self._choice.randint(1, BRANCHES)}"
        return self._call("diff_context", {"base_ref": "main", "head_ref": ref})

    def _pack(self) -> Answer:
        return self._call("build_context_pack", {"task": "change f1_0_1 in part1"})

    def _look(self, name: str) -> None:
        """What a fresh process finds: every acknowledged discovery, and every function of the branch it searches."""
        server = service(self._repo.path, data=self._disk / "home")
        kept = {each.id for each in server.projects.open(self._repo.path).discoveries.all()}
        assert self.remembered <= kept, name
        found = MemoryDoor(server).call("find_symbol", {"symbol_name": "f2_0_7", "ref": "main"})
        if not found.is_error:
            assert [each["path"] for each in found.value["symbols"]] == ["part2.py"], name
        else:
            assert "ndexed" in found.text, found.text


def test_a_disk_that_is_full_at_a_random_moment(
    repo_with_branches: Repo, disk: Path, seeded: random.Random, trials: Callable[[int], int]
) -> None:
    trial = Trial(repo_with_branches, disk, seeded)
    names = ["remember", "index", "branch", "compare", "pack"]
    count = trials(150)
    for number in range(count):
        trial.run(names[number % len(names)])
    assert trial.failed, "the disk was never full"
