"""A project with three states, an index of it that is about to be hurt, and what it must look like afterwards."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from codecairn.cancel import Cancel
from codecairn.index.run import Options
from tests.crash import doomed
from tests.support.doors import open_door, service
from tests.support.indexes import (
    LastingWorkers,
    Snapshot,
    faults,
    index_once,
    leftovers,
    project_index,
    snapshot_of,
    stores,
)
from tests.support.repo import Repo
from tests.support.wait import eventually

WORDS = ("alpha", "beta_gamma", "DeltaEcho", "zeta", "iota")
PROBES = ("alpha", "beta", "gamma", "beta_gamma", "deltaecho", "delta", "DeltaEcho", "zeta", "iota", "py", "go")
FILES = 40

State = dict[str, str]


def state(choice: random.Random, files: int = FILES) -> State:
    return dict(_file(choice, number) for number in range(files) if choice.random() < 0.9)


def changed(choice: random.Random, before: State) -> State:
    """Another state: files edited, gone, come, and some as they were."""
    after = {path: text for path, text in before.items() if choice.random() < 0.8}
    edited = (_file(choice, number) for number in choice.sample(range(FILES), FILES // 3))
    return after | dict(edited)


def _file(choice: random.Random, number: int) -> tuple[str, str]:
    one, two, three = (choice.choice(WORDS) for _ in range(3))
    folder = ("", "pkg/", "pkg/deep/")[number % 3]
    if number % 4 == 0:
        return f"{folder}m{number}.go", f"package main\n\nfunc {one}(a {two}) {{\n\ta.{three}()\n}}\n" * 3
    if number % 4 == 1:
        return f"{folder}n{number}.md", f"# {one}\n\nAbout {two}.\n\n## {three}\n\nMore.\n"
    other = choice.randrange(FILES)
    imported = f"import {('', 'pkg.', 'pkg.deep.')[other % 3]}m{other}\n\n"
    body = f"def {one}(x):\n    return {two}(x)\n\n\nclass {three}:\n    def run(self):\n        {one}(self)\n\n\n"
    return f"{folder}m{number}.py", imported + body * choice.randint(1, 4)


@dataclass
class Scene:
    place: Path
    workers: LastingWorkers
    choice: random.Random
    states: list[State] = field(default_factory=list)
    clean: list[Snapshot] = field(default_factory=list)
    """What an index built from scratch says of each state."""

    @property
    def root(self) -> Path:
        return self.place / "project"

    @property
    def home(self) -> Path:
        """Of the index that is hurt."""
        return self.place / "home"

    def begin(self) -> Scene:
        Repo.create(self.root)
        self.states.append(state(self.choice))
        self.states += [changed(self.choice, self.states[0]) for _ in range(2)]
        for number, each in enumerate(self.states):
            become(self.root, each)
            index_once(self.root, self.built(number), self.workers)
            self.clean.append(snapshot_of(self.root, self.built(number), PROBES))
        return self

    def built(self, number: int) -> Path:
        """The data folder of an unhurt index of a state."""
        return self.place / f"built{number}"

    def set_up(self, *, indexed: int | None, now: int) -> None:
        """Files in one state, and an index of another or none."""
        eventually(self._is_home_gone)  # a child of what was killed may still be writing its last
        if indexed is not None:
            shutil.copytree(self.built(indexed), self.home)
        become(self.root, self.states[now])

    def _is_home_gone(self) -> bool:
        shutil.rmtree(self.home, ignore_errors=True)
        return not self.home.exists()

    def start(self, verb: str, *death: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, doomed.__file__, self.root, self.home, verb, *death]
        process = subprocess.Popen(
            [str(each) for each in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        return process

    def duration(self, verb: str) -> float:
        """How long a run takes that nobody disturbs, in seconds."""
        process, began = self.start(verb), time.monotonic()
        _, complaint = process.communicate()
        assert process.returncode == 0, complaint.decode()
        return time.monotonic() - began

    def kill_after(self, seconds: float, verb: str) -> None:
        process = self.start(verb)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        bury(process)

    def kill_at(self, point: str, number: int, moment: str, verb: str) -> bool:
        """Whether the run came to that point."""
        process = self.start(verb, point, number, moment)
        bury(process)
        return process.returncode != 0

    # What must hold.

    def check_opens(self, allowed: list[int]) -> None:
        """Whatever happened, the index is sound and shows one of these states, whole."""
        self.check_opens_soundly()
        files = snapshot_of(self.root, self.home, ())["files"]
        assert files in [self.clean[number]["files"] for number in allowed]

    def check_opens_soundly(self) -> None:
        with open_door("memory", service(self.root, data=self.home)) as door:
            answer = door.call("get_status", {"path": str(self.root)})
            assert answer.value["success"], answer.text
        with stores(self.root, self.home) as opened:
            assert opened is None or faults(opened.store, opened.lexical, at_rest=False) == []

    def check_recovers(self, number: int) -> None:
        """The next run ends where a run from scratch does."""
        become(self.root, self.states[number])
        index_once(self.root, self.home, self.workers)
        assert snapshot_of(self.root, self.home, PROBES) == self.clean[number]
        self.check_at_rest()

    def check_at_rest(self) -> None:
        with project_index(self.root, self.home, self.workers) as index:
            opened = index.open_index()
            assert opened is not None
            assert faults(opened.store, opened.lexical, at_rest=True) == []
            self.let_time_pass(index.folder)
            index.index(Options(), force=False, cancel=Cancel())
            assert leftovers(index) == []

    def let_time_pass(self, folder: Path) -> None:
        """What was replaced stays for a while, for those who are reading it."""
        for each in folder.iterdir():
            os.utime(each, (0, 0))


def bury(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process and of its workers: they hold its stderr, and go when their stdin ends."""
    _, complaint = process.communicate(timeout=20)
    assert b"Traceback" not in complaint, complaint.decode()


def become(root: Path, files: State) -> None:
    """Write what differs, remove what is not wanted."""
    for path in root.rglob("*"):
        if path.is_file() and ".git" not in path.parts and path.relative_to(root).as_posix() not in files:
            path.unlink()
    for name, text in files.items():
        path = root / name
        if not path.is_file() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
