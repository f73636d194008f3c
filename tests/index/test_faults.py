"""Data that cannot be written or read: said plainly with the way out, while everything else goes on."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codecairn.cancel import Cancel
from codecairn.errors import CairnError, IndexIncompatible, TooManyFiles
from codecairn.project import Project
from codecairn.store.discoveries import DiscoveryRow
from codecairn.store.lexical import Lexical
from codecairn.store.project_links import Link
from codecairn.store.schema import SCHEMA
from tests.support.doors import Answer
from tests.support.index import GO, PYTHON, Ask, Indexed, Open
from tests.support.repo import Repo
from tests.support.wait import eventually


def fault(answer: Answer) -> dict[str, Any]:
    assert answer.rpc_error is not None, answer.text
    return answer.rpc_error


@pytest.fixture
def project(repo: Repo, indexed: Open) -> Indexed:
    repo.commit("start", {"a.py": PYTHON, "b.go": GO})
    project = indexed(repo.path)
    project.run()
    return project


def _put(path: Path, content: bytes) -> None:
    """In place where the file is SQLite's; as another file where it is mapped, and a page that is gone is fatal."""
    if path.suffix == ".db":
        path.write_bytes(content)
        return
    other = path.with_name("damaged")
    other.write_bytes(content)
    other.replace(path)


def garbage(path: Path) -> None:
    _put(path, os.urandom(path.stat().st_size or 4096))


def half(path: Path) -> None:
    _put(path, path.read_bytes()[: path.stat().st_size // 2])


def head(path: Path) -> None:
    """The first page only: it opens, and then nothing is there."""
    path.write_bytes(path.read_bytes()[:4096])


def settle(project: Indexed) -> Path:
    """All that was written is in the database itself, and nobody has it open."""
    database = project.epoch() / "index.db"
    project.close()
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return database


@pytest.mark.requirement("002/get_status/health-true")
@pytest.mark.parametrize("damage", [garbage, half, head])
def test_a_damaged_database_is_told_and_rebuilt_on_request(
    damage: Callable[[Path], None], project: Indexed, indexed: Open, ask: Ask
) -> None:
    damage(settle(project))
    status = ask("get_status", project.root).value
    assert (status["success"], status["indexed"], status["statistics"]) == (True, False, None)
    assert status["health"] == {"database_accessible": False, "embeddings_available": False, "fts_indexes_built": True}
    metadata = status["metadata"]
    assert (metadata["schema_status"], metadata["indexing_status"]) == ("corrupt_manifest", "failed")
    assert "index_codebase" in status["message"]
    assert not ask("git_log", project.root).is_error
    assert ask("index_codebase", project.root).value["statistics"]["files_indexed"] == 2
    assert ask("get_status", project.root).value["metadata"]["schema_status"] == "compatible"
    assert indexed(project.root).names() == {"greet", "Pay"}


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("meta.json", Path.unlink), ("meta.json", garbage), (".managed.json", half), ("*.idx", half),
        ("*.term", garbage), ("*.fast", Path.unlink),
    ],
)  # fmt: skip
def test_a_damaged_lexical_index_is_told_and_rebuilt_on_request(
    damage: Callable[[Path], None], name: str, project: Indexed, indexed: Open, ask: Ask
) -> None:
    lexical = project.epoch() / "lexical"
    project.close()
    for path in lexical.glob(name):
        damage(path)
    status = ask("get_status", project.root).value
    assert status["health"] == {"database_accessible": True, "embeddings_available": False, "fts_indexes_built": False}
    assert status["metadata"]["schema_status"] == "corrupt_manifest"
    assert ask("index_codebase", project.root).value["statistics"]["files_indexed"] == 2
    assert indexed(project.root).hits("greet") == {"a.py"}


def test_a_text_index_that_goes_under_a_running_server_is_told(project: Indexed, ask: Ask) -> None:
    assert ask("get_status", project.root).value["health"]["fts_indexes_built"] is True
    (project.epoch() / "lexical" / "meta.json").unlink()
    status = ask("get_status", project.root).value
    assert status["health"]["fts_indexes_built"] is False
    assert ask("index_codebase", project.root).value["statistics"]["files_indexed"] == 2
    assert ask("get_status", project.root).value["health"]["fts_indexes_built"] is True


@pytest.mark.parametrize("version", [SCHEMA - 1, SCHEMA + 1])
def test_an_index_of_another_version_is_told_and_built_anew(version: int, project: Indexed, ask: Ask) -> None:
    database = settle(project)
    connection = sqlite3.connect(database)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    status = ask("get_status", project.root).value
    assert status["metadata"]["schema_status"] == "reindex_required"
    assert status["indexed"] is False
    assert "index_codebase" in status["message"]
    assert ask("index_codebase", project.root).value["statistics"]["files_indexed"] == 2
    assert ask("get_status", project.root).value["metadata"]["schema_status"] == "compatible"


def test_an_index_of_the_version_before_is_rebuilt_and_nothing_that_people_wrote_is_lost(
    project: Indexed, ask: Ask
) -> None:
    wrote = project.project
    discovery = DiscoveryRow(id="d", type="note", content="weigh twice", created="2026-01-01", updated="2026-01-01")
    wrote.memory.track("shop/rule", "2026-01-01T00:00:00Z")
    wrote.discoveries.put([discovery])
    wrote.links.add(Link("/elsewhere", "elsewhere", "2026-01-01T00:00:00Z"))
    connection = sqlite3.connect(settle(project))
    connection.execute("CREATE TABLE difference (file INTEGER PRIMARY KEY)")
    connection.execute(f"PRAGMA user_version = {SCHEMA - 1}")
    connection.close()
    assert ask("index_codebase", project.root).value["statistics"]["files_indexed"] == 2
    again = Project(wrote.root, wrote.settings)
    assert again.memory.usage()["shop/rule"].count == 1
    assert again.discoveries.all() == [discovery]
    assert [link.name for link in again.links.all()] == ["elsewhere"]
    again.close()


