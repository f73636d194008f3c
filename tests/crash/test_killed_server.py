"""A server that is killed while it follows a stream of edits leaves an index that the next one brings up to date."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.crash.scene import PROBES, Scene, become, changed
from tests.support.indexes import index_once, snapshot_of
from tests.support.wait import eventually
from tests.support.wire import ServerProcess

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="about SIGKILL")
LONGEST_LIFE_S = 1.5


def serve(scene: Scene) -> ServerProcess:
    server = ServerProcess("--root", str(scene.root), folder=scene.place, CAIRN_HOME=str(scene.home))
    server.initialize()
    return server


def status(server: ServerProcess, scene: Scene) -> dict[str, Any]:
    asked = {"name": "get_status", "arguments": {"path": str(scene.root)}}
    value: dict[str, Any] = server.request("tools/call", asked)["result"]["structuredContent"]
    return value


def is_fresh(server: ServerProcess, scene: Scene) -> bool:
    return bool(status(server, scene)["metadata"]["freshness_status"] == "fresh")


def edit_until(scene: Scene, killed: threading.Event) -> None:
    """One state after another, some written while the server is still at the one before."""
    files = scene.states[0]
    while not killed.is_set():
        files = changed(scene.choice, files)
        become(scene.root, files)
        killed.wait(scene.choice.choice((0.0, 0.05, 0.2)))


def live_and_die(scene: Scene) -> None:
    with serve(scene) as server:
        eventually(lambda: is_fresh(server, scene))
        killed = threading.Event()
        editor = threading.Thread(target=edit_until, args=(scene, killed))
        editor.start()
        killed.wait(scene.choice.uniform(0, LONGEST_LIFE_S))
        server.process.kill()
        killed.set()
        editor.join()
        server.process.wait()
        server._drain.join(20)  # the end of its stderr: its workers are gone with it
        assert not server._drain.is_alive()


def from_scratch(scene: Scene, home: Path) -> dict[str, Any]:
    index_once(scene.root, home, scene.workers)
    return snapshot_of(scene.root, home, PROBES)


def test_killed_at_any_moment_of_following_edits(scene: Scene, trials: Callable[[int], int]) -> None:
    for number in range(trials(40)):
        scene.set_up(indexed=0, now=0)
        live_and_die(scene)
        scene.check_opens_soundly()
        wanted = from_scratch(scene, scene.place / f"scratch{number}")
        index_once(scene.root, scene.home, scene.workers)
        assert snapshot_of(scene.root, scene.home, PROBES) == wanted
        scene.check_at_rest()


def test_a_server_catches_up_with_what_the_killed_one_left(scene: Scene, trials: Callable[[int], int]) -> None:
    for number in range(trials(10)):
        scene.set_up(indexed=0, now=0)
        live_and_die(scene)
        with serve(scene) as server:
            eventually(lambda: is_fresh(server, scene))
            server.close()
        assert snapshot_of(scene.root, scene.home, PROBES) == from_scratch(scene, scene.place / f"scratch{number}")
