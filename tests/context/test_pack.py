"""build_context_pack: one call that fills a budget for a task, never over it, the same for the same question."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from codecairn import tools
from codecairn.cli import main
from codecairn.context.pack import DEFAULT_TOKENS, LEAST_TOKENS, MOST_TOKENS
from codecairn.text import CHARACTERS_PER_TOKEN
from tests.context.conftest import HARBOUR
from tests.registry.samples import assert_conforms
from tests.search.conftest import Asking, Built, Doors
from tests.support.doors import DOORS, Answer

TASK = "Make the mooring fee depend on the season"


def packed(answer: Answer) -> dict[str, Any]:
    assert not answer.is_error, answer.text
    return answer.value


def of_kind(pack: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [each for each in pack["items"] if each["kind"] == kind]


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.requirement("ruling/further-tools/build-context-pack")
def test_a_pack_gathers_what_a_task_needs(gates: Doors, name: str) -> None:
    answer = gates(name).call("build_context_pack", {"task": TASK})
    assert_conforms(tools.standard().tools["build_context_pack"], answer)
    pack = packed(answer)
    names = {each["name"]: each for each in pack["items"]}
    fee = names["harbour.berths.berth.mooring_fee"]
    assert (fee["kind"], fee["path"], fee["line_start"], fee["line_end"]) == (
        "definition", "harbour/berths/berth.py", 24, 26,
    )  # fmt: skip
    assert "return round(hours * 100 * depth)" in fee["content"]
    assert "calls mooring_fee (line 5)" in names["harbour.berths.bill.bill"]["why"]
    assert "harbour.cli.main" in {each["name"] for each in of_kind(pack, "caller")}
    assert names["tests.test_berth.test_the_mooring_fee_grows_with_depth"]["kind"] == "test"
    assert names["Berths > Fees"]["kind"] == "doc"
    assert names["fees-in-cents"]["kind"] == "rule"
    assert names["fees-in-cents"]["path"] == "instructions/fees.json"
    assert "naming" not in names
    assert pack["metadata"]["freshness_status"] == "fresh"


def test_every_item_says_where_why_and_how_much(harbour: Asking) -> None:
    pack = packed(harbour.answer("build_context_pack", task=TASK))
    for each in pack["items"]:
        assert each["why"]
        assert each["tokens"] >= len(json.dumps(each, ensure_ascii=False, separators=(",", ":"))) // 3.5
        text = HARBOUR[each["path"]]
        assert isinstance(text, str)
        if each["line_start"]:
            lines = text.split("\n")
            first = each["content"].split("\n")[0]
            assert lines[each["content_start_line"] - 1] == first
            assert each["line_start"] <= each["content_start_line"] <= each["line_end"]
            if "…" not in each["content"]:
                shown = each["content_start_line"] + each["content"].count("\n")
                assert not "".join(lines[shown : each["line_end"]]).strip(), "the end is left out without a mark"
    assert sum(each["tokens"] for each in pack["items"]) <= pack["tokens"] <= DEFAULT_TOKENS


def test_a_caller_that_goes_on_after_its_call_says_so(harbour: Asking) -> None:
    pack = packed(harbour.answer("build_context_pack", task="high_water of the tides"))
    (caller,) = [each for each in of_kind(pack, "caller") if each["name"] == "harbour.tides.log.log"]
    assert caller["content"].endswith("\n…")


def test_the_first_definition_stands_first(harbour: Asking) -> None:
    pack = packed(harbour.answer("build_context_pack", task=TASK))
    assert pack["items"][0]["kind"] == "definition"
    assert "mooring_fee" in pack["items"][0]["name"]


def test_a_name_that_the_task_spells_is_there_whatever_the_search_thinks(harbour: Asking) -> None:
    pack = packed(harbour.answer("build_context_pack", task="Berth.takes must look at the tide before noon"))
    named = next(each for each in pack["items"] if each["name"] == "harbour.berths.berth.Berth.takes")
    assert named["why"] == "the task names Berth.takes"


def test_discoveries_come_by_their_words_and_by_what_they_are_about(harbour: Asking) -> None:
    by_words = harbour.answer("remember", type="decision", content="The mooring fee is reckoned per season from May.")
    bound = harbour.answer("remember", type="issue", content="Rounding lost a cent once.", symbol="assign_berth")
    unrelated = harbour.answer("remember", type="pattern", content="Commit messages name their area.")
    ids = [packed(each)["discovery"]["id"] for each in (by_words, bound, unrelated)]
    try:
        pack = packed(harbour.answer("build_context_pack", task=TASK))
        found = {each["name"]: each for each in of_kind(pack, "discovery")}
        assert found.keys() == set(ids[:2])
        assert found[ids[0]]["why"].endswith("; decision")
        assert found[ids[1]]["why"] == "it is about harbour/berths/berth.py; issue, fresh"
    finally:
        for each in ids:
            harbour.answer("forget", id=each)


@pytest.mark.parametrize("tokens", [LEAST_TOKENS - 1, MOST_TOKENS + 1, 0, -5])
def test_a_budget_out_of_bounds_is_refused(harbour: Asking, tokens: int) -> None:
    answer = harbour.answer("build_context_pack", task=TASK, max_tokens=tokens)
    assert answer.value["error"]["code"] == "invalid_max_tokens"
    assert answer.value["error"]["data"]["param"] == "max_tokens"


@pytest.mark.parametrize("arguments", [{}, {"task": "  "}, {"task": ""}])
def test_a_pack_needs_one_task(harbour: Asking, arguments: dict[str, Any]) -> None:
    answer = harbour.answer("build_context_pack", **arguments)
    assert answer.value["error"]["code"] == "invalid_input"


def test_a_task_that_nothing_matches_has_an_empty_pack(harbour: Asking) -> None:
    pack = packed(harbour.answer("build_context_pack", task="zzqx"))
    assert of_kind(pack, "definition") == []
    assert pack["tokens"] < LEAST_TOKENS


def test_what_is_left_out_is_counted_and_named(harbour: Asking) -> None:
    whole = packed(harbour.answer("build_context_pack", task=TASK, max_tokens=MOST_TOKENS))
    small = packed(harbour.answer("build_context_pack", task=TASK, max_tokens=LEAST_TOKENS))
    assert whole["left_out"] == []
    assert whole["metadata"]["result_completeness"] == "complete"
    assert small["metadata"]["result_completeness"] == "truncated"
    gone = len(whole["items"]) - len(small["items"])
    assert any(each["count"] > 0 for each in small["left_out"])
    assert sum(each["count"] for each in small["left_out"]) >= gone
    assert any(each["best"] for each in small["left_out"])


def test_nothing_is_shown_twice(harbour: Asking) -> None:
    pack = packed(harbour.answer("build_context_pack", task="the berth that takes a ship", max_tokens=MOST_TOKENS))
    whole = [each for each in of_kind(pack, "definition") if not each["content_cut"]]
    for each in of_kind(pack, "definition"):
        around = [
            other["name"]
            for other in whole
            if other is not each
            and other["path"] == each["path"]
            and other["line_start"] <= each["line_start"]
            and each["line_end"] <= other["line_end"]
        ]
        assert around == [], each["name"]


WORDS = st.sampled_from(
    [
        "mooring",
        "fee",
        "berth",
        "ship",
        "takes",
        "mooring_fee",
        "Berth",
        "assign_berth",
        "tide",
        "é☃",
        '"',
        "\\",
        "bill",
    ]
)


@given(words=st.lists(WORDS, min_size=1, max_size=8), tokens=st.integers(LEAST_TOKENS, 3_000))
def test_a_pack_never_exceeds_its_budget_and_never_varies(built: Built, words: list[str], tokens: int) -> None:
    harbour = _kept(built)
    first = harbour.answer("build_context_pack", task=" ".join(words), max_tokens=tokens)
    assert not first.is_error, first.text
    assert len(first.text) / CHARACTERS_PER_TOKEN <= tokens
    assert json.loads(first.text) == first.value
    assert first.value["tokens"] <= tokens
    harbour.forget()
    again = harbour.answer("build_context_pack", task=" ".join(words), max_tokens=tokens)
    assert again.text == first.text


_opened: list[Asking] = []


def _kept(built: Built) -> Asking:
    from tests.search.conftest import asking

    if not _opened:
        _opened.append(asking(built))
    return _opened[0]


def test_the_command_prints_a_pack(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_HOME", str(built.home))
    ran = CliRunner().invoke(main, ["pack", *TASK.split(), "--root", str(built.root), "--tokens", "2000"])
    assert ran.exit_code == 0, ran.output
    assert "## Definition: harbour.berths.berth.mooring_fee  harbour/berths/berth.py:24-26" in ran.output
    assert "## Rule: fees-in-cents" in ran.output
    structured = CliRunner().invoke(main, ["pack", TASK, "--root", str(built.root), "--json"])
    assert json.loads(structured.output)["max_tokens"] == DEFAULT_TOKENS