def test_a_server_builds_an_index_of_another_version_anew_by_itself(project: Indexed, indexed: Open) -> None:
    connection = sqlite3.connect(settle(project))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    served = indexed(project.root)
    with served.kept():
        assert served.settled().schema == "compatible"


def test_a_server_leaves_a_damaged_index_to_whoever_asks(project: Indexed, indexed: Open) -> None:
    garbage(settle(project))
    served = indexed(project.root)
    with served.kept():
        assert served.stands().schema == "corrupt_manifest"
        served.run()
        assert served.settled().schema == "compatible"


@pytest.mark.parametrize("content", ["nonsense", "../../escape", "0" * 400])
def test_a_pointer_to_nowhere_is_an_index_that_is_not_there(content: str, project: Indexed, ask: Ask) -> None:
    (project.project.index.folder / "current").write_text(content)
    assert ask("get_status", project.root).value["indexed"] is False
    assert ask("index_codebase", project.root).value["statistics"]["files_indexed"] == 2
    assert ask("get_status", project.root).value["indexed"] is True


def test_a_data_folder_that_cannot_be_made_is_told(repo: Repo, home: Path, ask: Ask) -> None:
    repo.commit("start", {"a.py": PYTHON})
    home.write_text("a file where a folder should be")
    for tool in ("index_codebase", "get_status"):
        error = fault(ask(tool, repo.path))
        assert error["code"] == -32603
        assert str(home) in error["data"]["reason"]
        assert "CAIRN_HOME" in error["data"]["remedy"]
    assert not ask("git_log", repo.path).is_error
    assert not ask("health_check", repo.path).is_error
    home.unlink()
    assert not ask("index_codebase", repo.path).is_error


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 600 kB; `mount -o remount` gives it other options."""
    place = tmp_path / "disk"
    place.mkdir()
    if sys.platform != "linux" or not mounted("-t", "tmpfs", "-o", "size=600k", "none", str(place)):
        pytest.skip("only who may mount can have a disk of this size")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def mounted(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


def test_a_full_disk_is_told_and_done_with_when_there_is_room(repo: Repo, disk: Path, indexed: Open) -> None:
    noise = {f"part{number}.py": "".join(f"def f{number}_{n}(): ...\n" for n in range(300)) for number in range(20)}
    repo.commit("start", {**noise})
    project = indexed(repo.path, disk)
    with pytest.raises(CairnError, match=r"cannot be (written|used)") as failed:
        project.run()
    assert "Free space" in failed.value.remedy
    stands = project.stands()
    assert stands.freshness == "stale"
    assert stands.indexing == "failed"
    assert any("last index run failed" in each for each in stands.warnings)
    assert mounted("-o", "remount,size=64m", str(disk))
    project.run()
    assert len(project.names()) == 20 * 300
    assert project.stands().freshness == "fresh"
    assert project.stands().warnings == []


def test_a_disk_that_fills_under_a_watched_project_makes_it_stale_not_wrong(
    repo: Repo, disk: Path, indexed: Open
) -> None:
    repo.commit("start", {"a.py": PYTHON})
    project = indexed(repo.path, disk)
    with project.kept():
        assert project.settled()
        filler = disk / "filler"
        with pytest.raises(OSError, match="No space left"):
            filler.write_bytes(bytes(1_000_000))
        repo.write("a.py", "".join(f"def much{n}(): ...\n" for n in range(1000)))
        eventually(lambda: project.stands().warnings)
        assert project.stands().freshness == "stale"
        filler.unlink()
        assert mounted("-o", "remount,size=64m", str(disk))
        repo.write("b.py", PYTHON)
        eventually(lambda: "much999" in project.names())
        assert project.settled().warnings == []


def test_a_data_folder_that_may_only_be_read_is_told(repo: Repo, disk: Path, indexed: Open) -> None:
    repo.commit("start", {"a.py": PYTHON})
    project = indexed(repo.path, disk)
    project.run()
    project.close()
    assert mounted("-o", "remount,ro", str(disk))
    reader = indexed(repo.path, disk)
    for use in (reader.run, reader.stands):
        with pytest.raises(CairnError, match="cannot be") as failed:
            use()
        assert "CAIRN_HOME" in failed.value.remedy
        assert not isinstance(failed.value, IndexIncompatible), "nothing is damaged"


def test_where_no_file_can_be_opened_that_is_said_and_nothing_is_taken_for_damaged(
    project: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patched:
        patched.setattr("codecairn.source.process.subprocess.Popen", refuse)
        with pytest.raises(TooManyFiles):
            project.project.git.ask("rev-parse", "HEAD", cancel=Cancel())
        with pytest.raises(TooManyFiles):
            _ = Project(project.project.root, project.project.settings).index.folder
    opened = project.project.index.open_index()
    assert opened is not None
    with monkeypatch.context() as patched:
        patched.setattr("codecairn.store.tantivy_checksums.Path.iterdir", refuse)
        with pytest.raises(TooManyFiles):
            Lexical(opened.folder / "lexical")
    assert project.stands().freshness == "fresh"
