"""The guard of speed names what rose, and nothing else."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

PLACE = Path(__file__).parents[1] / "benchmarks" / "check.py"


def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_check", PLACE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_rise_over_a_tenth_is_told_by_its_name() -> None:
    figures = {"a search: calls": 1000, "a search: statements": 50, "modules of cairn serve": 800}
    now = {"a search: calls": 1101, "a search: statements": 55, "modules of cairn serve": 700}
    assert check().risen(figures, now) == ["a search: calls: 1,000 -> 1,101 (+10%)"]


def test_a_few_more_of_a_small_count_are_no_rise() -> None:
    assert check().risen({"files opened": 9}, {"files opened": 12}) == []
    assert check().risen({"files opened": 9}, {"files opened": 13}) != []


def test_a_call_more_at_every_step_would_be_noticed() -> None:
    """The counts are of real runs: of each kind there are enough for a tenth to mean something."""
    figures = next(iter(json.loads(PLACE.with_name("figures.json").read_text()).values()))
    assert {"modules of the greeting", "bytes of tools/list", "60 files taken apart: calls"} <= figures.keys()
    assert all(count > 1000 for name, count in figures.items() if name.endswith(": calls"))
