"""git_blame: who wrote which line, and how it is written down."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from codecairn.source.git_settings import SHORT_DIGITS
from codecairn.tools.history_text import blame_runs
from tests.support.git import Ask, FailOnce, blame_of, posix
from tests.support.repo import Repo

JANE = ("Jane Smith-Longname", "jane@example.com")


@pytest.fixture
def jwt(repo: Repo) -> tuple[str, str]:
    """src/auth/jwt.ts: four lines of Ada's, the second and third rewritten by Jane."""
    first = repo.commit("feat(auth): add JWT verification", {"src/auth/jwt.ts": "one {\n  two\n  three\n}\n"})
    second = repo.commit("fix(auth): validate", {"src/auth/jwt.ts": "one {\n  TWO\n\tTHREE  \n}\n"}, author=JANE)
    return first, second


@posix
def test_a_file_that_is_committed_while_git_looks_for_it_is_no_damage(
    jwt: tuple[str, str], ask: Ask, fail_once: FailOnce
) -> None:
    failed = fail_once("blame", "fatal: no such path 'src/auth/jwt.ts' in HEAD")
    assert len(ask("git_blame", filePath="src/auth/jwt.ts").value["lines"]) == 4
    assert failed.exists()


def contents(value: dict[str, object]) -> list[tuple[int, str]]:
    lines = value["lines"]
    assert isinstance(lines, list)
    return [(line["line"], line["content"]) for line in lines]


@pytest.mark.requirement(
    "000/git_blame/title-line", "000/git_blame/lines-heading", "000/git_blame/language-fence",
    "000/git_blame/annotated-line-format", "000/git_blame/author-column-aligned",
    "000/git_blame/commit-section-once", "000/git_blame/commit-section-fields", "000/git_blame/whole-file-default",
    "000/git_blame/clean-file-no-note",
)  # fmt: skip
def test_the_text_is_the_contracts_to_the_letter(jwt: tuple[str, str], ask: Ask) -> None:
    ada, jane = jwt[0][:SHORT_DIGITS], jwt[1][:SHORT_DIGITS]
    assert ask("git_blame", filePath="src/auth/jwt.ts").text == (
        "# Git Blame: src/auth/jwt.ts\n"
        "\n"
        "## Lines 1-4\n"
        "\n"
        "```typescript\n"
        f"1  {ada} (Ada Lovelace         2025-03-01) one {{\n"
        f"2  {jane} (Jane Smith-Longname  2025-03-02)   TWO\n"
        f"3  {jane} (Jane Smith-Longname  2025-03-02) \tTHREE  \n"
        f"4  {ada} (Ada Lovelace         2025-03-01) }}\n"
        "```\n"
        "\n"
        f"### Commit {ada}\n"
        "**Author**: Ada Lovelace <ada@example.org>  \n"
        "**Date**: 2025-03-01  \n"
        "**Message**: feat(auth): add JWT verification\n"
        "\n"
        f"### Commit {jane}\n"
        "**Author**: Jane Smith-Longname <jane@example.com>  \n"
        "**Date**: 2025-03-02  \n"
        "**Message**: fix(auth): validate"
    )


@pytest.mark.requirement("000/git_blame/start-line-one-indexed")
def test_start_line_counts_from_one(jwt: tuple[str, str], ask: Ask) -> None:
    path = "src/auth/jwt.ts"
    assert contents(ask("git_blame", filePath=path, startLine=1).value)[0] == (1, "one {")
    assert contents(ask("git_blame", filePath=path, startLine=3).value) == [(3, "\tTHREE  "), (4, "}")]
    assert "## Lines 3-4\n" in ask("git_blame", filePath=path, startLine=3).text


@pytest.mark.requirement("000/git_blame/end-line-inclusive", "000/git_blame/lines-heading")
def test_end_line_is_the_last_shown(jwt: tuple[str, str], ask: Ask) -> None:
    answer = ask("git_blame", filePath="src/auth/jwt.ts", startLine=2, endLine=3)
    assert contents(answer.value) == [(2, "  TWO"), (3, "\tTHREE  ")]
    assert "## Lines 2-3\n" in answer.text
    assert f"### Commit {jwt[0][:SHORT_DIGITS]}" not in answer.text
    assert contents(ask("git_blame", filePath="src/auth/jwt.ts", endLine=1).value) == [(1, "one {")]


