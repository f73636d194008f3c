"""A second hand on the same index: `cairn` commands, one after another, as a person or a hook would run them."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

from tests.soak.scenery import Scenery
from tests.soak.servers import environment

_BUSY = ("in progress", "is being indexed", "is being written")
"""What a command may say that had to give way."""


class Writer:
    def __init__(self, scenery: Scenery, home: Path, place: Path, seed: int) -> None:
        self._scenery = scenery
        self._home = home
        self._place = place
        self._choice = random.Random(f"writer {seed}")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="writer")
        self.done: Counter[str] = Counter()
        self.gave_way = 0
        self.faults: list[str] = []

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def index_all(self) -> None:
        self.run("index", str(self._scenery.root))
        for each in self._scenery.fixed:
            self._index_ref(each.name)

    def run(self, *command: str) -> None:
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-m", "codecairn", *command], cwd=self._scenery.root,
            env=environment(self._home), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self.done[" ".join(command[:2]) if command[0] == "memory" else command[0]] += 1
        if done.returncode and any(each in done.stdout + done.stderr for each in _BUSY):
            self.gave_way += 1
        elif done.returncode or "Traceback" in done.stderr:
            said = f"{done.stdout[-1000:]}{done.stderr[-3000:]}"
            self.faults.append(f"cairn {' '.join(command)} ended with {done.returncode}:\n{said}")

    def _run(self) -> None:
        acts = {
            self._index: 5, self._index_some_ref: 5, self._import: 3, self._list: 2, self._export: 1, self._look: 2,
            self._prune: 2,
        }  # fmt: skip
        while not self._ended.is_set():
            (act,) = self._choice.choices(list(acts), list(acts.values()))
            act()

    def _index(self) -> None:
        self.run("index", str(self._scenery.root))

    def _index_ref(self, ref: str) -> None:
        self.run("index", "--ref", ref, str(self._scenery.root))

    def _index_some_ref(self) -> None:
        self._index_ref(self._choice.choice([*(each.name for each in self._scenery.fixed), "storm/0", "storm/1"]))

    def _import(self) -> None:
        when = "2025-01-01T00:00:00Z"
        rows = [
            {
                "id": f"soak-{number}",
                "type": "rule",
                "content": f"Rule {number} holds.",
                "created": when,
                "updated": when,
            }
            for number in self._choice.sample(range(100), 3)
        ]
        file = self._place / "discoveries.jsonl"
        file.write_text("".join(json.dumps(each) + "\n" for each in rows))
        self.run("memory", "import", str(file))

    def _list(self) -> None:
        self.run("memory", "list", "--json")

    def _export(self) -> None:
        self.run("memory", "export", str(self._place / "exported.jsonl"))

    def _look(self) -> None:
        self.run("status")

    def _prune(self) -> None:
        """What is dropped is indexed again."""
        self.run("prune-overlays", "--older-than", "0.0001")
        for each in self._scenery.fixed:
            if not self._ended.is_set():
                self._index_ref(each.name)
