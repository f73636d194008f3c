"""A storm on a checkout: edits, renames, deletions, commits, branch switches and repacking, one after another."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable

from tests.soak.ledger import MARKER, Ledger
from tests.soak.scenery import Scenery

BRANCHES = 4
_ENDINGS = (".py",)
"""Markers are written in Python: what a function is there, nobody disputes."""
_LULL = 30
"""Between two gusts, in pauses: an index that never catches up claims nothing that could be wrong."""


class Storm:
    def __init__(self, scenery: Scenery, ledger: Ledger, seed: int, pause_s: float) -> None:
        self._repo = scenery.repo
        self._root = scenery.root
        self._fixed = scenery.fixed
        self._ledger = ledger
        self._choice = random.Random(f"storm {seed}")
        self._pause_s = pause_s
        self._number = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="storm")
        self.done: Counter[str] = Counter()
        self.faults: list[str] = []

    def start(self) -> None:
        for number in range(BRANCHES):
            start = self._fixed[number % len(self._fixed)].commit
            self._repo.git("branch", "--force", f"storm/{number}", start)
        self._ledger.settle(self._tracked())
        for _ in range(3):
            self._edit()
        self._thread.start()

    def stop(self) -> str:
        """End the storm with everything committed; returns the commit."""
        self._ended.set()
        self._thread.join()
        self._commit()
        return self._repo.git("rev-parse", "HEAD")

    def _run(self) -> None:
        acts = {
            self._edit: 40, self._unmark: 12, self._create: 8, self._rename: 6, self._delete: 6, self._commit: 6,
            self._switch: 5, self._reset: 1, self._repack: 1,
        }  # fmt: skip
        while not self._ended.is_set():
            for _ in range(self._choice.randint(3, 25)):
                self._act(*self._choice.choices(list(acts), list(acts.values())))
                if self._ended.wait(self._choice.random() * 2 * self._pause_s):
                    return
            self._ended.wait(self._choice.random() * _LULL * self._pause_s)

    def _act(self, act: Callable[[], None]) -> None:
        self.done[act.__name__.strip("_")] += 1
        try:
            act()
        except AssertionError as error:
            self.faults.append(str(error))

    def _tracked(self) -> list[str]:
        return self._repo.git("ls-files").splitlines()

    def _sources(self) -> list[str]:
        listed = self._repo.git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
        return [path for path in dict.fromkeys(listed) if path.endswith(_ENDINGS) and (self._root / path).is_file()]

    def _marked(self) -> list[str]:
        return [path for path in self._sources() if MARKER.search((self._root / path).read_bytes())]

    def _edit(self) -> None:
        """A new function at the end of a file."""
        sources = self._sources()
        if not sources:
            return self._create()
        path = self._choice.choice(sources)
        place = self._root / path
        marker = self._fresh_marker()
        text = place.read_bytes().rstrip(b"\n") + f"\n\n\ndef {marker}(item):\n    return item\n".encode()
        return self._write(path, text)

    def _unmark(self) -> None:
        marked = self._marked()
        if marked:
            path = self._choice.choice(marked)
            self._write(path, (self._root / path).read_bytes().split(b"\n\n\ndef soakmark_")[0] + b"\n")

    def _create(self) -> None:
        marker = self._fresh_marker()
        self._write(
            f"storm/{marker}.py", f'"""Made by a storm."""\n\n\ndef {marker}(item):\n    return item\n'.encode()
        )

    def _fresh_marker(self) -> str:
        self._number += 1
        marker = f"soakmark_{self._number:06d}"
        self._ledger.promise(marker)
        return marker

    def _rename(self) -> None:
        marked = self._marked()
        if not marked:
            return
        old = self._choice.choice(marked)
        new = f"storm/moved_{self._number:06d}_{self._choice.randrange(1000)}.py"
        self._ledger.begin([old, new])
        (self._root / new).parent.mkdir(exist_ok=True)
        (self._root / old).rename(self._root / new)
        self._ledger.settle([old, new])

    def _delete(self) -> None:
        marked = self._marked()
        if marked:
            path = self._choice.choice(marked)
            self._ledger.begin([path])
            (self._root / path).unlink()
            self._ledger.settle([path])

    def _write(self, path: str, content: bytes) -> None:
        place = self._root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = place.with_name(f".{place.name}.swp")
        aside.write_bytes(content)
        self._ledger.begin([path])
        aside.replace(place)
        self._ledger.settle([path])

    def _commit(self) -> None:
        self._repo.git("add", "--all")
        self._repo.git("commit", "--quiet", "--allow-empty", "--message", f"storm {self._number}")

    def _switch(self) -> None:
        """To another branch, with everything committed before or thrown away."""
        if self._choice.random() < 0.5:
            self._commit()
        branches = [f"storm/{number}" for number in range(BRANCHES)]
        branches.append(self._default())
        self._move("checkout", "--quiet", "--force", self._choice.choice(branches))

    def _reset(self) -> None:
        """The branch is forced to where a fixed ref stands."""
        if self._repo.git("branch", "--show-current") != self._default():
            self._move("reset", "--quiet", "--hard", self._choice.choice(self._fixed).commit)

    def _default(self) -> str:
        return self._repo.git("symbolic-ref", "--short", "refs/remotes/origin/HEAD").removeprefix("origin/")

    def _move(self, *command: str) -> None:
        target = command[-1]
        changed = self._repo.git("diff", "--name-only", "--no-renames", target).splitlines()
        paths = {*changed, *self._tracked()} if command[0] == "reset" else {*changed, *self._dirty()}
        self._ledger.begin(paths)
        try:
            self._repo.git(*command)
        finally:
            self._ledger.settle(paths)

    def _dirty(self) -> list[str]:
        return self._repo.git("diff", "--name-only", "--no-renames", "HEAD").splitlines()

    def _repack(self) -> None:
        self._repo.git("gc", "--quiet", "--prune=now")
