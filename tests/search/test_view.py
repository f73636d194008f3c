"""What a view shows and counts, whatever else lies in the stores it is read from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from codecairn.cancel import Cancel
from codecairn.config import Settings
from codecairn.index.run import Options
from codecairn.index.views import searching
from codecairn.project import Project
from codecairn.rank.search import Question
from codecairn.store.open_index import OpenIndex
from codecairn.store.view import View
from codecairn.store.writer import IndexWriter
from tests.support.repo import Repo


@pytest.fixture
def project(repo: Repo, tmp_path: Path) -> Iterator[Project]:
    repo.commit(
        "start", {"a.py": "def lantern():\n    return 1\n", "deploy/plan.py": "def lantern_plan():\n    return 2\n"}
    )
    project = Project(repo.path.resolve(), Settings(data=tmp_path / "home"))
    project.index.index(Options(), force=False, cancel=Cancel())
    yield project
    project.index.close()


def stores(project: Project) -> OpenIndex:
    opened = project.index.open_index()
    assert opened is not None
    return opened


@contextmanager
def seen(project: Project) -> Iterator[View]:
    views = searching(project.index, stores(project))
    yield next(views)
    views.close()  # type: ignore[attr-defined]


def totals(project: Project) -> dict[str, float]:
    with seen(project) as view:
        ranking, _ = project.searcher.rank(view, Question("lantern"))
        return {each.candidate.path: each.total for each in ranking.results}


def test_documents_on_their_way_in_or_out_count_for_nothing(project: Project) -> None:
    """A writer has told the database of a version, given it documents, and got no further."""
    with seen(project) as view:
        before, files = view.frequency("lantern"), [file.id for file in view.files()]
    scores = totals(project)
    opened = stores(project)
    version = opened.store.load(files[0])
    assert version is not None
    other = msgspec.structs.replace(version, id=version.id ^ 1)
    IndexWriter(opened.store).announce([other.id])
    with opened.lexical.writing() as writing:
        writing.add(other)
        writing.commit()
    with seen(project) as view:
        assert view.frequency("lantern") == before == 2
    assert totals(project) == scores


def test_what_is_blocked_since_it_was_indexed_is_shown_no_more(project: Project, tmp_path: Path) -> None:
    assert set(totals(project)) == {"a.py", "deploy/plan.py"}
    stricter = Project(project.root, Settings(data=tmp_path / "home", blocked=("deploy",)))
    assert set(totals(stricter)) == {"a.py"}
    with seen(stricter) as view:
        assert [file.path for file in view.files()] == ["a.py"]
        assert view.file_at("deploy/plan.py") is None
        assert view.files_ending("plan.py") == []
        assert [file.path for file, _ in view.symbols_named("lantern_plan")] == []
    stricter.index.close()


def test_what_was_learnt_is_forgotten_when_documents_come_or_go(project: Project) -> None:
    (project.root / "b.py").write_text("def lantern_again():\n    return 3\n", encoding="utf-8")
    before = totals(project)
    project.index.index(Options(), force=False, cancel=Cancel())
    assert set(totals(project)) == {*before, "b.py"}
