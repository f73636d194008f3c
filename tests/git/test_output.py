"""Both halves of an answer, the token cap, and the JSON form."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import pytest

from codecairn import tools
from codecairn.budget import DEFAULT_CHARACTERS
from codecairn.history import blame_page
from codecairn.source.git_settings import SHORT_DIGITS
from codecairn.tools import Call, Registry, Tool, tool
from tests.support.doors import JSON_DOORS, Answer, Door, line_client, service
from tests.support.git import Ask, blame_of
from tests.support.repo import Repo

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("git_log", {}),
    ("git_blame", {"filePath": "a.txt"}),
    ("git_diff", {"ref1": "HEAD~1", "ref2": "HEAD"}),
    ("git_diff", {"ref1": "HEAD~1", "ref2": "HEAD", "summary": True}),
    ("git_diff", {"ref1": "nowhere"}),
]


@pytest.fixture
def committed(repo: Repo) -> Repo:
    repo.commit("one", {"a.txt": "1\n"})
    repo.commit("two", {"a.txt": "2\n"})
    return repo


@pytest.mark.requirement("ruling/output/text-and-structured")
def test_text_and_value_through_every_door(committed: Repo, connect: Callable[..., Door], door_name: str) -> None:
    door = connect(door_name, committed.path)
    for name, arguments in CALLS:
        answer = door.call(name, arguments)
        assert answer.text.startswith(("# Git ", "Error: ", "Blame of a.txt"))
        assert answer.value


@pytest.mark.requirement("ruling/output/json-text-agrees")
@pytest.mark.parametrize("door_name", JSON_DOORS)
def test_json_text_is_the_value(committed: Repo, connect: Callable[..., Door], door_name: str) -> None:
    door = connect(door_name, committed.path)
    for name in ("health_check", "metrics_snapshot"):
        answer = door.call(name)
        assert json.loads(answer.text) == answer.value


@pytest.mark.requirement("ruling/additions/git-tools-format-json", "ruling/output/json-text-agrees")
def test_format_json(committed: Repo, ask: Ask) -> None:
    for name, arguments in CALLS[:4]:
        plain, asked = ask(name, **arguments), ask(name, **arguments, format="json")
        value = json.loads(asked.text)
        assert value == asked.value == plain.value
        assert ask(name, **arguments, format="markdown").text == plain.text


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Much of everything: commits of many files and long messages, long lines, many authors, an endless change."""
    repo = Repo.create(tmp_path_factory.mktemp("crowded") / "repo")
    repo.commit("start", {"endless.txt": "x\n"})
    for number in range(12):
        body = "\n".join(f"reason {line} " + "because " * 10 for line in range(30))
        files: dict[str, str | bytes] = {f"folder/{number}-{each:03}-{'n' * 60}.txt": "x\n" for each in range(70)}
        files["a.txt"] = "".join(f"{line} {'word ' * 20}\n" for line in range(number * 60 + 60))
        author = (f"Author {number} {'of the House of ' * number}", f"{number}@example.org")
        repo.commit(f"number {number} {'and on ' * 100}\n\n{body}", files, author=author)
    repo.write("endless.txt", "changed " * 30_000)
    return repo


DEFAULTS: list[tuple[str, dict[str, Any]]] = [
    ("git_log", {}), ("git_log", {"filePath": "a.txt"}), ("git_blame", {"filePath": "a.txt"}), ("git_diff", {}),
    ("git_diff", {"ref1": "HEAD~4", "ref2": "HEAD"}), ("git_diff", {"ref1": "HEAD~11", "ref2": "HEAD"}),
    ("git_diff", {"ref1": "HEAD~11", "ref2": "HEAD", "summary": True}),
]  # fmt: skip


@pytest.mark.requirement("ruling/output/default-8000-characters")
@pytest.mark.parametrize(("name", "arguments"), DEFAULTS)
def test_default_answers_stay_under_the_cap(crowded: Repo, ask: Ask, name: str, arguments: dict[str, Any]) -> None:
    assert len(ask(name, crowded.path, **arguments).text) <= DEFAULT_CHARACTERS


@pytest.mark.requirement("ruling/output/default-8000-characters")
@pytest.mark.parametrize(
    "content",
    ["x" * 1_000_000, f"{'x' * 1_000_000}\n" * 2, "x\n" * 900, "```\n" * 900, f"{'y' * 90}\n" * 900, "é" * 40_000],
)
def test_one_file_can_be_all_there_is(repo: Repo, ask: Ask, content: str) -> None:
    repo.commit("none", {"long.txt": ""})
    repo.commit("one", {"long.txt": content, "added.txt": content})
    for name, arguments in [
        ("git_diff", {"ref1": "HEAD~1", "ref2": "HEAD"}), ("git_diff", {"ref1": "HEAD~1"}),
        ("git_blame", {"filePath": "long.txt"}), ("git_log", {}),
    ]:  # fmt: skip
        text = ask(name, **arguments).text
        assert len(text) <= DEFAULT_CHARACTERS
        fences = re.findall(r"^`{3,}", text, re.MULTILINE)
        longest = max(map(len, fences), default=0)
        assert sum(len(fence) == longest for fence in fences) % 2 == 0


