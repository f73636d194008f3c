"""Whatever happens to whatever project: an answer that calls itself fresh shows it, and an answer soon is fresh."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.doors.test_http_process import announced
from tests.index.upheaval import Markers, Upheaval
from tests.support.doors import Answer, HttpDoor, LineDoor
from tests.support.soak import SOAK
from tests.support.wait import eventually
from tests.support.wire import ServerProcess

STEPS = 1_667 if SOAK else 25
SETUPS = {"stdio": ["stdio"], "both": ["stdio", "http"], "no-watch": ["no-watch"]}
_ABSENT = {"symbol_not_found", "file_not_found"}


@dataclass
class Trial:
    """Servers, what happens beside them, and what they claimed."""

    world: Upheaval
    chance: random.Random
    doors: list[Any]
    watched: bool
    known: dict[str, Markers] = field(default_factory=dict)
    """Where the markers were when a project was last asked about."""
    answers: int = 0
    fresh: int = 0
    wrong: list[str] = field(default_factory=list)
    longest_s: float = 0.0

    def index(self, door: Any, name: str) -> bool:
        """Whether the index was made; not as long as the other server's first run holds its lock."""
        answer = door.call("index_codebase", {"path": str(self.world.places[name].root)})
        if answer.is_error and answer.value["error"]["code"] == -32002:
            return False
        assert not answer.is_error, (name, answer)
        assert answer.value["metadata"]["freshness_status"] == "fresh", (name, answer)
        return True

    def ask(self, door: Any, name: str, tool: str, arguments: dict[str, Any]) -> tuple[Answer, bool]:
        key = "path" if tool in ("search_code", "index_codebase", "get_status") else "workspace"
        named = {key: str(self.world.places[name].root)} if tool != "context_search" else {}
        answer = door.call(tool, {**named, **arguments})
        error = answer.value.get("error")
        assert not answer.is_error or (error and error["code"] in _ABSENT), (name, tool, answer)
        self.answers += 1
        is_fresh = answer.value["metadata"]["freshness_status"] == "fresh"
        self.fresh += is_fresh
        return answer, is_fresh

    def look(self, name: str, marker: str, markers: Markers) -> bool:
        """Ask where a marker is; whether the answer called itself fresh. If it did, it must be right."""
        door = self.chance.choice(self.doors)
        paths = markers.get(marker, set())
        tool = self.chance.choice(["find_symbol", "search_code", "get_file_outline"] if paths else ["find_symbol"])
        if tool == "find_symbol":
            answer, is_fresh = self.ask(door, name, tool, {"symbol_name": marker})
            shown = {each["path"] for each in answer.value.get("symbols", ()) if each["name"] == marker}
        elif tool == "search_code":
            answer, is_fresh = self.ask(door, name, tool, {"query": marker, "search_mode": "keyword"})
            found = [each for each in answer.value["results"] if each["symbol"]]
            shown = {each["file"]["path"] for each in found if each["symbol"]["name"] == marker}
        else:
            path = min(paths)
            answer, is_fresh = self.ask(door, name, tool, {"path": path})
            files = answer.value.get("files", ())
            shown = {path for file in files for each in file["symbols"] if each["name"] == marker}
            paths = {path}
        if is_fresh and shown != paths:
            self.wrong.append(f"{door.name} {tool} {name}: {marker} is at {sorted(paths)}, shown at {sorted(shown)}")
        return is_fresh

    def step(self, number: int) -> None:
        deed, about = self.world.happen()
        done = time.monotonic()
        name = self.chance.choice(about)
        before = self.known.get(name, {})
        markers = self.known[name] = self.world.places[name].markers()
        changed = sorted(each for each in {*before, *markers} if before.get(each) != markers.get(each))
        asked = self.chance.choice(changed or sorted(markers) or ["mark0x"])
        known = len(self.wrong)
        is_fresh = self.look(name, asked, markers)
        if not is_fresh and self.chance.random() < 0.5:
            self._catch_up(name, asked, markers, done)
        self.wrong[known:] = [f"step {number}, {deed}: {each}" for each in self.wrong[known:]]

    def _catch_up(self, name: str, marker: str, markers: Markers, since: float) -> None:
        if not self.watched:
            _, is_fresh = self.ask(self.doors[0], name, "index_codebase", {})
            assert is_fresh
            assert self.look(name, marker, markers)
            return
        eventually(lambda: self.look(name, marker, markers), 60)
        self.longest_s = max(self.longest_s, time.monotonic() - since)

    def look_at_linked(self) -> None:
        """What a search over linked projects calls fresh holds of each of them."""
        world = self.world
        marker = self.chance.choice(sorted(world.places["linked"].markers()) or ["mark0x"])
        _write_another(world.linked.path / "lib/linked.py", marker := f"{marker[:-1]}9x")
        door = self.chance.choice(self.doors)
        asked = {"query": marker, "projectScope": "all_linked", "limit": 20}
        answer, is_fresh = self.ask(door, "main", "context_search", asked)
        shown = any(each["name"] == marker and each["project"] == "linked" for each in answer.value["results"])
        if is_fresh and shown != (marker in world.places["linked"].markers()):
            self.wrong.append(f"{door.name} context_search: {marker} of the linked project: shown {shown}")


