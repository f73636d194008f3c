"""get_call_graph: edges with their lines, on either side, as far as asked; cycles end; nothing is invented."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from codecairn import tools
from codecairn.budget import DEFAULT_CHARACTERS
from codecairn.cli import main
from tests.registry.samples import assert_conforms
from tests.support.doors import DOORS
from tests.support.indexes import LastingWorkers
from tests.support.pages import place_of
from tests.support.search import Asking, Built, Doors, asking, built_from, doors_to
from tests.support.symbols import refusal, value_of

MILL: dict[str, str | bytes] = {
    "mill/grind.py": """\
import math


class Stone:
    def __init__(self) -> None:
        self.turns = weigh(1)

    def turn(self) -> int:
        return math.floor(weigh(2))


def weigh(grain: int) -> int:
    return unknown_scale(grain)


def grind(grain: int) -> int:
    stone = Stone()
    stone.turn()
    return stone.turn()


def even(number: int) -> bool:
    return number == 0 or odd(number - 1)


def odd(number: int) -> bool:
    return number != 0 and even(number - 1)


def forever() -> None:
    forever()
""",
    "mill/baker.py": """\
from mill.grind import grind


def bake(grain):
    grain.sift()
    return grind(grain)


def handed_on():
    return map(grind, [1])


LOAF = bake(3)
""",
    "tests/test_mill.py": "from mill.grind import grind\n\n\ndef test_grind():\n    assert grind(1)\n",
    "web/total.ts": """\
