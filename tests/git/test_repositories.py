"""Repositories of every kind: young, bare, shallow, linked, nested, partial."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.doors import Answer
from tests.support.git import Ask
from tests.support.repo import Repo


def subjects(answer: Answer) -> list[str]:
    assert not answer.is_error, answer.text
    return [commit["message"] for commit in answer.value["commits"]]


def paths(answer: Answer) -> list[str]:
    assert not answer.is_error, answer.text
    return [file["path"] for file in answer.value["files"]]


def clone(source: Path, target: Path, *options: str) -> Path:
    command = ["git", "clone", "--quiet", *options, source.as_uri(), str(target)]
    subprocess.run(command, check=True, capture_output=True)
    return target


@pytest.fixture
def two(repo: Repo) -> Repo:
    repo.commit("one", {"a.txt": "1\n", "folder/b.txt": "1\n"})
    repo.commit("two", {"a.txt": "1\n2\n", "folder/b.txt": "2\n"})
    return repo


class TestAnEmptyRepository:
    def test_has_no_commits(self, repo: Repo, ask: Ask) -> None:
        for arguments in ({}, {"filePath": "a.txt"}, {"author": "Ada"}, {"since": "2025-01-01", "until": "now"}):
            answer = ask("git_log", **arguments)
            assert subjects(answer) == []
            assert answer.text == "# Git Log\n\n_The repository has no commits yet._"

    def test_has_nothing_to_refer_to(self, repo: Repo, ask: Ask) -> None:
        for tool, arguments in [
            ("git_log", {"since": "HEAD"}), ("git_log", {"ref": "main"}), ("git_diff", {"ref1": "HEAD"}),
            ("git_blame", {"filePath": "a.txt"}), ("git_blame", {"filePath": "a.txt", "ref": "HEAD"}),
        ]:  # fmt: skip
            assert ask(tool, **arguments).value["error"]["type"] == "NotFoundError"

    def test_has_unstaged_changes_once_something_is_staged(self, repo: Repo, ask: Ask) -> None:
        assert paths(ask("git_diff")) == []
        repo.write("a.txt", "1\n")
        repo.git("add", "a.txt")
        repo.write("a.txt", "2\n")
        assert paths(ask("git_diff")) == ["a.txt"]
        assert ask("git_blame", filePath="a.txt").value["error"]["message"] == "File not tracked by git: a.txt"


def test_a_branch_not_yet_born(two: Repo, ask: Ask) -> None:
    two.git("checkout", "--quiet", "--orphan", "fresh")
    assert subjects(ask("git_log")) == []
    assert subjects(ask("git_log", ref="main")) == ["two", "one"]


def test_a_detached_head(two: Repo, ask: Ask) -> None:
    two.git("checkout", "--quiet", "--detach", "HEAD~1")
    assert subjects(ask("git_log")) == ["one"]
    assert len(ask("git_blame", filePath="a.txt").value["lines"]) == 1
    assert paths(ask("git_diff", ref1="HEAD", ref2="main")) == ["a.txt", "folder/b.txt"]


class TestABareRepository:
    @pytest.fixture
    def bare(self, two: Repo, tmp_path: Path) -> Path:
        return clone(two.path, tmp_path / "bare.git", "--bare")

    def test_has_history(self, bare: Path, ask: Ask) -> None:
        assert subjects(ask("git_log", bare)) == ["two", "one"]
        assert subjects(ask("git_log", bare, filePath="a.txt")) == ["two", "one"]
        assert subjects(ask("git_log", bare, filePath="folder", maxCount=1)) == ["two"]
        assert ask("git_log", bare, filePath="nowhere").value["error"]["type"] == "NotFoundError"

    def test_blames_its_head(self, bare: Path, ask: Ask) -> None:
        answer = ask("git_blame", bare, filePath="a.txt")
        assert [line["content"] for line in answer.value["lines"]] == ["1", "2"]
        assert answer.value["localModifications"] is False
        assert ask("git_blame", bare, filePath="folder").value["error"]["type"] == "InvalidInputError"

    def test_compares_two_refs_and_has_no_working_directory(self, bare: Path, ask: Ask) -> None:
        assert paths(ask("git_diff", bare, ref1="main~1", ref2="main")) == ["a.txt", "folder/b.txt"]
        for arguments in ({}, {"ref1": "main"}, {"ref2": "main"}):
            error = ask("git_diff", bare, **arguments).value["error"]
            assert error["type"] == "GitRepositoryError"
            assert "ref1 and ref2" in error["suggestion"]


def test_a_linked_worktree(two: Repo, ask: Ask, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    two.git("worktree", "add", "--quiet", "-b", "side", str(linked), "HEAD~1")
    (linked / "a.txt").write_text("mine\n", encoding="utf-8")
    assert subjects(ask("git_log", linked)) == ["one"]
    assert paths(ask("git_diff", linked)) == ["a.txt"]
    assert "⚠" in ask("git_blame", linked, filePath="a.txt").text
    assert paths(ask("git_diff")) == []


class TestASubfolder:
    """The project is a folder of a larger repository: what lies beside it is not the project's."""

    @pytest.fixture
    def inner(self, repo: Repo) -> Path:
        body = "".join(f"line {number}\n" for number in range(20))
        repo.commit("outside", {"secret.txt": "1\n", "moved.txt": body})
        repo.commit("both", {"app/a.txt": "1\n", "secret.txt": "2\n"})
        repo.git("mv", "moved.txt", "app/moved.txt")
        repo.commit("moved in")
        repo.commit("outside again", {"secret.txt": "3\n"})
        repo.commit("edited", {"app/moved.txt": body + "more\n"})
        return repo.path / "app"

    def test_shows_its_own_history(self, inner: Path, ask: Ask) -> None:
        answer = ask("git_log", inner)
        assert subjects(answer) == ["edited", "moved in", "both"]
        files = [(file["path"], file["status"]) for commit in answer.value["commits"] for file in commit["files"]]
        assert files == [("moved.txt", "modified"), ("moved.txt", "added"), ("a.txt", "added")]
        assert subjects(ask("git_log", inner, filePath="a.txt")) == ["both"]

    def test_follows_a_file_no_further_than_the_edge(self, inner: Path, ask: Ask) -> None:
        answer = ask("git_log", inner, filePath="moved.txt")
        assert subjects(answer) == ["edited", "moved in"]
        assert answer.value["commits"][1]["files"] == [{"path": "moved.txt", "status": "added", "oldPath": None}]

    def test_compares_its_own_files(self, inner: Path, ask: Ask, repo: Repo) -> None:
        assert paths(ask("git_diff", inner, ref1="HEAD~3", ref2="HEAD")) == ["moved.txt"]
        repo.write("secret.txt", "4\n")
        repo.write("app/a.txt", "2\n")
        for arguments in ({}, {"ref1": "HEAD"}, {"summary": True}, {"filePath": "."}):
            assert paths(ask("git_diff", inner, **arguments)) == ["a.txt"]

    def test_blames_its_own_files(self, inner: Path, ask: Ask) -> None:
        assert len(ask("git_blame", inner, filePath="moved.txt").value["lines"]) == 21
        assert ask("git_blame", inner, filePath="secret.txt").value["error"]["type"] == "NotFoundError"
        assert ask("git_blame", inner, filePath="../secret.txt").value["error"]["type"] == "InvalidInputError"
        assert ask("git_log", inner, filePath="secret.txt").value["error"]["type"] == "NotFoundError"

    @pytest.mark.parametrize("ref", ["HEAD:secret.txt", "HEAD:", "HEAD:./a.txt", ":/outside"])
    def test_a_ref_names_no_file(self, inner: Path, ask: Ask, ref: str) -> None:
        answer = ask("git_diff", inner, ref1=ref, ref2="HEAD")
        assert answer.value["error"]["type"] == "NotFoundError"


