"""A process that indexes a project again and again, as another does at the same time, until its stdin ends.

python rival.py ROOT HOME SEED

It says how each run ended, one line a run: `done`, or `busy` where the other was in its way for too long.
"""

from __future__ import annotations

import random
import sys
import threading
from pathlib import Path

from codecairn.cancel import Cancel
from codecairn.config import Settings
from codecairn.errors import Busy
from codecairn.index import batch
from codecairn.index.project_index import ProjectIndex
from codecairn.index.run import Options
from codecairn.project import Project
from tests.crash.doomed import SMALL_BATCH

REBUILDS = 0.2


def main(root: str, home: str, seed: str) -> None:
    batch._BATCH_BYTES = SMALL_BATCH
    choice = random.Random(seed)
    index = Project(Path(root), Settings(data=Path(home))).index
    ended = threading.Event()
    threading.Thread(target=wait_for_the_end, args=(ended,), daemon=True).start()
    while not ended.is_set():
        print(outcome(index, force=choice.random() < REBUILDS), flush=True)
    index.close()


def wait_for_the_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def outcome(index: ProjectIndex, *, force: bool) -> str:
    try:
        index.index(Options(), force=force, cancel=Cancel())
    except Busy:
        return "busy"
    return "done"


if __name__ == "__main__":
    main(*sys.argv[1:])
