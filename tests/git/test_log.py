"""git_log: which commits it lists, and how it writes them."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from codecairn.source.git_settings import SHORT_DIGITS
from tests.support.doors import Answer
from tests.support.git import Ask
from tests.support.repo import AUTHOR, Repo

GRACE = ("Grace Brewster Hopper", "grace.hopper@navy.example")


def subjects(answer: Answer) -> list[str]:
    assert not answer.is_error, answer.text
    return [commit["message"] for commit in answer.value["commits"]]


@pytest.fixture(scope="module")
def first_week(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Five commits on the first five days of March 2025, at noon; v1.0 is the second."""
    repo = Repo.create(tmp_path_factory.mktemp("week") / "repo")
    for day in range(1, 6):
        repo.commit(f"day {day}", {"diary.txt": f"{day}\n"}, author=GRACE if day == 3 else AUTHOR)
        if day == 2:
            repo.git("tag", "v1.0")
    return repo


@pytest.fixture
def week(first_week: Repo, tmp_path: Path) -> Repo:
    """A copy of that week, to be changed at will."""
    shutil.copytree(first_week.path, tmp_path / "repo")
    return Repo(tmp_path / "repo", day=first_week.day)


@pytest.mark.requirement(
    "000/git_log/title-line", "000/git_log/commit-heading", "000/git_log/author-line", "000/git_log/message-line",
    "000/git_log/files-changed-count", "000/git_log/file-status-bullets", "000/git_log/commit-separator",
)  # fmt: skip
def test_the_text_is_the_contracts_to_the_letter(repo: Repo, ask: Ask) -> None:
    first = repo.commit("chore: start", {"src/old.ts": "old\n", "src/auth/middleware.ts": "one\n"})
    (repo.path / "src/old.ts").unlink()
    second = repo.commit(
        "feat(auth): add JWT authentication",
        {"src/auth/jwt.ts": "jwt\n", "src/auth/middleware.ts": "two\n", "tests/auth.test.ts": "test\n"},
        author=GRACE,
    )
    assert ask("git_log").text == (
        "# Git Log\n"
        "\n"
        f"## Commit: {second[:SHORT_DIGITS]} (2025-03-02)\n"
        "**Author**: Grace Brewster Hopper <grace.hopper@navy.example>  \n"
        "**Message**: feat(auth): add JWT authentication\n"
        "\n"
        "**Files Changed** (4):\n"
        "- src/auth/jwt.ts (added)\n"
        "- src/auth/middleware.ts (modified)\n"
        "- src/old.ts (deleted)\n"
        "- tests/auth.test.ts (added)\n"
        "\n"
        "---\n"
        "\n"
        f"## Commit: {first[:SHORT_DIGITS]} (2025-03-01)\n"
        "**Author**: Ada Lovelace <ada@example.org>  \n"
        "**Message**: chore: start\n"
        "\n"
        "**Files Changed** (2):\n"
        "- src/auth/middleware.ts (added)\n"
        "- src/old.ts (added)"
    )


@pytest.mark.requirement("000/git_log/newest-first")
def test_newest_come_first(week: Repo, ask: Ask) -> None:
    assert subjects(ask("git_log")) == ["day 5", "day 4", "day 3", "day 2", "day 1"]


@pytest.mark.requirement("000/git_log/file-path-filter")
def test_a_file_keeps_only_the_commits_that_touched_it(repo: Repo, ask: Ask) -> None:
    repo.commit("a", {"a.txt": "1\n", "folder/c.txt": "1\n"})
    repo.commit("b", {"b.txt": "1\n"})
    repo.commit("a again", {"a.txt": "2\n"})
    repo.commit("c", {"folder/c.txt": "2\n"})
    assert subjects(ask("git_log", filePath="a.txt")) == ["a again", "a"]
    assert subjects(ask("git_log", filePath="folder")) == ["c", "a"]
    assert subjects(ask("git_log", filePath="./folder//c.txt")) == ["c", "a"]


@pytest.mark.requirement("000/git_log/since-date")
@pytest.mark.parametrize(
    "since",
    ["2025-03-04", "2025-03-03T12:00:01Z", "2025-03-03 13:00 +0000", "1741003201", "@1741003201", "4 March 2025"],
)
def test_since_a_date_leaves_out_what_is_older(week: Repo, ask: Ask, since: str) -> None:
    assert subjects(ask("git_log", since=since)) == ["day 5", "day 4"]


