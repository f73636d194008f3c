"""A commit-graph of the user's repository, kept outside it: git walks history several times faster with one.

A bare repository of our own borrows the user's objects (`info/alternates`) and holds nothing but the graph that git
writes there; git in the user's repository is then shown that folder as one more place for objects. Commit ids are
hashes of content, so a graph that is behind is slower, never wrong. Blame of a busy file of Django: 0.94 → 0.33 CPU
seconds; nothing is written into the user's .git.

The first walk that takes long starts the writing, in a thread; it takes seconds and happens again only when the branch
has moved on and walks have become slow again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from codecairn.errors import CairnError

SLOW_S = 0.1
_WRITING_S = 600.0
_SOONEST_AGAIN_S = 600.0

log = logging.getLogger("codecairn.graph")

Write = Callable[[Path, str, float], None]
"""Writes the graph of the commits reachable from a commit into a bare repository, within so many seconds."""


class CommitGraph:
    def __init__(self, home: Path, objects: Path, write: Write) -> None:
        self._folder = home / "graphs" / hashlib.sha256(os.fsencode(objects)).hexdigest()[:24]
        self._objects = objects
        self._write = write
        self._lock = threading.Lock()
        self._begun = -_SOONEST_AGAIN_S

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which a git of the user's repository uses the graph; none while there is no graph."""
        ours = str(self._folder / "objects")
        if os.pathsep in ours or ours.startswith('"') or not (self._folder / "objects/info/commit-graph").exists():
            return {}
        return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": ours}

    def note_duration(self, seconds: float, find_tip: Callable[[], str]) -> None:
        """Told how long a walk took; after a slow one a graph of what is now checked out is written, if it is new."""
        own = ("info/commit-graph", "info/commit-graphs")
        if seconds < SLOW_S or any((self._objects / each).exists() for each in own):
            return
        with self._lock:
            if time.monotonic() - self._begun < _SOONEST_AGAIN_S:
                return
            self._begun = time.monotonic()
        tip = find_tip()
        if not tip or tip == self._tip():
            return
        threading.Thread(target=self._build, args=(tip,), daemon=True, name="commit-graph").start()

    def _tip(self) -> str | None:
        try:
            return (self._folder / "tip").read_text(encoding="ascii")
        except OSError:
            return None

    def _build(self, tip: str) -> None:
        try:
            (self._folder / "objects/info").mkdir(mode=0o700, parents=True, exist_ok=True)
            make_bare(self._folder)
            (self._folder / "objects/info/alternates").write_bytes(os.fsencode(self._objects) + b"\n")
            self._write(self._folder, tip, _WRITING_S)
            (self._folder / "tip").write_text(tip, encoding="ascii")
        except (CairnError, OSError) as error:
            log.warning("no commit-graph for %s: %s", self._objects, error)


def make_bare(folder: Path) -> None:
    """Write the least that git takes for a repository, with no objects of its own."""
    (folder / "refs").mkdir(mode=0o700, exist_ok=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
