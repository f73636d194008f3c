"""Random histories of a repository whose index is kept up, and all that tools answer from one of its refs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from codecairn.cancel import Cancel
from codecairn.index.run import Options
from codecairn.project import Project
from codecairn.rank.search import Question, Searcher
from codecairn.resolve.engine import Engine
from codecairn.resolve.references import references_to
from codecairn.resolve.values import Definition
from codecairn.source.refs import tip_of
from codecairn.store.view import View
from tests.support.indexes import LastingWorkers, project_index
from tests.support.repo import Repo

PATHS = [
    "pkg/__init__.py", "pkg/basket.py", "pkg/crate.py", "shop/till.py", "shop/__init__.py", "till.py", "notes.md",
    "web/cart.ts", "web/index.ts", "cmd/main.go", "go.mod", "old/.cairnignore", ".cairnignore", "old/relic.py",
    "data/table.bin", "tests/test_till.py",
]  # fmt: skip
CONTENTS = [
    "",
    "def weigh(item):\n    return item.grams\n",
    "from pkg.basket import weigh\n\ndef total(items):\n    return sum(weigh(each) for each in items)\n",
    "from pkg import basket\nfrom pkg.crate import *\n\n"
    "class Till:\n    def ring(self):\n        return basket.weigh(1)\n",
    "import shop.till\nfrom .basket import weigh as heft\n\n"
    "LIMIT = 3\n\ndef heavy(item):\n    return heft(item) > LIMIT\n",
    "from pkg.crate import heavy\nfrom till import Till\n\ndef open_till():\n    return Till()\n",
    "# Weighing\n\nEvery crate is weighed by `weigh`.\n\n## Tills\n\nSee till.\n",
    'import { total } from "./cart";\nexport function show() { return total([]); }\n',
    "export function total(items: number[]) { return items.length; }\r\nexport const limit = 3;\r\n",
    "package main\n\nfunc main() { weigh() }\n\nfunc weigh() int { return 1 }\n",
    "module example.org/shop\n\ngo 1.22\n",
    "relic.py\n",
    "*.ts\nshop/\n",
    "\0\1\2 not a text",
]
STALL = [
    "def weigh(item):\n    return item.grams\n",
    "def weigh(item):\n    # by the pound\n    return item.pounds\n",
    "def price(item):\n    return weigh(item) * LIMIT\n",
    "class Till:\n    def ring(self):\n        return weigh(1)\n\n    def open(self):\n        return self.ring()\n",
    "class Till:\n    def ring(self, a):\n        return weigh(2)\n\n    def open(self):\n        self.ring(1)\n",
    "def total(items):\n    return sum(map(price, items))\n",
    "LIMIT = 3\n",
    "def WEIGH(crate):\n    return crate.heavy\n",
]
"""Pieces of larger files: an edit leaves most chunks as they were, moved or not."""
stalls = st.lists(st.sampled_from(STALL), min_size=3, max_size=7).map("\n\n".join)
QUERIES = ["weigh", "total of the items", "Till", "heavy crate limit", "open_till", "show"]
WORDS = ["weigh", "till", "item", "limit", "crate", "grams", "ring", "pounds"]
NAMES = ["weigh", "Till", "total", "limit"]
BRANCHES = ["main", "feature", "fix/till", "next"]

contents = st.one_of(stalls, st.sampled_from([*CONTENTS, None]))
edits = st.dictionaries(st.sampled_from(PATHS), contents, min_size=1, max_size=6)
steps = st.one_of(
    st.tuples(st.just("commit"), st.sampled_from(BRANCHES), edits),
    st.tuples(st.just("branch"), st.sampled_from(BRANCHES), st.sampled_from(BRANCHES)),
    st.tuples(st.just("merge"), st.sampled_from(BRANCHES), st.sampled_from(BRANCHES)),
    st.tuples(st.just("delete"), st.sampled_from(BRANCHES[1:]), st.none()),
    st.tuples(st.just("rewrite"), st.sampled_from(BRANCHES), edits),
    st.tuples(st.just("default"), st.sampled_from(BRANCHES), st.none()),
    st.tuples(st.just("index"), st.sampled_from(BRANCHES), st.none()),
    st.tuples(st.just("index all"), st.none(), st.none()),
)
histories = st.tuples(edits, st.lists(steps, min_size=3, max_size=14))

Drawn = tuple[dict[str, str | None], list[tuple[Any, ...]]]


@dataclass
class History:
    """A repository, and the index of it that is kept up as its refs move."""

    repo: Repo
    home: Path
    workers: LastingWorkers
    indexed: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, drawn: Drawn, folder: Path, workers: LastingWorkers) -> History:
        """A repository with the history that was drawn."""
        first, steps = drawn
        history = cls(Repo.create(folder / "repo"), folder / "home", workers)
        history._edit(first)
        history.repo.commit("first")
        for step in steps:
            history.take(*step)
        return history

    def take(self, step: str, *arguments: Any) -> None:
        getattr(self, "_" + step.replace(" ", "_"))(*arguments)

    def branches(self) -> set[str]:
        return set(self.repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split())

    def _on(self, branch: str) -> bool:
        if branch not in self.branches():
            return False
        self.repo.git("checkout", "--quiet", "--force", branch)
        return True

    def _commit(self, branch: str, edits: dict[str, str | None]) -> None:
        if self._on(branch):
            self._edit(edits)
            self.repo.commit("more")

    def _edit(self, edits: dict[str, str | None]) -> None:
        for path, content in edits.items():
            place = self.repo.path / path
            if content is None:
                place.unlink(missing_ok=True)
            elif not place.is_dir():
                self.repo.write(path, content)

    def _branch(self, name: str, start: str) -> None:
        if start in self.branches() and name not in self.branches():
            self.repo.git("branch", name, start)

    def _merge(self, into: str, branch: str) -> None:
        if branch in self.branches() and self._on(into):
            self.repo.git("merge", "--quiet", "--no-edit", "--strategy=ours", branch)

    def _delete(self, name: str, _: None) -> None:
        if name in self.branches() and self._on("main"):
            self.repo.git("branch", "--quiet", "-D", name)
            self.indexed.discard(name)

    def _rewrite(self, branch: str, edits: dict[str, str | None]) -> None:
        """A forced push: the last commit is another one, and the former is gone for good."""
        if self._on(branch):
            self._edit(edits)
            self.repo.git("add", "--all")
            self.repo.git("commit", "--quiet", "--amend", "--allow-empty", "--message", f"again {self.repo.day}")
            self.repo.day += 1
            self.repo.git("reflog", "expire", "--expire=now", "--all")
            self.repo.git("gc", "--quiet", "--prune=now")

    def _default(self, branch: str, _: None) -> None:
        if branch in self.branches():
            self.repo.git("config", "init.defaultBranch", branch)

    def _index(self, branch: str, _: None) -> None:
        if branch in self.branches():
            with project_index(self.repo.path, self.home, self.workers) as index:
                tip = tip_of(index.git, branch, Cancel())
                index.index(Options(), force=False, cancel=Cancel(), ref=tip)
            self.indexed.add(branch)

    def _index_all(self, *_: None) -> None:
        with project_index(self.repo.path, self.home, self.workers) as index:
            report = index.index(Options(), force=False, cancel=Cancel())
            assert [each for each in report.warnings if not each.endswith(".cairnignore was not read: binary")] == []


def told(view: View) -> dict[str, Any]:
    """All that tools answer from."""
    files = list(view.files())
    engine = Engine(view, Cancel())
    return {
        "files": [tuple(file) for file in files],
        "extent": view.extent,
        "counts": view.counts(),
        "frequency": {word: view.frequency(word) for word in WORDS},
        "names": {each for each in view.names() if each in {symbol.name for _, symbol in view.symbols_named(each)}},
        "symbols": {name: sorted((each[0].path, each[1].path) for each in view.symbols_named(name)) for name in NAMES},
        "references": {
            (file.path, symbol.path): sorted(
                (engine.scope(each.file).row.path, each.line, each.kind)
                for each in references_to(engine, Definition(file.id, symbol.number)).references
            )
            for file in files
            for symbol in view.symbols(file.id)
        },
        "found": {(query, mode): ranked(view, query, mode) for query in QUERIES for mode in ("keyword", "hybrid")},
    }  # fmt: skip


def ranked(view: View, query: str, mode: Any) -> list[tuple[str, int, float]]:
    searcher = Searcher(Project(Path("/nowhere")).index.encoders)
    ranking, _ = searcher.rank(view, Question(query, mode))
    return [(each.candidate.path, each.candidate.start_line, each.total) for each in ranking.results]
