"""index_codebase: what it takes, what it says of a run, and what is in the index afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codecairn.parse.language import languages
from tests.support.doors import Door
from tests.support.index import GO, PYTHON, Ask, Open, fill
from tests.support.repo import Repo
from tests.support.wire import ServerProcess

GOLDEN = Path(__file__).parents[1] / "parse" / "golden"

BROKEN = "def (((\n  ]]] class =\n"


def counts(answer: Any) -> dict[str, int]:
    assert not answer.is_error, answer.text
    counted: dict[str, int] = answer.value["statistics"]
    return counted


@pytest.mark.requirement(
    "002/index_codebase/result-fields", "002/index_codebase/statistics-counts", "002/index_codebase/statistics-measures"
)
def test_a_run_says_what_it_did(door_name: str, through: Callable[[str, Path], Door], repo: Repo, home: Path) -> None:
    repo.commit("start", {"shop/pay.go": GO, "greet.py": PYTHON, "broken.py": BROKEN})
    answer = through(door_name, repo.path).call("index_codebase", {"path": str(repo.path)})
    assert not answer.is_error, answer.text
    value = answer.value
    assert value["success"] is True
    assert isinstance(value["project_id"], int)
    assert value["statistics"]["files_indexed"] == 3
    assert value["statistics"]["files_skipped"] == 0
    assert value["statistics"]["files_failed"] == 1
    assert value["statistics"]["symbols_extracted"] >= 2
    assert value["statistics"]["chunks_created"] >= 3
    assert value["statistics"]["embeddings_generated"] == value["statistics"]["chunks_created"]
    assert value["statistics"]["duration_seconds"] > 0
    assert value["statistics"]["index_size_mb"] > 0
    assert [each["file"] for each in value["errors"]] == ["broken.py"]


@pytest.mark.requirement("002/index_codebase/path-checked", "002/get_status/path-checked")
@pytest.mark.parametrize("tool", ["index_codebase", "get_status"])
def test_a_path_that_is_none_is_named(
    door_name: str, tool: str, through: Callable[[str, Path], Door], repo: Repo
) -> None:
    door = through(door_name, repo.path)
    for arguments in ({"path": 7}, {"path": ""}, {"path": "relative"}, {"path": "/a\x00b"}):
        fault = error_of(door.call(tool, arguments))
        assert (fault["code"], fault["data"]["param"]) == (-32602, "path"), arguments
        assert fault["data"]["reason"]


@pytest.mark.requirement("002/index_codebase/option-types-checked")
@pytest.mark.parametrize("option", ["force_reindex", "include_tests", "include_vendor"])
def test_an_option_that_is_no_boolean_is_refused(
    door_name: str, option: str, through: Callable[[str, Path], Door], repo: Repo
) -> None:
    door = through(door_name, repo.path)
    wrong: list[Any] = ["true", 1, 0.5, [], {}]
    for value in wrong:
        fault = error_of(door.call("index_codebase", {"path": str(repo.path), option: value}))
        assert (fault["code"], fault["data"]["param"]) == (-32602, option), value


def error_of(answer: Any) -> dict[str, Any]:
    assert answer.is_error, answer.text
    fault: dict[str, Any] = answer.rpc_error or answer.value["error"]
    return fault


@pytest.mark.requirement("002/index_codebase/path-must-exist")
@pytest.mark.parametrize("name", ["missing", "file.py", "loop"])
def test_a_path_that_is_no_readable_folder_is_refused(name: str, repo: Repo, ask: Ask, tmp_path: Path) -> None:
    repo.commit("start", {"file.py": PYTHON})
    (repo.path / "loop").symlink_to("loop")
    for tool in ("index_codebase", "get_status"):
        fault = error_of(ask(tool, repo.path, path=str(repo.path / name)))
        assert (fault["code"], fault["data"]["param"]) == (-32602, "path")
        assert fault["data"]["reason"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is unreadable to root")
def test_a_folder_that_may_not_be_read_is_refused(ask: Ask, tmp_path: Path) -> None:
    root = fill(tmp_path / "shut", {"a.py": PYTHON})
    door_root = fill(tmp_path / "open", {"a.py": PYTHON})
    root.chmod(0)
    try:
        assert error_of(ask("index_codebase", door_root, path=str(root)))["code"] == -32602
    finally:
        root.chmod(0o700)


@pytest.mark.requirement("002/index_codebase/no-project-32001")
@pytest.mark.parametrize("files", [{}, {"photo.jpg": b"\xff\xd8\xff\x00"}, {"notes.dat": "nothing to see\n"}], ids=str)
def test_a_folder_without_source_is_no_project(files: dict[str, str | bytes], ask: Ask, tmp_path: Path) -> None:
    root = fill(tmp_path / "plain", files)
    fault = error_of(ask("index_codebase", root))
    assert fault["code"] == -32001
    assert fault["data"]["remedy"]
    assert ask("get_status", root).value["indexed"] is False


@pytest.mark.requirement("ruling/metadata/no-project-says-why")
@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "it is empty"),
        ({"photo.jpg": b"\xff\xd8", "b.dat": "x\n"}, "none of its 2 files is source or a project file"),
        ({".gitignore": "*\n", "a.py": PYTHON}, "everything in it is left out (2 ignored by .gitignore)"),
        ({"vendor/a.py": PYTHON}, "everything in it is left out (1 vendored (folders))"),
        ({".env": "A=b\n"}, "everything in it is left out (1 secret or internal)"),
    ],
    ids=["empty", "no source", "ignored", "vendored", "secret"],
)
def test_a_folder_that_is_no_project_says_why(
    files: dict[str, str | bytes], why: str, ask: Ask, tmp_path: Path
) -> None:
    fault = error_of(ask("index_codebase", fill(tmp_path / "plain", files)))
    assert fault["code"] == -32001
    assert why in fault["data"]["reason"]


@pytest.mark.requirement("ruling/metadata/ignored-folder-is-project")
@pytest.mark.parametrize("name", ["scratch", "scratch/deep"])
def test_a_folder_that_the_repository_around_it_ignores_is_a_project(
    name: str, door_name: str, through: Callable[[str, Path], Door], repo: Repo
) -> None:
    repo.commit("start", {"a.py": "def outer(): ...\n", ".gitignore": "scratch/\n"})
    repo.write(f"{name}/b.py", PYTHON)
    door, root = through(door_name, repo.path), repo.path / name
    assert door.call("index_codebase", {"path": str(root)}).value["statistics"]["files_indexed"] == 1
    found = door.call("search_code", {"path": str(root), "query": "greet"}).value
    assert [each["file"]["path"] for each in found["results"]] == ["b.py"]
    assert (found["metadata"]["ref"], found["metadata"]["freshness_status"]) == ("live", "fresh")


def test_a_tracked_folder_in_an_ignored_one_is_part_of_its_repository(ask: Ask, repo: Repo) -> None:
    repo.write("scratch/b.py", PYTHON)
    repo.write(".gitignore", "scratch/\n")
    repo.git("add", "--force", "scratch/b.py")
    repo.commit("start")
    assert ask("index_codebase", repo.path / "scratch").value["metadata"]["ref"] == "main"


@pytest.mark.parametrize("name", ["go.mod", "pyproject.toml", "Cargo.toml", "package.json"])
def test_a_project_file_makes_a_project(name: str, ask: Ask, tmp_path: Path) -> None:
    assert counts(ask("index_codebase", fill(tmp_path / "plain", {name: "\n"})))["files_failed"] == 0


def test_an_empty_repository_is_a_project(ask: Ask, repo: Repo) -> None:
    assert counts(ask("index_codebase", repo.path))["files_indexed"] == 0


def test_a_project_whose_last_file_went_stays_one(ask: Ask, tmp_path: Path) -> None:
    root = fill(tmp_path / "plain", {"a.py": PYTHON})
    ask("index_codebase", root)
    (root / "a.py").unlink()
    assert counts(ask("index_codebase", root))["files_removed"] == 1
    assert ask("get_status", root).value["statistics"]["total_files"] == 0


@pytest.mark.requirement(
    "002/index_codebase/force-reindex-default-false", "002/index_codebase/incremental-changed-only"
)
def test_a_second_run_reads_only_what_changed(repo: Repo, ask: Ask) -> None:
    repo.commit("start", {"a.py": PYTHON, "b.py": "def b(): ...\n", "c.go": GO})
    assert counts(ask("index_codebase", repo.path))["files_indexed"] == 3
    again = ask("index_codebase", repo.path)
    assert counts(again)["files_indexed"] == 0
    assert again.value["skipped"] == [{"reason": "unchanged", "count": 3}]
    repo.write("a.py", "def changed(): ...\n")
    repo.write("new.py", "def new(): ...\n")
    third = counts(ask("index_codebase", repo.path))
    assert (third["files_indexed"], third["symbols_extracted"], third["files_skipped"]) == (2, 2, 2)


def test_a_file_touched_but_not_changed_is_not_parsed_again(repo: Repo, ask: Ask) -> None:
    repo.commit("start", {"a.py": PYTHON})
    ask("index_codebase", repo.path)
    repo.write("a.py", PYTHON)
    again = counts(ask("index_codebase", repo.path))
    assert (again["files_indexed"], again["files_skipped"]) == (0, 1)


@pytest.mark.requirement("002/index_codebase/force-reindex-rebuilds")
def test_force_reads_everything_again(repo: Repo, ask: Ask) -> None:
    repo.commit("start", {"a.py": PYTHON, "b.go": GO})
    first = counts(ask("index_codebase", repo.path))
    forced = counts(ask("index_codebase", repo.path, force_reindex=True))
    for name in ("files_indexed", "files_skipped", "symbols_extracted", "chunks_created"):
        assert forced[name] == first[name]


@pytest.mark.requirement("002/index_codebase/removed-files-dropped")
def test_what_was_deleted_is_no_longer_found(repo: Repo, indexed: Open) -> None:
    repo.commit("start", {"a.py": "def alpha(): ...\n", "pkg/b.py": "def beta(): ...\n"})
    project = indexed(repo.path)
    project.run()
    assert project.names() == {"alpha", "beta"}
    (repo.path / "pkg/b.py").unlink()
    report = project.run()
    assert report.removed == 1
    assert project.names() == {"alpha"}
    assert (project.hits("alpha"), project.hits("beta")) == ({"a.py"}, set())


@pytest.mark.requirement("002/index_codebase/include-tests-default-true", "002/index_codebase/include-tests-false")
def test_tests_are_left_out_and_taken_in_again(repo: Repo, indexed: Open) -> None:
    files = {
        "pay.go": GO,
        "pay_test.go": "package shop\n\nfunc TestPay() {}\n",
        "tests/test_pay.py": "def test_pay(): ...\n",
    }
    repo.commit("start", {**files})
    project = indexed(repo.path)
    project.run()
    assert set(project.versions()) == set(files)
    without = project.run(tests=False)
    assert set(project.versions()) == {"pay.go"}
    assert sum(count for reason, count in without.skipped.items() if reason.startswith("test")) == 2
    assert project.hits("testpay") == set()
    project.run()
    assert set(project.versions()) == set(files)
    assert project.hits("testpay") == {"pay_test.go"}


@pytest.mark.requirement("002/index_codebase/include-vendor-default-false", "002/index_codebase/include-vendor-true")
def test_vendored_code_that_git_does_not_track_is_left_out_unless_asked_for(repo: Repo, indexed: Open) -> None:
    repo.commit("start", {"pay.go": GO, "vendor/lib/lib.go": "package lib\n\nfunc Lend() {}\n"})
    fill(repo.path, {"vendor/new/new.go": "package new\n\nfunc New() {}\n"})
    project = indexed(repo.path)
    report = project.run()
    assert set(project.versions()) == {"pay.go", "vendor/lib/lib.go"}
    assert project.hits("lend") == {"vendor/lib/lib.go"}
    assert report.skipped["vendored"] == 1
    project.run(vendor=True)
    assert set(project.versions()) == {"pay.go", "vendor/lib/lib.go", "vendor/new/new.go"}
    project.run()
    assert set(project.versions()) == {"pay.go", "vendor/lib/lib.go"}


def test_results_say_that_code_is_vendored(repo: Repo, ask: Ask) -> None:
    repo.commit("start", {"pay.go": GO, "vendor/lib/lib.go": "package lib\n\nfunc Lend() {}\n"})
    ask("index_codebase", repo.path)
    found = ask("search_code", repo.path, query="Lend")
    assert found.value["results"][0]["file"]["vendored"] is True
    assert ask("search_code", repo.path, query="Pay").value["results"][0]["file"]["vendored"] is False


def test_the_options_of_a_first_run_hold_for_it(repo: Repo, ask: Ask) -> None:
    repo.commit("start", {"pay.go": GO, "pay_test.go": GO, "vendor/a.go": GO})
    run = counts(ask("index_codebase", repo.path, include_tests=False, include_vendor=True))
    assert run["files_indexed"] == 2
    assert ask("get_status", repo.path).value["metadata"]["freshness_status"] == "fresh"


@pytest.mark.requirement("002/index_codebase/files-skipped-sum", "002/index_codebase/skipped-by-reason")
def test_skipped_files_add_up_by_reason(repo: Repo, ask: Ask) -> None:
    repo.commit("start", {"a.py": PYTHON, "b.py": PYTHON, "logo.png": b"\x89PNG\0", ".env": "K=1\n"})
    fill(repo.path, {"vendor/c.py": PYTHON})
    ask("index_codebase", repo.path)
    answer = ask("index_codebase", repo.path)
    skipped = {each["reason"]: each["count"] for each in answer.value["skipped"]}
    assert skipped == {"unchanged": 2, "vendored": 1, "binary": 1, "secret or internal": 1}
    assert counts(answer)["files_skipped"] == sum(skipped.values())


@pytest.mark.requirement("002/index_codebase/failed-file-reported")
def test_a_file_that_cannot_be_parsed_is_named_and_stops_nothing(repo: Repo, ask: Ask) -> None:
    repo.commit("start", {"bad.py": BROKEN, "worse.go": "func func func ((((\n", "good.py": PYTHON})
    answer = ask("index_codebase", repo.path)
    assert {each["file"] for each in answer.value["errors"]} == {"bad.py", "worse.go"}
    assert all("syntax error" in each["error"] for each in answer.value["errors"])
    assert counts(answer)["files_failed"] == 2
    assert counts(answer)["symbols_extracted"] >= 1
    assert ask("get_status", repo.path).value["statistics"]["files_with_errors"] == 2


@pytest.mark.requirement("002/index_codebase/message-counts-files")
def test_the_message_counts_files_and_seconds(repo: Repo, ask: Ask) -> None:
    repo.commit("start", {"a.py": PYTHON, "b.go": GO})
    answer = ask("index_codebase", repo.path)
    assert answer.value["message"].startswith("Successfully indexed 2 files in ")
    assert answer.value["message"].endswith(" seconds")


@pytest.mark.requirement("002/index_codebase/blocks-until-done")
def test_what_was_indexed_is_there_when_the_call_returns(repo: Repo, ask: Ask, indexed: Open) -> None:
    repo.commit("start", {f"part{number}.py": f"def part{number}(): ...\n" for number in range(60)})
    ask("index_codebase", repo.path)
    project = indexed(repo.path)
    assert project.names() == {f"part{number}" for number in range(60)}
    assert all(project.hits(f"part{number}") == {f"part{number}.py"} for number in range(60))


@pytest.mark.requirement("002/index_codebase/every-language-indexed")
def test_every_language_is_indexed(repo: Repo, ask: Ask) -> None:
    samples = [path for path in GOLDEN.glob("*/*") if path.suffix != ".facts"]
    for sample in samples:
        repo.write(f"{sample.parent.name}/{sample.name}", sample.read_bytes())
    repo.commit("start")
    counts(ask("index_codebase", repo.path))
    status = ask("get_status", repo.path).value
    assert set(languages()) <= set(status["project"]["languages"])


def test_progress_is_told_over_stdio(repo: Repo, home: Path, tmp_path: Path) -> None:
    repo.commit("start", {f"part{number}.py": PYTHON for number in range(30)})
    with ServerProcess("--no-index", "--root", str(repo.path), folder=tmp_path, CAIRN_HOME=str(home)) as server:
        server.initialize()
        server.request(
            "tools/call",
            {
                "name": "index_codebase", "arguments": {"path": str(repo.path)},
                "_meta": {"progressToken": "token-1"},
            },
        )  # fmt: skip
        told = [each["params"] for each in server.received if each.get("method") == "notifications/progress"]
        assert server.close() == 0
    assert {each["progressToken"] for each in told} == {"token-1"}
    steps = [each["progress"] for each in told]
    assert steps == sorted(set(steps))
    assert (told[-1]["progress"], told[-1]["total"]) == (30, 30)


def test_a_subfolder_of_a_repository_is_a_project_of_its_own(repo: Repo, indexed: Open) -> None:
    repo.commit("start", {"app/main.py": PYTHON, "lib/pay.go": GO, "top.py": PYTHON})
    inner = indexed(repo.path / "lib")
    inner.run()
    assert set(inner.versions()) == {"pay.go"}
    assert inner.stands().freshness == "fresh"
    outer = indexed(repo.path)
    report = outer.run()
    assert set(outer.versions()) == {"app/main.py", "lib/pay.go", "top.py"}
    assert report.files_indexed == 2, "what the subfolder's run has read is not read again"
    repo.write("top.py", "x = 1\n")
    assert (inner.stands().freshness, outer.stands().freshness) == ("fresh", "stale")


def test_a_folder_without_git_heeds_its_gitignore(tmp_path: Path, indexed: Open) -> None:
    root = fill(
        tmp_path / "plain",
        {"a.py": PYTHON, "out/b.py": PYTHON, "in/c.log": "x\n", ".gitignore": "out/\n*.log\n", "in/d.py": PYTHON},
    )
    project = indexed(root)
    project.run()
    assert set(project.versions()) == {"a.py", "in/d.py", ".gitignore"}


def test_worktrees_of_one_repository_share_what_was_read(repo: Repo, indexed: Open, tmp_path: Path) -> None:
    repo.commit("start", {f"part{number}.py": f"def part{number}(): ...\n" for number in range(5)})
    repo.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    main, side = indexed(repo.path), indexed(tmp_path / "side")
    assert main.run().files_indexed == 5
    (tmp_path / "side/part0.py").write_text("def other(): ...\n")
    assert side.run().files_indexed == 1
    assert side.project.index.folder == main.project.index.folder
    assert main.names() == {f"part{number}" for number in range(5)}
    assert side.names() == main.names() - {"part0"} | {"other"}
    assert (main.stands().freshness, side.stands().freshness) == ("fresh", "fresh")
    assert (main.stands().ref, side.stands().ref) == ("main", "side")


def test_rebuilding_one_worktree_leaves_the_other_its_index(repo: Repo, indexed: Open, tmp_path: Path) -> None:
    repo.commit("start", {"a.py": "def alpha(): ...\n"})
    repo.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    main, side = indexed(repo.path), indexed(tmp_path / "side")
    main.run()
    side.run()
    assert main.run(force=True).files_indexed == 1
    assert side.stands().indexing == "ready"
    assert side.names() == {"alpha"}


@pytest.mark.requirement("002/security/database-in-home")
def test_the_index_lies_in_the_users_home_and_not_in_the_project(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("start", {"a.py": PYTHON})
    before = sorted(repo.path.rglob("*"))
    user = tmp_path / "user"
    user.mkdir()
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    environment: dict[str, Any] = {"HOME": str(user), "LOCALAPPDATA": str(user / "local"), "USERPROFILE": str(user)}
    with ServerProcess("--no-index", "--root", str(repo.path), folder=tmp_path, **environment) as server:
        server.initialize()
        server.request("tools/call", {"name": "index_codebase", "arguments": {"path": str(repo.path)}})
        assert server.close() == 0
    assert sorted(repo.path.rglob("*")) == before
    assert [path.name for path in user.rglob("index.db")] == ["index.db"]


def test_a_file_read_around_a_syntax_error_is_not_said_to_have_failed(repo: Repo, ask: Ask) -> None:
    repo.commit("start", {"bad.py": BROKEN})
    message = ask("index_codebase", repo.path).value["message"]
    assert message.startswith("Successfully indexed 1 file in ")
    assert message.endswith("; 1 file read around syntax errors")
    assert "failed" not in message
    assert ask("get_status", repo.path).value["message"] == "Project indexed successfully with 1 file"
