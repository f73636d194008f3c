"""Drift through a history: at every commit each discovery stands as a hash of every symbol says it must."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from codecairn.cancel import Cancel
from codecairn.config import Settings
from codecairn.index.run import Options
from codecairn.index.views import searching
from codecairn.memory.discoveries import Draft, remember
from codecairn.memory.drift_check import bind_to_symbol, verdict
from codecairn.project import Project
from codecairn.store.discoveries import DiscoveryRow
from codecairn.store.view import View
from tests.support.brute import Checkout, Seen, status
from tests.support.indexes import LastingWorkers
from tests.support.repo import Repo

FILES = 8
Source = dict[str, dict[str, int]]
"""For each file its functions, and a number that stands for what each does."""


def written(source: Source) -> dict[str, str | bytes]:
    return {
        path: "".join(f"def {name}() -> int:\n    return {body}\n\n\n" for name, body in functions.items())
        for path, functions in source.items()
    }


def start(size: int) -> Source:
    return {f"part{n % 3}/m{n}.py": {f"f{n}_{at}": at for at in range(size // FILES)} for n in range(FILES)}


def changed(source: Source, chance: random.Random) -> Source:
    """One commit later: functions edited, removed, renamed, moved with their text, moved and edited, put back."""
    after = {path: dict(functions) for path, functions in source.items()}
    for _ in range(chance.randint(1, 4)):
        path, other = chance.choice(sorted(after)), chance.choice(sorted(after))
        if not after[path]:
            continue
        name = chance.choice(sorted(after[path]))
        act = chance.choice(["edit", "edit", "remove", "rename", "move", "move and edit", "put back"])
        if act == "edit":
            after[path][name] += 1
        elif act == "put back":
            after[path][name] = int(name.rpartition("_")[2].strip("x") or 0)
        else:
            body = after[path].pop(name)
            if act == "rename":
                after[path][f"{name}x"] = body
            elif act != "remove":
                after[other][name] = body + (act != "move")
    return after


def test_discoveries_drift_and_are_orphaned_at_the_right_commits(
    tmp_path: Path, trials: Callable[[int], int], seeded: random.Random, lasting: LastingWorkers
) -> None:
    repo = Repo.create(tmp_path / "history")
    source = start(trials(200) * 2)
    repo.commit("start", written(source))
    project = Project(repo.path.resolve(), Settings(data=tmp_path / "home"))
    project.index._workers = lasting
    brute = Checkout(repo.path)
    bound = bind(project, brute, trials(200), seeded)
    told: Counter[str] = Counter()
    for _ in range(trials(200)):
        source = changed(source, seeded)
        for path, content in written(source).items():
            repo.write(path, content)
        repo.git("add", "--all")
        symbols = brute.symbols()
        found = judged(project, [row for row, _ in bound])
        assert found == {row.id: status(seen, symbols) for row, seen in bound}
        told.update(found.values())
    assert told.keys() == {"fresh", "drifted", "orphaned"}
    project.index.close()


def views(project: Project) -> Iterator[View]:
    """The index once it has caught up."""
    project.index.index(Options(), force=False, cancel=Cancel())
    opened = project.index.open_index()
    assert opened is not None
    yield from searching(project.index, opened)


def bind(
    project: Project, brute: Checkout, most: int, chance: random.Random
) -> list[tuple[DiscoveryRow, Seen]]:  # fmt: skip
    every = [seen for group in brute.symbols().values() for seen in group]
    chosen = chance.sample(sorted(every), min(most, len(every)))
    rows = []
    for view in views(project):
        for seen in chosen:
            binding, _ = bind_to_symbol(view, seen.qualified, seen.path, Cancel())
            rows.append((remember(project.discoveries, Draft("rule", f"About {seen.name}", None, binding)).row, seen))
    return rows


def judged(project: Project, rows: list[DiscoveryRow]) -> dict[str, str]:
    found: dict[str, str] = {}
    for view in views(project):
        for row in rows:
            stands = verdict(row, view, project.root)
            assert stands is not None
            found[row.id] = stands.status
    return found
