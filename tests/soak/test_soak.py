"""No death, no call without an answer, no wrong answer, nothing left behind; over the whole length, flat memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.result import Plan
from tests.soak.summary import summary
from tests.soak.trial import trial_in
from tests.support.soak import SOAK

FLAT = 0.05
SETTLED = 5_000
"""Calls after which every cache is full."""
SHORT = Plan(calls=700, seed=20250101, files=80, commits=12, refs=2, per_tool=2, measure_every=100)
WHOLE = Plan(calls=100_000, seed=20250102, files=400, commits=60, refs=5, per_tool=8)


@pytest.mark.timeout(6 * 3600 if SOAK else 600)
def test_every_tool_against_every_tool(tmp_path: Path) -> None:
    with trial_in(tmp_path, WHOLE if SOAK else SHORT) as trial:
        result = trial.run()
    print(summary(result))
    assert result.deaths == []
    assert result.unanswered == []
    assert result.wrong == []
    assert result.faults == []
    assert result.orphans == []
    assert result.total >= result.plan.calls
    assert result.judged["compared"] > result.plan.calls // 4
    if SOAK:
        assert all(share < FLAT for share in result.growth(SETTLED).values()), result.growth(SETTLED)
