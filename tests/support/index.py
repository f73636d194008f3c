"""Shared by the tests of index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from codecairn.cancel import Cancel
from codecairn.config import Settings
from codecairn.index.background import Keeper
from codecairn.index.run import Options, Report
from codecairn.index.status import IndexStatus, index_status
from codecairn.index.worker_pool import Workers
from codecairn.project import Project
from codecairn.store.file_version import SymbolRow
from tests.support.doors import Answer
from tests.support.repo import Repo
from tests.support.wait import eventually

GO = "package shop\n\n// Pay settles.\nfunc Pay(sum int) int { return sum }\n"
PYTHON = "def greet(name):\n    return name\n"


def fill(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """A folder with these files; the folder, so that it can be passed on."""
    root.mkdir(parents=True, exist_ok=True)
    writer = Repo(root)
    for name, content in files.items():
        writer.write(name, content)
    return root


@dataclass
class Indexed:
    """One project with a data folder of its own."""

    root: Path
    home: Path
    workers: Workers | None = None
    """Workers of the test session, where the test is not about workers."""
    project: Project = field(init=False)

    def __post_init__(self) -> None:
        self.project = Project(self.root.resolve(), Settings(data=self.home))
        _lend(self.workers, self.project)

    def run(self, *, tests: bool = True, vendor: bool = False, force: bool = False) -> Report:
        """An explicit index run."""
        return self.project.index.index(Options(tests, vendor), force=force, cancel=Cancel())

    def stands(self) -> IndexStatus:
        """How the index stands now."""
        return index_status(self.project.index, Cancel())

    def versions(self) -> dict[str, int]:
        """What is visible: path → the id of the file's version."""
        opened, checkout = self._opened()
        return {path: each.file for path, each in opened.store.manifest(checkout).items() if each.file is not None}

    def reasons(self) -> dict[str, str]:
        """The files that are listed without a version, and why."""
        opened, checkout = self._opened()
        return {path: each.reason for path, each in opened.store.manifest(checkout).items() if each.file is None}

    def symbols(self, path: str) -> dict[str, SymbolRow]:
        return self._defined(self.versions()[path])

    def names(self) -> set[str]:
        """The names of every visible symbol."""
        return {name for file in self.versions().values() for name in self._defined(file)}

    def _defined(self, file: int) -> dict[str, SymbolRow]:
        opened, _ = self._opened()
        version = opened.store.load(file)
        assert version is not None
        return {each.path: each for each in version.symbols}

    def tags(self, path: str) -> dict[str, str]:
        return {name: each.tags for name, each in self.symbols(path).items() if each.tags}

    def hits(self, term: str) -> set[str]:
        """The visible files whose text has the term, as the lexical index says."""
        opened, _ = self._opened()
        searcher = opened.lexical.searcher()
        by_id = {file: path for path, file in self.versions().items()}
        found = searcher.search(_term(opened.lexical.schema, term), limit=1000).hits
        files = searcher.fast_field_values("file", [address for _, address in found])
        return {by_id[file] for file in files if file in by_id}

    def epoch(self) -> Path:
        """The folder of the index in use."""
        opened, _ = self._opened()
        return Path(opened.folder)

    def _opened(self) -> Any:
        opened = self.project.index.open_index()
        assert opened is not None
        checkout = opened.store.checkout(str(self.project.root))
        assert checkout is not None
        return opened, checkout.id

    def close(self) -> None:
        self.project.index.close()

    @contextmanager
    def kept(self, *, watch: bool = True) -> Iterator[Keeper]:
        """Kept up with its files, as a server does it; the first run is done."""
        keeper = self.project.index.keep(watch=watch)
        try:
            eventually(lambda: not keeper.is_behind)
            yield keeper
        finally:
            keeper.close()

    def settled(self) -> IndexStatus:
        """How it stands once nothing is under way any more."""
        eventually(lambda: self.stands().freshness == "fresh")
        return self.stands()


def _term(schema: Any, term: str) -> Any:
    from tantivy import Query

    return Query.term_query(schema, "body", term)


def _lend(workers: Workers | None, project: Project) -> None:
    if workers is not None:
        project.index._workers = workers


class Open(Protocol):
    def __call__(self, root: Path, at: Path | None = None, *, own_workers: bool = False) -> Indexed: ...


class Ask(Protocol):
    def __call__(self, tool: str, root: Path, /, **arguments: Any) -> Answer: ...