def test_a_shallow_clone_says_so(two: Repo, ask: Ask, tmp_path: Path) -> None:
    shallow = clone(two.path, tmp_path / "shallow", "--depth=1")
    logged = ask("git_log", shallow)
    assert subjects(logged) == ["two"]
    assert "shallow" in logged.text
    blamed = ask("git_blame", shallow, filePath="a.txt")
    assert "shallow" in blamed.text
    assert {commit["message"] for commit in blamed.value["commits"]} == {"two"}
    assert ask("git_diff", shallow, ref1="HEAD~1", ref2="HEAD").value["error"]["type"] == "NotFoundError"
    subprocess.run(["git", "fetch", "--quiet", "--unshallow"], cwd=shallow, check=True)
    deepened = ask("git_log", shallow)
    assert subjects(deepened) == ["two", "one"]
    assert "shallow" not in deepened.text


def test_merges_show_what_they_brought(repo: Repo, ask: Ask) -> None:
    repo.commit("base", {"a.txt": "1\n"})
    repo.git("checkout", "--quiet", "-b", "side")
    repo.commit("on side", {"b.txt": "quite another text\n"})
    repo.git("checkout", "--quiet", "main")
    repo.commit("on main", {"a.txt": "2\n"})
    repo.day += 1
    repo.git("merge", "--quiet", "--no-ff", "--message", "merged", "side")
    answer = ask("git_log")
    assert subjects(answer) == ["merged", "on main", "on side", "base"]
    merge = answer.value["commits"][0]
    assert [file["path"] for file in merge["files"]] == ["b.txt"]
    assert len(merge["parents"]) == 2
    assert subjects(ask("git_log", filePath="b.txt")) == ["on side"]
    assert subjects(ask("git_log", since="side")) == ["merged", "on main"]


