"""What a soak is asked for, and what came of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.soak.reference import Asked
from tests.soak.servers import Memory
from tests.support.doors import Answer


@dataclass(frozen=True)
class Plan:
    calls: int
    seed: int
    files: int = 120
    commits: int = 18
    refs: int = 3
    per_tool: int = 3
    """Distinct calls of each tool about each fixed ref."""
    storm_pause_s: float = 0.15
    patience_s: float = 120
    measure_every: int = 1000
    repository: Path | None = None
    """A repository to take instead of a written one."""


@dataclass(frozen=True)
class Known:
    """A call, and its answer page by page."""

    asked: Asked
    pages: list[Answer]
    compared: list[Any]
    root: Path


@dataclass
class Result:
    plan: Plan
    calls: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)
    slowest: dict[str, float] = field(default_factory=dict)
    """Seconds, by tool."""
    unanswered: list[str] = field(default_factory=list)
    wrong: list[dict[str, Any]] = field(default_factory=list)
    deaths: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    storm: Counter[str] = field(default_factory=Counter)
    writer: Counter[str] = field(default_factory=Counter)
    memory: dict[str, list[Memory]] = field(default_factory=dict)
    seconds: float = 0
    phases: dict[str, float] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.calls.values())

    def growth(self, since: int) -> dict[str, float]:
        """How much the anonymous memory of each server grew from a call on, as a share; a server that died has none."""
        found = {}
        for name, readings in self.memory.items():
            late = [each for each in readings if each.calls >= since]
            if len(late) > 1:
                found[name] = max(each.anonymous for each in late) / late[0].anonymous - 1
        return found
