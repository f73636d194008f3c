"""Every page of index.db in turn, blanked, emptied and swapped, and the bytes of meta.json of the lexical index: what
was in it is the same, or the check says damage."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from codecairn.errors import CairnError, IndexIncompatible
from codecairn.store.database import IndexStore
from codecairn.store.integrity import NO_LOSSES
from codecairn.store.lexical import Lexical
from tests.crash.pages import HARMS, Pages
from tests.crash.test_damaged_store import Damaged, damaged  # noqa: F401 - the fixture

Harm = Callable[[Pages, int], bytes]


def content_of(path: Path) -> Any:
    """Every row of every table; None where SQLite itself says no."""
    try:
        with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as database:
            database.text_factory = bytes
            names = [row[0].decode() for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {name: sorted(map(repr, database.execute(f"SELECT * FROM {name}"))) for name in sorted(names)}
    except sqlite3.Error:
        return None


def is_damage_found(folder: Path) -> bool:
    store = IndexStore(folder)
    try:
        return store.find_damage() != NO_LOSSES
    except IndexIncompatible:
        return True
    finally:
        store.close()


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_no_page_is_damaged_unnoticed(damaged: Damaged, tmp_path: Path, harm: Harm) -> None:  # noqa: F811
    damaged.reset()
    folder = tmp_path / "copy"
    shutil.copytree(damaged.store("index.db").parent, folder)
    pages, right = Pages(folder / "index.db"), content_of(folder / "index.db")
    assert not is_damage_found(folder)
    harmed, unnoticed = 0, []
    for number in range(len(pages.pages)):
        page = harm(pages, number)
        pages.write(number, page)
        harmed += page != pages.pages[number]
        if content_of(folder / "index.db") != right and not is_damage_found(folder):
            unnoticed.append(number)
    assert harmed > len(pages.leaves) // 2
    assert unnoticed == []


def hits_in(folder: Path, documents: int) -> Any:
    """What the lexical index finds; None where it says that it is damaged."""
    from tantivy import Query

    try:
        lexical = Lexical(folder)
        lexical.check_count(documents)
        found = lexical.searcher().search(Query.term_query(lexical.schema, "body", "token", "freq"), 2_000, count=True)
        return found.count, sorted(round(score, 3) for score, _ in found.hits)
    except CairnError:
        return None


def test_no_byte_of_meta_json_changes_unnoticed(
    damaged: Damaged,  # noqa: F811
    trials: Callable[[int], int],
    seeded: random.Random,
) -> None:
    damaged.reset()
    epoch = damaged.store("index.db").parent
    store = IndexStore(epoch)
    documents = store.count_documents()
    store.close()
    assert documents is not None
    meta, right = epoch / "lexical" / "meta.json", hits_in(epoch / "lexical", documents)
    data, said, unnoticed = meta.read_bytes(), 0, []
    for at in sorted(seeded.sample(range(len(data)), trials(len(data)))):
        changed = bytearray(data)
        changed[at] ^= 1 << seeded.randrange(8)
        meta.write_bytes(changed)
        found = hits_in(epoch / "lexical", documents)
        said += found is None
        if found not in (None, right):
            unnoticed.append(bytes(changed[max(0, at - 20) : at + 10]))
    assert right[0] > 0
    assert said > 0
    assert unnoticed == []