class TestASubmodule:
    @pytest.fixture
    def outer(self, repo: Repo, tmp_path: Path) -> Repo:
        library = Repo.create(tmp_path / "library")
        library.commit("library one", {"lib.txt": "1\n"})
        repo.commit("one", {"a.txt": "1\n"})
        repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.path), "lib")
        repo.commit("with library")
        inner = Repo(repo.path / "lib", day=5)
        inner.commit("library two", {"lib.txt": "2\n"})
        return repo

    def test_is_compared_by_its_commit(self, outer: Repo, ask: Ask) -> None:
        answer = ask("git_diff")
        assert paths(answer) == ["lib"]
        assert "-Subproject commit " in answer.value["files"][0]["diff"]
        outer.commit("new library")
        assert subjects(ask("git_log", filePath="lib")) == ["new library", "with library"]

    def test_its_own_changes_are_its_own(self, outer: Repo, ask: Ask) -> None:
        outer.commit("new library")
        outer.write("lib/lib.txt", "dirty\n")
        assert paths(ask("git_diff")) == []
        for path in ("lib", "lib/lib.txt"):
            assert ask("git_blame", filePath=path).is_error
        assert ask("git_blame", filePath="lib", ref="HEAD").value["error"]["type"] == "InvalidInputError"

    def test_is_a_project_too(self, outer: Repo, ask: Ask) -> None:
        assert subjects(ask("git_log", outer.path / "lib")) == ["library two", "library one"]
        outer.write("lib/lib.txt", "dirty\n")
        assert paths(ask("git_diff", outer.path / "lib")) == ["lib.txt"]


