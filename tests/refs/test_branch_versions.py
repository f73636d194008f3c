"""Versions of branches: what is stored of them, what a view shows of them, and how long they stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecairn.cancel import Cancel
from codecairn.index.digest import digest_blob
from codecairn.index.project_index import ProjectIndex
from codecairn.index.run import Options
from codecairn.source.refs import tip_of
from codecairn.store.database import IndexStore
from codecairn.store.file_version import FileVersion
from codecairn.store.layers import Layer, Scope
from codecairn.store.open_index import OpenIndex
from codecairn.store.ref_writer import RefWriter
from codecairn.store.view import View, open_view
from codecairn.store.writer import Content, IndexWriter
from codecairn.words import analyse
from tests.support.indexes import LastingWorkers, contents, documents, faults, project_index
from tests.support.refs import Gate
from tests.support.repo import Repo

FUNCTION = "def {0}(item):\n    lot = item.{0}\n    return lot * 2\n"
TO_COME = 4e9


def module(*names: str) -> str:
    return "\n\n".join(FUNCTION.format(name) for name in names)


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LastingWorkers]:
    pool = LastingWorkers(tmp_path_factory.mktemp("workers"), 1)
    yield pool
    pool.end()


@pytest.fixture
def shop(repo: Repo, tmp_path: Path, workers: LastingWorkers) -> Iterator[ProjectIndex]:
    """A default branch of one file, and a branch on which one function of it is another and one is new."""
    repo.commit("first", {"shop.py": module("apples", "pears", "plums", "quinces")})
    repo.git("checkout", "--quiet", "-b", "work")
    repo.commit("work", {"shop.py": module("apples", "pears", "cherries", "quinces", "figs")})
    repo.git("checkout", "--quiet", "main")
    with project_index(repo.path, tmp_path / "home", workers) as index:
        index.index(Options(), force=False, cancel=Cancel())
        yield index


def lay(index: ProjectIndex, name: str = "work") -> tuple[OpenIndex, Layer]:
    index.index(Options(), force=False, cancel=Cancel(), ref=tip_of(index.git, name, Cancel()))
    opened = index.open_index()
    assert opened is not None
    return opened, layer_of(opened, name)


def layer_of(opened: OpenIndex, name: str) -> Layer:
    return next(layer for layer in opened.store.refs(Scope("").key) if layer.name == name)


def version_on(opened: OpenIndex, name: str) -> FileVersion:
    entry = opened.store.entry(layer_of(opened, name).id, "shop.py")
    assert entry is not None
    assert entry.file is not None
    version = opened.store.load(entry.file)
    assert version is not None
    return version


def visible_using(view: View, name: str) -> list[int]:
    return [file for file in view.using(name) if view.file(file) is not None]


def test_a_branchs_version_has_documents_of_its_own(shop: ProjectIndex) -> None:
    opened, _ = lay(shop)
    version = version_on(opened, "work")
    assert {number for file, number in documents(opened.lexical) if file == version.id} == set(range(5))
    assert faults(opened.store, opened.lexical, at_rest=True) == []


def test_words_are_counted_and_found_as_if_the_branch_were_alone(shop: ProjectIndex) -> None:
    opened, layer = lay(shop)
    with open_view(opened.store, opened.lexical, "", lambda _: False, layer.id) as view:
        assert view is not None
        words = ("lot", "apples", "plums", "cherries", "figs")
        assert {word: view.frequency(analyse(word)) for word in words} == {
            "lot": 5, "apples": 1, "plums": 0, "cherries": 1, "figs": 1,
        }  # fmt: skip
        (file,) = view.files()
        found = view.proposals([("body", "lot", 1.0)], "code", 10, lambda hits: hits)
        assert sorted((hit.file, hit.number) for hit in found) == [(file.id, number) for number in range(5)]
        assert [visible_using(view, name) for name in ("apples", "cherries")] == [[file.id], [file.id]]
        assert visible_using(view, "plums") == []
        lines = [[each.start_line for _, each in view.symbols_named(name)] for name in ("QUINCES", "Figs", "plums")]
        assert lines == [[16], [21], []]


def test_the_base_sees_nothing_of_the_branch(shop: ProjectIndex) -> None:
    opened, _ = lay(shop)
    with open_view(opened.store, opened.lexical, "", lambda _: False, layer_of(opened, "main").id) as view:
        assert view is not None
        assert [view.frequency(analyse(word)) for word in ("lot", "cherries")] == [4, 0]
        assert len(view.proposals([("body", "lot", 1.0)], "code", 10, lambda hits: hits)) == 4
        assert visible_using(view, "figs") == []
        assert view.symbols_named("figs") == []


def test_a_branch_outlives_the_base_it_was_laid_over(shop: ProjectIndex, repo: Repo) -> None:
    opened, layer = lay(shop)
    base, version = version_on(opened, "main"), version_on(opened, "work")
    repo.commit("another base", {"shop.py": module("oranges")})
    shop.index(Options(), force=False, cancel=Cancel())
    writer = IndexWriter(opened.store)
    writer.collect(now=TO_COME)
    assert opened.store.load(base.id) is None
    assert version_on(opened, "work") == version

    RefWriter(opened.store).drop([layer.id])
    shop.index(Options(), force=False, cancel=Cancel())
    writer.collect(now=TO_COME)
    assert opened.store.load(version.id) is None
    assert faults(opened.store, opened.lexical, at_rest=True) == []


def test_a_branch_that_is_merged_makes_its_version_the_bases(shop: ProjectIndex, repo: Repo) -> None:
    opened, _ = lay(shop)
    version = version_on(opened, "work")
    repo.git("merge", "--quiet", "--ff-only", "work")
    shop.index(Options(), force=False, cancel=Cancel())
    assert version_on(opened, "main").id == version.id
    assert faults(opened.store, opened.lexical, at_rest=True) == []


def test_what_is_read_anew_is_the_same_again(shop: ProjectIndex) -> None:
    opened, _ = lay(shop)
    before = {name: version_on(opened, name) for name in ("main", "work")}
    shop.index(Options(), force=True, cancel=Cancel(), ref=tip_of(shop.git, "work", Cancel()))
    again = shop.open_index()
    assert again is not None
    assert again.folder == opened.folder
    assert {name: version_on(opened, name) for name in ("main", "work")} == before
    assert faults(opened.store, opened.lexical, at_rest=True) == []


PIECES = [
    FUNCTION.format("apples"), FUNCTION.format("pears"), "import os\nfrom shop import till as desk\n", "LIMIT = 3\n",
    "class Till:\n    limit: int = 3\n\n    def ring(self) -> int:\n        return os.path.join(self.limit)\n",
    "# Größe\n", "\n", "def broken(:\n", "\r\n", "x = '\u2028'\n",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("\n".join)


@given(text=texts, path=st.sampled_from(["shop.py", "notes.md", "web/cart.ts"]))
def test_a_version_loads_as_it_was_written(text: str, path: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    version = digest_blob("", path, text.encode()).version
    if version is None:
        return
    store = IndexStore.create(tmp_path_factory.mktemp("store"))
    IndexWriter(store).insert(Content([version]))
    assert contents(store.load(version.id)) == contents(version)
    store.close()


def test_names_of_another_branch_crowd_out_no_near_name(tmp_path: Path, opened: Callable[[Repo], Gate]) -> None:
    repo = Repo.create(tmp_path / "repo")
    repo.commit("start", {"a.py": "def ledger_of_all_things():\n    return 1\n"})
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit("many", {"b.py": "".join(f"def ledger_{each:02}():\n    return 1\n\n\n" for each in range(60))})
    repo.git("checkout", "--quiet", "main")
    asked = opened(repo).asking
    assert not asked.answer("index_codebase", path=str(repo.path), ref="feature").is_error
    assert len(asked.answer("find_symbol", symbol_name="ledger", ref="feature", limit=50).value["symbols"]) == 40
    found = asked.answer("find_symbol", symbol_name="ledger", ref="main").value
    assert [each["name"] for each in found["symbols"]] == ["ledger_of_all_things"]
