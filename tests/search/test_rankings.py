"""The ranking by readable goldens: where each query's answer stands, and what stands before it.

`CAIRN_GOLDEN=write pytest tests/search/test_rankings.py` writes `rankings.txt` anew, to be read as a diff.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.search.queries import QUERIES, Asked
from tests.support.search import Asking

GOLDEN = Path(__file__).parent / "rankings.txt"
MOST = 20


@dataclass(frozen=True)
class Placed:
    asked: Asked
    rank: int
    """Of the target, from 1; 0 where it is not among the first twenty."""
    first: str

    def __str__(self) -> str:
        query = self.asked.query.split("\n")[-1]
        instead = f"   after {self.first}" if self.rank != 1 else ""
        return f"{self.rank or '-':>4}  {query} → {self.asked.target}{instead}"


@pytest.fixture(scope="module")
def ranked(kiosk: Asking) -> dict[str, list[Placed]]:
    return {kind: [place(kiosk, asked) for asked in queries] for kind, queries in QUERIES.items()}


def place(kiosk: Asking, asked: Asked) -> Placed:
    results = kiosk.search(asked.query, limit=MOST, search_mode="keyword")["results"]
    at = (number for number, each in enumerate(results, 1) if is_target(each, asked.target))
    return Placed(asked, next(at, 0), shown(results[0]) if results else "nothing")


def is_target(result: dict[str, Any], target: str) -> bool:
    path, _, name = target.partition("::")
    if result["file"]["path"] != path:
        return False
    symbol = result["symbol"]
    return not name or (symbol["name"] == name if symbol else name in result["content"])


def shown(result: dict[str, Any]) -> str:
    name = result["symbol"]["name"] if result["symbol"] else ""
    return f"{result['file']['path']}::{name}" if name else str(result["file"]["path"])


def recall(ranks: list[int], most: int) -> float:
    return sum(1 <= rank <= most for rank in ranks) / len(ranks)


def reciprocal(ranks: list[int]) -> float:
    return sum(1 / rank for rank in ranks if rank) / len(ranks)


def figures(ranks: list[int]) -> str:
    figures_ = f"recall@1 {recall(ranks, 1):.3f}  recall@5 {recall(ranks, 5):.3f}  MRR {reciprocal(ranks):.3f}"
    return f"{figures_}  ({len(ranks)} queries)"


def described(ranked: dict[str, list[Placed]]) -> str:
    lines = [f"everything: {figures([each.rank for rows in ranked.values() for each in rows])}"]
    for kind, rows in ranked.items():
        lines += ["", f"{kind}: {figures([each.rank for each in rows])}", *map(str, rows)]
    return "\n".join(lines) + "\n"


def test_rankings_match_their_golden(ranked: dict[str, list[Placed]]) -> None:
    told = described(ranked)
    if os.environ.get("CAIRN_GOLDEN") == "write":
        GOLDEN.write_text(told, encoding="utf-8", newline="\n")
    assert told == GOLDEN.read_text(encoding="utf-8")


def test_targets_exist(kiosk: Asking) -> None:
    for rows in QUERIES.values():
        for asked in rows:
            path, _, name = asked.target.partition("::")
            text = (kiosk.root / path).read_text(encoding="utf-8")
            assert name in text, asked


def test_the_very_name_stands_first(ranked: dict[str, list[Placed]]) -> None:
    """Several may have it: which of them is first is for the goldens to show."""
    assert [str(each) for each in ranked["a symbol"] if each.first.rpartition("::")[2] != each.asked.query] == []


FLOORS = {
    "a symbol": (0.9, 1.0),
    "a qualified name": (1.0, 1.0),
    "a path": (1.0, 1.0),
    "an error": (0.6, 0.8),
    "a question": (0.7, 0.9),
    "another case, part of a name": (0.7, 0.85),
}


@pytest.mark.parametrize("kind", FLOORS)
def test_recall_stays_above_its_floor(kind: str, ranked: dict[str, list[Placed]]) -> None:
    ranks = [each.rank for each in ranked[kind]]
    first, fifth = FLOORS[kind]
    assert recall(ranks, 1) >= first
    assert recall(ranks, 5) >= fifth


def test_there_are_sixty_queries_and_more() -> None:
    queries = [each for rows in QUERIES.values() for each in rows]
    assert len(queries) >= 60
    assert len(set(queries)) == len(queries)