def test_line_numbers_are_aligned(repo: Repo, ask: Ask) -> None:
    commit = repo.commit("ten", {"ten.txt": "x\n" * 10})[:SHORT_DIGITS]
    text = ask("git_blame", filePath="ten.txt", startLine=9).text
    assert f"\n 9  {commit} (Ada Lovelace  2025-03-01) x\n10  {commit} " in text


@pytest.mark.requirement("000/git_blame/file-path-required", "ruling/errors-000/invalid-input-error")
def test_a_file_must_be_named(jwt: tuple[str, str], ask: Ask) -> None:
    assert ask("git_blame").value["error"]["type"] == "InvalidInputError"
    assert ask("git_blame", filePath=None).value["error"]["type"] == "InvalidInputError"
    assert ask("git_blame", filePath="").value["error"]["type"] == "InvalidInputError"
    assert ask("git_blame", filePath="src").value["error"]["type"] == "InvalidInputError"


@pytest.mark.requirement("000/git_blame/untracked-file", "ruling/errors-000/not-found-error")
def test_a_file_git_does_not_track(repo: Repo, jwt: tuple[str, str], ask: Ask) -> None:
    repo.write("new.txt", "new\n")
    for path in ("new.txt", "nowhere/at all.txt"):
        answer = ask("git_blame", filePath=path)
        assert f"Details: File not tracked by git: {path}\n" in answer.text
        assert answer.value["error"]["type"] == "NotFoundError"


def test_a_staged_file_is_tracked_though_none_of_its_lines_is_committed(repo: Repo, jwt: object, ask: Ask) -> None:
    repo.write("new.txt", "new\n")
    repo.git("add", "new.txt")
    answer = ask("git_blame", filePath="new.txt")
    assert "⚠ File has local modifications" in answer.text
    assert answer.value["commits"] == []


@pytest.mark.requirement("000/git_blame/invalid-line-range")
@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [
        (3, 2, "3-2"), (0, 2, "0-2"), (-5, 2, "-5-2"), (1, 0, "1-0"), (5, 9, "5-9"), (5, None, "5-"),
        (2**70, None, f"{2**70}-"),
    ],
)  # fmt: skip
def test_a_range_the_file_does_not_have(
    jwt: tuple[str, str], ask: Ask, start: int | None, end: int | None, shown: str
) -> None:
    answer = ask("git_blame", filePath="src/auth/jwt.ts", startLine=start, endLine=end)
    assert answer.value["error"]["type"] == "InvalidInputError"
    assert f"Details: Invalid line range: {shown}\n" in answer.text


def test_a_range_behind_the_end_is_told_where_the_end_is(jwt: tuple[str, str], ask: Ask) -> None:
    answer = ask("git_blame", filePath="src/auth/jwt.ts", startLine=7, endLine=9)
    assert "line 4" in answer.value["error"]["suggestion"]


@pytest.mark.parametrize("end", [5, 9, 2**70])
def test_a_range_that_reaches_past_the_end_stops_there_and_says_so(jwt: tuple[str, str], ask: Ask, end: int) -> None:
    answer = ask("git_blame", filePath="src/auth/jwt.ts", startLine=3, endLine=end)
    assert "## Lines 3-4\n" in answer.text
    assert "_The file ends at line 4._" in answer.text
    assert answer.value["endLine"] == 4


@pytest.mark.requirement("000/git_blame/local-modifications-note")
def test_uncommitted_lines_are_noted(repo: Repo, jwt: tuple[str, str], ask: Ask) -> None:
    repo.write("src/auth/jwt.ts", "one {\n  mine\n\tTHREE  \n}\n")
    answer = ask("git_blame", filePath="src/auth/jwt.ts")
    assert answer.text.startswith("# Git Blame: src/auth/jwt.ts\n\n⚠ File has local modifications\n\n## Lines 1-4\n")
    assert "\n2  000000000 (Not Committed Yet    " in answer.text
    assert answer.text.count("### Commit ") == 2
    assert answer.value["localModifications"] is True


