"""A soak's result as text."""

from __future__ import annotations

import json
from collections import Counter

from tests.soak.result import Result
from tests.soak.servers import Memory


def summary(result: Result) -> str:
    plan = result.plan
    parts = [
        f"soak: {result.total} calls in {result.seconds:.0f} s {result.phases}, seed {plan.seed}",
        f"unanswered {len(result.unanswered)}, wrong {len(result.wrong)}, deaths {len(result.deaths)}, "
        f"faults {len(result.faults)}, orphans {len(result.orphans)}",
        _table("calls", result.calls),
        _table("errors", result.errors),
        _table("judged", result.judged),
        "slowest (s): " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in _slowest(result)),
        _table("storm", result.storm),
        _table("writer", result.writer),
        *(_memory(name, readings) for name, readings in result.memory.items()),
        *(f"UNANSWERED {each}" for each in result.unanswered[:20]),
        *(f"DEATH {each}" for each in result.deaths[:3]),
        *(f"FAULT {each}" for each in result.faults[:10]),
        *(f"ORPHAN {each}" for each in result.orphans),
        *(f"WRONG {json.dumps(each, default=str)[:1000]}" for each in result.wrong[:20]),
    ]
    return "\n".join(parts)


def _slowest(result: Result) -> list[tuple[str, float]]:
    return sorted(result.slowest.items(), key=lambda each: -each[1])[:8]


def _table(title: str, counts: Counter[str]) -> str:
    return f"{title}: " + ", ".join(f"{name} {count}" for name, count in counts.most_common())


def _memory(name: str, readings: list[Memory]) -> str:
    rows = [f"memory of {name} (MB): calls, rss, pss, anonymous, caches"]
    rows += [
        f"  {each.calls:>7} {each.rss:>7.1f} {each.pss:>7.1f} {each.anonymous:>7.1f} {sum(each.caches.values()):>7.1f}"
        for each in readings
    ]
    last = readings[-1].caches if readings else {}
    rows.append("  caches: " + ", ".join(f"{name} {size:.1f}" for name, size in sorted(last.items()) if size >= 0.1))
    return "\n".join(rows)
