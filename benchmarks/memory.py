"""Project memory: how soon context_search answers over many discoveries, what noting a call costs, and whether drift is
told at the right commits.

    python benchmarks/memory.py speed [REPOSITORY] [--discoveries 10000] [--queries 200]
    python benchmarks/memory.py drift REPOSITORY [--commits 100] [--symbols 200]

`speed` indexes a copy of the repository (default: this one), stores discoveries made of its own words, and asks through
the registry, with every query another; every tenth is asked after a discovery was stored. The same words asked of
search_code stand beside it. Times are of the process's CPU.

`drift` clones the repository, goes back so many commits, binds discoveries to symbols spread over all files, and goes
forward again commit by commit: the index is brought up to date and each discovery's status compared with a hash of
every symbol of every file, parsed anew (tests/support/brute.py).
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from measure import Spread, markdown
from tests.support.brute import Checkout, Seen, status

from codecairn import tools
from codecairn.cancel import Cancel
from codecairn.config import Settings
from codecairn.connection import Connection
from codecairn.index.run import Options
from codecairn.index.views import searching
from codecairn.memory.discoveries import TYPES, DiscoveryBinding, new_id
from codecairn.memory.drift_check import verdict
from codecairn.names.qualified import qualified_name
from codecairn.project import Project, Projects
from codecairn.resolve.identity import stable_id
from codecairn.store.discoveries import DiscoveryRow
from codecairn.store.view import View

MOST_P95_MS = 50.0
_NOW = "2025-01-01T00:00:00Z"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "drift"])
    parser.add_argument("repository", type=Path, nargs="?", default=Path(__file__).parents[1])
    parser.add_argument("--discoveries", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--symbols", type=int, default=200)
    options = parser.parse_args()
    return _speed(options) if options.what == "speed" else _drift(options)


@contextmanager
def _cloned(repository: Path) -> Iterator[Project]:
    with tempfile.TemporaryDirectory(prefix="cairn-bench-", ignore_cleanup_errors=True) as folder:
        root = Path(folder).resolve() / "clone"
        subprocess.run(["git", "clone", "--quiet", str(repository.resolve()), str(root)], check=True)
        projects = Projects(Settings(roots=(root,), data=Path(folder) / "home"))
        project = projects.current()
        try:
            yield project
        finally:
            project.index.close()


def _speed(options: argparse.Namespace) -> int:
    random.seed(1)
    with _cloned(options.repository) as project:
        project.index.index(Options(), force=False, cancel=Cancel())
        words = _vocabulary(project)
        project.discoveries.put(_discovery(words) for _ in range(options.discoveries))
        door = _Door(project)
        first = door.search("warm up the search")
        searches, writes, code = Spread(), Spread(), Spread()
        for number in range(options.queries):
            if number % 10 == 0:
                writes.values.append(door.cpu_ms("remember", type="rule", content=" ".join(_some(words, 12))))
            asked = " ".join(_some(words, random.randint(1, 6)))
            searches.values.append(door.search(asked))
            path = str(project.root)
            code.values.append(door.cpu_ms("search_code", path=path, query=f"{asked} again", limit=5))
        noting = door.noting_ms()
        with project.memory.reading() as database:
            (stored,) = database.execute("SELECT count(*) FROM discovery").fetchone()
    print(markdown(
        ["discoveries", "first search ms", "p50 ms", "p95 ms", "search_code p50 ms", "p95 ms", "remember p50 ms",
         "noting a call ms"],
        [[str(stored), f"{first:.0f}", f"{searches.median:.1f}", f"{searches.p95:.1f}", f"{code.median:.1f}",
          f"{code.p95:.1f}", f"{writes.median:.1f}", f"{noting:.3f}"]],
    ))  # fmt: skip
    return 0 if searches.p95 <= MOST_P95_MS else 1


class _Door:
    def __init__(self, project: Project) -> None:
        self._registry = tools.standard()
        self._projects = Projects(project.settings)
        self._projects._open[project.root] = project
        self._number = 0

    def call(self, tool: str, arguments: dict[str, Any]) -> None:
        self._number += 1
        connection = Connection(f"bench{self._number // 50}")  # a fresh one before its limit is reached
        call = tools.Call(self._projects, connection, self._registry, "bench")
        reply = self._registry.call(self._registry.tools[tool], call, arguments)
        assert reply.error is None, reply.text

    def cpu_ms(self, tool: str, **arguments: Any) -> float:
        began = time.process_time()
        self.call(tool, arguments)
        return (time.process_time() - began) * 1000

    def search(self, query: str) -> float:
        return self.cpu_ms("context_search", query=query)

    def noting_ms(self) -> float:
        connection, sessions = Connection("noting"), self._registry.sessions
        began = time.process_time()
        for _ in range(1_000):
            sessions.note(connection, self._projects, "read_file", None, {"path": "README.md"})
        return time.process_time() - began  # seconds of a thousand are milliseconds of one


def _vocabulary(project: Project) -> list[str]:
    opened = project.index.open_index()
    assert opened is not None
    for view in searching(project.index, opened):
        names = [name for name in view.names() if name.isascii() and 3 < len(name) < 30]
        texts = [view.text(file.id) for file in list(view.files())[:200]]
    prose = [word for text in texts for word in text.split() if word.isalpha() and len(word) > 3]
    return [*names, *prose]


def _some(words: list[str], count: int) -> list[str]:
    return random.sample(words, count)


def _discovery(words: list[str]) -> DiscoveryRow:
    content = " ".join(_some(words, random.randint(8, 40)))[:900]
    return DiscoveryRow(id=new_id(), type=random.choice(TYPES), content=content, created=_NOW, updated=_NOW)


def _drift(options: argparse.Namespace) -> int:
    with _cloned(options.repository) as project:
        root = project.root
        log = _git(root, "rev-list", "--first-parent", f"--max-count={options.commits + 1}", "HEAD").split()
        commits = list(reversed(log))
        _git(root, "checkout", "--quiet", "--detach", commits[0])
        bound = _bound(project, Checkout(root), options.symbols)
        brute, before = Checkout(root), dict.fromkeys((row.id for row, _ in bound), "fresh")
        turned: Counter[str] = Counter()
        wrong = 0
        cpu = Spread()
        for commit in commits[1:]:
            _git(root, "checkout", "--quiet", "--detach", commit)
            symbols = brute.symbols()
            for row, seen, told, ms in _judged(project, bound):
                meant = status(seen, symbols)
                cpu.values.append(ms)
                if told != meant:
                    wrong += 1
                    print(f"{commit[:10]} {seen.qualified}: {told}, and is {meant}", file=sys.stderr)
                if told != before[row.id]:
                    turned[f"{before[row.id]} → {told}"] += 1
                before[row.id] = told
    ends = Counter(before.values())
    print(markdown(
        ["commits", "symbols", "verdicts", "wrong", "turns", "at the end", "a verdict, ms"],
        [[str(len(commits) - 1), str(len(bound)), str(len(cpu.values)), str(wrong), _listed(turned), _listed(ends),
          f"{cpu.median:.2f}"]],
    ))  # fmt: skip
    return 1 if wrong else 0


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=True, text=True).stdout


def _bound(project: Project, brute: Checkout, most: int) -> list[tuple[DiscoveryRow, Seen]]:
    """Discoveries about symbols spread over all that there are, each with what it was."""
    symbols = brute.symbols()
    named = {seen.qualified: seen for group in symbols.values() for seen in group if _is_alone(seen, group)}
    chosen = random.Random(1).sample(sorted(named), min(most, len(named)))
    rows = []
    for view in _views(project):
        rows = [(_row(view, named[qualified]), named[qualified]) for qualified in chosen]
    project.discoveries.put(row for row, _ in rows)
    return rows


def _is_alone(seen: Seen, group: list[Seen]) -> bool:
    return sum(each.qualified == seen.qualified for each in group) == 1


def _row(view: View, seen: Seen) -> DiscoveryRow:
    file, symbol = next(each for each in view.symbols_named(seen.name) if qualified_name(*each) == seen.qualified)
    binding = DiscoveryBinding(
        path=file.path, symbol=seen.qualified, name=seen.name, kind=symbol.kind, stable_id=stable_id(file, symbol),
        content_hash=symbol.content_hash,
    )  # fmt: skip
    about = {name: getattr(binding, name) for name in DiscoveryBinding.__struct_fields__}
    return DiscoveryRow(
        id=new_id(), type="rule", content=f"About {seen.qualified}", created=_NOW, updated=_NOW, **about
    )


def _views(project: Project) -> Iterator[View]:
    project.index.index(Options(), force=False, cancel=Cancel())
    opened = project.index.open_index()
    assert opened is not None
    yield from searching(project.index, opened)


def _judged(
    project: Project, bound: list[tuple[DiscoveryRow, Seen]]
) -> Iterator[tuple[DiscoveryRow, Seen, str, float]]:  # fmt: skip
    for view in _views(project):
        for row, seen in bound:
            began = time.process_time()
            found = verdict(row, view, project.root)
            assert found is not None
            yield row, seen, found.status, (time.process_time() - began) * 1000


if __name__ == "__main__":
    sys.exit(main())
