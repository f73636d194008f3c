"""How often files change: counted by commits, lately, without what may not be shown; asked again when HEAD moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from codecairn.cancel import Cancel
from codecairn.history.churn import Churn, recent_churn
from codecairn.paths import Guard
from codecairn.source import process
from codecairn.source.git import Git
from tests.support.repo import Repo


def churn_of(root: Path) -> Churn:
    return recent_churn(Git(root), Guard(root), Cancel())


def test_a_commit_counts_once_a_file(repo: Repo) -> None:
    repo.commit("one", {"a.py": "1", "b c.py": "1", ".env": "1"})
    repo.commit("two", {"a.py": "2", ".env": "2"})
    repo.commit("nothing")
    found = churn_of(repo.path)
    assert found.changes == {"a.py": 2, "b c.py": 1}
    assert (found.commits, found.since, found.is_whole) == (3, "2025-03-01", True)


def test_what_lies_more_than_a_year_back_does_not_count(repo: Repo) -> None:
    repo.commit("old", {"old.py": "1"}, date="2020-01-01T00:00:00+00:00")
    repo.commit("new", {"new.py": "1"})
    assert churn_of(repo.path).changes == {"new.py": 1}


def test_a_commit_of_everything_says_nothing_of_any_file(repo: Repo) -> None:
    repo.commit("import", {f"f{number}.py": "1" for number in range(201)})
    repo.commit("edit", {"f1.py": "2"})
    assert churn_of(repo.path).changes == {"f1.py": 1}


def test_a_folder_of_a_repository_counts_its_own_files(repo: Repo) -> None:
    repo.commit("one", {"in/a.py": "1", "out.py": "1"})
    assert churn_of(repo.path / "in").changes == {"a.py": 1}


def test_it_is_asked_once_for_each_head(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit("one", {"a.py": "1"})
    git, guard = Git(repo.path), Guard(repo.path)
    first = recent_churn(git, guard, Cancel())
    with monkeypatch.context() as none_may_run:
        none_may_run.delattr(process, "run")
        assert recent_churn(git, guard, Cancel()) is first
    repo.commit("two", {"a.py": "2"})
    assert recent_churn(git, guard, Cancel()).changes == {"a.py": 2}


def test_without_a_repository_nothing_changes(tmp_path: Path) -> None:
    assert churn_of(tmp_path).changes == {}


def test_before_the_first_commit_nothing_changes(repo: Repo) -> None:
    assert churn_of(repo.path).changes == {}