def _write_another(path: Path, marker: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(f"def {marker}():\n    return 1\n")


class Clients:
    """A door by its name, to servers that share one data folder."""

    def __init__(self, world: Upheaval, home: Path, stack: ExitStack) -> None:
        self._world, self._home, self._stack = world, home, stack

    def open(self, name: str) -> Any:
        root = self._world.main.path
        if name == "http":
            roots = [root, self._world.second.path, self._world.linked.path, self._world.plain]
            options = [word for each in roots for word in ("--root", str(each))]
            return HttpDoor(announced(self._start("--http", "127.0.0.1:0", *options)))
        options = ["--no-watch"] if name == "no-watch" else []
        return LineDoor("stdio", self._start(*options))

    def _start(self, *options: str) -> ServerProcess:
        server = ServerProcess(*options, folder=self._world.main.path, CAIRN_HOME=str(self._home))
        return self._stack.enter_context(server)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.mark.requirement(
    "ruling/metadata/fresh-shows-every-edit", "ruling/metadata/other-projects-kept", "ruling/metadata/stale-worktree"
)
@pytest.mark.timeout(3600 if SOAK else 300)
@pytest.mark.parametrize("setup", SETUPS)
def test_no_answer_calls_itself_fresh_that_is_older_than_an_edit(
    setup: str, tmp_path: Path, seeded: random.Random, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = Upheaval(tmp_path / "projects", seeded)
    clients = Clients(world, tmp_path / "home", stack)
    doors = [clients.open(name) for name in SETUPS[setup]]
    trial = Trial(world, seeded, doors, watched=setup != "no-watch")
    for name in world.places:
        eventually(partial(trial.index, doors[0], name), 60)
    _link(world, tmp_path / "home", monkeypatch)
    for number in range(STEPS):
        trial.step(number)
        if number % 20 == 0:
            trial.look_at_linked()
    print(
        f"{setup}: {STEPS} steps, {trial.answers} answers, {trial.fresh} claimed fresh, {len(trial.wrong)} wrong, "
        f"longest until fresh {trial.longest_s:.2f} s"
    )
    assert trial.wrong == []
    assert trial.fresh > STEPS / 10, "a claim that is never made is never wrong"
    for name, place in world.places.items():
        markers = place.markers()
        trial._catch_up(name, min(markers, default="mark0x"), markers, time.monotonic())


def _link(world: Upheaval, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from codecairn.cli import main

    monkeypatch.setenv("CAIRN_HOME", str(home))
    ran = CliRunner().invoke(main, ["link", str(world.linked.path), "--root", str(world.main.path), "--name", "linked"])
    assert ran.exit_code == 0, ran.output