@pytest.mark.requirement("000/git_blame/local-modifications-note")
def test_staged_and_unseen_changes_are_local_too(repo: Repo, jwt: tuple[str, str], ask: Ask) -> None:
    repo.write("src/auth/jwt.ts", "one {\n  TWO\n\tTHREE  \n}\nappended\n")
    repo.git("add", "--all")
    assert "⚠" in ask("git_blame", filePath="src/auth/jwt.ts", startLine=1, endLine=2).text


@pytest.mark.requirement("000/git_blame/clean-file-no-note")
def test_another_files_changes_are_not_this_files(repo: Repo, jwt: tuple[str, str], ask: Ask) -> None:
    repo.write("src/auth/other.ts", "x\n")
    os.utime(repo.path / "src/auth/jwt.ts", (1, 1))
    answer = ask("git_blame", filePath="src/auth/jwt.ts")
    assert "⚠" not in answer.text
    assert answer.value["localModifications"] is False


def test_a_ref_shows_the_file_as_it_was(repo: Repo, jwt: tuple[str, str], ask: Ask) -> None:
    repo.write("src/auth/jwt.ts", "changed\n")
    answer = ask("git_blame", filePath="src/auth/jwt.ts", ref="HEAD~1")
    assert [text for _, text in contents(answer.value)] == ["one {", "  two", "  three", "}"]
    assert "⚠" not in answer.text
    missing = ask("git_blame", filePath="src/auth/jwt.ts", ref="v9")
    assert missing.value["error"]["type"] == "NotFoundError"


def test_a_file_deleted_from_the_working_tree(repo: Repo, jwt: tuple[str, str], ask: Ask) -> None:
    (repo.path / "src/auth/jwt.ts").unlink()
    answer = ask("git_blame", filePath="src/auth/jwt.ts")
    assert answer.value["error"]["type"] == "NotFoundError"
    assert "ref" in answer.text
    assert len(contents(ask("git_blame", filePath="src/auth/jwt.ts", ref="HEAD").value)) == 4


def test_a_file_deleted_in_a_commit(repo: Repo, jwt: tuple[str, str], ask: Ask) -> None:
    repo.git("rm", "--quiet", "src/auth/jwt.ts")
    repo.commit("gone")
    assert ask("git_blame", filePath="src/auth/jwt.ts").value["error"]["type"] == "NotFoundError"


def test_lines_are_blamed_through_a_rename(repo: Repo, jwt: tuple[str, str], ask: Ask) -> None:
    repo.git("mv", "src/auth/jwt.ts", "token.ts")
    repo.commit("moved")
    answer = ask("git_blame", filePath="token.ts")
    assert {line["hash"] for line in answer.value["lines"]} == set(jwt)


@pytest.mark.parametrize("content", ["", "no newline at the end", "\n", "a\r\nb\r\n", "``` \n````\n", "x" * 300_000])
def test_odd_contents(repo: Repo, ask: Ask, content: str) -> None:
    repo.commit("odd", {"odd.md": content})
    answer = ask("git_blame", filePath="odd.md")
    shown = [re.sub(r"… \([\d,]+ characters more\)$", "", text) for _, text in contents(answer.value)]
    assert shown == [line[:1_000] for line in content.replace("\r", "").splitlines()]
    if not content:
        assert answer.text == "# Git Blame: odd.md\n\nThe file is empty."
    if "```" in content:
        assert answer.text.count("`````markdown\n") == 1
        assert answer.text.count("\n`````\n") == 1


def test_a_line_in_latin_1_is_readable(repo: Repo, ask: Ask) -> None:
    repo.commit("latin", {"latin.txt": "caf\xe9\n".encode("latin-1")})
    assert contents(ask("git_blame", filePath="latin.txt").value) == [(1, "caf�")]


