"""cairn index, cairn status, cairn projects: what a person sees, and the same as JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from codecairn.cancel import Cancel
from codecairn.cli import main
from codecairn.errors import Cancelled
from codecairn.index.run import Options
from tests.support.index import PYTHON, Open
from tests.support.repo import Repo


@pytest.fixture(autouse=True)
def _data(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_HOME", str(home))


def cairn(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


def structured(*arguments: object) -> Any:
    ran = cairn(*arguments, "--json")
    assert ran.exit_code == 0, ran.output
    return json.loads(ran.stdout)


def test_index_then_status(repo: Repo) -> None:
    repo.commit("start", {"a.py": PYTHON, "bad.py": "def (((\n", "logo.png": b"\x89PNG\0"})
    before = cairn("status", repo.path)
    assert before.exit_code == 0
    assert "Run index_codebase" in before.output
    ran = cairn("index", repo.path)
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.startswith("Successfully indexed 2 files in ")
    assert "binary" in ran.stdout
    assert "bad.py" in ran.stderr
    after = cairn("status", repo.path)
    assert "Project indexed successfully with 3 files" in after.stdout
    assert "fresh, on main" in after.stdout
    assert "python" in after.stdout


def test_json_is_what_the_tools_answer(repo: Repo) -> None:
    repo.commit("start", {"a.py": PYTHON, "tests/test_a.py": PYTHON, "vendor/b.py": PYTHON})
    ran = structured("index", repo.path, "--no-tests", "--vendor")
    assert ran["statistics"]["files_indexed"] == 2
    assert structured("index", repo.path, "--no-tests", "--vendor", "--force")["statistics"]["files_indexed"] == 2
    status = structured("status", repo.path)
    assert status["project"]["id"] == ran["project_id"]
    assert status["metadata"]["freshness_status"] == "fresh"


def test_the_working_folder_is_meant_where_none_is_named(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit("start", {"a.py": PYTHON})
    monkeypatch.chdir(repo.path)
    assert structured("index")["statistics"]["files_indexed"] == 1
    assert structured("status")["project"]["root_path"] == str(repo.path)


def test_a_failure_ends_the_command_with_a_way_out(tmp_path: Path, home: Path) -> None:
    missing = cairn("index", tmp_path / "missing")
    assert missing.exit_code == 1
    (tmp_path / "empty").mkdir()
    empty = cairn("index", tmp_path / "empty")
    assert empty.exit_code == 1
    assert "Name the folder that holds the source" in empty.stderr
    shutil.rmtree(home)
    home.write_text("in the way")
    unusable = cairn("status", tmp_path / "empty")
    assert unusable.exit_code == 1
    assert "CAIRN_HOME" in unusable.stderr


def test_projects_lists_what_is_indexed_and_prunes_what_is_gone(repo: Repo, tmp_path: Path) -> None:
    assert "Nothing is indexed" in cairn("projects").stdout
    repo.commit("start", {"a.py": PYTHON})
    other = Repo.create(tmp_path / "other")
    other.commit("start", {"b.py": PYTHON, "c.py": PYTHON})
    for root in (repo.path, other.path):
        assert cairn("index", root).exit_code == 0
    listed = {each["root"]: each for each in structured("projects")}
    assert listed.keys() == {str(repo.path), str(other.path)}
    assert listed[str(other.path)]["files"] == 2
    assert all(each["size_mb"] > 0 and each["last_used"] and not each["is_gone"] for each in listed.values())
    assert structured("projects", "--prune") == []
    shutil.rmtree(other.path)
    assert "gone" in cairn("projects").stdout
    assert [each["root"] for each in structured("projects", "--prune")] == [str(other.path)]
    assert [each["root"] for each in structured("projects")] == [str(repo.path)]
    assert structured("status", repo.path)["indexed"] is True


def test_pruning_a_worktree_leaves_the_repository_its_index(repo: Repo, tmp_path: Path) -> None:
    repo.commit("start", {"a.py": PYTHON})
    repo.git("worktree", "add", "--quiet", str(tmp_path / "side"))
    for root in (repo.path, tmp_path / "side"):
        assert cairn("index", root).exit_code == 0
    repo.git("worktree", "remove", "--force", str(tmp_path / "side"))
    assert [each["root"] for each in structured("projects", "--prune")] == [str(tmp_path / "side")]
    assert structured("status", repo.path)["metadata"]["freshness_status"] == "fresh"


def test_a_damaged_index_is_listed_as_such(repo: Repo, home: Path) -> None:
    repo.commit("start", {"a.py": PYTHON})
    cairn("index", repo.path)
    (database,) = home.rglob("index.db")
    for beside in database.parent.glob("index.db-*"):
        beside.unlink()
    database.write_bytes(b"nothing like a database " * 400)
    (listed,) = structured("projects")
    assert "damaged" in listed["problem"]
    assert structured("projects", "--prune") == []
    assert "damaged" in cairn("status", repo.path).output
    assert cairn("index", repo.path).exit_code == 0
    (listed,) = structured("projects")
    assert listed["problem"] == ""


@pytest.mark.requirement("ruling/metadata/interrupted-said")
def test_status_after_an_interrupt_says_so_and_how_to_go_on(repo: Repo, indexed: Open) -> None:
    repo.commit("start", {"a.py": PYTHON, "b.py": PYTHON})
    project, cancel = indexed(repo.path), Cancel()

    def stop(done: int, total: int, said: str) -> None:
        del total, said
        if done:
            cancel.set()

    with pytest.raises(Cancelled):
        project.project.index.index(Options(), force=False, cancel=cancel, progress=stop)
    said = cairn("status", repo.path)
    assert "Indexing was interrupted: 0 of 2 files are there" in said.stdout
    assert "cairn index" in said.stdout
    assert "None" not in said.stdout
    assert cairn("index", repo.path).exit_code == 0
    after = cairn("status", repo.path).stdout
    assert "2 files: 2 indexed (0 of them as text alone), 0 listed and not read" in after


def test_status_says_what_it_counts(repo: Repo) -> None:
    repo.commit("start", {"a.py": PYTHON, "notes.md": "# Notes\n", "logo.png": b"\x89PNG\0"})
    cairn("index", repo.path)
    said = cairn("status", repo.path).stdout
    assert "3 files: 2 indexed (1 of them as text alone), 1 listed and not read" in said
    assert "left out, by reason" in said