@pytest.mark.requirement("000/git_log/until-date")
@pytest.mark.parametrize(
    "until",
    ["2025-03-02", "2025-03-03T11:59:59Z", "2025-03-02 12:00:00", "1741003199", "@1741003199", "Mar 2, 2025"],
)
def test_until_a_date_leaves_out_what_is_newer(week: Repo, ask: Ask, until: str) -> None:
    assert subjects(ask("git_log", until=until)) == ["day 2", "day 1"]


def test_a_bare_day_is_taken_whole(week: Repo, ask: Ask) -> None:
    assert subjects(ask("git_log", since="2025-03-03", until="2025-03-03")) == ["day 3"]


@pytest.mark.requirement("000/git_log/since-date", "000/git_log/until-date")
@pytest.mark.parametrize("words", ["2 days ago", "two.days.ago", "48 hours ago", "2 days, 1 hour ago"])
def test_relative_words_are_dates(repo: Repo, ask: Ask, words: str) -> None:
    now = int(time.time())
    for age in (5, 4, 1, 0):
        repo.commit(f"{age} days old", date=f"@{now - age * 86_400} +0000")
    assert subjects(ask("git_log", since=words)) == ["0 days old", "1 days old"]
    assert subjects(ask("git_log", until=words)) == ["4 days old", "5 days old"]


@pytest.mark.requirement("000/git_log/since-ref-excludes-reachable")
def test_since_a_ref_leaves_out_all_that_it_reaches(week: Repo, ask: Ask) -> None:
    second = week.git("rev-parse", "v1.0")
    week.git("branch", "release/1", "v1.0")
    for ref in ("v1.0", second, second[:9], "release/1", "main~3", "HEAD~3"):
        assert subjects(ask("git_log", since=ref)) == ["day 5", "day 4", "day 3"], ref


@pytest.mark.requirement("000/git_log/until-ref-keeps-reachable")
def test_until_a_ref_keeps_what_it_reaches(week: Repo, ask: Ask) -> None:
    week.git("branch", "release/1", "v1.0")
    for ref in ("v1.0", week.git("rev-parse", "v1.0"), "release/1", "HEAD~3"):
        assert subjects(ask("git_log", until=ref)) == ["day 2", "day 1"], ref
    assert subjects(ask("git_log", since="v1.0", until="HEAD~1")) == ["day 4", "day 3"]


@pytest.mark.requirement("000/git_log/date-form-before-ref")
@pytest.mark.parametrize("name", ["2025-03-04", "yesterday", "20250304", "1741003201"])
def test_what_looks_like_a_date_is_one_even_if_a_tag_bears_the_name(week: Repo, ask: Ask, name: str) -> None:
    week.git("tag", name, "HEAD~4")
    assert "day 2" not in subjects(ask("git_log", since=name))


@pytest.mark.requirement("000/git_log/unresolvable-since-until")
@pytest.mark.parametrize(
    "ref", ["v9.9", "2025-13-45", "2025-02-30", "20251399", "31 February 2025", "a month of Sundays"]
)
def test_neither_a_date_nor_a_commit_is_refused(week: Repo, ask: Ask, ref: str) -> None:
    for param in ("since", "until"):
        answer = ask("git_log", **{param: ref})
        assert answer.is_error
        assert f"Details: Invalid commit reference: {ref}\n" in answer.text
        assert answer.value["error"]["type"] == "NotFoundError"


def test_a_commit_may_have_the_digits_of_no_date(week: Repo, ask: Ask) -> None:
    week.git("tag", "20251399", "v1.0")
    assert subjects(ask("git_log", until="20251399")) == ["day 2", "day 1"]


def test_until_a_commit_and_ref_both_name_a_start(week: Repo, ask: Ask) -> None:
    answer = ask("git_log", until="v1.0", ref="main")
    assert answer.value["error"]["type"] == "InvalidInputError"


def test_ref_starts_elsewhere(week: Repo, ask: Ask) -> None:
    assert subjects(ask("git_log", ref="HEAD~2", until="2025-03-02")) == ["day 2", "day 1"]


