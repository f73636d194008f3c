"""Trees and blobs as git's objects hold them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from codecairn.cancel import Cancel
from codecairn.errors import CairnError, Cancelled
from codecairn.source import process
from codecairn.source.git import Git
from codecairn.source.git_objects import (
    LINK,
    SUBMODULE,
    Missing,
    TooLarge,
    blobs,
    tree,
    tree_changes,
    worktree_changes,
)
from tests.support.repo import Repo

BODY = "".join(f"line {number} of a file that is long enough to be known again\n" for number in range(20))


def content(repo: Repo, *ids: str, **limits: int) -> list[object]:
    return [blob for _, blob in blobs(Git(repo.path), ids, Cancel(), **limits)]


def test_a_tree_tells_what_stands_at_each_path(repo: Repo) -> None:
    inner = Repo.create(repo.path / "inner")
    pinned = inner.commit("inner", {"a": "a\n"})
    repo.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    repo.commit("all sorts", {"src/plain.py": "x = 1\n", "naïve name.txt": ""})
    repo.git("update-index", "--add", "--cacheinfo", f"120000,{repo.git('hash-object', '-w', 'run.sh')},way")
    repo.git("update-index", "--chmod=+x", "run.sh")
    repo.git("commit", "--quiet", "--message", "a link")
    commit = repo.git("rev-parse", "HEAD")
    found = {entry.path: entry for entry in tree(Git(repo.path), commit, "", Cancel())}
    assert sorted(found) == ["inner", "naïve name.txt", "run.sh", "src/plain.py", "way"]
    assert (found["inner"].mode, found["inner"].id, found["inner"].size) == (SUBMODULE, pinned, None)
    assert (found["way"].mode, found["way"].is_link, found["inner"].is_submodule) == (LINK, True, True)
    assert found["run.sh"].mode == 0o100755
    assert (found["src/plain.py"].mode, found["src/plain.py"].size) == (0o100644, 6)


def test_a_tree_below_a_folder_keeps_whole_paths(repo: Repo) -> None:
    commit = repo.commit("one", {"a/x.py": "1\n", "a/b/y.py": "2\n", "ab/z.py": "3\n", "z.py": "4\n"})
    assert [each.path for each in tree(Git(repo.path), commit, "a/", Cancel())] == ["a/b/y.py", "a/x.py"]
    assert [each.path for each in tree(Git(repo.path / "a"), commit, "a/", Cancel())] == ["a/b/y.py", "a/x.py"]


@pytest.mark.skipif(os.name != "posix", reason="such a name cannot be made there")
def test_a_name_that_is_no_text_comes_back_as_the_file_system_has_it(repo: Repo) -> None:
    name = os.fsdecode(b"caf\xe9\n.py")
    try:
        (repo.path / name).write_text("x = 1\n")
    except OSError:
        pytest.skip("this file system takes only UTF-8")
    commit = repo.commit("named")
    (found,) = tree(Git(repo.path), commit, "", Cancel())
    assert found.path == name


def test_changes_are_told_with_both_sides(repo: Repo) -> None:
    repo.commit("before", {"kept": "k\n", "changed": "1\n", "gone": "g\n", "old/name": BODY})
    before = repo.git("rev-parse", "HEAD")
    (repo.path / "gone").unlink()
    repo.git("mv", "old", "new")
    after = repo.commit("after", {"changed": "2\n", "added": "a\n"})
    plain = {(each.status, each.path) for each in tree_changes(Git(repo.path), before, after, Cancel())}
    assert plain == {("A", "added"), ("M", "changed"), ("D", "gone"), ("D", "old/name"), ("A", "new/name")}
    renamed = {each.path: each for each in tree_changes(Git(repo.path), before, after, Cancel(), renames=True)}
    assert sorted(renamed) == ["added", "changed", "gone", "new/name"]
    moved = renamed["new/name"]
    assert (moved.status, moved.old_path, moved.old_id) == ("R", "old/name", moved.id)
    assert (renamed["gone"].id, renamed["gone"].mode) == ("", 0)
    assert (renamed["added"].old_id, renamed["added"].old_mode) == ("", 0)


def test_changes_below_a_folder_only(repo: Repo) -> None:
    before = repo.commit("before", {"a/x": "1\n", "b/x": "1\n"})
    after = repo.commit("after", {"a/x": "2\n", "b/x": "2\n"})
    for root in (repo.path, repo.path / "a", repo.path / "b"):
        found = tree_changes(Git(root), before, after, Cancel(), prefix="a/")
        assert [each.path for each in found] == ["a/x"]


def test_the_working_tree_is_compared_with_a_commit(repo: Repo) -> None:
    commit = repo.commit("before", {"a/x": "1\n", "a/staged": "1\n", "a/moved": BODY, "b/x": "1\n", "kept": "1\n"})
    repo.write("a/staged", "2\n")
    repo.git("mv", "a/moved", "a/there")
    repo.git("add", "--all")
    for name in ("a/x", "b/x", "untracked"):
        repo.write(name, "2\n")
    for root in (repo.path, repo.path / "a"):
        found = worktree_changes(Git(root), commit, Cancel(), prefix="a/")
        assert sorted((each.status, each.old_path, each.path) for each in found) == [
            ("M", "a/staged", "a/staged"), ("M", "a/x", "a/x"), ("R", "a/moved", "a/there"),
        ]  # fmt: skip
    whole = worktree_changes(Git(repo.path), commit, Cancel())
    assert sorted(each.path for each in whole) == ["a/staged", "a/there", "a/x", "b/x"]
    saved = next(each for each in whole if each.path == "a/x")
    assert (saved.id, saved.mode) == ("", 0o100644)


def test_a_file_that_became_a_link_is_of_another_type(repo: Repo) -> None:
    before = repo.commit("before", {"way": "x\n"})
    repo.git("update-index", "--cacheinfo", f"120000,{repo.git('rev-parse', 'HEAD:way')},way")
    repo.git("commit", "--quiet", "--message", "now a link")
    (found,) = tree_changes(Git(repo.path), before, repo.git("rev-parse", "HEAD"), Cancel())
    assert (found.status, found.mode) == ("T", LINK)


def test_blobs_come_in_order_as_they_are(repo: Repo) -> None:
    files: dict[str, str | bytes] = {f"f{number}": f"{number}\n" * number for number in range(200)}
    files |= {"empty": b"", "binary": bytes(range(256)), "lines": b"\n\n\r\n", "long": b"x" * 300_000}
    commit = repo.commit("many", files)
    ids = {entry.path: entry.id for entry in tree(Git(repo.path), commit, "", Cancel())}
    asked = [*ids.values(), ids["long"], ids["empty"]]
    found = list(blobs(Git(repo.path), asked, Cancel()))
    assert [id_ for id_, _ in found] == asked
    contents = {path: (text if isinstance(text, bytes) else text.encode()) for path, text in files.items()}
    assert [blob for _, blob in found] == [contents[path] for path in [*ids, "long", "empty"]]


def test_what_is_no_blob_in_reach_is_named(repo: Repo) -> None:
    commit = repo.commit("two", {"small": "123456789\n", "large": "1234567890\n"})
    small, large = repo.git("rev-parse", "HEAD:small"), repo.git("rev-parse", "HEAD:large")
    asked = (small, "0" * 39 + "1", large, commit, small)
    found = content(repo, *asked, most_bytes=10)
    assert found == [b"123456789\n", Missing(), TooLarge(11), Missing(), b"123456789\n"]
    with pytest.raises(ValueError, match="no object id"):
        content(repo, "HEAD")


def test_a_partial_clone_lacks_blobs_and_says_which(repo: Repo, tmp_path: Path) -> None:
    repo.commit("first", {"kept": BODY, "moved": BODY + "more\n"})
    before = repo.git("rev-parse", "HEAD")
    repo.git("mv", "moved", "there")
    after = repo.commit("second", {"kept": BODY + "other\n"})
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = Repo(tmp_path / "clone")
    address = repo.path.as_uri()
    repo.git("clone", "--quiet", "--filter=blob:none", "--no-checkout", address, str(clone.path))
    git = Git(clone.path)
    entries = tree(git, after, "", Cancel())
    assert [(each.path, each.size) for each in entries] == [("kept", None), ("there", None)]
    assert content(clone, *(each.id for each in entries)) == [Missing(), Missing()]
    changes = tree_changes(git, before, after, Cancel(), renames=True)
    assert [(each.status, each.old_path, each.path) for each in changes] == [
        ("M", "kept", "kept"),
        ("R", "moved", "there"),
    ]


def test_a_repository_of_the_longer_ids(tmp_path: Path) -> None:
    repo = Repo.create(tmp_path / "long", "--object-format=sha256")
    repo.commit("one", {"a": "a\n"})
    assert content(repo, repo.git("rev-parse", "HEAD:a"), "1" * 64) == [b"a\n", Missing()]


def test_objects_lent_by_another_repository_are_read(repo: Repo, tmp_path: Path) -> None:
    repo.commit("one", {"a": "a\n"})
    clone = Repo(tmp_path / "clone")
    repo.git("clone", "--quiet", "--shared", str(repo.path), str(clone.path))
    assert content(clone, repo.git("rev-parse", "HEAD:a")) == [b"a\n"]


def test_a_cancelled_reader_stops_between_blobs(repo: Repo) -> None:
    repo.commit("many", {f"f{number}": f"{number}\n" for number in range(120)})
    git, cancel = Git(repo.path), Cancel()
    ids = [entry.id for entry in tree(git, repo.git("rev-parse", "HEAD"), "", cancel)]
    reading: Iterator[object] = blobs(git, ids, cancel)
    next(reading)
    cancel.set()
    with pytest.raises(Cancelled):
        list(reading)


def test_no_git_outlives_a_reader_that_is_dropped(repo: Repo) -> None:
    repo.commit("one", {"a": "a\n", "b": "b\n"})
    others = process.running()
    reading = blobs(Git(repo.path), [repo.git("rev-parse", "HEAD:a")] * 2, Cancel())
    next(reading)
    assert process.running() > others
    reading.close()  # type: ignore[attr-defined]
    assert process.running() == others


def test_a_commit_the_repository_lacks_is_damage(repo: Repo) -> None:
    repo.commit("one", {"a": "a\n"})
    with pytest.raises(CairnError):
        tree(Git(repo.path), "1" * 40, "", Cancel())


def test_the_repositorys_own_settings_run_nothing(repo: Repo, tmp_path: Path) -> None:
    """A text converter, a filter, a monitor and an external diff leave no trace."""
    trace = tmp_path / "ran"
    before = repo.commit("one", {".gitattributes": "* diff=evil filter=evil\n", "a": BODY})
    after = repo.commit("two", {"a": BODY + "b\n"})
    blob = repo.git("rev-parse", f"{after}:a")
    for setting in ("diff.evil.textconv", "filter.evil.smudge", "core.fsmonitor", "diff.external"):
        repo.git("config", setting, f"touch '{trace}'")
    tree_changes(Git(repo.path), before, after, Cancel(), renames=True)
    assert content(repo, blob) == [(BODY + "b\n").encode()]
    assert not trace.exists()


def test_the_git_program_agrees(repo: Repo) -> None:
    commit = repo.commit("one", {"a b": "1\n", "c/d": "2\n", 'quo"te': "3\n"} if os.name == "posix" else {"a": "1\n"})
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "-z", "--name-only", commit], cwd=repo.path, capture_output=True, check=True
    ).stdout
    found = [entry.path for entry in tree(Git(repo.path), commit, "", Cancel())]
    assert found == listed.decode().split("\0")[:-1]
