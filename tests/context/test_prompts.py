"""Prompts over every MCP door: a tour from what the resources say, a review from what a branch changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codecairn.store.writer_lock import WriterLock
from tests.support.context import BERTHS, HARBOUR, Request
from tests.support.doors import open_door, service
from tests.support.indexes import LastingWorkers, project_index
from tests.support.repo import Repo
from tests.support.search import Doors, doors_to, index


def said(result: dict[str, Any]) -> str:
    (message,) = result["messages"]
    assert message["role"] == "user"
    text: str = message["content"]["text"]
    return text


def test_both_prompts_are_listed_with_their_arguments(ask: Request) -> None:
    listed = {
        each["name"]: [argument["name"] for argument in each["arguments"]] for each in ask("prompts/list")["prompts"]
    }
    assert listed == {"onboard": ["module"], "review-branch": ["base", "head"]}


def test_the_tour_holds_the_overview(ask: Request) -> None:
    overview = ask("resources/read", uri="context://project/overview")["contents"][0]["text"]
    tour = said(ask("prompts/get", name="onboard"))
    assert tour.startswith("Give me a tour of this project")
    assert tour.endswith(overview)


def test_the_tour_of_a_module_holds_its_page(ask: Request) -> None:
    tour = said(ask("prompts/get", name="onboard", arguments={"module": "berths"}))
    assert "# Module berths: `harbour/berths/`" in tour
    assert said(ask("prompts/get", name="onboard", arguments={"module": " "})).startswith(
        "Give me a tour of this project"
    )


@pytest.mark.parametrize(
    ("name", "arguments", "hint"),
    [
        ("onbord", {}, "onboard"),
        ("onboard", {"modul": "x"}, "module"),
        ("onboard", {"module": "berth"}, "berths"),
        ("review-branch", {"base": "no-such-branch"}, "no-such-branch"),
        ("review-branch", {"head": "--output=x"}, "--output=x"),
    ],
)
def test_what_cannot_be_is_an_error_that_says_why(ask: Request, name: str, arguments: Any, hint: str) -> None:
    error = ask("prompts/get", name=name, arguments=arguments)
    assert error["code"] == -32602
    assert hint in error["message"]


@pytest.fixture
def branched(tmp_path: Path, lasting: LastingWorkers) -> Any:
    """The harbour with a branch that changes the fee, while main went on."""
    repo = Repo.create(tmp_path / "harbour")
    repo.commit("start", HARBOUR)
    repo.git("switch", "--quiet", "--create", "dearer")
    repo.commit("fees: dearer", {"harbour/berths/berth.py": BERTHS.replace("hours * 100", "hours * 200")})
    repo.git("switch", "--quiet", "main")
    repo.commit("docs: more", {"docs/more.md": "# More\n"})
    repo.git("switch", "--quiet", "dearer")
    repo.write("harbour/tides/table.py", "def high_water(ship: str) -> int:\n    return 2\n")
    return repo, index(repo.path, tmp_path / "home", lasting)


def test_a_review_shows_what_the_branch_changed_since_it_left(branched: Any) -> None:
    _, built = branched
    with doors_to(built) as doors:
        door = doors("stdio")
        review = said(door.request("prompts/get", {"name": "review-branch"})["result"])  # type: ignore[attr-defined]
        assert "Commits of `dearer` with the working tree, since it left `main`" in review
        assert "fees: dearer" in review
        assert "docs: more" not in review
        assert "+    return round(hours * 200 * depth)" in review
        assert "+    return 2" in review  # not committed yet, and under review all the same
        assert "- `harbour.berths.berth.mooring_fee` fn, `harbour/berths/berth.py:24`: modified" in review
        assert "Mooring fees are whole cents" in review


def test_a_review_of_a_named_head_leaves_the_working_tree_out(branched: Any) -> None:
    _, built = branched
    with doors_to(built) as doors:
        params = {"name": "review-branch", "arguments": {"base": "main", "head": "dearer"}}
        review = said(doors("modern").request("prompts/get", params)["result"])  # type: ignore[attr-defined]
        assert "hours * 200" in review
        assert "+    return 2" not in review
        same = {"name": "review-branch", "arguments": {"base": "dearer", "head": "dearer"}}
        assert "No differences." in said(doors("modern").request("prompts/get", same)["result"])  # type: ignore[attr-defined]


def test_a_review_is_made_while_another_process_writes_the_index(branched: Any) -> None:
    repo, built = branched
    repo.commit("tides: two")
    with project_index(built.root, built.home) as index_:
        lock = WriterLock(index_.folder / "lock")
    with doors_to(built) as doors, lock.holding("indexing") as is_held:
        assert is_held
        params = {"name": "review-branch", "arguments": {"base": "main", "head": "dearer"}}
        review = said(doors("stdio").request("prompts/get", params)["result"])  # type: ignore[attr-defined]
        assert "What it changes, the most called first" in review
        assert "+    return round(hours * 200 * depth)" in review


def test_what_is_known_of_the_changed_files_stands_in_the_review(branched: Any) -> None:
    _, built = branched
    with doors_to(built) as doors:
        doors("stdio").call(
            "remember", {"type": "issue", "content": "The fee was once too high.", "symbol": "assign_berth"}
        )
        review = said(doors("stdio").request("prompts/get", {"name": "review-branch"})["result"])  # type: ignore[attr-defined]
        assert "The fee was once too high." in review


def test_histories_with_nothing_in_common_are_said(branched: Any) -> None:
    repo, built = branched
    repo.git("checkout", "--quiet", "--orphan", "island")
    repo.commit("alone")
    with open_door("stdio", service(built.root, data=built.home)) as door:
        params = {"name": "review-branch", "arguments": {"base": "main", "head": "island"}}
        error = door.request("prompts/get", params)["error"]  # type: ignore[attr-defined]
        assert error["data"]["code"] == "merge_base_failed"


def test_a_review_without_a_repository_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with open_door("stdio", service(tmp_path / "plain", data=tmp_path / "home")) as door:
        error = door.request("prompts/get", {"name": "review-branch"})["error"]  # type: ignore[attr-defined]
        assert "not a git repository" in error["message"]
        ref, argument = {"type": "ref/prompt", "name": "review-branch"}, {"name": "base", "value": ""}
        answer = door.request("completion/complete", {"ref": ref, "argument": argument})  # type: ignore[attr-defined]
        assert answer["result"]["completion"]["values"] == []


def test_branches_and_modules_are_completed(branched: Any, gates: Doors) -> None:
    _, built = branched
    with doors_to(built) as doors:

        def completed(prompt: str, argument: str, value: str) -> list[str]:
            params = {"ref": {"type": "ref/prompt", "name": prompt}, "argument": {"name": argument, "value": value}}
            answer = doors("http").request("completion/complete", params)  # type: ignore[attr-defined]
            values: list[str] = answer["result"]["completion"]["values"]
            return values

        assert completed("review-branch", "base", "ma") == ["main"]
        assert completed("review-branch", "head", "ear") == ["dearer"]
        assert completed("onboard", "module", "tid") == ["tides"]
        assert completed("onboard", "no-such", "") == []
        assert completed("no-such", "module", "") == []
