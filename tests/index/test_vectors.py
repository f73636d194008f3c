"""Vectors on disk: what is found is what an exact look at all of them finds, and what was not told of is not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecairn.cancel import Cancel
from codecairn.embed.choice import default_encoder
from codecairn.embed.encoder import Passage, Row, Rows, cosines
from codecairn.errors import EncoderFailed
from codecairn.index.embedding import Vectors
from codecairn.index.run import Options
from codecairn.store.database import IndexStore
from codecairn.store.vector_segments import Placement, Segment, Segments
from codecairn.store.vectors import Near, VectorField, VectorFiles
from tests.support.indexes import faults, project_index
from tests.support.repo import Repo

WIDTH = 256


def rows_of(seed: int, count: int) -> Rows:
    """In heaps, as real ones are: neighbours differ little."""
    choice = np.random.default_rng(seed)
    heaps = choice.normal(size=(max(1, count // 20), WIDTH))
    mixed = heaps[choice.integers(0, len(heaps), count)] + choice.normal(size=(count, WIDTH)) * 0.6
    return np.clip(np.rint(mixed * 40), -127, 127).astype(np.int8)


def exact(rows: Rows, query: Row, shown: npt.NDArray[np.int64], most: int) -> list[int]:
    order = np.argsort(-cosines(rows[shown], query), kind="stable")
    return [int(shown[at]) for at in order[:most]]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 3_000), hidden=st.sampled_from((0.0, 0.3, 0.9)))
def test_the_nearest_are_those_an_exact_look_finds(
    tmp_path_factory: pytest.TempPathFactory, seed: int, count: int, hidden: float
) -> None:
    choice = np.random.default_rng(seed)
    rows, files = rows_of(seed, count), VectorFiles(tmp_path_factory.mktemp("v") / "vectors")
    files.write(Segment(1, "e", WIDTH, 0), rows)
    starts = list(range(0, count, 7))
    placed = [Placement(1000 + at, at, min(7, count - at)) for at in starts if choice.random() >= hidden]
    shown = np.array([row for each in placed for row in range(each.first, each.first + each.rows)], np.int64)
    field = VectorField(files, Segment(1, "e", WIDTH, count), placed)
    query = rows_of(seed + 1, 1)[0]
    found = field.nearest(query, 20, lambda found: found)
    got = [each.file - 1000 + each.number for each in found]
    wanted = exact(rows, query, shown, 20) if len(shown) else []
    assert len(got) == len(wanted)
    assert set(got) <= set(shown.tolist())
    if count <= 1_000:  # all of them are rescored
        assert [each.cosine for each in found] == cosines(rows[wanted], query).tolist()
    elif wanted:
        assert len(set(got) & set(wanted)) >= 0.8 * len(wanted)


def test_the_nearest_depend_on_no_order_of_writing(tmp_path: Path) -> None:
    """Many rows share as many signs with the query as the last that is looked at, and many are the same."""
    choice = np.random.default_rng(5)
    rows = np.repeat(rows_of(3, 1_500), 2, axis=0)
    queries, told = rows_of(8, 20), list[list[list[Near]]]()
    for number, order in enumerate((np.arange(len(rows)), choice.permutation(len(rows)))):
        files = VectorFiles(tmp_path / str(number))
        files.write(Segment(1, "e", WIDTH, 0), rows[order])
        placed = [Placement(int(file), at, 1) for at, file in enumerate(order)]
        field = VectorField(files, Segment(1, "e", WIDTH, len(rows)), placed)
        told.append([field.nearest(query, 101, lambda found: found) for query in queries])
    assert told[0] == told[1]


def test_what_is_not_wanted_makes_room_for_what_is(tmp_path: Path) -> None:
    rows, files = rows_of(3, 500), VectorFiles(tmp_path / "vectors")
    files.write(Segment(1, "e", WIDTH, 0), rows)
    field = VectorField(files, Segment(1, "e", WIDTH, 500), [Placement(at, at, 1) for at in range(500)])
    found = field.nearest(rows[0], 10, lambda found: [each for each in found if each.file % 50 == 49])
    assert len(found) == 10
    assert all(each.file % 50 == 49 for each in found)


def test_a_file_without_chunks_has_no_row(tmp_path: Path) -> None:
    rows, files = rows_of(3, 4), VectorFiles(tmp_path / "vectors")
    files.write(Segment(1, "e", WIDTH, 0), rows)
    placed = [Placement(1, 0, 2), Placement(2, 2, 2), Placement(3, 2, 0), Placement(4, 0, 0), Placement(5, 4, 0)]
    field = VectorField(files, Segment(1, "e", WIDTH, 4), placed)
    found = field.nearest(rows[2], 4, lambda found: found)
    assert {(each.file, each.number) for each in found} == {(1, 0), (1, 1), (2, 0), (2, 1)}
    assert (found[0].file, found[0].number) == (2, 0)
    near = field.similar(rows[2], [(2, 0), (2, 1), (3, 0)], [2, 3, 4])
    assert near.chunks.tolist() == [*cosines(rows[2:], rows[2]).tolist(), 0.0]
    assert near.best.tolist() == [near.chunks[:2].mean(), 0.0, 0.0]
    assert near.files[0] == cosines(rows[2:].sum(axis=0, dtype=np.int64)[None], rows[2])[0]
    assert near.files[1:].tolist() == [0.0, 0.0]


def test_rows_that_were_never_told_of_are_written_over(tmp_path: Path) -> None:
    files = VectorFiles(tmp_path / "vectors")
    first, lost, second = rows_of(1, 10), rows_of(2, 30), rows_of(3, 5)
    files.write(Segment(1, "e", WIDTH, 0), first)
    files.write(Segment(1, "e", WIDTH, 10), lost)  # and its writer died before it could say so
    files.write(Segment(1, "e", WIDTH, 10), second)
    assert (files.rows(Segment(1, "e", WIDTH, 15)) == np.concatenate([first, second])).all()


class Counting:
    """The shipped encoder under another name, slow or broken at will."""

    is_quick = False
    reads_text = True
    dimensions = 256
    near = 0.0

    def __init__(self, name: str) -> None:
        self.name = name
        self.texts: list[str] = []
        self.fails_after: int | None = None

    def passages(self, passages: Sequence[Passage]) -> Rows:
        if self.fails_after is not None and len(self.texts) >= self.fails_after:
            raise EncoderFailed("the endpoint is tired")
        self.texts += [each.text for each in passages]
        return default_encoder().passages(passages)

    def query(self, text: str) -> Row:
        return default_encoder().query(text)


@pytest.fixture
def store(repo: Repo, tmp_path: Path) -> Iterator[IndexStore]:
    repo.commit(
        "start",
        {f"m{at}.py": f"def lamp{at}():\n    return {at}\n\n\ndef other{at}(x):\n    return x\n" for at in range(30)},
    )
    with project_index(repo.path.resolve(), tmp_path / "home") as index:
        index.index(Options(), force=False, cancel=Cancel())
        opened = index.open_index()
        assert opened is not None
        yield opened.store


def checkout_of(store: IndexStore) -> int:
    return store.checkouts()[0].id


def coverage(store: IndexStore) -> dict[str, int]:
    return {each.encoder: sum(rows.rows for rows in Segments(store).placements(each)) for each in Segments(store).all()}


def test_another_encoder_takes_over_when_it_has_come_to_everything(
    store: IndexStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codecairn.index.embedding._SLICE", 8)
    total = coverage(store)[default_encoder().name]
    other = Counting("other")
    other.fails_after = 20
    said = Vectors(store, store.path.parent, other, Cancel()).catch_up(checkout_of(store))
    assert "the endpoint is tired" in said[0]
    assert coverage(store)[default_encoder().name] == total, "the first one serves on"
    assert 20 <= coverage(store)["other"] < total
    other.fails_after = None
    assert Vectors(store, store.path.parent, other, Cancel()).catch_up(checkout_of(store)) == []
    assert coverage(store) == {"other": total}
    assert len(other.texts) == total, "no text was encoded twice"
    assert any("def lamp3" in text for text in other.texts)


def test_a_lost_vector_file_is_made_again(store: IndexStore) -> None:
    segment = Segments(store).all()[0]
    path = store.path.parent / "vectors" / f"{segment.number}.rows"
    before = path.read_bytes()
    path.write_bytes(before[: len(before) // 2])
    vectors = Vectors(store, store.path.parent, default_encoder(), Cancel())
    assert coverage(store) == {}
    assert vectors.catch_up(checkout_of(store)) == []
    assert coverage(store) == {default_encoder().name: len(before) // default_encoder().dimensions}


def test_a_segment_that_is_mostly_holes_is_copied(store: IndexStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codecairn.index.embedding._LEAST_TO_COMPACT", 10)
    before = Segments(store).all()[0]
    rows = VectorFiles(store.path.parent / "vectors").rows(before)
    kept = Segments(store).placements(before)
    survivors = {each.file: rows[each.first : each.first + each.rows].tolist() for each in kept[::3]}
    with store.writing() as database:
        for each in kept:
            if each.file not in survivors:
                database.execute("DELETE FROM vector WHERE file = ?", (each.file,))
                database.execute("DELETE FROM manifest WHERE file = ?", (each.file,))
    Vectors(store, store.path.parent, default_encoder(), Cancel()).catch_up(checkout_of(store))
    (after,) = Segments(store).all()
    assert after.number != before.number
    moved = VectorFiles(store.path.parent / "vectors").rows(after)
    assert {
        each.file: moved[each.first : each.first + each.rows].tolist() for each in Segments(store).placements(after)
    } == survivors


def test_a_version_that_comes_back_is_not_encoded_again(repo: Repo, tmp_path: Path) -> None:
    repo.commit("one", {"a.py": "def first():\n    return 1\n"})
    with project_index(repo.path.resolve(), tmp_path / "home") as index:
        index.index(Options(), force=False, cancel=Cancel())
        (repo.path / "a.py").write_text("def second():\n    return 2\n")
        assert index.index(Options(), force=False, cancel=Cancel()).vectors == 1
        repo.git("checkout", "--quiet", "a.py")
        assert index.index(Options(), force=False, cancel=Cancel()).vectors == 0
        opened = index.open_index()
        assert opened is not None
        assert faults(opened.store, opened.lexical, at_rest=True) == []
