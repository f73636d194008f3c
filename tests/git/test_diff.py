"""git_diff: what differs, in full and in summary."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
import pytest

from codecairn.source import git_settings
from codecairn.source.git_settings import SHORT_DIGITS
from codecairn.tools.history_text import diff_compared
from codecairn.types import Diff
from tests.support.doors import Answer
from tests.support.git import Ask, FailOnce, posix
from tests.support.repo import Repo

JWT = """import jwt from 'jsonwebtoken';

function verifyToken(token: string) {
  const decoded = jwt.verify(token, secret);
  return decoded;
}
"""


def paths(answer: Answer) -> list[tuple[str, str]]:
    assert not answer.is_error, answer.text
    return [(file["path"], file["status"]) for file in answer.value["files"]]


@pytest.fixture
def feature(repo: Repo) -> Repo:
    """main, and feature-branch that modifies one file, adds one and deletes one."""
    repo.commit("base", {"src/auth/jwt.ts": JWT, "src/legacy/old-auth.ts": "old\nauth\n"})
    repo.git("checkout", "--quiet", "-b", "feature-branch")
    (repo.path / "src/legacy/old-auth.ts").unlink()
    changed = JWT.replace("(token: string) {", "(token: string): Token {")
    repo.commit("feature", {"src/auth/jwt.ts": changed, "tests/auth.test.ts": "describe('x', () => {\n});\n\n"})
    repo.git("checkout", "--quiet", "main")
    return repo


@pytest.mark.requirement(
    "000/git_diff/full-title", "000/git_diff/summary-block", "000/git_diff/file-heading-status",
    "000/git_diff/file-changes-line", "000/git_diff/modified-diff-fence", "000/git_diff/added-content-fence",
    "000/git_diff/file-separator", "000/git_diff/summary-default-false",
)  # fmt: skip
def test_the_full_text_is_the_contracts_to_the_letter(feature: Repo, ask: Ask) -> None:
    assert ask("git_diff", ref1="main", ref2="feature-branch").text == (
        "# Git Diff: main...feature-branch\n"
        "\n"
        "## Summary\n"
        "- **Files Changed**: 3\n"
        "- **Insertions**: +4 lines\n"
        "- **Deletions**: -3 lines\n"
        "\n"
        "---\n"
        "\n"
        "## File: src/auth/jwt.ts (modified)\n"
        "**Changes**: +1 -1\n"
        "\n"
        "```diff\n"
        "@@ -1,6 +1,6 @@\n"
        " import jwt from 'jsonwebtoken';\n"
        " \n"
        "-function verifyToken(token: string) {\n"
        "+function verifyToken(token: string): Token {\n"
        "   const decoded = jwt.verify(token, secret);\n"
        "   return decoded;\n"
        " }\n"
        "```\n"
        "\n"
        "---\n"
        "\n"
        "## File: src/legacy/old-auth.ts (deleted)\n"
        "**Changes**: +0 -2\n"
        "\n"
        "```diff\n"
        "@@ -1,2 +0,0 @@\n"
        "-old\n"
        "-auth\n"
        "```\n"
        "\n"
        "---\n"
        "\n"
        "## File: tests/auth.test.ts (added)\n"
        "**Changes**: +3 -0\n"
        "\n"
        "```typescript\n"
        "describe('x', () => {\n"
        "});\n"
        "\n"
        "```"
    )


@pytest.mark.requirement(
    "000/git_diff/summary-title", "000/git_diff/summary-no-hunks", "000/git_diff/summary-totals",
    "000/git_diff/summary-thousands-separator", "000/git_diff/summary-modified-section",
    "000/git_diff/summary-added-section", "000/git_diff/summary-deleted-section", "000/git_diff/summary-binary-line",
)  # fmt: skip
def test_the_summary_is_the_contracts_to_the_letter(repo: Repo, ask: Ask) -> None:
    old = "".join(f"{number}\n" for number in range(1_500))
    repo.commit("v1", {"src/auth/jwt.ts": old, "src/legacy/old-auth.ts": old, "logo.png": b"\0a", "f.woff": b"\0a"})
    repo.git("tag", "v1.0.0")
    (repo.path / "src/legacy/old-auth.ts").unlink()
    changed = {"src/auth/jwt.ts": f"new\n{old}"[:-5], "src/monitoring/metrics.ts": "x\n" * 1_234}
    repo.commit("v2", {**changed, "logo.png": b"\0b", "icon.gif": b"\0", "f.woff": b"\0b"})
    repo.git("tag", "v2.0.0")
    assert ask("git_diff", ref1="v1.0.0", ref2="v2.0.0", summary=True).text == (
        "# Git Diff Summary: v1.0.0...v2.0.0\n"
        "\n"
        "- **Files Changed**: 6\n"
        "- **Insertions**: +1,235 lines\n"
        "- **Deletions**: -1,501 lines\n"
        "\n"
        "### Modified Files (3):\n"
        "- f.woff (binary)\n"
        "- logo.png (binary)\n"
        "- src/auth/jwt.ts (+1 -1)\n"
        "\n"
        "### Added Files (2):\n"
        "- icon.gif (binary)\n"
        "- src/monitoring/metrics.ts (+1,234)\n"
        "\n"
        "### Deleted Files (1):\n"
        "- src/legacy/old-auth.ts (-1,500)\n"
        "\n"
        "**Binary Files**: 3 binary files changed (images, fonts)"
    )


def test_one_binary_file_is_written_as_the_contract_writes_many(repo: Repo, ask: Ask) -> None:
    repo.commit("one", {"a.png": b"\0a"})
    repo.commit("two", {"a.png": b"\0b"})
    text = ask("git_diff", ref1="HEAD~1", ref2="HEAD", summary=True).text
    assert text.endswith("\n\n**Binary Files**: 1 binary files changed (images)")


@pytest.mark.requirement("000/git_diff/totals-match-files")
def test_totals_are_the_sums_over_the_files(feature: Repo, ask: Ask) -> None:
    for summary in (False, True):
        value = ask("git_diff", ref1="main", ref2="feature-branch", summary=summary).value
        assert value["summary"]["filesChanged"] == len(value["files"])
        assert value["summary"]["insertions"] == sum(file["insertions"] for file in value["files"])
        assert value["summary"]["deletions"] == sum(file["deletions"] for file in value["files"])


@pytest.mark.requirement("000/git_diff/two-refs-direct")
def test_two_refs_compare_their_trees_not_their_merge_base(feature: Repo, ask: Ask) -> None:
    feature.commit("main moved on", {"only-on-main.txt": "x\n"})
    feature.write("only-on-main.txt", "edited, not committed\n")
    answer = ask("git_diff", ref1="main", ref2="feature-branch")
    assert ("only-on-main.txt", "deleted") in paths(answer)
    assert answer.text.startswith("# Git Diff: main...feature-branch\n")


@pytest.mark.requirement("000/git_diff/one-ref-worktree")
def test_one_ref_is_compared_with_the_working_tree(feature: Repo, ask: Ask) -> None:
    feature.write("staged.txt", "x\n")
    feature.git("add", "staged.txt")
    feature.write("src/auth/jwt.ts", "unstaged\n")
    answer = ask("git_diff", ref1="HEAD")
    assert paths(answer) == [("src/auth/jwt.ts", "modified"), ("staged.txt", "added")]
    assert answer.text.startswith("# Git Diff: HEAD...working directory\n")
    turned = ask("git_diff", ref2="HEAD")
    assert paths(turned) == [("src/auth/jwt.ts", "modified"), ("staged.txt", "deleted")]
    assert turned.text.startswith("# Git Diff: working directory...HEAD\n")


@pytest.mark.requirement("000/git_diff/no-ref-unstaged")
@pytest.mark.parametrize("refs", [{}, {"ref1": ""}, {"ref1": None, "ref2": None}, {"ref1": "", "ref2": ""}])
def test_without_refs_the_unstaged_changes(feature: Repo, ask: Ask, refs: dict[str, str | None]) -> None:
    feature.write("staged.txt", "x\n")
    feature.git("add", "staged.txt")
    feature.write("src/auth/jwt.ts", "unstaged\n")
    feature.write("untracked.txt", "x\n")
    assert paths(ask("git_diff", **refs)) == [("src/auth/jwt.ts", "modified")]


@posix
def test_a_file_that_goes_while_git_reads_the_tree_does_not_end_the_call(
    feature: Repo, ask: Ask, fail_once: FailOnce
) -> None:
    feature.write("src/auth/jwt.ts", "changed\n")
    failed = fail_once("diff", "fatal: stat 'src/gone.ts': No such file or directory")
    assert paths(ask("git_diff")) == [("src/auth/jwt.ts", "modified")]
    assert failed.exists()


def test_nothing_differs(feature: Repo, ask: Ask) -> None:
    os.utime(feature.path / "src/auth/jwt.ts", (1, 1))
    feature.git("config", "diff.autoRefreshIndex", "false")
    for arguments in ({}, {"ref1": "HEAD"}, {"ref1": "main", "ref2": "main"}):
        answer = ask("git_diff", **arguments)
        assert paths(answer) == []
        assert answer.text.endswith("\n\nNo differences.")


@pytest.mark.requirement("ruling/history/diff-says-why-empty")
def test_an_empty_answer_says_why(feature: Repo, ask: Ask) -> None:
    assert ask("git_diff").value["notes"] == ["No unstaged changes."]
    assert ask("git_diff", ref1="HEAD", ref2="HEAD").value["notes"] == ["Both trees are the same."]
    feature.write("new.txt", "x\n")
    feature.write("src/auth/jwt.ts", "staged\n")
    feature.git("add", "src/auth/jwt.ts")
    assert ask("git_diff").value["notes"] == [
        "No unstaged changes; 1 file staged: give ref1 HEAD to see them.",
        "1 file not tracked by git, which no diff shows.",
    ]
    nowhere = ask("git_diff", ref1="main", ref2="HEAD", filePath="no/such.py")
    assert nowhere.value["notes"] == ["no/such.py is on neither side."]
    assert "_no/such.py is on neither side._" in nowhere.text


@pytest.mark.requirement("ruling/history/diff-names-sides")
def test_both_sides_are_said_in_words(feature: Repo, ask: Ask) -> None:
    main, tip = (feature.git("rev-parse", ref).strip()[:SHORT_DIGITS] for ref in ("main", "feature-branch"))
    both = ask("git_diff", ref1="main", ref2="feature-branch")
    said = f"the trees of main ({main}) and feature-branch ({tip}), directly (not from where they parted)"
    assert both.value["compared"] == said
    value = msgspec.convert(both.value, Diff)
    assert diff_compared(value, {}).startswith(f"# Git Diff: main...feature-branch\n\nCompares {said}.\n\n## Summary\n")
    one = ask("git_diff", ref1=main).value["compared"]
    assert one == f"the tree of {main} with the working directory, staged and unstaged changes alike"
    assert ask("git_diff").value["compared"] == "the index with the working directory: unstaged changes"


@pytest.mark.requirement("000/git_diff/file-path-filter")
def test_a_file_is_shown_and_counted_alone(feature: Repo, ask: Ask) -> None:
    answer = ask("git_diff", ref1="main", ref2="feature-branch", filePath="tests/auth.test.ts")
    assert paths(answer) == [("tests/auth.test.ts", "added")]
    assert answer.value["summary"] == {"filesChanged": 1, "insertions": 3, "deletions": 0, "binaryFiles": 0}
    folder = ask("git_diff", ref1="main", ref2="feature-branch", filePath="src")
    assert len(paths(folder)) == 2


@pytest.mark.requirement("000/git_diff/binary-no-diff")
def test_a_binary_file_has_a_line_instead_of_a_diff(repo: Repo, ask: Ask) -> None:
    repo.commit("one", {"a.png": b"\0a"})
    repo.commit("two", {"a.png": b"\0b", "b.png": b"\0"})
    text = ask("git_diff", ref1="HEAD~1", ref2="HEAD").text
    assert "## File: a.png (modified)\n**Changes**: +0 -0\n\nBinary file changed\n" in text
    assert text.endswith("## File: b.png (added)\n**Changes**: +0 -0\n\nBinary file changed")


@pytest.mark.requirement("000/git_diff/large-diff-summarised", "000/git_diff/large-diff-note")
@pytest.mark.parametrize(("lines", "mode"), [(999, "full"), (1_001, "summary"), (200_000, "summary")])
def test_over_a_thousand_lines_is_a_summary_with_a_note(repo: Repo, ask: Ask, lines: int, mode: str) -> None:
    repo.commit("one", {"a.txt": ""})
    repo.commit("two", {"a.txt": "".join(f"{number}\n" for number in range(lines))})
    answer = ask("git_diff", ref1="HEAD~1", ref2="HEAD")
    assert answer.value["mode"] == mode
    assert answer.value["summary"]["insertions"] == lines
    assert answer.text.startswith("# Git Diff Summary: " if mode == "summary" else "# Git Diff: ")
    assert ("over 1,000 lines" in answer.text) == (mode == "summary")
    assert bool(answer.value["notes"]) == (mode == "summary")
    assert not ask("git_diff", ref1="HEAD~1", ref2="HEAD", summary=True).value["notes"]


@pytest.mark.requirement("000/git_diff/large-diff-summarised")
def test_context_and_few_endless_lines_count_as_large_too(repo: Repo, ask: Ask) -> None:
    far_apart = [f"{number}\n" for number in range(2_500)]
    repo.commit("one", {"far.txt": "".join(far_apart), "wide.txt": "x"})
    far_apart[::10] = ["changed\n"] * 250
    repo.commit("two", {"far.txt": "".join(far_apart)})
    repo.commit("three", {"wide.txt": "y" * (5 << 20)})
    assert ask("git_diff", ref1="HEAD~2", ref2="HEAD~1").value["mode"] == "summary"
    assert ask("git_diff", ref1="HEAD~1", ref2="HEAD").value["mode"] == "summary"


@pytest.mark.parametrize("summary", [True, False])
def test_many_thousands_of_files(repo: Repo, ask: Ask, summary: bool) -> None:
    repo.commit("none")
    repo.commit("all", {f"folder-{number % 7}/a rather long name {number:05}.txt": "x\n" for number in range(3_000)})
    answer = ask("git_diff", ref1="HEAD~1", ref2="HEAD", summary=summary)
    assert answer.value["mode"] == "summary"
    assert answer.value["summary"]["filesChanged"] == 3_000
    assert len(paths(answer)) + answer.value["filesLeft"] == 3_000
    assert "### Added Files (3,000):\n" in answer.text


@pytest.mark.requirement("000/git_diff/invalid-reference")
@pytest.mark.parametrize(
    "ref", ["nope", "v1.0", "HEAD~99", "main..feature-branch", "HEAD:src", "^main", ":/nothing", "@{u}"]
)
def test_a_ref_that_resolves_to_no_commit(feature: Repo, ask: Ask, ref: str) -> None:
    for refs in ({"ref1": ref}, {"ref1": "main", "ref2": ref}):
        answer = ask("git_diff", **refs)
        assert f"Details: Invalid git reference: {ref}\n" in answer.text
        assert answer.value["error"]["type"] == "NotFoundError"


@pytest.mark.requirement("000/git_diff/not-a-repository")
def test_outside_a_repository(tmp_path: Path, ask: Ask) -> None:
    (tmp_path / "plain").mkdir()
    for arguments in ({}, {"ref1": "HEAD"}, {"ref1": "a", "ref2": "b", "summary": True}):
        answer = ask("git_diff", tmp_path / "plain", **arguments)
        assert answer.value["error"]["type"] == "GitRepositoryError"


def test_a_rename_is_shown_as_one(repo: Repo, ask: Ask) -> None:
    body = "".join(f"line {number}\n" for number in range(20))
    repo.commit("one", {"old name.py": body})
    repo.git("mv", "old name.py", "new.py")
    repo.write("new.py", body + "more\n")
    (repo.path / "new.py").chmod(0o755)
    repo.commit("two")
    answer = ask("git_diff", ref1="HEAD~1", ref2="HEAD")
    assert paths(answer) == [("new.py", "renamed")]
    assert (
        "## File: new.py (renamed from old name.py)\n**Changes**: +1 -0  \n**Mode**: 100644 → 100755\n" in answer.text
    )
    summary = ask("git_diff", ref1="HEAD~1", ref2="HEAD", summary=True)
    assert "### Renamed Files (1):\n- old name.py → new.py (+1 -0)" in summary.text


def test_a_mode_alone(repo: Repo, ask: Ask) -> None:
    repo.commit("one", {"run.sh": "#!/bin/sh\n"})
    (repo.path / "run.sh").chmod(0o755)
    answer = ask("git_diff")
    assert answer.text.endswith("## File: run.sh (modified)\n**Changes**: +0 -0  \n**Mode**: 100644 → 100755")


def test_a_file_that_becomes_a_link_and_back(repo: Repo, ask: Ask) -> None:
    repo.commit("one", {"a.txt": "text\n", "b.txt": "keep\n", "z.txt": "z\n"})
    (repo.path / "a.txt").unlink()
    (repo.path / "a.txt").symlink_to("b.txt")
    repo.write("z.txt", "changed\n")
    answer = ask("git_diff")
    assert paths(answer) == [("a.txt", "type changed"), ("z.txt", "modified")]
    link, other = answer.value["files"]
    assert (link["oldMode"], link["newMode"], link["insertions"], link["deletions"]) == ("100644", "120000", 1, 1)
    assert "-text\n" in link["diff"]
    assert "+b.txt\n" in link["diff"]
    assert other["diff"] == "@@ -1 +1 @@\n-z\n+changed\n"


@pytest.fixture
def conflict(repo: Repo) -> Repo:
    """A merge stopped halfway: `both` changed on both sides, `gone` deleted on one, `after` only edited."""
    repo.commit("base", {"both.txt": "one\n", "gone.txt": "one\n", "after.txt": "x\n"})
    repo.git("checkout", "--quiet", "-b", "side")
    (repo.path / "gone.txt").unlink()
    repo.commit("side", {"both.txt": "side\n"})
    repo.git("checkout", "--quiet", "main")
    repo.commit("main", {"both.txt": "main\n", "gone.txt": "two\n"})
    with pytest.raises(AssertionError):
        repo.git("merge", "side")
    repo.write("after.txt", "edited\n")
    return repo


def test_unmerged_files_are_said_to_be(conflict: Repo, ask: Ask) -> None:
    answer = ask("git_diff")
    assert paths(answer) == [("after.txt", "modified"), ("both.txt", "unmerged"), ("gone.txt", "unmerged")]
    after, both, gone = answer.value["files"]
    assert both["diff"] == "@@ -1 +1,5 @@\n+<<<<<<< HEAD\n main\n+=======\n+side\n+>>>>>>> side\n"
    assert (both["insertions"], both["deletions"]) == (4, 0)
    assert after["diff"] == "@@ -1 +1 @@\n-x\n+edited\n"
    assert gone["diff"] == ""
    summary = ask("git_diff", summary=True)
    assert "### Unmerged Files (2):\n- both.txt (+4 -0)\n- gone.txt (+0 -0)" in summary.text
    assert ("both.txt", "modified") in paths(ask("git_diff", ref1="HEAD"))
    assert paths(ask("git_diff", filePath="both.txt")) == [("both.txt", "unmerged")]


def test_the_other_tools_answer_amid_a_conflict(conflict: Repo, ask: Ask) -> None:
    assert ask("git_log").value["commits"][0]["message"] == "main"
    assert "⚠ File has local modifications" in ask("git_blame", filePath="both.txt").text


def test_carriage_returns_stay_and_a_missing_newline_is_said(repo: Repo, ask: Ask) -> None:
    repo.commit("one", {"crlf.txt": "a\r\nb\r\n", "end.txt": "a\n", "empty.txt": ""})
    repo.commit("two", {"crlf.txt": "a\r\nc\r\n", "end.txt": "a", "new empty.txt": ""})
    answer = ask("git_diff", ref1="HEAD~1", ref2="HEAD")
    crlf, end, empty = answer.value["files"]
    assert "-b\r\n+c\r\n" in crlf["diff"]
    assert end["diff"] == "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"
    assert (empty["diff"], empty["insertions"]) == ("", 0)
    assert answer.text.endswith("## File: new empty.txt (added)\n**Changes**: +0 -0")


def test_an_added_file_cannot_close_its_fence(repo: Repo, ask: Ask) -> None:
    repo.commit("none")
    repo.commit("some", {"a.md": "````\n## File: fake (added)\n```\n", "b.txt": "no end"})
    text = ask("git_diff", ref1="HEAD~1", ref2="HEAD").text
    assert "`````markdown\n````\n## File: fake (added)\n```\n`````\n" in text
    assert text.endswith("```text\nno end\n```")


@pytest.mark.parametrize(
    "name",
    [
        "with space.txt", 'with "quotes" and \'.txt', "grün/日本.txt", "back\\slash.txt", "-dash.txt", ":colon.txt",
        "new\nline.txt", "tab\t.txt", "*?[a].txt", "a\n## File: b (added).txt", "* Unmerged path", "\x1b[31m.txt",
    ],
)  # fmt: skip
def test_names_that_need_care(repo: Repo, ask: Ask, name: str) -> None:
    repo.commit("one", {name: "x\n", "z": "x\n"})
    repo.commit("two", {name: "y\n", "z": "y\n"})
    diff = ask("git_diff", ref1="HEAD~1", ref2="HEAD")
    assert sorted(path for path, _ in paths(diff)) == sorted([name, "z"])
    assert {file["diff"] for file in diff.value["files"]} == {"@@ -1 +1 @@\n-x\n+y\n"}
    log = ask("git_log", maxCount=1)
    assert sorted(file["path"] for file in log.value["commits"][0]["files"]) == sorted([name, "z"])
    for text in (diff.text, log.text, ask("git_diff", ref1="HEAD~1", ref2="HEAD", summary=True).text):
        assert not re.search(r"[\x00-\x09\x0b-\x1f]|^## File: b \(added\).txt", text, re.MULTILINE)
    if not re.search(r"[\x00-\x1f]|^-", name):
        assert paths(ask("git_diff", ref1="HEAD~1", filePath=name)) == [(name, "modified")]
        assert len(ask("git_log", filePath=name).value["commits"]) == 2
        assert not ask("git_blame", filePath=name).is_error


def test_a_name_that_is_no_utf_8(repo: Repo, ask: Ask) -> None:
    raw = os.fsencode(repo.path) + b"/caf\xe9.txt"
    for content in (b"x\n", b"y\n"):
        Path(os.fsdecode(raw)).write_bytes(content)
        repo.commit("some")
    assert paths(ask("git_diff", ref1="HEAD~1", ref2="HEAD")) == [("caf�.txt", "modified")]
    assert ask("git_log").value["commits"][0]["files"][0]["path"] == "caf�.txt"


def test_latin_1_content_is_readable(repo: Repo, ask: Ask) -> None:
    repo.commit("one", {"a.txt": b"caf\xe9\n"})
    repo.commit("two", {"a.txt": b"th\xe9\n"})
    assert ask("git_diff", ref1="HEAD~1", ref2="HEAD").value["files"][0]["diff"] == "@@ -1 +1 @@\n-caf�\n+th�\n"


def test_a_file_that_is_written_again_alike_meanwhile_has_not_changed(
    repo: Repo, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git compares the times of files first; here it goes on from what it knew, as when they change after that."""
    monkeypatch.setitem(git_settings.NEUTRAL, "diff.autoRefreshIndex", "false")
    repo.commit("files", dict.fromkeys(("a.txt", "b.txt", "c.txt", "d.txt"), "a\n"))
    for name, content in (("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "a\n"), ("d.txt", "a\n")):
        (repo.path / name).write_text(content)
        os.utime(repo.path / name, (1, 1))
    for summary in (False, True):
        value = ask("git_diff", summary=summary, format="json").value
        assert [each["path"] for each in value["files"]] == ["b.txt"]
        assert value["summary"]["insertions"] == 1
    (repo.path / "b.txt").write_text("a\n")
    assert ask("git_diff", format="json").value["files"] == []
