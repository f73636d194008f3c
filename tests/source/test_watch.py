"""A change in a project is told: whatever made it, and whoever tells."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from codecairn.source import watch
from codecairn.source.file_events import TreeEvents
from codecairn.source.watch import Watch, filesystem_kind
from tests.support.repo import Repo
from tests.support.wait import eventually

linux = pytest.mark.skipif(sys.platform != "linux", reason="about inotify")
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs links as POSIX has them")


class Listener:
    """What a watch handed over, in order."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.calls: list[set[str] | None] = []
        self.watch: Watch

    def __call__(self, paths: set[str] | None) -> None:
        self.calls.append(paths)

    def heard_of(self, path: str) -> bool:
        """Whether a listener that looks where it is told to would find what happened at the path."""
        folders = {path.rsplit("/", up)[0] for up in range(path.count("/") + 1)}
        return any(call is None or call & folders for call in list(self.calls))

    def told(self, path: str) -> None:
        eventually(lambda: self.heard_of(path))

    def told_of_everything(self) -> None:
        eventually(lambda: None in self.calls)

    def settle(self) -> None:
        """Wait until all that has happened so far was handed over, and forget it: events come in order."""
        mark = self.root / "mark"
        for size in range(1, 50):
            self.calls.clear()
            mark.write_text("x" * size)
            if "mark" in (eventually(lambda: self.calls and self.calls[-1:])[0] or ()):
                break
        self.calls.clear()


Start = Callable[..., Listener]


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:

        def open_(root: Path, *, ignored: Callable[[str], bool] = lambda _: False, git: Path | None = None) -> Listener:
            listener = Listener(root)
            listener.watch = Watch(root, listener, ignored=ignored, git_dir=git, debounce_ms=40, poll_s=0.05)
            stack.callback(listener.watch.close)
            return listener

        yield open_


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project/src").mkdir(parents=True)
    (tmp_path / "project/src/a.py").write_text("a")
    return tmp_path / "project"