export function total(a: number): number;
export function total(a: string): number;
export function total(a: any): number {
  return parse(a);
}
function parse(a: any): number {
  return 1;
}
export class Till {
  ring(): number {
    return total(1) + total("2");
  }
}
""",
}


@pytest.fixture(scope="session")
def milled(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Built:
    """A mill in a repository on branch main."""
    return built_from(MILL, tmp_path_factory.mktemp("mill"), lasting)


@pytest.fixture(scope="session")
def mill(milled: Built) -> Iterator[Asking]:
    opened = asking(milled)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def doors(milled: Built) -> Iterator[Doors]:
    with doors_to(milled) as doors:
        yield doors


def graph(asking: Asking, name: str, **arguments: Any) -> dict[str, Any]:
    return value_of(asking.answer("get_call_graph", symbol_name=name, **arguments))


def edges(found: dict[str, Any]) -> list[str]:
    names = {each["id"]: each["qualified_name"].rpartition("/")[2] for each in found["nodes"]}
    short = {number: ".".join(name.split(".")[-2:]) for number, name in names.items()}
    return [f"{short[each['from']]} > {short[each['to']]} {each['lines']}" for each in found["edges"]]


@pytest.mark.requirement("ruling/further-tools/get-call-graph")
def test_callers_and_callees_with_their_lines_at_every_door(door_name: str, doors: Doors) -> None:
    answer = doors(door_name).call("get_call_graph", {"symbol_name": "grind.grind", "depth": 1})
    assert_conforms(tools.standard().tools["get_call_graph"], answer)
    found = value_of(answer)
    assert edges(found) == [
        "baker.bake > grind.grind [6]",
        "grind.grind > grind.Stone [17]",
        "test_mill.test_grind > grind.grind [5]",
        "grind.grind > Stone.turn [18, 19]",
    ]
    assert {each["name"]: each["depth"] for each in found["nodes"]} == {
        "grind": 0, "bake": -1, "test_grind": -1, "Stone": 1, "turn": 1,
    }  # fmt: skip
    first = found["edges"][0]
    assert (first["path"], first["resolver"]) == ("mill/baker.py", "import")
    assert 0.9 < first["confidence"] <= 1
    turn = next(each for each in found["nodes"] if each["name"] == "turn")
    assert turn == {
        "id": turn["id"], "depth": 1, "name": "turn", "qualified_name": "mill.grind.Stone.turn", "kind": "method",
        "path": "mill/grind.py", "line_start": 8, "source_layer": "base",
    }  # fmt: skip
    assert found["symbol"]["qualified_name"] == "mill.grind.grind"
    assert found["metadata"]["result_completeness"] == "complete"


@pytest.mark.requirement("ruling/registry/same-value-every-door")
def test_every_door_draws_the_same(doors: Doors) -> None:
    answers = [doors(name).call("get_call_graph", {"symbol_name": "grind.grind", "depth": 5}).value for name in DOORS]
    assert all(each["edges"] == answers[0]["edges"] and each["nodes"] == answers[0]["nodes"] for each in answers)


def test_a_side_may_be_left_out(mill: Asking) -> None:
    callers = graph(mill, "weigh", direction="callers", depth=1)
    assert edges(callers) == ["Stone.__init__ > grind.weigh [6]", "Stone.turn > grind.weigh [9]"]
    assert edges(graph(mill, "grind.grind", direction="callees", depth=1)) == [
        "grind.grind > grind.Stone [17]", "grind.grind > Stone.turn [18, 19]",
    ]  # fmt: skip


def test_depth_goes_on_through_constructors_and_up_to_modules(mill: Asking) -> None:
    assert edges(graph(mill, "grind.grind", direction="callees", depth=2)) == [
        "grind.grind > grind.Stone [17]", "grind.grind > Stone.turn [18, 19]", "grind.Stone > grind.weigh [6]",
        "Stone.turn > grind.weigh [9]",
    ]  # fmt: skip
    callers = graph(mill, "grind.grind", direction="callers", depth=5)
    assert [each for each in edges(callers) if "bake" in each][-1].endswith("> baker.bake [13]")


def test_a_constructor_is_called_by_the_name_of_its_type(mill: Asking) -> None:
    found = graph(mill, "Stone.__init__", direction="callers", depth=1)
    assert edges(found) == ["grind.grind > Stone.__init__ [17]"]


def test_what_is_handed_on_is_no_call(mill: Asking) -> None:
    assert not any("handed_on" in each for each in edges(graph(mill, "grind.grind")))


@pytest.mark.parametrize("direction", ["callers", "callees", "both"])
def test_a_circle_ends(mill: Asking, direction: str) -> None:
    found = graph(mill, "even", depth=5, direction=direction)
    assert sorted(edges(found)) == ["grind.even > grind.odd [23]", "grind.odd > grind.even [27]"]
    assert edges(graph(mill, "forever", depth=5, direction=direction)) == ["grind.forever > grind.forever [31]"]


def test_overloads_are_one(mill: Asking) -> None:
    found = graph(mill, "total")
    assert edges(found) == ["Till.ring > total.total [11]", "total.total > total.parse [4]"]


def test_what_cannot_be_bound_is_counted_and_no_edge(mill: Asking) -> None:
    found = graph(mill, "weigh", direction="callees")
    assert found["edges"] == []
    assert found["unresolved_count"] + found["external_count"] == 1
    assert graph(mill, "baker.bake", direction="callees", depth=1)["unresolved_count"] == 1
    assert graph(mill, "Stone.turn", direction="callees", depth=1)["external_count"] == 1


def test_pages_follow_each_other(mill: Asking) -> None:
    whole = graph(mill, "grind.grind", depth=5)
    page = graph(mill, "grind.grind", depth=5, limit=3)
    assert (place_of(page["next_cursor"]), page["metadata"]["result_completeness"]) == ("3", "truncated")
    rest = graph(mill, "grind.grind", depth=5, cursor=page["next_cursor"])
    assert rest["next_cursor"] is None
    assert edges(page) + edges(rest) == edges(whole)


def test_an_ordinary_answer_stays_small(own: Callable[..., Asking]) -> None:
    callers = "".join(f"def a_caller_with_a_long_name_{number}():\n    hub()\n\n\n" for number in range(300))
    asked = own({"some/folder/of/some/depth/module.py": f"def hub():\n    pass\n\n\n{callers}"})
    answer = asked.answer("get_call_graph", symbol_name="hub")
    assert len(answer.text) <= DEFAULT_CHARACTERS
    assert json.loads(answer.text)["edges"] == value_of(answer)["edges"]
    page = graph(asked, "hub", limit=300)
    found = edges(page)
    while page["next_cursor"] is not None:
        page = graph(asked, "hub", limit=300, cursor=page["next_cursor"])
        found += edges(page)
    assert len(found) == len(set(found)) == 300


def test_what_is_no_symbol_is_an_error_and_of_several_the_likeliest_is_shown(
    mill: Asking, own: Callable[..., Asking]
) -> None:
    error = refusal(mill.answer("get_call_graph", symbol_name="grnd"))
    assert error["code"] == "symbol_not_found"
    assert "mill.grind.grind" in error["data"]["near"]
    two = own({"a.py": "def f():\n    pass\n", "b.py": "def f():\n    pass\n"})
    found = graph(two, "f")
    assert found["symbol"]["qualified_name"] == "a.f"
    assert [each["qualified_name"] for each in found["candidates"]] == ["b.f"]
    assert (graph(two, "b.py:f")["symbol"]["path"], graph(two, "b.py:f")["candidates"]) == ("b.py", None)


@pytest.mark.parametrize(
    ("arguments", "param"),
    [
        ({"symbol_name": ""}, "symbol_name"),
        ({"symbol_name": "a" * 10_240}, "symbol_name"),
        ({"symbol_name": "f", "depth": 0}, "depth"),
        ({"symbol_name": "f", "depth": 6}, "depth"),
        ({"symbol_name": "f", "direction": "sideways"}, "direction"),
        ({"symbol_name": "f", "limit": 301}, "limit"),
        ({"symbol_name": "f", "cursor": "x"}, "cursor"),
    ],
)
def test_a_bad_argument_is_named(mill: Asking, arguments: dict[str, Any], param: str) -> None:
    error = refusal(mill.answer("get_call_graph", **arguments))
    assert (error["code"], error["data"]["param"]) == ("invalid_input", param)


def test_what_is_not_indexed_has_no_edges(own: Callable[..., Asking]) -> None:
    asked = own({"a.py": "def f():\n    pass\n"}, indexed=False)
    assert refusal(asked.answer("get_call_graph", symbol_name="f"))["code"] == "no_edges_available"


def cairn(milled: Built, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> Result:
    monkeypatch.setenv("CAIRN_HOME", str(milled.home))
    return CliRunner().invoke(main, ["graph", *map(str, arguments), "--root", str(milled.root)])


def test_the_command_prints_a_tree_of_each_side(milled: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = cairn(milled, monkeypatch, "grind.grind")
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.splitlines() == [
        "mill.grind.grind  mill/grind.py:16",
        "Called by:",
        "  bake  mill/baker.py:6",
        "    LOAF  mill/baker.py:13",
        "  test_grind  tests/test_mill.py:5",
        "Calls:",
        "  Stone  mill/grind.py:17",
        "    weigh  mill/grind.py:6",
        "  Stone.turn  mill/grind.py:18,19",
        "    weigh ↑  mill/grind.py:9",
        "1 leave the project.",
    ]


def test_a_circle_is_printed_once(milled: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = cairn(milled, monkeypatch, "even", "--direction", "callees", "--depth", 5).stdout.splitlines()
    assert lines[2:] == ["  odd  mill/grind.py:23", "    even ↑  mill/grind.py:27"]


SVG = "{http://www.w3.org/2000/svg}"


def test_the_drawing_has_a_box_a_symbol_and_a_line_an_edge(
    milled: Built, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "graph.svg"
    ran = cairn(milled, monkeypatch, "grind.grind", "--svg", file)
    assert ran.exit_code == 0, ran.output
    drawing = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    found = json.loads(cairn(milled, monkeypatch, "grind.grind", "--json").stdout)
    boxes = drawing.findall(f"{SVG}g")
    assert len(boxes) == len(found["nodes"])
    assert len([each for each in drawing.findall(f"{SVG}path") if "edge" in each.get("class", "")]) == len(
        found["edges"]
    )
    places = [_place(each) for each in boxes]
    for one, (x, y, width) in enumerate(places):
        assert x >= 0
        assert x + width <= float(drawing.get("width", "0"))
        for other_x, other_y, _ in places[one + 1 :]:
            assert x != other_x or abs(y - other_y) >= 42, "two boxes overlap"


def _place(box: ElementTree.Element) -> tuple[float, float, float]:
    x, y = box.get("transform", "").removeprefix("translate(").removesuffix(")").split()
    return float(x), float(y), float(box.findall(f"{SVG}rect")[0].get("width", "0"))


def test_names_cannot_break_out_of_the_drawing(own: Callable[..., Asking]) -> None:
    from codecairn.reading.graph_svg import draw_svg

    asked = own({"a<b>&c.py": "def f():\n    f()\n"})
    text = draw_svg(graph(asked, "f"))
    ElementTree.fromstring(text)
    assert "a<b>" not in text


def test_a_file_that_cannot_be_written_is_said(milled: Built, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran = cairn(milled, monkeypatch, "grind.grind", "--svg", tmp_path / "no" / "such.svg")
    assert ran.exit_code == 1
    assert "such.svg" in ran.output
