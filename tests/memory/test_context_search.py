"""context_search: code, discoveries and sessions in one list; how it is drawn, filtered, weighed and refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from codecairn import tools
from codecairn.cancel import Cancel
from codecairn.index.status import index_status
from codecairn.memory.access_boosts import Boosts, ago, boosts
from codecairn.memory.search import ContextQuestion, search_context
from codecairn.store.sessions import DAY_S, FileAccess
from codecairn.text import CHARACTERS_PER_TOKEN
from tests.registry.samples import assert_conforms
from tests.support.memory import HOUSE, TOKENS, refusal, value_of
from tests.support.repo import Repo
from tests.support.search import Asking, Doors

Own = Callable[..., Asking]

RACE = "Token refresh raced between two tabs; fixed with a mutex around it."
COOKIES = "Refresh tokens live in httpOnly cookies, never in local storage."
LATER = 4e9
"""After everything that the clock of this machine has stamped."""
CENTS = "An invoice is written in whole cents, because floats lost one."


@pytest.fixture
def wise(own: Own) -> Asking:
    """The house, with three discoveries."""
    asked = own(HOUSE)
    for type_, content, symbol in (
        ("issue", RACE, "TokenStore.refresh"),
        ("rule", COOKIES, None),
        ("decision", CENTS, "write_invoice"),
    ):
        value_of(asked.answer("remember", type=type_, content=content, symbol=symbol))
    return asked


def search(asking: Asking, query: str, **arguments: Any) -> dict[str, Any]:
    return value_of(asking.answer("context_search", query=query, **arguments))


def drawn(asking: Asking, query: str, **arguments: Any) -> str:
    answer = asking.answer("context_search", query=query, **arguments)
    value_of(answer)
    return answer.text


def found(asking: Asking, query: str, **arguments: Any) -> list[tuple[str, str]]:
    return [(each["source"], each["name"]) for each in search(asking, query, **arguments)["results"]]


def open_file(asking: Asking, path: str, times: int = 1) -> None:
    for _ in range(times):
        value_of(asking.answer("get_file_outline", path=path))


def at(asking: Asking, seconds: float) -> None:
    """From now on the clock of the sessions stands there."""
    asking.served.registry.sessions.clock = lambda: seconds


# What is asked.


@pytest.mark.requirement("000/context_search/query-required", "000/context_search/query-length-bounds")
@pytest.mark.parametrize("arguments", [{}, {"query": "ab"}, {"query": "  a  "}, {"query": "x" * 501}, {"query": 3}])
def test_a_query_has_three_to_five_hundred_characters(house: Asking, arguments: dict[str, Any]) -> None:
    answer = house.answer("context_search", **arguments)
    refusal(answer)
    assert answer.text.startswith("Error: InvalidInputError\n\nDetails: ")


def test_three_and_five_hundred_are_enough(house: Asking) -> None:
    search(house, "tax")
    search(house, "x" * 500)


@pytest.mark.requirement("000/context_search/query-too-short-message")
def test_a_short_query_is_told_so(house: Asking) -> None:
    assert refusal(house.answer("context_search", query="ab"))["error"] == "Query must be at least 3 characters"


@pytest.mark.requirement(
    "000/context_search/limit-bounds",
    "000/context_search/type-values",
    "000/context_search/project-scope-values",
    "000/context_search/chunk-type-values",
)
@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0}, {"limit": 21}, {"limit": 2.5}, {"type": "hunch"}, {"projectScope": "everything"},
        {"chunkType": ["struct"]}, {"chunkType": "function"}, {"format": "xml"}, {"modul": "auth"},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_out_of_bounds_is_refused(house: Asking, wrong: dict[str, Any]) -> None:
    answer = house.answer("context_search", query="tokens", **wrong)
    said = refusal(answer)
    assert said["error"] == "Invalid parameters"
    assert said["details"]
    assert answer.text.startswith("Error: InvalidInputError")


@pytest.mark.requirement("000/context_search/limit-default-5", "000/context_search/type-values")
def test_five_are_returned_of_everything_unless_told_otherwise(wise: Asking) -> None:
    answer = search(wise, "token invoice shelf shape area password")
    assert len(answer["results"]) == 5
    assert answer["totalFound"] > 5
    everything = search(wise, "token invoice shelf shape area password", limit=20, type="all")
    assert len(everything["results"]) == everything["totalFound"] > 5


@pytest.mark.requirement("000/context_search/ranked-together", "000/context_search/source-values")
def test_code_and_discoveries_are_one_list_best_first(wise: Asking) -> None:
    results = search(wise, "token refresh", limit=20)["results"]
    assert {each["source"] for each in results} == {"code", "discovery"}
    scores = [each["score"] for each in results]
    assert scores == sorted(scores, reverse=True)
    assert [each["content"] for each in results if each["source"] == "discovery"][:2] == [RACE, COOKIES]
    assert any(each["name"] == "TokenStore" for each in results[:3])


@pytest.mark.requirement("ruling/memory/remember-records", "000/context_search/type-keeps-discoveries")
def test_a_type_keeps_discoveries_of_that_type(wise: Asking) -> None:
    assert found(wise, "token refresh", type="issue") == [("discovery", RACE)]
    assert found(wise, "token refresh", type="rule") == [("discovery", COOKIES)]
    assert found(wise, "token refresh", type="pattern") == []


@pytest.mark.requirement("ruling/memory/forget-removes")
def test_what_is_forgotten_is_not_found(wise: Asking) -> None:
    (result,) = search(wise, "token refresh", type="issue")["results"]
    value_of(wise.answer("forget", id=result["id"]))
    assert found(wise, "token refresh", type="issue") == []


@pytest.mark.requirement("000/context_search/module-filter", "ruling/module-role/module-at-root")
def test_a_module_keeps_what_lies_in_it(wise: Asking) -> None:
    results = search(wise, "token invoice password verify", module="auth", limit=20)["results"]
    assert {each["module"] for each in results} == {"auth"}
    assert {each["source"] for each in results} == {"code", "discovery"}
    at_root = search(wise, "verify token main", module=wise.root.name)["results"]
    assert {each["path"] for each in at_root} == {"main.py"}
    assert search(wise, "token", module="nowhere")["results"] == []


@pytest.mark.requirement("000/context_search/chunk-type-filter", "000/context_search/chunk-type-kind-mapping")
@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("function", {"verify_token", "hash_password", "write_invoice", "main"}),
        ("class", {"TokenStore", "Invoice", "Shelf"}),
        ("method", {"refresh", "total", "area"}),
        ("interface", {"Shape"}),
        ("type", {"Colour"}),
    ],
)
def test_a_chunk_type_keeps_such_code(wise: Asking, asked: str, names: set[str]) -> None:
    words = "token password invoice main shelf shape area colour total refresh owes store"
    results = search(wise, words, chunkType=[asked], limit=20)["results"]
    assert {each["type"] for each in results} == {asked}
    assert {each["name"] for each in results} <= names
    assert {each["source"] for each in results} == {"code"}


@pytest.mark.requirement("000/context_search/other-kinds-unfiltered-only")
def test_other_kinds_are_found_only_without_a_chunk_type(wise: Asking) -> None:
    everything = ["function", "class", "method", "interface", "type"]
    assert ("code", "Authentication") in found(wise, "authentication", limit=20)
    assert ("code", "Authentication") not in found(wise, "authentication", limit=20, chunkType=everything)


def test_a_type_with_a_chunk_type_leaves_nothing_and_says_so(wise: Asking) -> None:
    answer = search(wise, "token refresh", type="issue", chunkType=["method"])
    assert answer["results"] == []
    assert any("together" in warning for warning in answer["metadata"]["warnings"])


@pytest.mark.requirement("000/context_search/project-scope-default-current")
def test_without_a_scope_the_current_project_is_searched(wise: Asking, own: Own) -> None:
    own({"other.py": "def token_of_another_project() -> None:\n    pass\n"})
    for scope in ({}, {"projectScope": "current"}):
        results = search(wise, "token of another project", limit=20, **scope)["results"]
        assert {each["project"] for each in results} == {wise.root.name}


@pytest.mark.requirement("ruling/additions/ref-on-code-tools")
def test_a_branch_is_searched_and_judged_by_its_commit(wise: Asking) -> None:
    repo = Repo(wise.root, day=2)
    repo.git("checkout", "--quiet", "-b", "feature")
    body = TOKENS.replace("token[::-1]", "token") + "\n\ndef revoke_token(token: str) -> None:\n    pass\n"
    repo.commit("revoke", {"app/auth/tokens.py": body})
    repo.git("checkout", "--quiet", "main")
    value_of(wise.answer("index_codebase", path=str(wise.root), ref="feature"))
    assert ("code", "revoke_token") not in found(wise, "revoke a token", limit=20)
    there = search(wise, "revoke a token refresh", limit=20, ref="feature")
    assert "revoke_token" in [each["name"] for each in there["results"]]
    assert there["metadata"]["ref"] == "feature"
    statuses = {each["content"]: each["status"] for each in there["results"] if each["source"] == "discovery"}
    assert statuses[RACE] == "drifted"
    assert search(wise, "token refresh", type="issue")["results"][0]["status"] == "fresh"
    assert refusal(wise.answer("context_search", query="token", ref="no-such"))["code"] == "ref_not_indexed"


def test_several_projects_are_one_labelled_list(wise: Asking, own: Own) -> None:
    other = own({"other.py": "def refresh_token_elsewhere() -> None:\n    pass\n"})
    bare = own({"none.py": ""}, indexed=False)
    projects = [wise.project, other.project, bare.project]
    both = search_context(
        projects,
        ContextQuestion("refresh token", limit=20),
        lambda each: index_status(each.index, Cancel()),
        lambda _: None,
        0.0,
        Cancel(),
    )
    assert {each.project for each in both.results} == {wise.root.name, other.root.name}
    assert [each.final for each in both.results] == sorted((each.final for each in both.results), reverse=True)
    assert both.warnings == [f"{bare.root.name} is not indexed and was left out."]


# How it is drawn.


@pytest.mark.requirement(
    "000/context_search/title-line",
    "000/context_search/result-heading",
    "000/context_search/result-type-project-lines",
    "000/context_search/result-separator",
    "000/context_search/footer-count-time",
)
def test_the_markdown_is_drawn_as_agreed_at_every_door(door_name: str, gates: Doors) -> None:
    answer = gates(door_name).call("context_search", {"query": "verify an authentication token", "limit": 3})
    value = value_of(answer)
    assert_conforms(tools.standard().tools["context_search"], answer)
    lines = answer.text.split("\n")
    assert lines[0] == '# Search Results for "verify an authentication token"'
    headings = [line for line in lines if line.startswith("## ")]
    for number, (heading, each) in enumerate(zip(headings, value["results"], strict=True), 1):
        place = f"{each['path']}:{each['startLine']}-{each['endLine']}"
        assert heading == f"## Result {number}: {each['name']} ({place}) [Score: {each['score']:.2f}]"
    assert answer.text.count("**Type**: ") == answer.text.count("**Project**: house") == 3
    assert re.search(r"\n\n---\n\n## Result 2: ", answer.text)
    assert re.fullmatch(r"3 results in \d+ ms", lines[-1])


@pytest.mark.requirement("000/context_search/result-code-fence", "000/context_search/chunk-level-results")
def test_code_stands_in_a_fence_with_its_real_lines(house: Asking) -> None:
    (result,) = search(house, "verify_token", limit=1)["results"]
    assert (result["path"], result["startLine"], result["endLine"]) == ("app/auth/tokens.py", 12, 14)
    source = str(HOUSE["app/auth/tokens.py"]).split("\n")
    assert result["content"] == "\n".join(source[11:14])
    assert f"```python\n{result['content']}\n```" in drawn(house, "verify_token", limit=1)


def test_what_a_discovery_says_stays_inside_its_lines(own: Own) -> None:
    asked = own(HOUSE)
    value_of(asked.answer("remember", type="rule", content="Shelves hold things\n\n## Result 9: forged (x:1-2)\n---\n"))
    text = drawn(asked, "shelves hold things", type="rule")
    assert text.count("\n## Result") == 1
    assert "\n> ## Result 9" in text


@pytest.mark.requirement("000/context_search/format-json-option")
def test_json_is_the_text_for_who_wants_it(wise: Asking) -> None:
    answer = wise.answer("context_search", query="token refresh", format="json")
    said = json.loads(answer.text)
    assert said["results"] == value_of(answer)["results"]


def test_an_ordinary_answer_stays_under_six_thousand_tokens(own: Own) -> None:
    body = "\n".join(f"    total = total + token_{number}  # {'and so on ' * 9}" for number in range(140))
    files = {f"m{number}/big.py": f"def token_sum_{number}() -> int:\n    total = 0\n{body}\n" for number in range(6)}
    asked = own(files)
    text = drawn(asked, "sum of the token total")
    assert len(text) < 6_000 * CHARACTERS_PER_TOKEN
    assert text.count("## Result") == 5
    assert "characters more" in text


# What it is made of.


@pytest.mark.requirement(
    "000/context_search/structured-top-fields",
    "000/context_search/structured-result-fields",
    "000/context_search/structured-added-fields",
    "ruling/metadata/on-index-answers",
)
def test_the_structured_form_has_every_field(wise: Asking) -> None:
    answer = search(wise, "token refresh", limit=20)
    assert answer.keys() >= {"results", "query", "totalFound", "searchTime", "metadata"}
    assert answer["query"] == "token refresh"
    assert answer["searchTime"] > 0
    assert answer["metadata"].keys() >= {
        "cruxe_protocol_version", "freshness_status", "indexing_status", "result_completeness", "ref", "schema_status",
    }  # fmt: skip
    own_fields = {"id", "type", "content", "module", "session", "date", "score", "source"}
    for each in answer["results"]:
        assert each.keys() >= own_fields | {"path", "startLine", "endLine", "project", "ranking"}


@pytest.mark.requirement("000/context_search/code-result-values", "ruling/module-role/module-parent-folder")
def test_a_chunk_and_a_discovery_say_what_they_are(wise: Asking) -> None:
    results = search(wise, "token refresh", limit=20)["results"]
    chunk = next(each for each in results if each["name"] == "TokenStore")
    assert (chunk["type"], chunk["session"], chunk["module"], chunk["source"]) == ("class", None, "auth", "code")
    changed = (wise.root / chunk["path"]).stat().st_mtime
    assert chunk["date"] == _iso(changed)
    discovery = next(each for each in results if each["content"] == RACE)
    assert (discovery["type"], discovery["source"], discovery["status"]) == ("issue", "discovery", "fresh")
    assert discovery["path"] == chunk["path"]
    assert (discovery["startLine"], discovery["endLine"]) == (7, 9)
    assert discovery["session"]


def _iso(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_an_earlier_session_is_found_by_what_it_opened(own: Own) -> None:
    asked = own(HOUSE)
    open_file(asked, "app/billing/invoice.py", 3)
    asked.served.registry.sessions.end("memory")
    later = asked.another_connection()
    sessions = [each for each in search(later, "billing invoice", limit=20)["results"] if each["source"] == "session"]
    assert [each["module"] for each in sessions] == ["billing"]
    assert "app/billing/invoice.py ×3" in sessions[0]["content"]
    assert sessions[0]["session"] == sessions[0]["id"]
    assert "session" not in {
        each["source"] for each in search(later, "billing invoice", chunkType=["class"])["results"]
    }


# How it is weighed.


@pytest.mark.requirement("ruling/scores/relevance-in-unit", "ruling/scores/no-boost-unchanged")
def test_without_boosts_the_score_is_the_relevance(wise: Asking) -> None:
    for each in search(wise, "token refresh", limit=20)["results"]:
        assert 0 <= each["score"] <= 1
        assert each["ranking"] == {
            "semanticScore": each["score"], "recencyBoost": 1.0, "moduleBoost": 1.0, "frequencyBoost": 1.0,
            "finalScore": each["score"],
        }  # fmt: skip


@pytest.mark.requirement("ruling/scores/boost-formula")
@pytest.mark.parametrize("score", [0.0, 0.1, 0.25, 0.85, 1.0])
def test_a_boost_takes_a_share_of_what_is_missing(score: float) -> None:
    boosted = Boosts(1.5, 1.3, 1.2)
    assert boosted.final(score) == pytest.approx(1 - (1 - score) ** (1.5 * 1.3 * 1.2), abs=5e-5)
    assert score <= boosted.final(score) <= 1


@pytest.mark.requirement("ruling/scores/recency-boost", "ruling/scores/frequency-boost")
@pytest.mark.parametrize(
    ("age", "times", "recency", "frequency"),
    [(0, 1, 1.5, 1.01), (0.99, 15, 1.5, 1.15), (1.01, 50, 1.2, 1.5), (6.9, 500, 1.2, 1.5), (7.1, 0, 1.0, 1.0)],
)
def test_recency_is_by_the_day_and_frequency_by_the_hundred(
    age: float, times: int, recency: float, frequency: float
) -> None:
    found = boosts(FileAccess(1e9 - age * DAY_S, times), is_worked_on=False, now=1e9)
    assert found == Boosts(recency, 1.0, frequency)


def test_what_was_never_opened_is_not_boosted() -> None:
    assert boosts(None, is_worked_on=False, now=1e9) == Boosts()


@pytest.mark.requirement("ruling/scores/module-boost", "ruling/scores/recency-boost", "ruling/scores/frequency-boost")
def test_what_is_worked_on_comes_first(wise: Asking) -> None:
    at(wise, LATER)
    open_file(wise, "app/auth/passwords.py", 15)
    at(wise, LATER + 2 * 3600)
    open_file(wise, "main.py")
    results = search(wise, "token password", limit=20)["results"]
    opened = next(each for each in results if each["path"] == "app/auth/passwords.py")
    beside = next(each for each in results if each["name"] == "verify_token")
    elsewhere = next(each for each in results if each["module"] not in ("auth", wise.root.name))
    assert opened["ranking"]["recencyBoost"] == 1.5
    assert (opened["ranking"]["moduleBoost"], opened["ranking"]["frequencyBoost"]) == (1.0, 1.15)
    assert beside["ranking"]["recencyBoost"] == 1.0
    assert elsewhere["ranking"]["moduleBoost"] == 1.0
    assert (opened["lastAccessed"], opened["accessesThisWeek"]) == (7200, 15)


@pytest.mark.requirement("ruling/scores/module-boost")
def test_the_module_of_the_files_opened_last_is_boosted_for_this_connection_alone(wise: Asking) -> None:
    open_file(wise, "app/auth/passwords.py")
    boosted = next(each for each in search(wise, "verify token")["results"] if each["name"] == "verify_token")
    assert boosted["ranking"]["moduleBoost"] == 1.3
    other = wise.another_connection()
    plain = next(each for each in search(other, "verify token")["results"] if each["name"] == "verify_token")
    assert plain["ranking"]["moduleBoost"] == 1.0


@pytest.mark.requirement(
    "000/context_search/last-accessed-line",
    "000/context_search/ranking-details-section",
    "ruling/scores/shown-factors-agree",
)
def test_what_is_shown_computes_to_what_is_shown(wise: Asking) -> None:
    at(wise, LATER)
    open_file(wise, "app/auth/tokens.py", 14)
    at(wise, LATER + 1200)
    open_file(wise, "app/auth/tokens.py")
    at(wise, LATER + 3000)
    text = drawn(wise, "token refresh", limit=20)
    assert "**Last Accessed**: 30 minutes ago (15 times this week)" in text
    assert "- Recency Boost: ×1.5 (accessed <24h ago)" in text
    assert "- Module Boost: ×1.3 (same module as current work)" in text
    assert "- Frequency Boost: ×1.15 (15 accesses this week)" in text
    sections = text.split("## Result ")[1:]
    for section in sections:
        assert _computed(section) == float(_one(r"\*\*Final Score\*\*: ([\d.]+)", section))
        assert f"{_computed(section):.2f}" == _one(r"\[Score: ([\d.]+)\]", section)


def _computed(section: str) -> float:
    score = float(_one(r"- Semantic Score: ([\d.]+)", section))
    product = 1.0
    for factor in re.findall(r"Boost: ×([\d.]+)", section):
        product *= float(factor)
    return round(1 - (1 - score) ** product, 4) if product != 1 else score


def _one(pattern: str, text: str) -> str:
    (value,) = re.findall(pattern, text)
    return str(value)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(3, "just now"), (60, "1 minute ago"), (7200, "2 hours ago"), (86_400, "1 day ago"), (9e5, "10 days ago")],
)
def test_an_age_is_said_as_people_say_it(seconds: float, said: str) -> None:
    assert ago(seconds) == said


@pytest.mark.requirement("000/context_search/search-alters-nothing")
def test_searching_alters_nothing(wise: Asking) -> None:
    open_file(wise, "app/auth/tokens.py")
    wise.served.registry.sessions.settle()
    before = _state(wise)
    answers = [search(wise, "token refresh")["results"] for _ in range(3)]
    value_of(wise.answer("search_code", path=str(wise.root), query="token refresh"))
    wise.served.registry.sessions.settle()
    assert _state(wise) == before
    assert [_without_age(each) for each in answers] == [_without_age(answers[0])] * 3


def _state(asking: Asking) -> tuple[Any, ...]:
    project = asking.project
    accessed = project.sessions.accesses(asking.served.registry.sessions.clock())
    return accessed, project.discoveries.stamps(), list(asking.connection.recent_files)


def _without_age(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**each, "lastAccessed": None} for each in results]


# Where it cannot answer.


@pytest.mark.requirement(
    "000/context_search/no-index-error",
    "000/context_search/no-index-fallback",
    "000/context_search/error-text-000",
    "000/context_search/error-structured-001",
)
def test_without_an_index_it_names_the_fallback(own: Own) -> None:
    asked = own(HOUSE, indexed=False)
    answer = asked.answer("context_search", query="token refresh")
    said = refusal(answer)
    assert said["error"] == "No embeddings found. Run initial session to generate context."
    assert said["fallback"] == "Use grep_codebase for text search"
    assert said["code"] == "index_not_ready"
    kind, details, suggestion = answer.text.split("\n\n")
    assert kind == "Error: ProcessingError"
    assert details == f"Details: {said['error']}"
    assert "grep_codebase" in suggestion


@pytest.mark.requirement("000/context_search/error-structured-001", "000/context_search/error-text-000")
def test_errors_have_both_forms_at_every_door(door_name: str, gates: Doors) -> None:
    answer = gates(door_name).call("context_search", {"query": "ab"})
    assert_conforms(tools.standard().tools["context_search"], answer)
    assert refusal(answer)["error"] == "Query must be at least 3 characters"
    assert answer.text.split("\n\n")[:2] == ["Error: InvalidInputError", "Details: Query must be at least 3 characters"]


@pytest.mark.requirement("000/context_search/lexical-without-vectors")
def test_an_index_without_vectors_is_searched_by_words(tmp_path: Any, lasting: Any) -> None:
    with _without_vectors(tmp_path, lasting) as asked:
        answer = asked.answer("context_search", query="verify a token")
        assert found(asked, "verify a token")[0] == ("code", "verify_token")
        assert any("no vectors" in warning for warning in value_of(answer)["metadata"]["warnings"])
        assert "no vectors" in answer.text


@pytest.mark.requirement("000/context_search/rate-limit-100")
def test_the_hundred_and_first_call_of_a_minute_is_refused(house: Asking) -> None:
    house.connection.clock = lambda: 0.0
    for _ in range(100):
        search(house, "verify token", limit=1)
    said = refusal(house.answer("context_search", query="verify token"))
    assert (said["limit"], said["retryAfter"]) == (100, 60)
    assert not house.another_connection().answer("context_search", query="verify token").is_error


def _without_vectors(tmp_path: Any, lasting: Any) -> Any:
    from contextlib import contextmanager

    from codecairn.cancel import Cancel
    from codecairn.config import Embeddings
    from codecairn.connection import Connection
    from codecairn.index.run import Options
    from tests.support.doors import service
    from tests.support.repo import Repo

    @contextmanager
    def opened() -> Iterator[Asking]:
        repo = Repo.create(tmp_path / "plain")
        repo.commit("start", HOUSE)
        root = repo.path.resolve()
        served = service(root, data=tmp_path / "home", embeddings=Embeddings(are_off=True))
        asked = Asking(served, root, Connection("memory"))
        asked.project.index._workers = lasting
        asked.project.index.index(Options(), force=False, cancel=Cancel())
        yield asked
        asked.close()

    return opened()
