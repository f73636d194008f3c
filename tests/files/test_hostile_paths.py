"""Ten thousand hostile paths, and a project that changes under the reader: nothing outside is read, nothing hangs."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecairn.connection import Connection
from codecairn.serve import Service
from codecairn.tools import Call
from codecairn.tools.families import ToolReply
from tests.support.doors import service
from tests.support.repo import Repo
from tests.support.soak import SOAK
from tests.support.wait import eventually

if os.name == "nt":
    pytest.skip("needs links and pipes", allow_module_level=True)

SECRET = "what nobody may read"
OPEN = "what anybody may read\n"
ERRORS = {
    "Invalid parameters", "Permission denied", "File not found", "Not a regular file", "Not a file but a folder",
}  # fmt: skip
EXAMPLES = 10_000 if SOAK else 1_000

PARTS = [
    "src", "a.py", "deep", "real.txt", "link", "out", "out.txt", "up", "root", "loop", "env", "git", "pipe", "socket",
    "zero", "folder", "chain", "inside", "swap", ".", "..", "...", "", " ", "~", "~root", "-", "-rf", "*", "?",
    "%2e%2e", "%2F", "..%2f", "%00", "\0", "\n", "\r\n", "\x7f", "\u202e", "\u200b", "．．", "․․", "..\\", "\\",
    "\\..\\", "C:",
    "C:\\", "\\\\server\\share", "//", "file:", "CON", "NUL", "aux.txt", "COM1", "a.py::$DATA", ".env::$DATA",
    ".env", ".ENV", ".Env", ".env.", ".env ", ".env.local", ".git", ".GIT", ".git.", ".git ", "git~1", "GIT~1",
    ".gi\u200ct",
    "config", "HEAD", "node_modules", "NODE_MODULES", "x.js", "id_rsa", "ID_RSA", "id_rsa.pub", "key.pem", "KEY.PEM",
    "secret.txt", "outside", "proc", "self", "root", "environ", "dev", "stdin", "fd", "0", "etc", "passwd", "tmp",
    "a" * 255, "a" * 256, "é" * 128, "e\u0301", "\U0001f600", "𝓪", "ﬁ", "İ", "ß", "\ud800", "{a,b}", "[a]", "$HOME",
    "`id`",
    "a.py/", "a.py/.", "a.py/..", "./", "//a.py", ".//a.py", "src/../src",
]  # fmt: skip

hostile = st.one_of(
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=7).map("/".join),
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map("\\".join),
    st.lists(st.sampled_from([*PARTS, "/", "/", "/"]), min_size=1, max_size=9).map("".join),
    st.tuples(st.sampled_from(["", "/", "./", "../", "~/", "/proc/self/root/", "//"]), st.text(max_size=40)).map(
        "".join
    ),
    st.integers(1, 3000).map(lambda times: "src/../" * times + "a.py"),
    st.integers(1, 900).map(lambda times: "inside/" * times + "a.py"),
)


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A project full of ways out, and secrets at the end of each."""
    base = tmp_path_factory.mktemp("trap")
    repo = Repo.create(base / "project")
    outside = base / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    (outside / "a.py").write_text(SECRET)
    for name in ("a.py", "src/a.py", "src/deep/real.txt", "id_rsa.pub"):
        repo.write(name, OPEN)
    for name in (".env", "src/.env.local", "node_modules/x.js", "id_rsa", "src/key.pem", ".git/secret.txt"):
        repo.write(name, SECRET)
    links = {
        "link": "src/a.py", "inside": ".", "folder": "src", "chain": "folder/link", "src/link": "../folder/a.py",
        "out": "../outside", "out.txt": "../outside/secret.txt", "up": "..", "root": "/", "loop": "loop", "env": ".env",
        "git": ".git", "src/up": "../..", "src/out": str(outside), "zero": "/dev/zero", "src/root": "/proc/self/root",
    }  # fmt: skip
    for name, target in links.items():
        (repo.path / name).symlink_to(target)
    os.mkfifo(repo.path / "pipe")
    os.mkfifo(repo.path / "src" / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    with working_in(repo.path):
        listener.bind("socket")
    yield service(repo.path)
    listener.close()


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """The path of a socket is short, that of a test's folder is not."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def read(served: Service, path: str, **more: object) -> ToolReply:
    """On a connection of its own: no limit is in the way."""
    call = Call(served.projects, Connection("hostile"), served.registry, "memory")
    return served.registry.call(served.registry.tools["read_file"], call, {"path": path, **more})


@settings(max_examples=EXAMPLES)
@given(path=hostile)
def test_no_path_leads_to_what_is_not_the_projects_to_show(trap: Service, path: str) -> None:
    reply = read(trap, path)
    assert SECRET not in reply.text
    if reply.error is None:
        assert reply.value["file"]["content"] == OPEN
    else:
        assert reply.value["error"] in ERRORS


@settings(max_examples=EXAMPLES // 10)
@given(path=hostile, ref=st.sampled_from(["HEAD", "main", "live", "-x", "HEAD:.env", "a\0b", "@{-1}", "^", "--all"]))
def test_nor_does_one_in_a_commit(trap: Service, path: str, ref: str) -> None:
    reply = read(trap, path, ref=ref)
    assert SECRET not in reply.text
    assert reply.error is not None or reply.value["file"]["content"] == OPEN


def test_ways_that_are_meant_to_work_do(trap: Service) -> None:
    for path in ("a.py", "./a.py", "src//a.py", "link", "folder/a.py", "chain", "inside/inside/a.py", "id_rsa.pub"):
        assert read(trap, path).error is None, path


# A project that changes under the reader.


def replaced(place: Path, target: str) -> None:
    """Put a link in a file's place, in one step."""
    beside = place.with_name(f"{place.name}.new")
    beside.symlink_to(target)
    beside.replace(place)


def restored(place: Path) -> None:
    beside = place.with_name(f"{place.name}.new")
    beside.write_text(OPEN)
    beside.replace(place)


def swap_file(root: Path) -> None:
    for target in ("../outside/a.py", ".env", "src/a.py"):
        replaced(root / "victim.txt", target)
        restored(root / "victim.txt")


def swap_device(root: Path) -> None:
    replaced(root / "victim.txt", "/dev/zero")
    restored(root / "victim.txt")


def swap_pipe(root: Path) -> None:
    beside = root / "victim.txt.new"
    os.mkfifo(beside)
    beside.replace(root / "victim.txt")
    restored(root / "victim.txt")


def swap_folder(root: Path) -> None:
    folder, aside = root / "moving", root / "moving.aside"
    folder.rename(aside)
    folder.symlink_to("../outside")
    folder.unlink()
    aside.rename(folder)


def swap_link(root: Path) -> None:
    for target in ("../outside", "moving", "/", "moving/.."):
        replaced(root / "way", target)
    replaced(root / "way", "moving")


@pytest.fixture
def shifting(repo: Repo) -> Repo:
    (repo.path.parent / "outside").mkdir()
    for name in ("a.py", "victim.txt"):
        (repo.path.parent / "outside" / name).write_text(SECRET)
    for name in ("victim.txt", "moving/a.py", "src/a.py"):
        repo.write(name, OPEN)
    repo.write(".env", SECRET)
    (repo.path / "way").symlink_to("moving")
    return repo


@contextmanager
def under_way(change: Callable[[Path], None], root: Path) -> Iterator[None]:
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            change(root)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (swap_file, "victim.txt"),
        (swap_device, "victim.txt"),
        (swap_pipe, "victim.txt"),
        (swap_folder, "moving/a.py"),
        (swap_link, "way/a.py"),
    ],
)
def test_a_name_that_changes_while_it_is_read_leads_nowhere_else(
    shifting: Repo, trials: Callable[[int], int], change: Callable[[Path], None], path: str
) -> None:
    served = service(shifting.path)

    def is_read() -> bool:
        reply = read(served, path)
        assert SECRET not in reply.text
        assert reply.error is not None or reply.value["file"]["content"] in (OPEN, "")
        return reply.error is None

    with under_way(change, shifting.path):
        if not sum(is_read() for _ in range(trials(10_000))):
            eventually(is_read)  # on a busy machine the swaps can keep step with the reads for a while


@pytest.mark.parametrize("change", [swap_file, swap_folder, swap_link])
def test_a_search_shows_nothing_of_what_a_name_leads_to_meanwhile(
    shifting: Repo, trials: Callable[[int], int], change: Callable[[Path], None]
) -> None:
    served = service(shifting.path)
    tool = served.registry.tools["grep_codebase"]
    with under_way(change, shifting.path):
        for _ in range(trials(500)):
            call = Call(served.projects, Connection("hostile"), served.registry, "memory")
            reply = served.registry.call(tool, call, {"pattern": "may read"})
            assert SECRET not in reply.text
