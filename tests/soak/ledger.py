"""Which content each file had at which moment, so that an answer about the working tree can be judged.

A storm says `begin` before it touches files and `settle` when they are as they will stay; in between nothing is known
of them. A marker is a function name that a storm writes into a file and that nothing else holds.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

MARKER = re.compile(rb"soakmark_\d+")

_KEPT_S, _LEAST = 900.0, 3
"""Longer than any call takes."""

Content = bytes | None
"""None where there is no such file."""
Seen = Literal["present", "absent", "unsure"]


@dataclass
class _Spells:
    """States, each from its moment on. `...` stands for a state that is not known."""

    since: list[float] = field(default_factory=list)
    states: list[object] = field(default_factory=list)

    def add(self, state: object) -> None:
        now = time.monotonic()
        self.since.append(now)
        self.states.append(state)
        while len(self.since) > _LEAST and self.since[1] < now - _KEPT_S:
            del self.since[0], self.states[0]

    def during(self, start: float, end: float) -> list[object]:
        found = []
        for number, (since, state) in enumerate(zip(self.since, self.states, strict=True)):
            until = self.since[number + 1] if number + 1 < len(self.since) else float("inf")
            if since <= end and until >= start:
                found.append(state)
        return found


class Ledger:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._files: dict[str, _Spells] = {}
        self._markers: dict[str, _Spells] = {}
        self._holders: dict[str, set[str]] = {}

    def begin(self, paths: Iterable[str]) -> None:
        with self._lock:
            for path in paths:
                for marker in self._markers_in(self._content(path)):
                    self._markers[marker].add(...)
                self._files.setdefault(path, _Spells()).add(...)

    def settle(self, paths: Iterable[str]) -> None:
        """Take down what is on disk now. Markers that come and go are `unsure` until here."""
        with self._lock:
            for path in paths:
                self._settle(path, self._on_disk(path))

    def promise(self, marker: str) -> None:
        """A marker that is about to be written for the first time."""
        with self._lock:
            self._markers[marker] = _Spells()
            self._markers[marker].add(...)

    def contents(self, path: str, start: float, end: float) -> list[Content] | None:
        """The contents a file had during a time; None where they are not known."""
        with self._lock:
            spells = self._files.get(path)
            states = spells.during(start, end) if spells else []
            known = [state for state in states if state is None or isinstance(state, bytes)]
            return known if known and len(known) == len(states) else None

    def marker(self, name: str, start: float, end: float) -> Seen:
        with self._lock:
            spells = self._markers.get(name)
            states = set(spells.during(start, end)) if spells else {False}
        return "present" if states == {True} else "absent" if states == {False} else "unsure"

    def markers(self) -> list[str]:
        with self._lock:
            return list(self._markers)

    def marked(self) -> list[str]:
        """Files that hold or held a marker."""
        with self._lock:
            return [path for path, spells in self._files.items() if len(spells.states) > 1]

    def _settle(self, path: str, content: Content) -> None:
        before = self._last_known(path)
        now = self._markers_in(content)
        self._files.setdefault(path, _Spells()).add(content)
        for marker in {*self._markers_in(before), *now}:
            holders = self._holders.setdefault(marker, set())
            (holders.add if marker in now else holders.discard)(path)
            self._markers.setdefault(marker, _Spells()).add(bool(holders))

    def _last_known(self, path: str) -> Content:
        states = self._files[path].states if path in self._files else []
        known = [state for state in states if state is not ...]
        last = known[-1] if known else None
        assert last is None or isinstance(last, bytes)
        return last

    def _content(self, path: str) -> Content:
        return self._last_known(path)

    def _markers_in(self, content: Content) -> set[str]:
        return {each.decode() for each in MARKER.findall(content or b"")}

    def _on_disk(self, path: str) -> Content:
        try:
            return (self._root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None


def markers_of(content: Content) -> list[str]:
    """The markers of a content, in their order."""
    return [each.decode() for each in MARKER.findall(content or b"")]
