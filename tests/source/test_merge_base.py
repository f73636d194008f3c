"""Where two commits parted, and what is said where that cannot be known."""

from __future__ import annotations

from pathlib import Path

import pytest

from codecairn.cancel import Cancel
from codecairn.errors import OverlayNotReady
from codecairn.source.git import Git
from codecairn.source.merge_base import Parting, parting
from tests.support.repo import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo.create(tmp_path / "repo")
    repo.commit("first", {"a.py": "a = 1\n"})
    return repo


def test_two_branches_part_at_their_last_common_commit(repo: Repo) -> None:
    first = repo.git("rev-parse", "HEAD")
    repo.git("checkout", "--quiet", "-b", "side")
    repo.commit("side", {"b.py": "b = 1\n"})
    assert parting(Git(repo.path), "main", "side", Cancel()) == Parting(first)


def test_without_common_history_there_is_none(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "--orphan", "other")
    repo.commit("other", {"c.py": "c = 1\n"})
    assert parting(Git(repo.path), "main", "other", Cancel()) is None


def test_a_commit_that_git_has_pruned_is_said_to_be_gone(repo: Repo) -> None:
    repo.commit("to be forced away", {"a.py": "a = 2\n"})
    gone = repo.git("rev-parse", "HEAD")
    repo.git("reset", "--quiet", "--hard", "HEAD~1")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "--quiet", "--prune=now")
    with pytest.raises(OverlayNotReady, match=f"Commit {gone[:12]} is no longer in the repository"):
        parting(Git(repo.path), "main", gone, Cancel())