@pytest.mark.requirement("ruling/output/default-8000-characters")
def test_a_commit_can_be_all_there_is(repo: Repo, ask: Ask) -> None:
    repo.commit(f"{'subject ' * 5_000}\n\n{'body ' * 15_000}", {"a.txt": "x\n"}, author=("N" * 90_000, "e" * 9_000))
    for name, arguments in (("git_log", {}), ("git_blame", {"filePath": "a.txt"})):
        assert len(ask(name, **arguments).text) <= DEFAULT_CHARACTERS


def left_out(answer: Answer) -> tuple[int, str]:
    found = re.search(
        r"_([\d,]+) (?:of|lines).* not shown here\. Continue with (?:cursor|startLine): `?([\w-]+?)`?_(?:\s|$)",
        answer.text,
    )
    assert found, answer.text[-300:]
    return int(found[1].replace(",", "")), found[2]


@pytest.mark.requirement("ruling/output/cut-marked")
def test_a_cut_log_continues_where_it_stopped(crowded: Repo, ask: Ask) -> None:
    seen: list[str] = []
    cursor: str | None = None
    while len(seen) < 13:
        answer = ask("git_log", crowded.path, **({"cursor": cursor} if cursor else {}))
        shown = re.findall(r"^## Commit: (\w+)", answer.text, re.MULTILINE)
        assert shown == [commit["shortHash"] for commit in answer.value["commits"]]
        assert answer.value["count"] == len(shown) > 0
        seen += shown
        cursor = answer.value["nextCursor"]
        assert (cursor is None) == (len(seen) == 13)
        assert cursor is None or f"Continue with cursor: `{cursor}`" in answer.text
    assert seen == [line[:SHORT_DIGITS] for line in crowded.git("log", "--format=%H").split()]


@pytest.mark.requirement("ruling/history/log-details-fit")
def test_a_log_counts_the_files_it_does_not_name(crowded: Repo, ask: Ask) -> None:
    answer = ask("git_log", crowded.path)
    first = answer.value["commits"][0]
    assert first["filesChanged"] == 71 > len(first["files"]) > 0
    assert "**Files Changed** (71):\n" in answer.text
    assert f"- … and {71 - len(first['files'])} more\n" in answer.text
    alone = ask("git_log", crowded.path, maxCount=1).value["commits"][0]
    assert len(alone["files"]) > len(first["files"])
    assert len(alone["body"]) > len(first["body"])


@pytest.mark.requirement("ruling/output/cut-marked")
def test_a_cut_blame_continues_where_it_stopped(crowded: Repo, ask: Ask) -> None:
    seen: list[int] = []
    while len(seen) < 720:
        page = ask("git_blame", crowded.path, filePath="a.txt", startLine=len(seen) + 1)
        rows = [int(row) for row in re.findall(r"^ *(\d+)  \w{9} \(", page.text, re.MULTILINE)]
        wrote = {line["hash"][:SHORT_DIGITS] for line in page.value["lines"][: len(rows)]}
        assert set(re.findall(r"^### Commit (\w+)", page.text, re.MULTILINE)) == wrote
        seen += rows
        if len(seen) < 720:
            assert left_out(page) == (720 - len(seen), str(len(seen) + 1))
    assert seen == list(range(1, 721))


@pytest.mark.requirement("ruling/history/blame-paged")
def test_a_blame_is_a_page_that_says_where_the_next_begins(crowded: Repo, ask: Ask) -> None:
    whole = ask("git_blame", crowded.path, filePath="a.txt").value
    assert whole["totalLines"] == 720
    assert [line["line"] for line in whole["lines"]] == list(range(1, whole["endLine"] + 1))
    assert whole["nextStartLine"] == whole["endLine"] + 1 < 720
    asked = ask("git_blame", crowded.path, filePath="a.txt", startLine=701, endLine=720).value
    assert (asked["endLine"], asked["nextStartLine"]) == (720, None)


@pytest.mark.requirement("ruling/history/blame-paged")
def test_a_blame_can_be_cut_to_any_size(crowded: Repo, ask: Ask) -> None:
    whole = blame_of(ask("git_blame", crowded.path, filePath="a.txt"))
    for room in (4_000, 8_000, 20_000):
        page = blame_page(whole, room)
        assert len(json.dumps(msgspec.to_builtins(page))) <= room
        assert page.lines == whole.lines[: len(page.lines)]
        assert page.next_start_line == page.end_line + 1
        assert {commit.hash for commit in page.commits} == {line.hash for line in page.lines}


@pytest.mark.requirement("ruling/history/default-8000", "ruling/history/most-40000")
@pytest.mark.parametrize(("name", "arguments"), DEFAULTS)
def test_text_and_value_keep_to_one_budget(crowded: Repo, ask: Ask, name: str, arguments: dict[str, Any]) -> None:
    answer = ask(name, crowded.path, **arguments)
    assert len(answer.text) <= 8_000
    assert value_size(answer) <= (40_000 if name == "git_blame" else 8_000)