def test_a_partial_clone_is_never_completed(repo: Repo, ask: Ask, tmp_path: Path) -> None:
    body = "".join(f"line {number}\n" for number in range(20))
    repo.commit("one", {"a.txt": body})
    repo.git("mv", "a.txt", "b.txt")
    repo.commit("two", {"b.txt": body + "more\n"})
    for setting in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        repo.git("config", setting, "true")
    partial = clone(repo.path, tmp_path / "partial", "--filter=blob:none")
    missing = ["git", "rev-list", "--objects", "--all", "--missing=print"]
    before = subprocess.check_output(missing, cwd=partial)
    assert b"?" in before
    logged = ask("git_log", partial)
    assert subjects(logged) == ["two", "one"]
    assert "Partial clone" in logged.text
    assert subjects(ask("git_log", partial, filePath="b.txt")) == ["two"]
    assert paths(ask("git_diff", partial)) == []
    compared = ask("git_diff", partial, ref1="HEAD~1", ref2="HEAD")
    assert paths(compared) == ["b.txt"]
    assert "a.txt" in compared.value["notes"][-1]
    blamed = ask("git_blame", partial, filePath="b.txt")
    assert "Partial clone" in blamed.value["notes"][-1]
    error = ask("git_diff", partial, ref1="HEAD~1", ref2="HEAD", filePath="a.txt").value["error"]
    assert "partial clone" in error["message"]
    assert "git fetch" in error["suggestion"]
    assert subprocess.check_output(missing, cwd=partial) == before


@pytest.mark.requirement("ruling/history/blame-follows-moves")
def test_a_partial_clone_without_other_files_blames_what_it_has(repo: Repo, ask: Ask, tmp_path: Path) -> None:
    """Its large files are missing, one of them changed in the commit that made the file asked about."""
    repo.commit("one", {"large.txt": "large\n" * 2_000})
    first = repo.commit("two", {"large.txt": "larger\n" * 2_000, "a.txt": "".join(f"line {n}\n" for n in range(20))})
    repo.git("config", "uploadpack.allowFilter", "true")
    partial = clone(repo.path, tmp_path / "partial", "--filter=blob:limit=1k", "--no-checkout")
    answer = ask("git_blame", partial, filePath="a.txt", ref="HEAD")
    assert {line["hash"] for line in answer.value["lines"]} == {first}
    assert "this partial clone lacks files" in answer.value["notes"][0]


class TestSecretFiles:
    @pytest.fixture
    def secretive(self, repo: Repo) -> Repo:
        repo.commit("one", {"a.txt": "1\n", ".env": "KEY=hunter2\n", "certs/server.pem": "hunter2\n"})
        repo.git("mv", ".env", "moved.txt")
        repo.commit("two", {"a.txt": "2\n", "certs/server.pem": "hunter3\n"})
        repo.write("certs/server.pem", "hunter4\n")
        repo.write("a.txt", "3\n")
        return repo

    def test_are_counted_not_named_in_history(self, secretive: Repo, ask: Ask) -> None:
        answer = ask("git_log")
        second, first = answer.value["commits"]
        assert [file["path"] for file in first["files"]] == ["a.txt"]
        assert [file["path"] for file in second["files"]] == ["a.txt"]
        assert (second["omittedFiles"], first["omittedFiles"]) == (2, 2)
        assert answer.text.count("- 2 secret or internal files not shown") == 2
        assert ".env" not in answer.text
        assert ".pem" not in answer.text

    def test_are_counted_not_named_in_differences(self, secretive: Repo, ask: Ask) -> None:
        for arguments, hidden in [({}, 1), ({"ref1": "HEAD~1"}, 2), ({"ref1": "HEAD~1", "ref2": "HEAD"}, 2)]:
            for summary in (False, True):
                answer = ask("git_diff", summary=summary, **arguments)
                assert paths(answer) == ["a.txt"]
                assert answer.value["omittedFiles"] == hidden
                assert answer.value["summary"]["filesChanged"] == 1
                assert "secret or internal" in answer.text
                assert "hunter" not in answer.text

    def test_are_refused_by_name(self, secretive: Repo, ask: Ask) -> None:
        for path in (".env", "certs/server.pem", "CERTS/SERVER.PEM"):
            for tool in ("git_log", "git_blame", "git_diff"):
                assert ask(tool, filePath=path).value["error"]["type"] == "PermissionError"

    def test_stay_hidden_in_a_folder(self, secretive: Repo, ask: Ask) -> None:
        answer = ask("git_diff", ref1="HEAD~1", filePath="certs")
        assert paths(answer) == []
        assert answer.value["omittedFiles"] == 1
        assert "hunter" not in answer.text
