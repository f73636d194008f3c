"""The commit-graph kept outside the repository: the same answers, and nothing written into the user's .git."""

from __future__ import annotations

from pathlib import Path

import pytest

from codecairn.cancel import Cancel
from codecairn.config import Settings
from codecairn.history import blame, log
from codecairn.history.blame import BlameQuery
from codecairn.history.log import LogQuery
from codecairn.project import Project
from codecairn.source import commit_graph
from tests.support.repo import Repo
from tests.support.wait import eventually


@pytest.fixture
def project(repo: Repo, tmp_path: Path) -> Project:
    for number in range(6):
        repo.commit(f"change {number}", {"a.txt": f"{number}\n" * 3, f"other-{number}.txt": "x\n"})
    return Project(repo.path, Settings(data=tmp_path / "data"))


def written(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "data").glob("graphs/*/objects/info/commit-graph"))


def listing(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in (folder / ".git").rglob("*")}


def test_a_slow_walk_has_a_graph_written_outside_the_repository(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_graph, "SLOW_S", 0.0)
    before = listing(project.root)
    first = log(project.git, project.guard, LogQuery(path="a.txt"), Cancel())
    eventually(lambda: bool(written(tmp_path)) and bool(list(tmp_path.glob("data/graphs/*/tip"))))
    assert log(project.git, project.guard, LogQuery(path="a.txt"), Cancel()) == first
    assert blame(project.git, project.guard, BlameQuery("a.txt"), Cancel()).commits[0].message == "change 5"
    assert listing(project.root) == before


def test_history_that_moved_on_is_right_with_an_old_graph(
    project: Project, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_graph, "SLOW_S", 0.0)
    log(project.git, project.guard, LogQuery(), Cancel())
    eventually(lambda: bool(written(tmp_path)))
    repo.git("reset", "--quiet", "--hard", "HEAD~3")
    repo.commit("another way", {"a.txt": "new\n"})
    found = log(project.git, project.guard, LogQuery(path="a.txt"), Cancel())
    assert [commit.message for commit in found.commits] == ["another way", "change 2", "change 1", "change 0"]


def test_a_quick_walk_writes_nothing(project: Project, tmp_path: Path) -> None:
    log(project.git, project.guard, LogQuery(), Cancel())
    assert not (tmp_path / "data").exists()


def test_a_repository_with_a_graph_of_its_own_keeps_to_it(
    project: Project, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.git("commit-graph", "write", "--reachable")
    monkeypatch.setattr(commit_graph, "SLOW_S", 0.0)
    assert log(project.git, project.guard, LogQuery(), Cancel()).count == 6
    assert not (tmp_path / "data").exists()
