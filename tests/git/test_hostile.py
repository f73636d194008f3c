"""A repository is somebody else's data: nothing it names is run, whatever is asked about it.

Each trap would leave a canary. That it is live is shown at the end of its test by a plain git command that springs it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.git import Ask
from tests.support.repo import Repo

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("git_log", {}),
    ("git_log", {"filePath": "a.txt", "author": "Ada", "since": "2025-01-01"}),
    ("git_log", {"filePath": "folder", "ref": "main", "maxCount": 100}),
    ("git_blame", {"filePath": "a.txt"}),
    ("git_blame", {"filePath": "a.txt", "startLine": 1, "endLine": 1}),
    ("git_blame", {"filePath": "a.txt", "ref": "HEAD~1"}),
    ("git_diff", {}),
    ("git_diff", {"summary": True}),
    ("git_diff", {"ref1": "HEAD"}),
    ("git_diff", {"ref2": "HEAD~1", "filePath": "a.txt"}),
    ("git_diff", {"ref1": "HEAD~1", "ref2": "HEAD"}),
]


@dataclass
class Trap:
    """A repository with local changes, a program that leaves a canary, and the file that canary is."""

    repo: Repo
    program: Path
    canary: Path
    outside: Path

    def configure(self, text: str, file: str = ".git/config") -> None:
        """Write configuration past git, which would refuse some of it; PROGRAM stands for the program."""
        with (self.repo.path / file).open("a", encoding="utf-8") as config:
            config.write(text.replace("PROGRAM", str(self.program)) + "\n")

    def springs(self, *command: str) -> bool:
        """Whether git itself, run plainly, falls for it."""
        (self.repo.path / "a.txt").touch()
        environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
        subprocess.run(
            command, cwd=self.repo.path, env=environment, input=b"url=https://host/\n\n", capture_output=True,
            check=False, timeout=20,
        )  # fmt: skip
        return self.canary.exists()


@pytest.fixture
def trap(repo: Repo, tmp_path: Path) -> Trap:
    attributes = "*.txt filter=evil diff=evil\n"
    repo.commit("one", {"a.txt": "1\n", "folder/b.txt": "1\n", ".gitattributes": attributes})
    repo.commit("two", {"a.txt": "1\n2\n"})
    repo.write("a.txt", "1\n2\n3\n")
    canary = tmp_path / "canary"
    program = tmp_path / "evil"
    program.write_text(f'#!/bin/sh\ntouch "{canary}"\ncat "$1" 2>/dev/null\n', encoding="utf-8")
    program.chmod(0o755)
    return Trap(repo, program, canary, tmp_path)


WORKING: list[tuple[str, dict[str, Any]]] = [
    ("git_blame", {"filePath": "a.txt"}),
    ("git_diff", {}),
    ("git_diff", {"ref1": "HEAD", "summary": True}),
]


def all_answers(ask: Ask, root: Path, calls: list[tuple[str, dict[str, Any]]] = CALLS) -> list[dict[str, Any]]:
    answers = []
    for tool, arguments in calls:
        (root / "a.txt").touch()
        answers.append(_undated(ask(tool, root, **arguments).value))
    return answers


def _undated(value: dict[str, Any]) -> dict[str, Any]:
    """Lines not yet committed bear the time of asking."""
    for line in value.get("lines", []):
        if not line["hash"].strip("0"):
            line["date"] = ""
    return value


CONFIGURED: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "a file-system monitor": ("[core]\n\tfsmonitor = PROGRAM", ("git", "status")),
    "a monitor, the newer kind": ("[core]\n\tfsmonitor = PROGRAM\n\tfsmonitorHookVersion = 2", ("git", "diff")),
    "an external diff": ("[diff]\n\texternal = PROGRAM", ("git", "diff")),
    "a diff driver": ('[diff "evil"]\n\tcommand = PROGRAM', ("git", "diff")),
    "a text converter": ('[diff "evil"]\n\ttextconv = PROGRAM', ("git", "blame", "a.txt")),
    "a cached text converter": ('[diff "evil"]\n\ttextconv = PROGRAM\n\tcachetextconv = true', ("git", "diff")),
    "a clean filter": ('[filter "evil"]\n\tclean = PROGRAM\n\trequired = true', ("git", "diff")),
    "a smudge filter": ('[filter "evil"]\n\tsmudge = PROGRAM', ("git", "cat-file", "--filters", "HEAD:a.txt")),
    "a process filter": ('[filter "evil"]\n\tprocess = PROGRAM\n\trequired = true', ("git", "diff")),
    "pagers": ("[core]\n\tpager = PROGRAM\n[pager]\n\tlog = PROGRAM\n\tdiff = PROGRAM\n\tblame = PROGRAM", None),
    "aliases": ("[alias]\n\tlog = !PROGRAM\n\tdiff = !PROGRAM\n\trev-parse = !PROGRAM\n\tx = !PROGRAM", ("git", "x")),
    "an editor": ("[core]\n\teditor = PROGRAM\n[sequence]\n\teditor = PROGRAM", None),
    "a proxy and a shell": (
        '[core]\n\tsshCommand = PROGRAM\n\tgitProxy = PROGRAM\n\taskPass = PROGRAM\n[remote "origin"]\n\turl = ssh://h/x',
        ("git", "fetch", "origin"),
    ),
    "a credential helper": ("[credential]\n\thelper = !PROGRAM", ("git", "credential", "fill")),
    "alternate refs": ("[core]\n\talternateRefsCommand = PROGRAM", None),
    "taste": (
        "[core]\n\tabbrev = 40\n\tquotePath = true\n[log]\n\tdate = human\n\tabbrevCommit = true\n\tdecorate = full\n"
        "\tfollow = true\n\tshowRoot = false\n[format]\n\tpretty = raw\n[diff]\n\tnoprefix = true\n\tcontext = 0\n"
        "\tmnemonicPrefix = true\n\trenames = false\n\talgorithm = histogram\n\tsubmodule = log\n\trelative = true\n"
        "\tsuppressBlankEmpty = true\n\tautoRefreshIndex = false\n\twordRegex = .\n\tinterHunkContext = 9\n"
        "[color]\n\tui = always\n\tdiff = always\n[column]\n\tui = always\n[i18n]\n\tlogOutputEncoding = UTF-16\n"
        "\tcommitEncoding = UTF-16\n[grep]\n\tpatternType = perl\n[blame]\n\tshowEmail = true\n\tdate = relative\n"
        "\tblankBoundary = true\n\tcoloring = highlightRecent\n\tshowRoot = true\n[core]\n\tnotesRef = refs/notes/x\n",
        None,
    ),
    "revisions to ignore": ("[blame]\n\tignoreRevsFile = /nonexistent\n\tmarkUnblamableLines = true", None),
    "an order of files": ("[diff]\n\torderFile = /nonexistent", None),
    "another attributes file": ("[core]\n\tattributesFile = /nonexistent", None),
    "a mailmap": ("[mailmap]\n\tfile = /nonexistent\n\tblob = HEAD:nowhere", None),
}


@pytest.mark.parametrize("name", CONFIGURED)
def test_configuration_is_not_obeyed(trap: Trap, ask: Ask, name: str) -> None:
    text, command = CONFIGURED[name]
    before = all_answers(ask, trap.repo.path)
    assert not any("error" in answer for answer in before)
    trap.configure(text)
    assert all_answers(ask, trap.repo.path) == before
    assert not trap.canary.exists()
    assert command is None or trap.springs(*command)


@pytest.mark.parametrize("where", ["included", "of the worktree", "of the user"])
def test_configuration_may_stand_elsewhere(trap: Trap, ask: Ask, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    before = all_answers(ask, trap.repo.path)
    traps = '[core]\n\tfsmonitor = PROGRAM\n[filter "evil"]\n\tclean = PROGRAM\n\trequired = true'
    if where == "included":
        trap.configure(traps, "evil.cfg")
        trap.configure("[include]\n\tpath = ../evil.cfg")
    elif where == "of the worktree":
        trap.configure("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true")
        trap.configure(traps, ".git/config.worktree")
    else:
        trap.configure(traps, str(trap.outside / "gitconfig"))
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(trap.outside / "gitconfig"))
    assert all_answers(ask, trap.repo.path) == before
    assert not trap.canary.exists()
    assert trap.springs("git", "diff")


@pytest.mark.parametrize("name", ["a=b", "a.b.c", "A", "ä", "", "a]b", "filter", "clean", "-x"])
def test_a_filter_may_have_any_name(trap: Trap, ask: Ask, name: str) -> None:
    trap.repo.write(".gitattributes", f"*.txt filter={name}\n")
    before = all_answers(ask, trap.repo.path, WORKING)
    trap.configure(f'[filter "{name}"]\n\tclean = PROGRAM\n\tsmudge = PROGRAM\n\tprocess = PROGRAM\n\trequired = true')
    assert all_answers(ask, trap.repo.path, WORKING) == before
    assert not trap.canary.exists()
    assert trap.springs("git", "diff")


@pytest.mark.parametrize(
    "section", ['filter "a b"', 'filter "a\\"b"', 'filter "a\\\\b"', 'filter "a\\nb"', "filter", "FILTER.Old"]
)
def test_names_that_no_attribute_can_bear_break_nothing(trap: Trap, ask: Ask, section: str) -> None:
    before = all_answers(ask, trap.repo.path, WORKING)
    trap.configure(f'[{section}]\n\tclean = PROGRAM\n\trequired = true\n[filter "evil"]\n\tclean = PROGRAM')
    assert all_answers(ask, trap.repo.path, WORKING) == before
    assert not trap.canary.exists()


def _hooks(folder: Path, program: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in ("post-index-change", "reference-transaction", "post-checkout", "pre-auto-gc", "fsmonitor-watchman"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(program)


@pytest.mark.parametrize("place", ["default", "configured"])
def test_hooks_are_not_run(trap: Trap, ask: Ask, place: str) -> None:
    before = all_answers(ask, trap.repo.path)
    folder = trap.repo.path / (".git/hooks" if place == "default" else "hooks")
    _hooks(folder, trap.program)
    if place == "configured":
        trap.configure(f"[core]\n\thooksPath = {folder}")
    assert all_answers(ask, trap.repo.path) == before
    assert not trap.canary.exists()
    assert trap.springs("git", "add", "a.txt")


@pytest.mark.parametrize(
    "setting", ["program = PROGRAM", 'format = ssh\n[gpg "ssh"]\n\tprogram = PROGRAM\n\tallowedSignersFile = x']
)
def test_signatures_are_not_checked(trap: Trap, ask: Ask, setting: str) -> None:
    tree, parent = trap.repo.git("rev-parse", "HEAD^{tree}", "HEAD").split()
    who = "Ada Lovelace <ada@example.org> 1740830400 +0000"
    kind = "SSH" if "ssh" in setting else "PGP"
    raw = (
        f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n"
        f"gpgsig -----BEGIN {kind} SIGNATURE-----\n \n x\n -----END {kind} SIGNATURE-----\n\nsigned\n"
    )
    command = ["git", "hash-object", "-t", "commit", "-w", "--literally", "--stdin"]
    commit = subprocess.check_output(command, cwd=trap.repo.path, input=raw.encode()).decode().strip()
    trap.repo.git("update-ref", "HEAD", commit)
    before = all_answers(ask, trap.repo.path)
    assert before[0]["commits"][0]["message"] == "signed"
    trap.configure(f"[log]\n\tshowSignature = true\n[gpg]\n\t{setting}")
    assert all_answers(ask, trap.repo.path) == before
    assert not trap.canary.exists()
    assert trap.springs("git", "log")


def test_a_working_tree_elsewhere_is_not_shown(trap: Trap, ask: Ask) -> None:
    secret = trap.outside / "elsewhere"
    secret.mkdir()
    (secret / "a.txt").write_text("hunter2\n", encoding="utf-8")
    assert not ask("git_diff").is_error
    for value in (secret, trap.repo.path / "folder"):
        trap.repo.git("config", "core.worktree", str(value))
        for tool, arguments in CALLS:
            error = ask(tool, **arguments).value["error"]
            assert error["type"] in ("PermissionError", "GitRepositoryError")


def test_a_working_tree_around_the_project_shows_no_more_than_the_project(trap: Trap, ask: Ask) -> None:
    (trap.outside / "a.txt").write_text("hunter2\n", encoding="utf-8")
    trap.repo.git("config", "core.worktree", str(trap.outside))
    for tool, arguments in CALLS:
        assert "hunter2" not in ask(tool, **arguments).text


def test_a_submodule_is_not_looked_into(trap: Trap, ask: Ask) -> None:
    library = Repo.create(trap.outside / "library")
    library.commit("library", {"lib.txt": "1\n"})
    add = ("submodule", "--quiet", "add", str(library.path), "lib")
    trap.repo.git("-c", "protocol.file.allow=always", *add)
    trap.repo.git("commit", "--quiet", "--message", "with library")
    before = all_answers(ask, trap.repo.path)
    trap.configure("[core]\n\tfsmonitor = PROGRAM", ".git/modules/lib/config")
    trap.configure('[submodule "lib"]\n\tignore = none\n\tupdate = !PROGRAM')
    trap.configure("[diff]\n\tignoreSubmodules = none\n\tsubmodule = diff\n[status]\n\tsubmoduleSummary = true")
    trap.repo.write("lib/lib.txt", "dirty\n")
    assert all_answers(ask, trap.repo.path) == before
    assert not trap.canary.exists()
    assert trap.springs("git", "diff")


@pytest.mark.parametrize(
    ("url", "more"),
    [
        ("ext::PROGRAM", "[protocol]\n\tallow = always"),
        ("ext::PROGRAM", '[protocol "ext"]\n\tallow = always'),
        ("{origin}", "\tuploadpack = PROGRAM"),
        ("ssh://host/path", "[core]\n\tsshCommand = PROGRAM"),
        ("git://host/path", "[core]\n\tgitProxy = PROGRAM"),
    ],
)
def test_a_missing_object_is_not_fetched(trap: Trap, ask: Ask, url: str, more: str) -> None:
    origin = trap.outside / "origin"
    trap.repo.git("clone", "--quiet", "--bare", ".", str(origin))
    trap.configure(
        "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = origin\n"
        f'[remote "origin"]\n\tpromisor = true\n\turl = {url.replace("{origin}", str(origin))}\n{more}'
    )
    for blob in trap.repo.git("rev-parse", "HEAD:a.txt", "HEAD~1:a.txt").split():
        (trap.repo.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    for tool, arguments in CALLS:
        answer = ask(tool, **arguments)
        if answer.is_error:
            assert answer.value["error"]["type"] == "ProcessingError"
            assert "partial clone" in answer.text
    assert not ask("git_log").is_error
    assert ask("git_diff", ref1="HEAD~1", ref2="HEAD").is_error
    assert not trap.canary.exists()
    assert trap.springs("git", "diff", "HEAD~1", "HEAD")


def _environment(trap: Trap) -> dict[str, str]:
    program = str(trap.program)
    return {
        "GIT_EXTERNAL_DIFF": program, "GIT_PAGER": program, "PAGER": program, "GIT_SSH_COMMAND": program,
        "GIT_EDITOR": program, "GIT_ASKPASS": program, "GIT_TRACE": str(trap.canary), "GIT_DIR": str(trap.outside),
        "GIT_WORK_TREE": "/", "GIT_INDEX_FILE": str(trap.outside / "index"), "GIT_EXEC_PATH": str(trap.outside),
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={program}'", "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": program, "GIT_LITERAL_PATHSPECS": "0",
        "GIT_OBJECT_DIRECTORY": str(trap.outside), "GIT_NAMESPACE": "x", "GIT_TRACE2_EVENT": str(trap.canary),
    }  # fmt: skip


def test_the_environment_does_not_steer_git(trap: Trap, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    before = all_answers(ask, trap.repo.path)
    for name, value in _environment(trap).items():
        monkeypatch.setenv(name, value)
    assert all_answers(ask, trap.repo.path) == before
    assert not trap.canary.exists()


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*") if not path.is_dir()
    }


def test_asking_writes_nothing(trap: Trap, ask: Ask) -> None:
    os.utime(trap.repo.path / "folder/b.txt", (1, 1))
    before = _state(trap.repo.path)
    for tool, arguments in CALLS:
        ask(tool, **arguments)
    assert _state(trap.repo.path) == before


ODD_FILES: dict[str, Callable[[Path], object]] = {
    "index": lambda path: path.write_bytes(b"DIRC\0\0\0\2garbage"),
    "HEAD": lambda path: path.write_text("ref: refs/heads/../../../../etc/passwd\n", encoding="utf-8"),
    "config": lambda path: path.write_bytes(b"\0\xff[core\n"),
    "packed-refs": lambda path: path.write_bytes(b"\xff" * 100),
    "shallow": lambda path: path.write_text("not a commit\n", encoding="utf-8"),
    "info/attributes": lambda path: path.write_text("* filter=evil diff=evil\n", encoding="utf-8"),
    "objects/info/alternates": lambda path: path.write_text("/nonexistent\n../../..\n", encoding="utf-8"),
}


@pytest.mark.parametrize("name", ODD_FILES)
def test_a_git_folder_of_garbage_gets_a_typed_answer(trap: Trap, ask: Ask, name: str) -> None:
    path = trap.repo.path / ".git" / name
    path.parent.mkdir(exist_ok=True)
    ODD_FILES[name](path)
    trap.configure('[filter "evil"]\n\tclean = PROGRAM\n[diff "evil"]\n\ttextconv = PROGRAM')
    for tool, arguments in CALLS:
        answer = ask(tool, **arguments)
        if answer.is_error:
            assert answer.value["error"]["type"] in ("ProcessingError", "GitRepositoryError", "NotFoundError")
            assert "Traceback" not in answer.text
    assert not trap.canary.exists()