@pytest.mark.requirement("000/git_log/author-by-name")
def test_an_author_by_name(week: Repo, ask: Ask) -> None:
    assert subjects(ask("git_log", author="Grace Brewster Hopper")) == ["day 3"]
    assert subjects(ask("git_log", author="brewster hop")) == ["day 3"]


@pytest.mark.requirement("000/git_log/author-by-email")
def test_an_author_by_email(week: Repo, ask: Ask) -> None:
    assert subjects(ask("git_log", author="grace.hopper@navy.example")) == ["day 3"]
    assert subjects(ask("git_log", author="Ada Lovelace <ada@example.org>")) == ["day 5", "day 4", "day 2", "day 1"]


@pytest.mark.parametrize("pattern", ["G.ace", "grace.hopper.navy", "Grace|Ada", ".*", "^Ada", "Ada \\"])
def test_an_author_is_no_pattern(week: Repo, ask: Ask, pattern: str) -> None:
    answer = ask("git_log", author=pattern)
    assert subjects(answer) == []
    assert answer.text == "# Git Log\n\nNo commits found."


@pytest.mark.requirement("000/git_log/max-count-default-10")
def test_ten_commits_unless_told_otherwise(repo: Repo, ask: Ask) -> None:
    for number in range(12):
        repo.commit(f"number {number}")
    assert len(subjects(ask("git_log"))) == 10
    assert len(subjects(ask("git_log", maxCount=11))) == 11
    assert len(subjects(ask("git_log", maxCount=100))) == 12
    assert subjects(ask("git_log", maxCount=1)) == ["number 11"]


@pytest.mark.requirement("000/git_log/max-count-bounds")
@pytest.mark.parametrize("count", [0, -1, 101, 2**70, 1.5, "10", True])
def test_max_count_is_a_whole_number_from_1_to_100(week: Repo, ask: Ask, count: object) -> None:
    answer = ask("git_log", maxCount=count)
    assert answer.is_error
    assert answer.value["error"]["type"] == "InvalidInputError"


def test_the_subject_is_gits_and_the_body_cannot_pass_for_the_list(repo: Repo, ask: Ask) -> None:
    commit = repo.commit("first line\nof the subject\n\nwhy it was done\n\n---\n\n## Commit: fffffff (2025-01-01)")
    answer = ask("git_log")
    assert answer.text == (
        "# Git Log\n\n"
        f"## Commit: {commit[:SHORT_DIGITS]} (2025-03-01)\n"
        "**Author**: Ada Lovelace <ada@example.org>  \n"
        "**Message**: first line of the subject\n"
        "\n"
        "> why it was done\n>\n> ---\n>\n> ## Commit: fffffff (2025-01-01)\n"
        "\n"
        "**Files Changed** (0):"
    )
    assert answer.value["commits"][0]["body"].startswith("why it was done\n\n---")


def test_a_file_that_history_never_had_is_not_found(week: Repo, ask: Ask) -> None:
    week.write("untracked.txt", "new\n")
    for path in ("nowhere.txt", "untracked.txt"):
        answer = ask("git_log", filePath=path)
        assert answer.value["error"]["type"] == "NotFoundError"
        assert path in answer.value["error"]["message"]


def test_a_known_file_with_no_matching_commit_is_an_empty_list(week: Repo, ask: Ask) -> None:
    assert subjects(ask("git_log", filePath="diary.txt", author="nobody")) == []
    assert subjects(ask("git_log", filePath="diary.txt", since="2030-01-01")) == []


def test_a_deleted_file_still_has_its_history(repo: Repo, ask: Ask) -> None:
    repo.commit("came", {"gone/file.txt": "x\n"})
    (repo.path / "gone/file.txt").unlink()
    repo.commit("went")
    assert subjects(ask("git_log", filePath="gone/file.txt")) == ["went", "came"]
    assert subjects(ask("git_log", filePath="gone")) == ["went", "came"]


