"""The reading text of each tool, through the door that real clients use."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codecairn.budget import DEFAULT_CHARACTERS, MOST_CHARACTERS
from codecairn.index import status
from tests.reading.test_forms import FILES
from tests.support.doors import Answer, Door, open_door, service
from tests.support.indexes import LastingWorkers
from tests.support.repo import Repo
from tests.support.search import Built, built_from

Own = Callable[[dict[str, str | bytes]], Door]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Built:
    return built_from(FILES, tmp_path_factory.mktemp("shop"), lasting)


@pytest.fixture(scope="module")
def door(built: Built) -> Iterator[Door]:
    with open_door("stdio", service(built.root, data=built.home)) as opened:
        yield opened


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Iterator[Own]:
    opened = []

    def make(files: dict[str, str | bytes]) -> Door:
        made = built_from(files, tmp_path_factory.mktemp("own"), lasting)
        gate = open_door("stdio", service(made.root, data=made.home))
        opened.append(gate)
        return gate.__enter__()

    yield make
    for gate in opened:
        gate.__exit__(None, None, None)


def text_of(door: Door, tool: str, **arguments: Any) -> str:
    answer = door.call(tool, arguments)
    assert not answer.is_error, answer.text
    return answer.text


@pytest.mark.requirement("ruling/shown/code-as-written")
def test_search_shows_the_best_with_their_lines_and_no_escapes(door: Door) -> None:
    text = text_of(door, "search_code", query="price with tax")
    first = text.split("\n")[1]
    assert first == "1. shop/till.py:4-7  def add_tax(price: float) -> float"
    assert "The price with its tax." in text
    assert '     7  return round(taxed, 2) if taxed else float("0")' in text
    assert text.count("The price with its tax") == 1


def test_references_are_grouped_by_kind_and_file(door: Door) -> None:
    assert text_of(door, "find_references", symbol_name="add_tax").split("\n") == [
        "3 references to shop.till.add_tax (shop/till.py:4)",
        "Calls:",
        "shop/desk.py",
        "    5 serve: return bill([add_tax(1.0)])",
        "shop/till.py",
        "   11 bill: return sum(add_tax(each) for each in prices)",
        "Imports:",
        "shop/desk.py",
        "    1 from shop.till import add_tax, bill",
    ]


def test_a_graph_is_a_tree_of_names_and_places(door: Door) -> None:
    assert text_of(door, "get_call_graph", symbol_name="add_tax").split("\n") == [
        "shop.till.add_tax  shop/till.py:4",
        "Called by:",
        "  serve  shop/desk.py:5",
        "  bill  shop/till.py:11",
        "    serve ↑  shop/desk.py:5",
        "Calls: nothing in this project",
        "2 leave the project.",
    ]


def test_an_outline_names_nothing_twice(door: Door) -> None:
    assert text_of(door, "get_file_outline", path="shop/till.py").split("\n") == [
        "shop/till.py  python, 11 lines",
        "        1  RATE = 0.2",
        "      4-7  def add_tax(price: float) -> float",
        "    10-11  def bill(prices: list[float]) -> float",
    ]


def test_a_line_with_two_references_is_shown_once_and_cut_around_the_name(own: Own) -> None:
    long = "    return sum(" + ", ".join(f"value_{n:02}" for n in range(12)) + ", tax_of(price, 3), start=price)\n"
    door = own(
        {
            "till.py": "def tax_of(price, rate):\n    return price * rate\n",
            "desk.py": "from till import tax_of as _tax_of\n\n\ndef serve(price):\n    return _tax_of(price, 2)\n",
            "hall.py": f"from till import tax_of\n\n\ndef sell(price):\n{long}",
        }
    )
    text = text_of(door, "find_references", symbol_name="tax_of")
    assert text.split("\n")[0] == "5 references on 4 lines to till.tax_of (till.py:1)"
    assert text.count("from till import tax_of as _tax_of") == 1
    assert "    5 sell: …, value_08, value_09, value_10, value_11, tax_of(price, 3), start=price)" in text.split("\n")


def test_a_name_does_not_repeat_the_folder_beside_it(own: Own) -> None:
    door = own({"src/core/util.ts": "export function finish(a: string): string {\n  return a;\n}\n"})
    text = text_of(door, "find_symbol", symbol_name="finish")
    assert text.split("\n")[1] == "src/core/util.ts:1-3  fn util.finish"
    head = text_of(door, "find_references", symbol_name="util.finish")
    assert head == "0 references to util.finish (src/core/util.ts:1)"
    found = text_of(door, "search_code", query="finish")
    assert found.count("function finish") == 1


def test_signatures_that_begin_alike_are_shown_where_they_part(own: Own) -> None:
    head = "def pack(" + ", ".join(f"parameter_{n:02}" for n in range(12))
    door = own({"a.py": f"{head}, colour):\n    return 1\n"})
    root = Repo(Path(str(door.call("get_status", {}).value["project"]["root_path"])))
    root.write("a.py", f"{head}, weight):\n    return 1\n")
    text_of(door, "index_codebase")
    text = text_of(door, "diff_context", head_ref="live").split("\n")
    assert text[-2:] == [
        "        was …, parameter_10, parameter_11, colour)", "        now …, parameter_10, parameter_11, weight)",
    ]  # fmt: skip


@pytest.mark.requirement("ruling/shown/grep-context")
def test_grep_groups_by_file_and_shows_lines_around_on_request(door: Door) -> None:
    assert text_of(door, "grep_codebase", pattern=r"add_tax\(").split("\n") == [
        "3 matches in 2 files",
        "shop/desk.py",
        "    5: return bill([add_tax(1.0)])",
        "shop/till.py",
        "    4: def add_tax(price: float) -> float:",
        "   11: return sum(add_tax(each) for each in prices)",
    ]
    around = text_of(door, "grep_codebase", pattern="RATE =", context=1)
    assert around.endswith("shop/till.py\n    1: RATE = 0.2\n    2-")
    value = door.call("grep_codebase", {"pattern": "taxed =", "context": 0}).value
    assert value["matches"][0]["context"] == {"before": [], "after": []}
    assert door.call("grep_codebase", {"pattern": "x", "context": 11}).is_error


@pytest.mark.requirement("ruling/shown/long-file-outline-first")
def test_a_long_file_begins_with_its_outline_and_goes_on_by_lines(own: Own) -> None:
    body = "".join(f"def step_{n:03}(value):\n    total = value + {n}\n    return total\n\n\n" for n in range(200))
    door = own({"long.py": body})
    text = text_of(door, "read_file", path="long.py")
    assert len(text) <= DEFAULT_CHARACTERS
    assert text.split("\n")[:3] == [
        "long.py  python, 1,000 lines",
        "Outline (members of classes: get_file_outline):",
        "      1-3  def step_000(value)",
    ]
    last = text.split("\n")[-1]
    assert last.startswith("Lines 1-")
    following = int(last.rsplit(" ", 1)[1])
    assert (following - 1) % 5 == 0
    rest = text_of(door, "read_file", path="long.py", startLine=following, endLine=following + 2)
    assert rest.split("\n")[1].startswith("def step_")


@pytest.mark.requirement("ruling/shown/state-only-when-not-well")
def test_freshness_is_said_only_where_it_is_not_well(own: Own, tmp_path_factory: pytest.TempPathFactory) -> None:
    door = own({"a.py": "def one():\n    return 1\n"})
    text = text_of(door, "find_symbol", symbol_name="one")
    assert not any(word in text for word in ("fresh", "stale", "ref", "complete"))


def test_files_that_nobody_compared_are_not_said_to_have_changed(own: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "_LONG_LOOK_S", 0.0)
    monkeypatch.setattr(status, "_LOOK_SHARE", 1e9)
    door = own({"a.py": "def one():\n    return 1\n"})
    text_of(door, "find_symbol", symbol_name="one")
    text = text_of(door, "find_symbol", symbol_name="one")
    assert [line for line in text.split("\n") if line.startswith("!")] == [f"! {status._NOT_LOOKED_AT}"]


@pytest.mark.requirement("ruling/shown/error-for-the-model")
def test_an_error_says_what_is_wrong_and_what_would_work(door: Door) -> None:
    missing = door.call("find_references", {"symbol_name": "add_tx"})
    assert missing.is_error
    assert missing.text.startswith("Error (symbol_not_found): ")
    assert "add_tax" in missing.text
    lost = door.call("read_file", {"path": "shop/tills.py"})
    assert lost.text.count("shop/till.py") == 1
    forgotten = door.call("find_references", {})
    assert forgotten.text.startswith("Error (invalid_input): symbol_name: required")


WIDE: dict[str, str | bytes] = {
    "pkg/shared.py": "def shared(*args):\n    return args\n",
    **{
        f"pkg/m{n:02}.py": "from pkg.shared import shared\n\n\n"
        + "".join(
            f"def handle_{n}_{k}(request, response, context, *, verbose=False):\n    "
            f'"""Handle request {k} of module {n}, which is a rather long sentence about it."""\n'
            f"    return shared(request, response, context, verbose, {n}, {k})\n\n\n"
            for k in range(30)
        )
        for n in range(40)
    },
}
MORE = "".join(f"def further_{n}(a, b):\n    return shared(a, b, {n})\n\n\n" for n in range(300))


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Iterator[Door]:
    made = built_from(WIDE, tmp_path_factory.mktemp("wide"), lasting)
    repo = Repo(made.root)
    repo.write(
        "pkg/more.py", "".join(f"def further_{n}(a, b):\n    return shared(a, b, {n})\n\n\n" for n in range(300))
    )
    with open_door("stdio", service(made.root, data=made.home)) as opened:
        opened.call("index_codebase", {})
        yield opened


ORDINARY: list[tuple[str, dict[str, Any]]] = [
    ("search_code", {"query": "handle request"}),
    ("find_references", {"symbol_name": "shared"}),
    ("get_call_graph", {"symbol_name": "shared"}),
    ("get_file_outline", {"path": "."}),
    ("get_file_outline", {"path": "pkg/m01.py"}),
    ("find_symbol", {"symbol_name": "handle"}),
    ("grep_codebase", {"pattern": "request"}),
    ("read_file", {"path": "pkg/m01.py"}),
    ("diff_context", {"head_ref": "live"}),
    ("context_search", {"query": "handle request"}),
    ("build_context_pack", {"task": "handle request"}),
]


def size(answer: Answer) -> int:
    return len(json.dumps(answer.value, ensure_ascii=False, separators=(",", ":")))


@pytest.mark.requirement("ruling/output/default-8000-characters")
@pytest.mark.parametrize(("tool", "arguments"), ORDINARY)
def test_an_ordinary_answer_keeps_to_its_budget(wide: Door, tool: str, arguments: dict[str, Any]) -> None:
    answer = wide.call(tool, arguments)
    assert not answer.is_error, answer.text
    assert len(answer.text) <= DEFAULT_CHARACTERS
    assert size(answer) <= DEFAULT_CHARACTERS


@pytest.mark.requirement("ruling/output/most-40000-characters", "ruling/output/cut-marked")
@pytest.mark.parametrize(
    ("tool", "arguments", "rows"),
    [
        ("search_code", {"query": "handle request", "limit": 100}, "results"),
        ("find_references", {"symbol_name": "shared", "limit": 1000}, "references"),
        ("grep_codebase", {"pattern": "request", "limit": 100, "context": 10}, "matches"),
        ("diff_context", {"head_ref": "live", "limit": 1000}, "changes"),
    ],
)
def test_a_large_answer_ends_and_goes_on(wide: Door, tool: str, arguments: dict[str, Any], rows: str) -> None:
    answer = wide.call(tool, arguments)
    assert len(answer.text) <= MOST_CHARACTERS
    assert size(answer) <= MOST_CHARACTERS
    cursor = answer.value["next_cursor"]
    assert cursor
    following = wide.call(tool, {**arguments, "cursor": cursor})
    assert following.value[rows][0] not in answer.value[rows]


@pytest.mark.requirement("ruling/shown/seeds-json-before")
def test_programs_get_the_value_whole(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> None:
    calls = "".join(f"def user_{n}():\n    return shared({n})\n\n\n" for n in range(400))
    made = built_from(
        {"many.py": f"def shared(n):\n    return n\n\n\n{calls}"}, tmp_path_factory.mktemp("many"), lasting
    )
    counts = {}
    for name in ("first", "rpc", "stdio"):
        with open_door(name, service(made.root, data=made.home)) as opened:
            found = opened.call("find_references", {"symbol_name": "shared", "limit": 1000})
            counts[name] = len(found.value["references"])
            assert len(found.text) <= MOST_CHARACTERS
    assert counts["first"] == counts["rpc"] == 400
    assert counts["stdio"] < 400