def test_a_binary_file_is_refused(repo: Repo, ask: Ask) -> None:
    repo.commit("binary", {"image.png": b"\x89PNG\0\1\n\0"})
    answer = ask("git_blame", filePath="image.png")
    assert answer.value["error"]["type"] == "InvalidInputError"
    assert "git_log" in answer.value["error"]["suggestion"]


def raw_commit(repo: Path, author: bytes, message: bytes, extra: bytes = b"") -> None:
    """A commit as no git would write it, on top of HEAD's tree."""
    tree = subprocess.check_output(["git", "write-tree"], cwd=repo).strip()
    raw = b"tree %b\nauthor %b\ncommitter C <c@d> 1740830400 +0000\n%b\n%b" % (tree, author, extra, message)
    command = ["git", "hash-object", "-t", "commit", "-w", "--literally", "--stdin"]
    commit = subprocess.check_output(command, cwd=repo, input=raw).decode().strip()
    subprocess.check_call(["git", "update-ref", "HEAD", commit], cwd=repo)


@pytest.mark.parametrize(
    "author",
    [
        b"A <a@b> 1740830400 +9959", b"A <a@b> 1740830400 -9999", b"A <a@b> 99999999999999999 +0000", b"A <a@b> 1 x",
        b"A <a@b>", b"A", b"", b"<> 0 +0000", b"A <not.committed.yet> 1740830400 +0000", b"\xff\xfe <\xe9> 5 +0000",
        b"A\t\x1b[31m <a@b> 1740830400 +0000", b"X" * 5_000 + b" <a@b> 1740830400 +0000",
    ],
)  # fmt: skip
def test_a_commit_may_claim_any_author_and_time(repo: Repo, ask: Ask, author: bytes) -> None:
    repo.write("f.txt", "line\n")
    repo.git("add", "--all")
    raw_commit(repo.path, author, b"subject\n")
    answer = ask("git_blame", filePath="f.txt")
    assert not answer.is_error, answer.text
    assert contents(answer.value) == [(1, "line")]
    assert "⚠" not in answer.text
    assert len(answer.value["commits"]) == 1
    assert "\x1b" not in answer.text
    logged = ask("git_log")
    assert [commit["message"] for commit in logged.value["commits"]] == ["subject"]
    assert "\x1b" not in logged.text


@pytest.mark.parametrize(
    ("encoding", "message", "subject"),
    [
        (b"ISO-8859-1", "grün".encode("latin-1"), "grün"),
        (b"no-such-encoding", b"plain", "plain"),
    ],
)
def test_a_commit_in_another_encoding(repo: Repo, ask: Ask, encoding: bytes, message: bytes, subject: str) -> None:
    repo.write("f.txt", "line\n")
    repo.git("add", "--all")
    raw_commit(repo.path, b"A <a@b> 1740830400 +0000", message, b"encoding " + encoding + b"\n")
    assert [commit["message"] for commit in ask("git_log").value["commits"]] == [subject]
    assert [commit["message"] for commit in ask("git_blame", filePath="f.txt").value["commits"]] == [subject]


@pytest.mark.requirement("000/git_blame/not-a-repository", "ruling/errors-000/git-repository-error")
def test_outside_a_repository(tmp_path: Path, ask: Ask) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/f.txt").write_text("x\n", encoding="utf-8")
    answer = ask("git_blame", tmp_path / "plain", filePath="f.txt")
    assert answer.is_error
    assert answer.value["error"]["type"] == "GitRepositoryError"


FUNCTION = "".join(f"    total = total + weigh_the_cargo_of_berth({number}, manifest)\n" for number in range(4))


@pytest.fixture
def moved(repo: Repo) -> tuple[str, str]:
    """harbour.py, made of a block of docks.py that is indented anew, with one new line above it."""
    first = repo.commit("Weigh cargo", {"docks.py": f"# docks\n{FUNCTION}# end\n"})
    block = FUNCTION.replace("    total", "        total")
    body = "Docks are about to go.\n\n---------\n\nSigned-off-by: Ada"
    second = repo.commit(f"Move weighing\n\n{body}", {"docks.py": "# docks\n# end\n", "harbour.py": f"# new\n{block}"})
    return first, second


