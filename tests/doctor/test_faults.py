"""Faults planted on a machine that is well: the doctor finds each, and names its remedy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from codecairn import config
from codecairn.cli import main
from codecairn.doctor import Finding, Patient
from codecairn.doctor.examination import examine
from codecairn.setup.plan import invocation
from codecairn.store import folders
from codecairn.store.database import IndexStore
from tests.support.repo import Repo

GIT = shutil.which("git") or ""


@dataclass
class Machine:
    """A project that is indexed, a home with one client that is set up, a data directory, and a PATH."""

    repo: Repo
    home: Path
    data: Path
    bin: Path
    monkeypatch: pytest.MonkeyPatch
    stack: ExitStack
    patient: dict[str, Any] = field(default_factory=dict)

    @property
    def cursor(self) -> Path:
        return self.home / ".cursor" / "mcp.json"

    def cairn(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    def examine(self) -> list[Finding]:
        settings = config.load()
        return list(examine(Patient(self.repo.path, settings, config.data_folder(settings), **self.patient)))

    def program(self, name: str, script: str) -> None:
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def epoch(self) -> Path:
        (folder,) = (each for each in (self.data / "indexes").iterdir() if each.is_dir())
        epoch = folders.current_epoch(folder)
        assert epoch is not None
        return epoch

    def set_client(self, **entry: Any) -> None:
        self.cursor.write_text(json.dumps({"mcpServers": {"cairn": entry}}))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    repo = Repo.create(tmp_path / "repo")
    repo.commit("one", {"a.py": "def one():\n    return 1\n", "deep/er/b.py": "def two():\n    return 2\n"})
    programs, home, data = tmp_path / "bin", tmp_path / "home", tmp_path / "data"
    programs.mkdir()
    (home / ".cursor").mkdir(parents=True)
    for name in ("git", "rg"):
        (programs / name).symlink_to(shutil.which(name) or Path(sys.executable).with_name(name))
    (programs / "cairn").symlink_to(invocation()[0])
    for name, value in {
        "HOME": home,
        "CAIRN_HOME": data,
        "PATH": programs,
        "XDG_CONFIG_HOME": home / ".config",
    }.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(repo.path)
    with ExitStack() as stack:
        made = Machine(repo, home, data, programs, monkeypatch, stack)
        assert made.cairn("index").exit_code == 0
        made.set_client(command=invocation()[0], args=["serve"])
        yield made


def test_a_healthy_machine_has_no_fault(machine: Machine) -> None:
    found = machine.examine()
    assert [each for each in found if each.level != "ok"] == []
    said = machine.cairn("doctor", "--json")
    assert said.exit_code == 0
    assert {each["subject"] for each in json.loads(said.output)} >= {
        "Cairn",
        "git",
        "Data",
        "Index",
        "Cursor",
        "Server",
    }
    assert "✗" not in machine.cairn("doctor").output


def missing_package(machine: Machine) -> None:
    info = machine.home / "site" / "blake3-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: blake3\nVersion: 0.1\n")
    machine.monkeypatch.syspath_prepend(str(info.parent))


def another_command(machine: Machine) -> None:
    machine.program("cairn", "exit 0")


def no_git(machine: Machine) -> None:
    (machine.bin / "git").unlink()


def old_git(machine: Machine) -> None:
    machine.program("git", f'[ "$1" = --version ] && echo git version 2.20.1 && exit; exec {GIT} "$@"')


def broken_git(machine: Machine) -> None:
    machine.program("git", "exit 3")


def no_ripgrep(machine: Machine) -> None:
    (machine.bin / "rg").unlink()
    machine.monkeypatch.setattr(sys, "executable", str(machine.bin / "python"))


def broken_ripgrep(machine: Machine) -> None:
    machine.program("rg", "exit 127")


def data_is_a_file(machine: Machine) -> None:
    file = machine.home / "file"
    file.touch()
    machine.monkeypatch.setenv("CAIRN_HOME", str(file))


def data_is_open(machine: Machine) -> None:
    machine.data.chmod(0o755)
    (machine.data / "indexes").chmod(0o755)


def disk_is_full(machine: Machine) -> None:
    machine.patient["least_free_mb"] = 1 << 50


def killed_build(machine: Machine) -> None:
    shutil.copytree(machine.epoch(), machine.epoch().with_name("0123456789abcdef"))


def killed_work(machine: Machine) -> None:
    left = machine.data / "work" / "old"
    left.mkdir(parents=True)
    long_ago = time.time() - 200_000
    os.utime(left, (long_ago, long_ago))


def project_is_gone(machine: Machine) -> None:
    other = Repo.create(machine.home / "other")
    other.commit("one", {"a.py": "x = 1\n"})
    assert machine.cairn("index", str(other.path)).exit_code == 0
    shutil.rmtree(other.path)


def shallow_clone(machine: Machine) -> None:
    machine.repo.commit("two", {"c.py": "y = 2\n"})
    clone = machine.home / "clone"
    machine.repo.git("clone", "--quiet", "--depth=1", machine.repo.path.as_uri(), str(clone))
    machine.repo = Repo(clone)


def no_repository(machine: Machine) -> None:
    shutil.rmtree(machine.repo.path / ".git")


def not_indexed(machine: Machine) -> None:
    shutil.rmtree(machine.data / "indexes")


def index_is_damaged(machine: Machine) -> None:
    database = machine.epoch() / "index.db"
    for beside in machine.epoch().glob("index.db-*"):
        beside.unlink()
    database.write_bytes(b"\0" * 8192)


def index_is_of_another_version(machine: Machine) -> None:
    import sqlite3

    with sqlite3.connect(machine.epoch() / "index.db") as database:
        database.execute("PRAGMA user_version = 1")
    database.close()


def index_is_behind(machine: Machine) -> None:
    machine.repo.write("a.py", "def other():\n    return 3\n")


def index_was_interrupted(machine: Machine) -> None:
    store = IndexStore(machine.epoch())
    with store.writing() as database:
        database.execute("UPDATE layer SET complete = 0")
    store.close()


def few_watches(machine: Machine) -> None:
    limit(machine, watches=3, instances=128)


def few_watchers(machine: Machine) -> None:
    limit(machine, watches=100_000, instances=1)


def limit(machine: Machine, *, watches: int, instances: int) -> None:
    (machine.home / "max_user_watches").write_text(f"{watches}\n")
    (machine.home / "max_user_instances").write_text(f"{instances}\n")
    machine.patient["inotify"] = machine.home


def model_is_gone(machine: Machine) -> None:
    machine.monkeypatch.setenv("CAIRN_EMBEDDINGS", str(machine.home / "model"))


def vectors_are_off(machine: Machine) -> None:
    machine.monkeypatch.setenv("CAIRN_EMBEDDINGS", "off")


def endpoint_is_down(machine: Machine) -> None:
    machine.monkeypatch.setenv("CAIRN_EMBEDDINGS_URL", "http://127.0.0.1:9/v1")
    machine.monkeypatch.setenv("CAIRN_EMBEDDINGS_MODEL", "m")


def client_is_broken(machine: Machine) -> None:
    machine.cursor.write_text('{"mcpServers": {')


def client_is_not_set_up(machine: Machine) -> None:
    machine.cursor.write_text("{}")


def no_client(machine: Machine) -> None:
    shutil.rmtree(machine.cursor.parent)


def command_is_gone(machine: Machine) -> None:
    machine.set_client(command="/gone/bin/cairn", args=["serve"])


def command_is_another(machine: Machine) -> None:
    machine.program("other", "exit 0")
    machine.set_client(command=str(machine.bin / "other"), args=["serve"])


def entry_is_misplaced(machine: Machine) -> None:
    path = machine.repo.path / ".vscode" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"cairn": {"command": "cairn"}}}))
    machine.program("code", "exit 0")


def server_does_not_start(machine: Machine) -> None:
    machine.monkeypatch.setenv("CAIRN_ROOT", str(machine.home / "nowhere"))


def old_server_runs(machine: Machine) -> None:
    code = (
        "import codecairn; codecairn.__version__ = '0.0.1'; from codecairn.cli import main; "
        "main(['serve', '--http', '127.0.0.1:0', '--no-index'])"
    )
    process = machine.stack.enter_context(
        subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, cwd=machine.repo.path)
    )
    machine.stack.callback(process.kill)
    assert process.stderr is not None
    assert "serving" in process.stderr.readline()


FAULTS: list[tuple[Callable[[Machine], None], str, str, str, str]] = [
    (missing_package, "error", "Packages", "blake3 0.1 is not", "pip install --upgrade"),
    (another_command, "warning", "Command", "another installation", "first on PATH"),
    (no_git, "error", "git", "not found", "Install git"),
    (old_git, "error", "git", "2.20.1", "Install git 2.31"),
    (broken_git, "error", "git", "does not run", "another first on PATH"),
    (no_ripgrep, "warning", "ripgrep", "not found", "codecairn[rg]"),
    (broken_ripgrep, "warning", "ripgrep", "does not run", "codecairn[rg]"),
    (data_is_a_file, "error", "Data", "is no folder", "CAIRN_HOME"),
    (data_is_open, "warning", "Data", "can read", "chmod 700"),
    (disk_is_full, "error", "Data", "are left on the disk", "Free some space"),
    (killed_build, "warning", "Leftovers", "1 of runs", "cairn doctor --clean"),
    (killed_work, "warning", "Leftovers", "1 of runs", "cairn doctor --clean"),
    (project_is_gone, "warning", "Leftovers", "1 indexed folder", "cairn projects --prune"),
    (shallow_clone, "warning", "Project", "shallow clone", "--unshallow"),
    (no_repository, "warning", "Project", "no git repository", "git init"),
    (not_indexed, "warning", "Index", "is not indexed", "cairn index"),
    (index_is_damaged, "error", "Index", "damaged", "cairn index --force"),
    (index_is_of_another_version, "error", "Index", "another version", "cairn index --force"),
    (index_is_behind, "warning", "Index", "behind", "cairn index"),
    (index_was_interrupted, "warning", "Index", "interrupted", "cairn index"),
    (few_watches, "warning", "Watching", "may watch 3", "max_user_watches="),
    (few_watchers, "warning", "Watching", "1 watcher", "max_user_instances="),
    (model_is_gone, "error", "Vectors", "shipped model serves", "CAIRN_EMBEDDINGS"),
    (vectors_are_off, "warning", "Vectors", "off", "Unset CAIRN_EMBEDDINGS"),
    (endpoint_is_down, "error", "Vectors", "shipped model serves", ""),
    (client_is_broken, "error", "Cursor", "is no JSON", "Mend the file"),
    (client_is_not_set_up, "warning", "Clients", "none has a working entry", "cairn setup"),
    (no_client, "warning", "Clients", "no client", "--client"),
    (command_is_gone, "error", "Cursor", "is not there", "cairn setup --client cursor"),
    (command_is_another, "warning", "Cursor", "another installation", "cairn setup --client cursor"),
    (entry_is_misplaced, "warning", "VS Code", "under 'mcpServers'", "cairn setup --client vscode --project"),
    (server_does_not_start, "error", "Server", "nowhere", "cairn serve"),
    (old_server_runs, "warning", "Servers", "0.0.1", "Restart"),
]


@pytest.mark.parametrize(
    ("plant", "level", "subject", "text", "remedy"), FAULTS, ids=lambda each: getattr(each, "__name__", "")
)
def test_a_planted_fault_is_found(
    machine: Machine, plant: Callable[[Machine], None], level: str, subject: str, text: str, remedy: str
) -> None:
    plant(machine)
    found = machine.examine()
    named = [each for each in found if each.subject == subject and each.level == level]
    assert named, msgspec.to_builtins(found)
    assert text in named[0].text
    assert remedy in named[0].remedy
    assert named[0].remedy


def test_the_exit_code_tells_a_fault(machine: Machine) -> None:
    client_is_broken(machine)
    said = machine.cairn("doctor")
    assert said.exit_code == 1
    assert "✗ Cursor" in said.output


def test_leftovers_are_cleaned(machine: Machine) -> None:
    killed_build(machine)
    killed_work(machine)
    kept = machine.epoch()
    assert "2 deleted" in machine.cairn("doctor", "--clean").stderr
    assert machine.epoch() == kept
    assert [each for each in machine.examine() if each.subject == "Leftovers"] == []


def test_outside_of_a_project_the_rest_is_examined(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(machine.home)
    found = {each["subject"]: each["level"] for each in json.loads(machine.cairn("doctor", "--json").output)}
    assert found["Project"] == "warning"
    assert found["git"] == found["Cursor"] == found["Server"] == "ok"