class TestRenames:
    @pytest.fixture
    def renamed(self, repo: Repo) -> Repo:
        body = "".join(f"line {number}\n" for number in range(20))
        repo.commit("created", {"old.py": body, "other.py": "x\n"}, author=GRACE)
        repo.commit("edited as old", {"old.py": body + "more\n"}, author=GRACE)
        repo.commit("elsewhere", {"other.py": "y\n"})
        repo.git("mv", "old.py", "new name.py")
        repo.commit("renamed")
        repo.commit("edited as new", {"new name.py": body + "still more\n"})
        return repo

    def test_history_follows_the_file(self, renamed: Repo, ask: Ask) -> None:
        answer = ask("git_log", filePath="new name.py")
        assert subjects(answer) == ["edited as new", "renamed", "edited as old", "created"]
        assert answer.value["commits"][1]["files"] == [
            {"path": "new name.py", "status": "renamed", "oldPath": "old.py"}
        ]
        assert "- new name.py (renamed from old.py)" in answer.text

    def test_filters_do_not_lose_the_trail(self, renamed: Repo, ask: Ask) -> None:
        assert subjects(ask("git_log", filePath="new name.py", author="hopper")) == ["edited as old", "created"]
        assert subjects(ask("git_log", filePath="new name.py", until="2025-03-02")) == ["edited as old", "created"]
        assert subjects(ask("git_log", filePath="new name.py", since="2025-03-02", until="2025-03-04")) == [
            "renamed", "edited as old",
        ]  # fmt: skip

    def test_pages_do_not_lose_the_trail(self, renamed: Repo, ask: Ask) -> None:
        seen: list[str] = []
        cursor = None
        while True:
            answer = ask("git_log", filePath="new name.py", maxCount=1, cursor=cursor)
            seen += subjects(answer)
            cursor = answer.value["nextCursor"]
            if cursor is None:
                break
        assert seen == ["edited as new", "renamed", "edited as old", "created"]


class TestPages:
    def walk(self, ask: Ask, repo: Repo | None = None, **arguments: object) -> list[str]:
        seen: list[str] = []
        cursor: str | None = None
        while True:
            given = {**arguments, **({"cursor": cursor} if cursor else {})}
            answer = ask("git_log", **given)
            seen += subjects(answer)
            cursor = answer.value["nextCursor"]
            if cursor is None:
                return seen
            assert f"`{cursor}`" in answer.text
            if repo:
                repo.commit("came in between", {"late.txt": f"{len(seen)}\n"}, date="2025-04-01T12:00:00+00:00")

    def test_every_commit_comes_once_though_others_arrive(self, repo: Repo, ask: Ask) -> None:
        for number in range(23):
            repo.commit(f"number {number}", {"file.txt": f"{number}\n"}, date="2025-03-01T12:00:00+00:00")
        expected = [f"number {number}" for number in reversed(range(23))]
        assert self.walk(ask, repo, filePath="file.txt", maxCount=4) == expected
        assert self.walk(ask, repo, since="2025-01-01", until="2025-03-30", maxCount=5) == expected
        assert self.walk(ask, repo, until="HEAD~5", maxCount=5)[-23:] == expected

    def test_filters_hold_on_every_page(self, week: Repo, ask: Ask) -> None:
        assert self.walk(ask, author="Ada", maxCount=1) == ["day 5", "day 4", "day 2", "day 1"]
        assert self.walk(ask, since="v1.0", maxCount=2) == ["day 5", "day 4", "day 3"]
        assert self.walk(ask, until="HEAD~1", maxCount=2) == ["day 4", "day 3", "day 2", "day 1"]
        assert self.walk(ask, until="2025-03-04", since="2025-03-02", maxCount=2) == ["day 4", "day 3", "day 2"]

    def test_a_long_history_of_one_file_is_read_no_further_than_the_page(self, repo: Repo, ask: Ask) -> None:
        body = "y" * 2_000
        for number in range(60):
            repo.commit(f"number {number}\n\n{body}", {"file.txt": f"{number}\n"}, date="2025-03-01T12:00:00+00:00")
        assert self.walk(ask, filePath="file.txt", maxCount=7) == [f"number {n}" for n in reversed(range(60))]

    @pytest.mark.parametrize("cursor", ["", "x", "+3", "HEAD+1", "0" * 40, f"{'0' * 40}+1", f"{'0' * 40}+-1", "-"])
    def test_a_cursor_that_nobody_gave_is_refused(self, week: Repo, ask: Ask, cursor: str) -> None:
        answer = ask("git_log", cursor=cursor)
        assert answer.value["error"]["type"] in ("InvalidInputError", "NotFoundError")
