"""Whatever statement changes a table of index.db, its tally follows; whatever changes it otherwise is found."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from codecairn.errors import IndexIncompatible
from codecairn.store.database import IndexStore
from codecairn.store.integrity import NO_LOSSES
from codecairn.store.tallies import NAMES
from codecairn.store.writer import IndexWriter

COUNTED = "INSERT OR REPLACE INTO popularity VALUES (1, ?, ?)"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[IndexStore]:
    store = IndexStore.create(tmp_path)
    IndexWriter(store).open_checkout("/a", "")
    with store.writing() as database:
        database.executemany(COUNTED, [(f"m{number}.py", number) for number in range(40)])
    yield store
    store.close()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT OR REPLACE INTO popularity SELECT layer, path, importers + 1 FROM popularity",
        "INSERT OR IGNORE INTO popularity SELECT layer, path || '2', importers FROM popularity",
        "INSERT OR IGNORE INTO layer (root, prefix) VALUES ('/a', '')",
        "UPDATE popularity SET layer = 2 WHERE importers > 20",
        "UPDATE layer SET generation = generation + 1, module = 'é'",
        "DELETE FROM popularity WHERE importers % 2",
        "DELETE FROM popularity",
        "INSERT INTO dropped VALUES (1), (9223372036854775807)",
    ],
)
def test_a_tally_follows_every_statement(store: IndexStore, statement: str) -> None:
    for _ in range(2):
        with store.writing() as database:
            database.execute(statement)
            database.execute("DELETE FROM dropped")
        assert store.find_damage() == NO_LOSSES


def test_a_transaction_that_fails_leaves_the_tally_as_it_was(store: IndexStore) -> None:
    with pytest.raises(IndexIncompatible):
        insert_one_twice(store)
    with store.writing() as database:
        database.execute(COUNTED, ("more.py", 1))
    assert store.find_damage() == NO_LOSSES


@pytest.mark.parametrize(
    ("harm", "lost"),
    [
        ("UPDATE popularity SET importers = 3 WHERE path = 'm2.py'", "popularity"),
        ("DELETE FROM popularity", "popularity"),
        ("DELETE FROM tally WHERE name = 'manifest'", "manifest"),
        ("INSERT INTO vector VALUES (1, 2, 3, 4)", "vector"),
    ],
)
def test_rows_that_change_otherwise_are_found_and_given_up(store: IndexStore, harm: str, lost: str) -> None:
    write_behind(store, harm)
    found = store.find_damage()
    assert found.tables == {lost}
    store.give_up(found)
    assert store.find_damage() == NO_LOSSES


@pytest.mark.parametrize("table", sorted({*NAMES} - {"manifest", "popularity", "vector", "segment"}))
def test_a_tally_that_is_lost_is_damage(store: IndexStore, table: str) -> None:
    write_behind(store, f"DELETE FROM tally WHERE name = '{table}'")
    with store.writing() as database:  # which does not make it anew
        database.execute("INSERT INTO layer (root) VALUES ('/b')")
    with pytest.raises(IndexIncompatible, match=f"damaged: rows of {table}"):
        store.find_damage()


def insert_one_twice(store: IndexStore) -> None:
    with store.writing() as database:
        database.executemany("INSERT INTO popularity VALUES (1, ?, 1)", [("other.py",), ("other.py",)])


def write_behind(store: IndexStore, statement: str) -> None:
    with closing(sqlite3.connect(store.path, isolation_level=None)) as database:
        assert database.execute(statement).rowcount > 0