@pytest.mark.requirement("ruling/output/default-8000-characters")
@pytest.mark.parametrize(("name", "arguments"), DEFAULTS)
def test_a_later_connection_gets_text_and_value_within_one_budget(
    crowded: Repo, connect: Callable[..., Door], name: str, arguments: dict[str, Any]
) -> None:
    answer = connect("stdio", crowded.path).call(name, arguments)
    assert len(answer.text) <= DEFAULT_CHARACTERS
    assert len(json.dumps(answer.value, ensure_ascii=False, separators=(",", ":"))) <= DEFAULT_CHARACTERS


@pytest.mark.requirement("ruling/history/most-40000")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("git_log", {"maxCount": 100}), ("git_blame", {"filePath": "a.txt", "endLine": 720}),
        ("git_diff", {"filePath": "endless.txt"}),
    ],
)  # fmt: skip
def test_nothing_that_is_asked_breaks_the_budget(crowded: Repo, ask: Ask, name: str, arguments: dict[str, Any]) -> None:
    answer = ask(name, crowded.path, **arguments)
    assert len(answer.text) <= 40_000
    assert value_size(answer) <= 40_000


def value_size(answer: Answer) -> int:
    return len(json.dumps(answer.value, ensure_ascii=False))


@pytest.mark.requirement("ruling/output/cut-marked")
@pytest.mark.parametrize("summary", [False, True])
def test_a_cut_diff_continues_where_it_stopped(repo: Repo, ask: Ask, summary: bool) -> None:
    repo.commit("none")
    names = [f"folder/{number:03}-{'n' * 90}.txt" for number in range(300)]
    repo.commit("many", {name: f"{'content ' * 10}\n{name}\n" for name in names})
    seen: list[str] = []
    cursor: str | None = None
    while cursor is not None or not seen:
        answer = ask("git_diff", ref1="HEAD~1", ref2="HEAD", summary=summary, cursor=cursor)
        assert answer.value["summary"]["filesChanged"] == 300
        shown = re.findall(r"^(?:## File:|-) (folder/\S+) \(", answer.text, re.MULTILINE)
        assert shown == [file["path"] for file in answer.value["files"]]
        seen += shown
        cursor = answer.value["nextCursor"]
        if len(seen) < 300:
            assert left_out(answer) == (300 - len(seen), cursor)
    assert seen == names


@pytest.mark.requirement("ruling/history/diff-folders")
def test_a_large_diff_says_where_its_changes_lie(repo: Repo, ask: Ask) -> None:
    repo.commit("none")
    files: dict[str, str | bytes] = {f"docs/{'n' * 60}-{number:03}.txt": "x\n" * 2 for number in range(300)}
    repo.commit("many", files | {f"src/deep/{number}.txt": "x\n" * 40 for number in range(20)})
    answer = ask("git_diff", ref1="HEAD~1", ref2="HEAD")
    assert answer.value["folders"][0] == {"path": "src/deep", "files": 20, "insertions": 800, "deletions": 0}
    assert "\n- src/deep: 20 files (+800 -0)\n- docs: 300 files (+600 -0)\n" in answer.text
    assert ask("git_diff", ref1="HEAD~1", ref2="HEAD", filePath="src/deep", summary=True).value["folders"] == []


@pytest.mark.requirement("ruling/output/cut-marked")
def test_a_diff_cut_within_a_file_continues_there(repo: Repo, ask: Ask) -> None:
    rows = [f"row {number} {'word ' * 15}" for number in range(900)]
    repo.commit("none")
    repo.commit("some", {"long.txt": "\n".join(rows) + "\n", "next.txt": "x\n", "short.txt": "x\n"})
    seen: list[str] = []
    cursor: str | None = None
    while len(seen) < 900:
        answer = ask("git_diff", ref1="HEAD~1", ref2="HEAD", **({"cursor": cursor} if cursor else {}))
        assert len(answer.text) <= DEFAULT_CHARACTERS
        seen += re.findall(r"^row .*", answer.text, re.MULTILINE)
        if len(seen) < 900:
            count, cursor = left_out(answer)
            assert count == 900 - len(seen)
    assert seen == rows
    assert "## File: short.txt (added)" in answer.text


class Long(msgspec.Struct):
    items: list[str]


@pytest.mark.requirement("ruling/output/bare-never-cut")
def test_a_bare_method_is_never_cut() -> None:
    declared: list[Tool] = []

    @tool(family="catalog", method="long/list", into=declared)
    def long_list(call: Call, *, size: Annotated[int, msgspec.Meta(ge=0)] = 50_000) -> Long:
        """As much as asked for."""
        return Long([f"item {number}" for number in range(size)])

    registry = Registry()
    registry.add(declared[0])
    with line_client(service(None, registry)) as client:
        result = client.request("long/list")["result"]
    assert len(result["items"]) == 50_000


@pytest.mark.requirement("ruling/rate-limits/git-tools-unlimited")
def test_git_tools_have_no_rate_limit(committed: Repo, connect: Callable[..., Door]) -> None:
    registry = tools.standard()
    door = connect("stdio", committed.path)
    for name, arguments in CALLS[:3]:
        assert registry.tools[name].per_minute is None
        assert not any(door.call(name, arguments).is_error for _ in range(101))
