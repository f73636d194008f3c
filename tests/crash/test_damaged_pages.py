"""Every page of index.db in turn, blanked, emptied and swapped: what it held is the same, or the check says damage."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from codecairn.errors import IndexIncompatible
from codecairn.store.database import IndexStore
from codecairn.store.integrity import NO_LOSSES
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
