"""Files that are as a commit has them, told by git without reading them; in doubt a file is not among them."""

from __future__ import annotations

from pathlib import Path

import pytest

from codecairn.cancel import Cancel
from codecairn.source.git import Git
from codecairn.source.unchanged_files import unchanged_files
from tests.support.repo import Repo

FILES: dict[str, str | bytes] = {name: f"the text of {name}\n" for name in ("a.py", "b.py", "sub/c.py", "d.txt")}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo.create(tmp_path / "repo")
    made.commit("first", FILES)
    return made


def unchanged(repo: Repo, folder: str = "") -> set[str]:
    return unchanged_files(Git(repo.path / folder), repo.git("rev-parse", "HEAD").strip(), Cancel())


def test_a_clean_tree_is_as_its_commit(repo: Repo) -> None:
    assert unchanged(repo) == set(FILES)
    assert unchanged(repo, "sub") == {"c.py"}


def test_files_that_differ_are_left_out(repo: Repo) -> None:
    repo.write("a.py", "other words\n")
    repo.write("staged.py", "new\n")
    repo.git("add", "staged.py")
    repo.write("untracked.py", "new\n")
    (repo.path / "b.py").unlink()
    assert unchanged(repo) == {"sub/c.py", "d.txt"}


@pytest.mark.parametrize("told", ["--assume-unchanged", "--skip-worktree"])
def test_files_that_git_does_not_look_at_are_left_out(repo: Repo, told: str) -> None:
    repo.git("update-index", told, "a.py")
    repo.write("a.py", "other words\n")
    assert "a.py" not in unchanged(repo)


@pytest.mark.parametrize("attribute", ["filter=lfs", "ident", "working-tree-encoding=UTF-16LE"])
def test_files_whose_bytes_git_converts_are_left_out(repo: Repo, attribute: str) -> None:
    (repo.path / ".git/info/attributes").write_text(f"d.txt {attribute}\n", encoding="utf-8")
    assert unchanged(repo) == set(FILES) - {"d.txt"}
