"""Every call beside every other in one server: the process lives, each is answered, and as it would be alone."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import pytest

from tests.crash.calls import WRITERS, calls, is_told_to_wait, lasting_part, project
from tests.support.doors import HttpDoor
from tests.support.wait import eventually
from tests.support.wire import ServerProcess

ROUNDS = 2
SIDES = 2
"""Clients that make each call of a pair, so that it also runs beside itself."""


class Server:
    def __init__(self, process: ServerProcess, root: Path) -> None:
        self.process, self.root = process, root
        self.port = int(eventually(self._port, 30) or 0)

    def _port(self) -> str | None:
        found = re.search(r"serving http://\S+:(\d+)/mcp", "".join(self.process.stderr))
        assert found or self.is_alive, self.process.stderr
        return found and found[1]

    @property
    def is_alive(self) -> bool:
        return self.process.process.poll() is None

    def last_words(self) -> str:
        return "".join(self.process.stderr)[-8000:]

    def wait_until_fresh(self) -> None:
        door = HttpDoor(self.port)
        eventually(lambda: self._freshness(door) == "fresh", 60)

    def _freshness(self, door: HttpDoor) -> str:
        status = door.call("get_status", {"path": str(self.root)}).value
        return str(status["metadata"]["freshness_status"])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    root = project(tmp_path / "gate").path
    home = str(tmp_path / "home")
    with ServerProcess("--http", ":0", folder=root, CAIRN_HOME=home, PYTHONFAULTHANDLER="1") as process:
        started = Server(process, root)
        started.wait_until_fresh()
        yield started


def answered_alone(server: Server) -> dict[str, Any]:
    for call in calls(server.root).values():
        call(HttpDoor(server.port))  # so that what is made on the first use is there
    return {name: lasting_part(name, call(HttpDoor(server.port))) for name, call in calls(server.root).items()}


def answered_together(server: Server, names: tuple[str, str]) -> list[tuple[str, Any]]:
    start = threading.Barrier(len(names) * SIDES)
    asked = calls(server.root)

    def client(name: str) -> list[tuple[str, Any]]:
        door = HttpDoor(server.port)
        start.wait(60)
        return [(name, asked[name](door)) for _ in range(ROUNDS)]

    with ThreadPoolExecutor(len(names) * SIDES) as clients:
        return [each for found in clients.map(client, names * SIDES) for each in found]


@pytest.mark.timeout(3600)
def test_every_call_beside_every_other_is_answered_as_if_alone(
    server: Server, trials: Callable[[int], int], seeded: random.Random
) -> None:
    alone = answered_alone(server)
    assert not [name for name, answer in alone.items() if isinstance(answer, dict) and "error" in answer], alone
    pairs = list(combinations_with_replacement(sorted(alone), 2))
    for pair in seeded.sample(pairs, trials(len(pairs))):
        try:
            answers = answered_together(server, pair)
        except (OSError, ValueError) as error:
            raise AssertionError(f"{pair}: {error}: {server.last_words()}") from error
        for name, answer in answers:
            if name in WRITERS and WRITERS.intersection(pair) and is_told_to_wait(answer):
                continue
            assert lasting_part(name, answer) == alone[name], f"{name} in {pair}: {json.dumps(answer)[:3000]}"
    assert server.is_alive, server.last_words()
    assert "Fatal Python error" not in server.last_words()
