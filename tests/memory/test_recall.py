"""What is kept of discoveries in memory is what a fresh start would find."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from codecairn.config import Embeddings
from codecairn.embed.choice import encoders
from codecairn.memory import recall
from codecairn.memory.discoveries import Draft, forget, remember
from codecairn.memory.recall import Recall
from codecairn.rank.query_plan import parse_query
from codecairn.store.discoveries import Discoveries
from codecairn.store.memory import Memory

WORDS = [
    "token", "refresh", "lock", "mutex", "cookie", "invoice", "cents", "order", "tax", "shelf", "retry", "session",
    "password", "hash", "salt",
]  # fmt: skip


def fresh(path: Path) -> Recall:
    return Recall(Discoveries(Memory(path)), lambda: encoders(Embeddings()))


def found(asked: Recall, query: str) -> list[tuple[str, str, float]]:
    best, total = asked.search(parse_query(query), None)
    assert total >= len(best)
    return sorted((each.row.id, each.row.content, each.relevance) for each in best)


def test_what_changed_is_read_and_nothing_else_forgotten(
    tmp_path: Path, seeded: random.Random, trials: Callable[[int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "_MOST_EMPTY", 5)  # so that the table is made anew on the way
    path = tmp_path / "memory.db"
    kept, store = fresh(path), Discoveries(Memory(path))
    for number in range(trials(400)):
        content = f"Number {number}: " + " ".join(seeded.sample(WORDS, 6))
        rows = store.all()
        if rows and seeded.random() < 0.3:
            forget(store, seeded.choice(rows).id)
        elif rows and seeded.random() < 0.3:
            store.put([replace(seeded.choice(rows), content=content)])
        else:
            remember(store, Draft("rule", content))
        query = " ".join(seeded.sample(WORDS, 2))
        assert found(kept, query) == found(fresh(path), query)


def test_nothing_is_found_where_there_is_nothing(tmp_path: Path) -> None:
    assert fresh(tmp_path / "memory.db").search(parse_query("token"), None) == ([], 0)


def test_meaning_finds_what_words_do_not(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    said = "We chose PostgreSQL over MongoDB for its transactions."
    remember(Discoveries(Memory(path)), Draft("rule", said))
    best, _ = fresh(path).search(parse_query("relational database"), None)
    assert [each.row.content for each in best] == [said]
    without = Recall(Discoveries(Memory(path)), lambda: encoders(Embeddings(are_off=True)))
    assert without.search(parse_query("relational database"), None) == ([], 0)