@pytest.mark.requirement("ruling/history/blame-follows-moves")
def test_lines_are_blamed_through_a_move_to_another_file(moved: tuple[str, str], ask: Ask) -> None:
    lines = ask("git_blame", filePath="harbour.py").value["lines"]
    assert [line["hash"] for line in lines] == [moved[1], *[moved[0]] * 4]
    assert [(line["originPath"], line["originLine"]) for line in lines[1:]] == [("docks.py", 2 + n) for n in range(4)]
    assert "originPath" not in lines[0]


@pytest.mark.requirement("ruling/history/blame-follows-moves")
def test_one_common_line_is_no_move(repo: Repo, ask: Ask) -> None:
    line = "from harbour.utils.cache import patch_vary_headers\n"
    repo.commit("one", {"docs.txt": f"Write\n{line}"})
    second = repo.commit("two", {"a.py": line})
    assert [each["hash"] for each in ask("git_blame", filePath="a.py").value["lines"]] == [second]


@pytest.mark.requirement("ruling/history/blame-follows-moves")
def test_the_origin_in_a_secret_file_is_not_named(repo: Repo, ask: Ask) -> None:
    repo.commit("one", {".env": FUNCTION})
    repo.git("mv", ".env", "a.py")
    repo.commit("two")
    answer = ask("git_blame", filePath="a.py")
    assert len(answer.value["lines"]) == 4
    assert ".env" not in str(answer.value)


@pytest.mark.requirement("ruling/history/blame-follows-moves")
def test_an_origin_with_an_odd_name(repo: Repo, ask: Ask) -> None:
    name = 'a "quoted" näme.py'
    repo.commit("one", {name: FUNCTION})
    repo.git("mv", name, "b.py")
    repo.commit("two")
    assert {line["originPath"] for line in ask("git_blame", filePath="b.py").value["lines"]} == {name}


@pytest.mark.requirement("ruling/history/blame-runs")
def test_the_reading_form_says_each_run_once(moved: tuple[str, str], ask: Ask) -> None:
    value = blame_of(ask("git_blame", filePath="harbour.py"))
    row = "total = total + weigh_the_cargo_of_berth"
    assert blame_runs(value, {}) == (
        "Blame of harbour.py, lines 1-5 of 5\n"
        "\n"
        f"@ {moved[1][:SHORT_DIGITS]} 2025-03-02 Ada Lovelace: Move weighing\n"
        "  | Docks are about to go.\n"
        "1  # new\n"
        f"@ {moved[0][:SHORT_DIGITS]} 2025-03-01 Ada Lovelace: Weigh cargo (moved here from docks.py:2)\n"
        f"2          {row}(0, manifest)\n"
        f"3          {row}(1, manifest)\n"
        f"4          {row}(2, manifest)\n"
        f"5          {row}(3, manifest)"
    )


@pytest.mark.requirement("ruling/history/blame-runs")
def test_the_reading_form_goes_on_where_it_stopped(repo: Repo, ask: Ask) -> None:
    rows = [f"row {number} {'word ' * 30}" for number in range(200)]
    repo.commit("all", {"a.txt": "\n".join(rows) + "\n"})
    seen: list[str] = []
    while len(seen) < 200:
        start = len(seen) + 1
        text = blame_runs(blame_of(ask("git_blame", filePath="a.txt", startLine=start)), {"startLine": start})
        assert len(text) <= 8_000
        seen += re.findall(r"^ *\d+  (row .*)$", text, re.MULTILINE)
        assert len(seen) == 200 or text.endswith(f"Continue with startLine: {len(seen) + 1}_")
    assert seen == rows


@pytest.mark.requirement("ruling/history/blame-runs")
def test_uncommitted_lines_are_a_run_of_their_own(repo: Repo, jwt: tuple[str, str], ask: Ask) -> None:
    repo.write("src/auth/jwt.ts", "one {\n  mine\n\tTHREE  \n}\n")
    text = blame_runs(blame_of(ask("git_blame", filePath="src/auth/jwt.ts")), {})
    assert "⚠ File has local modifications" in text
    assert "\n@ not committed yet\n2    mine\n@ " in text
