"""How fresh the index says it is, held against what was done to the files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from codecairn.index import status
from tests.support.index import PYTHON, Indexed, Open
from tests.support.repo import Repo
from tests.support.wait import eventually
from tests.support.wire import ServerProcess


def edit(repo: Repo) -> None:
    repo.write("a.py", "def edited(): ...\n")


def same_size_edit(repo: Repo) -> None:
    repo.write("a.py", PYTHON.replace("greet", "gruss"))


def add(repo: Repo) -> None:
    repo.write("new.py", PYTHON)


def delete(repo: Repo) -> None:
    (repo.path / "a.py").unlink()


def rename(repo: Repo) -> None:
    (repo.path / "a.py").rename(repo.path / "z.py")


def commit(repo: Repo) -> None:
    repo.commit("nothing in it")


def switch(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "other")


def into_a_folder(repo: Repo) -> None:
    (repo.path / "a.py").unlink()
    repo.write("a.py/inner.py", PYTHON)


def ignore(repo: Repo) -> None:
    repo.write(".git/info/exclude", "loose.py\n")


CHANGES = [edit, same_size_edit, add, delete, rename, switch, into_a_folder, ignore]


@pytest.fixture
def project(repo: Repo, indexed: Open) -> Indexed:
    repo.commit("start", {"a.py": PYTHON, "b.py": "def stays(): ...\n"})
    repo.git("checkout", "--quiet", "-b", "other")
    repo.commit("other", {"c.py": "def other(): ...\n"})
    repo.git("checkout", "--quiet", "main")
    repo.write("loose.py", "def loose(): ...\n")
    return indexed(repo.path)


@pytest.mark.requirement("ruling/metadata/stale-worktree")
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: str(change.__name__))
def test_a_changed_tree_is_stale_until_it_is_indexed(
    change: Callable[[Repo], None], repo: Repo, project: Indexed
) -> None:
    project.run()
    assert project.stands().freshness == "fresh"
    change(repo)
    assert project.stands().freshness == "stale"
    project.run()
    assert project.stands().freshness == "fresh"


@pytest.mark.requirement("ruling/metadata/stale-ref-head")
def test_a_head_that_moved_is_stale_though_no_file_changed(repo: Repo, project: Indexed) -> None:
    project.run()
    commit(repo)
    assert project.stands().freshness == "stale"
    project.run()
    assert project.stands().freshness == "fresh"


def test_no_look_is_believed_a_second_time(repo: Repo, project: Indexed) -> None:
    project.run()
    for number in range(20):
        assert project.stands().freshness == "fresh"
        repo.write("a.py", f"def edited{number}(): ...\n")
        assert project.stands().freshness == "stale"
        project.run()


def test_a_look_that_takes_long_is_not_repeated_and_nothing_is_called_fresh_meanwhile(
    project: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.run()
    monkeypatch.setattr(status, "_LONG_LOOK_S", 0.0)
    monkeypatch.setattr(status, "_LOOK_SHARE", 1e9)
    assert project.stands().freshness == "fresh"
    unlooked = project.stands()
    assert unlooked.freshness == "stale"
    assert any("takes too long" in each for each in unlooked.warnings)


def test_a_file_saved_unchanged_does_no_harm(repo: Repo, project: Indexed) -> None:
    project.run()
    os.utime(repo.path / "a.py", (1, 1))
    assert project.run().files_indexed == 0
    assert project.stands().freshness == "fresh"


def test_an_ignored_file_changes_nothing(repo: Repo, project: Indexed) -> None:
    repo.write(".gitignore", "out/\n")
    project.run()
    repo.write("out/built.py", PYTHON)
    assert project.stands().freshness == "fresh"


def test_a_case_only_rename_is_seen(repo: Repo, project: Indexed) -> None:
    project.run()
    (repo.path / "a.py").rename(repo.path / "A.py")
    assert project.stands().freshness == "stale"
    project.run()
    assert set(project.versions()) == {"A.py", "b.py", "loose.py"}


def test_a_file_that_became_a_link_is_let_go(repo: Repo, project: Indexed) -> None:
    project.run()
    (repo.path / "a.py").unlink()
    (repo.path / "a.py").symlink_to("b.py")
    assert project.stands().freshness == "stale"
    project.run()
    assert set(project.versions()) == {"b.py", "loose.py"}
    assert project.stands().freshness == "fresh"


def test_a_folder_that_became_a_link_out_of_the_project_is_let_go(repo: Repo, project: Indexed, tmp_path: Path) -> None:
    repo.write("pkg/inner.py", "def inner(): ...\n")
    project.run()
    (tmp_path / "elsewhere").mkdir()
    shutil.move(repo.path / "pkg/inner.py", tmp_path / "elsewhere/inner.py")
    (repo.path / "pkg").rmdir()
    (repo.path / "pkg").symlink_to(tmp_path / "elsewhere")
    project.run()
    assert "inner" not in project.names()
    assert project.stands().freshness == "fresh"


@pytest.mark.parametrize("change", [*CHANGES, commit], ids=lambda change: str(change.__name__))
def test_a_watched_project_catches_up_by_itself(
    change: Callable[[Repo], None], repo: Repo, project: Indexed, indexed: Open, tmp_path: Path
) -> None:
    with project.kept():
        assert project.settled().indexing == "ready"
        change(repo)
        anew = indexed(repo.path, tmp_path / "anew")
        anew.run()
        eventually(lambda: project.versions() == anew.versions() and project.stands().freshness == "fresh")


def test_atomic_saves_are_followed(repo: Repo, project: Indexed) -> None:
    with project.kept():
        for number in range(5):
            repo.write(".a.py.swp", f"def save{number}(): ...\n").replace(repo.path / "a.py")
        eventually(lambda: "save4" in project.names())
        assert project.settled()
        assert project.names() == {"save4", "stays", "loose"}


def test_a_branch_switch_over_hundreds_of_files_ends_right(repo: Repo, project: Indexed) -> None:
    repo.git("checkout", "--quiet", "other")
    repo.commit("many", {f"many/part{number}.py": f"def part{number}(): ...\n" for number in range(300)})
    with project.kept():
        assert len(project.names()) == 304
        repo.git("checkout", "--quiet", "main")
        eventually(lambda: project.names() == {"greet", "stays"})
        assert project.settled().ref == "main"
        repo.git("checkout", "--quiet", "other")
        eventually(lambda: len(project.names()) == 304)
        assert project.settled().ref == "other"


def test_swaps_between_file_folder_and_link_end_right(repo: Repo, project: Indexed) -> None:
    with project.kept():
        place = repo.path / "swap"
        for _ in range(3):
            repo.write("swap", "plain words\n")
            place.unlink()
            repo.write("swap/inner.py", "def inner(): ...\n")
            shutil.rmtree(place)
            place.symlink_to("b.py")
            place.unlink()
        repo.write("swap/last.py", "def last(): ...\n")
        eventually(lambda: project.names() == {"greet", "stays", "loose", "last"})
        assert project.settled()


def test_a_file_that_grows_while_it_is_read_ends_whole(repo: Repo, project: Indexed) -> None:
    with project.kept(), (repo.path / "log.py").open("w") as growing:
        for number in range(200):
            growing.write(f"def line{number}(): ...\n")
            growing.flush()
        eventually(lambda: "line199" in project.names())
        assert project.settled()
        assert len(project.symbols("log.py")) == 200


def test_a_server_catches_up_with_what_changed_while_it_was_off(repo: Repo, project: Indexed) -> None:
    with project.kept():
        pass
    edit(repo)
    with project.kept(watch=False):
        assert project.names() == {"edited", "stays", "loose"}
        assert project.settled()


def test_without_a_watcher_a_change_is_stale_and_stays_so(repo: Repo, project: Indexed) -> None:
    with project.kept(watch=False):
        assert project.stands().freshness == "fresh"
        edit(repo)
        assert project.stands().freshness == "stale"


@pytest.mark.parametrize("options", [[], ["--no-watch"]], ids=["watching", "no-watch"])
def test_a_server_indexes_its_root_behind_its_first_answer(
    options: list[str], repo: Repo, project: Indexed, home: Path, tmp_path: Path
) -> None:
    del project
    with ServerProcess(*options, "--root", str(repo.path), folder=tmp_path, CAIRN_HOME=str(home)) as server:
        server.initialize()

        def status() -> str:
            params = {"name": "get_status", "arguments": {"path": str(repo.path)}}
            metadata = server.request("tools/call", params)["result"]["structuredContent"]["metadata"]
            return f"{metadata['indexing_status']} {metadata['freshness_status']}"

        assert status() in {"indexing syncing", "ready syncing", "ready fresh"}
        eventually(lambda: status() == "ready fresh")
        edit(repo)
        if options:
            eventually(lambda: status() == "ready stale")
        else:
            eventually(lambda: status() == "ready syncing")
            eventually(lambda: status() == "ready fresh")
        assert server.close() == 0
