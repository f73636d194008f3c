"""Any question about code ends: circles of types, names without end, budgets and cancellations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codecairn.cancel import Cancel
from codecairn.errors import Cancelled
from codecairn.parse.language import languages
from codecairn.resolve.engine import Engine
from codecairn.resolve.rules import rules_of
from codecairn.resolve.step_budget import MOST_FOR_A_SITE, Budget
from tests.refs.conftest import opened
from tests.search.conftest import lasting
from tests.support.refs import Gate
from tests.support.repo import Repo

__all__ = ["lasting", "opened"]

PACKAGE = "package net.example;\n\n"


def tangle(types: int) -> Iterator[tuple[str, str]]:
    """Types that each extend the two before them and, in a circle, the last; and name a foreign one by its path."""
    for number in range(types):
        above = [f"T{(number - back) % types}" for back in (1, 2)]
        yield (
            f"src/T{number}.java",
            f"{PACKAGE}interface T{number} extends {', '.join(above)}, java.io.Serializable {{\n"
            f"    default Object step{number}() {{ return T{(number + 7) % types}.made.own.step{number}(); }}\n"
            "    T0 made = null;\n"
            "    Object run();\n}\n",
        )


@pytest.mark.requirement("ruling/reliability/bounded")
@pytest.mark.parametrize("symbol", ["T0", "T0.run", "T3.step3", "T5.made"])
def test_types_in_circles_end(symbol: str, tmp_path: Path, opened: Callable[[Repo], Gate]) -> None:
    repo = Repo.create(tmp_path / "tangle")
    repo.commit("one", dict(tangle(40)))
    gate = opened(repo)
    began = time.process_time()
    found = gate.call("find_references", symbol_name=symbol, limit=1000, include_unresolved=True)
    graph = gate.call("get_call_graph", symbol_name=symbol)
    assert found["metadata"]["result_completeness"] == "complete"
    assert graph["metadata"]["result_completeness"] == "complete"
    assert time.process_time() - began < 60  # that it ends, not how soon: it took 2 ** 24 steps
    if symbol == "T0":
        assert {each["path"] for each in found["references"]} >= {"src/T1.java", "src/T2.java"}


@pytest.mark.requirement("ruling/reliability/bounded")
def test_what_the_budget_does_not_reach_is_said_and_reached_by_the_next_question(
    tmp_path: Path, opened: Callable[[Repo], Gate], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = Repo.create(tmp_path / "wide")
    files = {f"pkg/m{number}.py": "from pkg.core import ask\n\n\ndef f():\n    ask()\n" for number in range(60)}
    repo.commit("one", {"pkg/__init__.py": "", "pkg/core.py": "def ask():\n    return 1\n", **files})
    gate = opened(repo)
    monkeypatch.setattr(Engine.__init__, "__defaults__", (None, 30))
    seen, completeness = list[int](), list[str]()
    for _ in range(9):
        found = gate.call("find_references", symbol_name="ask", limit=1000, include_unresolved=True)
        seen.append(found["total_references"])
        completeness.append(found["metadata"]["result_completeness"])
        unreached = [each for each in found["unresolved"] if each.get("reason") == "budget"]
        assert found["total_references"] + len(unreached) == 120
        assert bool(unreached) == (completeness[-1] == "partial")
        if not unreached:
            break
    assert completeness[0] == "partial"
    assert seen == sorted(seen)
    assert seen[-1] == 120


def test_a_site_has_a_budget_of_its_own() -> None:
    budget = Budget(Cancel())

    def endless() -> str:
        while True:
            budget.step()

    assert budget.within(endless, "given up") == "given up"
    assert budget.unreached == 1
    assert budget.within(lambda: "done", "given up") == "done"
    assert MOST_FOR_A_SITE > 0


@pytest.mark.requirement("ruling/reliability/bounded")
def test_a_cancelled_question_ends_amid_its_steps() -> None:
    cancel = Cancel()
    budget, steps = Budget(cancel), 0

    def work() -> None:
        nonlocal steps
        while True:
            budget.step()
            steps += 1
            if steps == 10:
                cancel.set()

    with pytest.raises(Cancelled):
        budget.within(work, None)
    assert steps < 40


@pytest.mark.requirement("ruling/reliability/bounded")
@pytest.mark.parametrize("language", sorted(languages()))
def test_a_long_list_is_read_once_by_every_pattern_of_a_declaration(language: str) -> None:
    """A pattern that can part the same list in two ways at each comma took 2 ** 60 steps: Ruby's did in Rails."""
    compiled = rules_of(language)
    kinds = (compiled.blocks, compiled.parameters, compiled.taken_apart, compiled.expressions, compiled.generics)
    for pattern in (each for patterns in kinds for each in patterns):
        for item in (", a", ", *a ", ",\n  a.b", " a, ", ", a: b", "(a, ", "<a, "):
            pattern.after.match(item * 60)


def test_a_circle_that_is_deeper_than_the_stack_is_not_reached() -> None:
    def deeper() -> str:
        return deeper()

    budget = Budget(Cancel())
    assert budget.within(deeper, "not reached") == "not reached"
    assert budget.unreached == 1
    assert budget.within(lambda: "found", "not reached") == "found"