SOURCES = ["tree", "sweep", *(["inotify"] if sys.platform == "linux" else [])]


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same promises hold whoever tells: Linux, the notifier of other systems, or a sweep."""
    if request.param == "tree":
        monkeypatch.setattr(watch, "listen", TreeEvents)
    if request.param == "sweep":
        monkeypatch.setattr(watch, "filesystem_kind", lambda _: "nfs")
    return str(request.param)


def test_a_written_file_is_told_by_its_path(root: Path, source: str, start: Start) -> None:
    listener = start(root)
    assert listener.watch.alive
    (root / "src/a.py").write_text("other")
    (root / "src/new.py").write_text("new")
    eventually(lambda: {"src/a.py", "src/new.py"} <= set().union(*(call or set() for call in list(listener.calls))))


def test_a_removed_file_is_told(root: Path, source: str, start: Start) -> None:
    listener = start(root)
    (root / "src/a.py").unlink()
    listener.told("src/a.py")


def test_an_atomic_save_is_told(root: Path, source: str, start: Start) -> None:
    listener = start(root)
    (root / "src/a.py~").write_text("new text")
    (root / "src/a.py~").replace(root / "src/a.py")
    listener.told("src/a.py")


def test_a_rename_tells_both_names(root: Path, source: str, start: Start) -> None:
    listener = start(root)
    (root / "src/a.py").rename(root / "src/A.py")
    listener.told("src/a.py")
    listener.told("src/A.py")


def test_a_new_folder_is_watched_and_what_was_in_it_is_told(root: Path, source: str, start: Start) -> None:
    listener = start(root)
    (root / "pkg/deep").mkdir(parents=True)
    (root / "pkg/deep/b.py").write_text("b")
    listener.told("pkg/deep/b.py")
    listener.settle()
    (root / "pkg/deep/b.py").write_text("changed later")
    listener.told("pkg/deep/b.py")


def test_a_folder_moved_in_with_its_files_is_told(root: Path, source: str, start: Start, tmp_path: Path) -> None:
    (tmp_path / "outside/inner").mkdir(parents=True)
    (tmp_path / "outside/inner/c.py").write_text("c")
    listener = start(root)
    (tmp_path / "outside").rename(root / "moved")
    listener.told("moved/inner/c.py")
    listener.settle()
    (root / "moved/inner/c.py").write_text("changed later")
    listener.told("moved/inner/c.py")


def test_a_folder_renamed_is_told_under_its_new_name_from_then_on(root: Path, source: str, start: Start) -> None:
    listener = start(root)
    (root / "src").rename(root / "lib")
    listener.told("src/a.py")
    listener.told("lib/a.py")
    listener.settle()
    (root / "lib/a.py").write_text("changed later")
    listener.told("lib/a.py")


def test_a_file_that_becomes_a_folder_and_back_is_told(root: Path, source: str, start: Start) -> None:
    listener = start(root)
    (root / "src/a.py").unlink()
    (root / "src/a.py").mkdir()
    (root / "src/a.py/inner.py").write_text("x")
    listener.told("src/a.py/inner.py")
    listener.settle()
    (root / "src/a.py/inner.py").unlink()
    (root / "src/a.py").rmdir()
    (root / "src/a.py").write_text("a file again")
    listener.told("src/a.py")


@posix
def test_a_file_that_becomes_a_link_is_told(root: Path, source: str, start: Start) -> None:
    (root / "src/b.py").write_text("b")
    listener = start(root)
    (root / "src/a.py").unlink()
    (root / "src/a.py").symlink_to("b.py")
    listener.told("src/a.py")


def test_what_is_ignored_is_not_told(root: Path, source: str, start: Start) -> None:
    (root / "out").mkdir()
    listener = start(root, ignored=lambda path: path == "out" or path.endswith(".tmp"))
    (root / "out/x.py").write_text("x")
    (root / "src/x.tmp").write_text("x")
    (root / "src/real.py").write_text("x")
    listener.told("src/real.py")
    touched = set().union(*(call or set() for call in listener.calls))
    assert not any(path.startswith("out/") or path.endswith(".tmp") for path in touched)


def test_an_edited_ignore_file_means_looking_at_everything(root: Path, source: str, start: Start) -> None:
    listener = start(root)
    (root / "src/.cairnignore").write_text("a.py\n")
    listener.told_of_everything()


def test_rules_that_change_are_asked_about_again(root: Path, source: str, start: Start) -> None:
    (root / "out").mkdir()
    ignored = {"out"}
    listener = start(root, ignored=ignored.__contains__)
    ignored.clear()
    listener.watch.rescan()
    listener.told_of_everything()
    listener.settle()
    (root / "out/x.py").write_text("x")
    listener.told("out/x.py")


def test_a_burst_means_looking_at_everything(
    root: Path, source: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "BURST", 20)
    staged = root.parent / "staged"
    staged.mkdir()
    for number in range(50):
        (staged / f"{number}.py").write_text("x")
    listener = start(root)
    for each in staged.iterdir():
        each.rename(root / each.name)
    listener.told_of_everything()


@pytest.fixture
def project(repo: Repo) -> Repo:
    repo.commit("first", {"a.py": "a\n"})
    repo.git("branch", "other")
    return repo


def test_a_commit_means_looking_at_everything(project: Repo, source: str, start: Start) -> None:
    listener = start(project.path, git=project.path / ".git")
    project.git("commit", "--quiet", "--allow-empty", "--message", "second")
    listener.told_of_everything()


def test_another_branch_means_looking_at_everything(project: Repo, source: str, start: Start) -> None:
    listener = start(project.path, git=project.path / ".git")
    project.git("symbolic-ref", "HEAD", "refs/heads/other")
    listener.told_of_everything()


def test_a_branch_with_a_slash_in_its_name_is_seen_to_move(project: Repo, source: str, start: Start) -> None:
    listener = start(project.path, git=project.path / ".git")
    project.git("update-ref", "refs/heads/feature/x", "HEAD")
    listener.told_of_everything()
    head = project.git("commit-tree", "HEAD^{tree}", "-m", "loose")
    listener.settle()
    project.git("update-ref", "refs/heads/feature/x", head)
    listener.told_of_everything()


def test_a_worktree_sees_its_own_head_and_the_common_branches(
    project: Repo, source: str, start: Start, tmp_path: Path
) -> None:
    project.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "tree"))
    git_dir = project.path / ".git/worktrees/tree"
    listener = start(tmp_path / "tree", git=git_dir)
    project.git("update-ref", "refs/heads/elsewhere", "HEAD")
    listener.told_of_everything()


def test_what_git_stores_is_not_told(project: Repo, source: str, start: Start) -> None:
    listener = start(project.path, git=project.path / ".git")
    project.git("hash-object", "-w", "a.py")
    project.write("b.py", "b")
    listener.told("b.py")
    assert None not in listener.calls
    assert not any(".git" in path for call in listener.calls for path in call or ())


def test_closing_ends_the_thread_and_another_close_is_harmless(root: Path, source: str, start: Start) -> None:
    listener = start(root)
    listener.watch.close()
    assert not listener.watch.alive
    assert listener.watch.mode == "off"
    assert not listener.watch.pending()
    listener.watch.close()


def test_a_listener_may_close_its_own_watch(root: Path, source: str) -> None:
    closed = threading.Event()

    def changed(_: set[str] | None) -> None:
        box[0].close()
        closed.set()

    box = [Watch(root, changed, ignored=lambda _: False, git_dir=None, debounce_ms=10, poll_s=0.05)]
    (root / "b.py").write_text("b")
    eventually(closed.is_set)
    eventually(lambda: not box[0].alive)


def test_a_watch_does_not_keep_the_process(root: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from codecairn.source.watch import Watch; "
        "Watch(Path(sys.argv[1]), print, ignored=lambda _: False, git_dir=None)"
    )
    command = [sys.executable, "-c", program, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@linux
class TestInotify:
    def test_ignored_folders_take_no_watch(self, root: Path) -> None:
        for number in range(30):
            (root / f"node_modules/{number}/lib").mkdir(parents=True)
        from codecairn.source.inotify import FolderEvents

        with closing(FolderEvents(root, lambda path: path == "node_modules", [])) as events:
            assert events.watches == 2
            (root / "kept").mkdir()
            assert events.wait(20) == {"kept"}
            assert events.watches == 3

    def test_a_change_is_pending_from_the_write_on(self, root: Path) -> None:
        go, heard = threading.Event(), threading.Event()

        def changed(_: set[str] | None) -> None:
            heard.set()
            go.wait(20)

        with closing(Watch(root, changed, ignored=lambda _: False, git_dir=None, debounce_ms=20)) as watching:
            assert not watching.pending()
            (root / "src/a.py").write_text("b")
            assert watching.pending()
            eventually(heard.is_set)
            assert watching.pending()
            go.set()
            eventually(lambda: not watching.pending())

    def test_a_root_that_is_replaced_is_watched_again(self, root: Path, start: Start, tmp_path: Path) -> None:
        listener = start(root)
        root.rename(tmp_path / "old")
        listener.told_of_everything()
        listener.calls.clear()
        (root / "src").mkdir(parents=True)
        listener.told_of_everything()
        listener.calls.clear()
        (root / "src/b.py").write_text("b")
        listener.told("src/b.py")

    def test_a_removed_root_ends_nothing(self, root: Path, start: Start) -> None:
        listener = start(root)
        (root / "src/a.py").unlink()
        (root / "src").rmdir()
        root.rmdir()
        listener.told_of_everything()
        assert listener.watch.alive

    def test_a_lost_event_means_looking_at_everything(
        self, root: Path, start: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from codecairn.source import inotify

        gate = threading.Event()
        real = inotify.Inotify.read
        monkeypatch.setattr(inotify.Inotify, "read", lambda kernel: gate.wait(20) and real(kernel))
        listener = start(root)
        limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
        if limit > 100_000:
            pytest.skip("the queue is too long to fill")
        names = [root / "src/a.py", root / "src/b.py"]
        files = [os.open(name, os.O_WRONLY | os.O_CREAT) for name in names]
        for number in range(limit + 10):
            os.write(files[number % 2], b"x")
        gate.set()
        listener.told_of_everything()
        for each in files:
            os.close(each)

    def test_a_name_that_is_no_utf8_is_told_by_its_folder(self, root: Path, start: Start) -> None:
        listener = start(root)
        (root / "src" / os.fsdecode(b"caf\xe9.py")).write_text("x")
        eventually(lambda: {"src"} in listener.calls)

    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE])
    def test_a_used_up_limit_falls_back_to_polling_and_says_so(
        self, root: Path, start: Start, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        def refused(*_: object) -> int:
            raise OSError(number, os.strerror(number))

        from codecairn.source import inotify

        monkeypatch.setattr(inotify.Inotify, "add", refused)
        listener = start(root)
        assert listener.watch.mode == "polling"
        assert listener.watch.reason is not None
        assert "inotify" in listener.watch.reason
        (root / "src/b.py").write_text("b")
        listener.told("src/b.py")

    def test_a_limit_reached_later_falls_back_too(
        self, root: Path, start: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from codecairn.source import inotify

        listener = start(root)

        def refused(*_: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(inotify.Inotify, "add", refused)
        (root / "more").mkdir()
        listener.told_of_everything()
        assert listener.watch.mode == "polling"
        (root / "more/b.py").write_text("b")
        listener.told("more/b.py")

    def test_a_folder_that_may_not_be_seen_is_passed_over(self, root: Path, start: Start) -> None:
        (root / "closed").mkdir(mode=0)
        listener = start(root)
        (root / "src/b.py").write_text("b")
        listener.told("src/b.py")
        assert listener.watch.mode == "events"


MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
tmpfs /home/ada/local tmpfs rw 0 0
ada@host: /mnt/my\\040code fuse.sshfs rw 0 0
C: /mnt/c 9p rw 0 0
/dev/sda2 /data ext4 rw 0 0
//nas/data /data cifs rw 0 0
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no table of mounts")
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/ada/project", "nfs4"),
        ("/home/ada/local/project", None),
        ("/homework", None),
        ("/mnt/my code/x", "fuse.sshfs"),
        ("/mnt/c/Users", "9p"),
        ("/data/x", "cifs"),
        ("/srv", None),
    ],
)
def test_remote_file_systems_are_known_by_the_nearest_mount(tmp_path: Path, path: str, kind: str | None) -> None:
    table = tmp_path / "mounts"
    table.write_text(MOUNTS)
    assert filesystem_kind(Path(path), table) == kind


def test_without_a_table_of_mounts_a_path_counts_as_local(tmp_path: Path) -> None:
    assert filesystem_kind(tmp_path, tmp_path / "none") is None


def test_a_remote_project_is_swept_and_says_why(root: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "filesystem_kind", lambda _: "nfs4")
    listener = start(root)
    assert listener.watch.mode == "polling"
    assert "nfs4" in (listener.watch.reason or "")
