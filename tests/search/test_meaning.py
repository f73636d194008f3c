"""Search by meaning: what each mode ranks by, and what is said where there is nothing to compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codecairn.config import Embeddings
from codecairn.connection import Connection
from codecairn.embed.choice import default_encoder
from codecairn.embed.encoder import Passage, cosines
from codecairn.errors import EncoderFailed
from codecairn.store.file_version import unpack_lines
from tests.support.doors import open_door, service
from tests.support.indexes import LastingWorkers
from tests.support.repo import Repo
from tests.support.search import Asking, Built, Doors, ask, error_of, index, names, places

ERASING = "erase a record"
"""No word of it is in any file."""
FILES: dict[str, str | bytes] = {
    "store/shelf.py": """\
def remove_item(shelf, key):
    '''Delete an entry.'''
    del shelf[key]
""",
    "store/count.py": """\
def sum_of(numbers):
    total = 0
    for each in numbers:
        total += each
    return total
""",
    "net/wire.py": """\
def send_request(host, payload):
    connection = open_connection(host)
    return connection.post(payload)
""",
    "ui/paint.py": """\
def draw_button(canvas, label):
    canvas.rectangle(label.width)
    canvas.text(label)
""",
}


@pytest.fixture
def stall(own: Callable[..., Asking]) -> Asking:
    return own(FILES)


@pytest.mark.requirement("002/search_code/mode-vector-semantic")
def test_vector_mode_ranks_by_how_near_the_vectors_are_and_nothing_else(
    door_name: str, doors: Doors, shop: Built, shopping: Asking
) -> None:
    query = "how is the tax of an order computed"
    found = ask(doors(door_name), shop, query, search_mode="vector", limit=100).value
    near = similarities(shopping, query)
    assert found["results"]
    for result in found["results"]:
        place = (result["file"]["path"], result["symbol"]["qualified_name"] if result["symbol"] else "")
        assert any(abs(result["ranking_score"] - each) < 2**-19 for each in near), place
    scores = [result["ranking_score"] for result in found["results"]]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(max(near), abs=2**-19)


def similarities(asked: Asking, query: str) -> list[float]:
    """Of every chunk, worked out from what the store keeps of it, with no index in between."""
    opened = asked.project.index.open_index()
    assert opened is not None
    (layer,) = opened.store.checkouts()
    passages = []
    for entry in opened.store.manifest(layer.id).values():
        version = opened.store.load(entry.file) if entry.file is not None else None
        for chunk in version.chunks if version else ():
            assert version is not None
            name = version.symbols[chunk.symbol].path if chunk.symbol >= 0 else chunk.title
            passages.append(Passage(version.path, name, unpack_lines(version.terms)[chunk.number]))
    return [float(each) for each in cosines(default_encoder().passages(passages), default_encoder().query(query))]


@pytest.mark.requirement("002/search_code/mode-hybrid-fuses", "002/search_code/mode-default-hybrid")
def test_hybrid_finds_what_either_of_the_others_alone_would_find(door_name: str, stall: Asking) -> None:
    query = {"path": str(stall.root), "query": "transmit data to a remote server, with a label"}
    with open_door(door_name, stall.served) as door:
        keyword, vector, hybrid, default = (
            door.call("search_code", query | mode).value
            for mode in ({"search_mode": "keyword"}, {"search_mode": "vector"}, {"search_mode": "hybrid"}, {})
        )
    assert names(keyword) == ["draw_button"], "its words alone find the label"
    assert names(vector) == ["send_request"], "and its meaning the sending"
    assert set(names(hybrid)) == {"draw_button", "send_request"}
    assert default["results"] == hybrid["results"]
    assert not hybrid["metadata"].get("warnings")


def test_what_no_word_of_the_query_is_in_is_found_by_what_it_does(stall: Asking) -> None:
    assert stall.search(ERASING, search_mode="keyword")["results"] == []
    assert names(stall.search(ERASING))[0] == "remove_item"


def test_every_contribution_of_a_hybrid_score_is_explained(stall: Asking) -> None:
    query = ERASING
    for mode in ("hybrid", "vector"):
        for result in stall.search(query, search_mode=mode)["results"]:
            why = stall.explain(query, result, search_mode=mode)
            assert why["scoring"]["total"] == result["ranking_score"]
            assert why["scoring"]["semantic"] > 0
            assert "meaning" in why["scoring_details"]["semantic_reason"]


@pytest.mark.parametrize("query", ["zzzyyyxxx", "qwrtpsdf ghjklzx", "%%% ---", "qqqjjjxxx wwwvvvzzz of"])
@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_nothing_like_it_is_nothing_found(query: str, mode: str, stall: Asking) -> None:
    """There is always a nearest one; that does not make it near."""
    assert stall.search(query, search_mode=mode)["results"] == []


def test_a_name_finds_what_has_it_and_not_what_is_like_it(stall: Asking) -> None:
    assert names(stall.search("send_request")) == names(stall.search("send_request", search_mode="keyword"))


def test_filters_hold_for_what_is_near_too(stall: Asking) -> None:
    assert stall.search(ERASING, path_filter="net")["results"] == []
    found = stall.search(ERASING, search_mode="vector", path_filter="store")
    assert {path.split("/")[0] for path, _ in places(found)} <= {"store"}


@pytest.mark.requirement("002/index_codebase/incremental-embeds-changed")
def test_a_second_run_makes_vectors_for_what_changed_alone(own: Callable[..., Asking], door_name: str) -> None:
    stall = own(FILES)
    with open_door(door_name, stall.served) as door:
        again = door.call("index_codebase", {"path": str(stall.root)}).value["statistics"]
        assert again["embeddings_generated"] == 0
        (stall.root / "net" / "wire.py").write_text("def send_request(host):\n    return open_connection(host)\n")
        changed = door.call("index_codebase", {"path": str(stall.root)}).value["statistics"]
        assert changed["embeddings_generated"] == changed["chunks_created"] == 1
        status = door.call("get_status", {"path": str(stall.root)}).value
        assert status["statistics"]["total_embeddings"] == status["statistics"]["total_chunks"]
        assert status["health"]["embeddings_available"] is True


@pytest.fixture
def wordless(tmp_path: Path, lasting: LastingWorkers) -> Iterator[Asking]:
    """A project whose vectors are switched off."""
    repo = Repo.create(tmp_path / "stall")
    repo.commit("start", FILES)
    served = service(repo.path.resolve(), data=tmp_path / "home", embeddings=Embeddings(are_off=True))
    asking = Asking(served, repo.path.resolve(), Connection("memory"))
    asking.project.index._workers = lasting
    asking.answer("index_codebase", path=str(asking.root))
    yield asking
    asking.close()


@pytest.mark.requirement("002/search_code/mode-keyword-needs-no-vectors")
def test_without_vectors_hybrid_is_keyword_and_says_so(wordless: Asking) -> None:
    keyword, hybrid = (wordless.search("delete an entry", search_mode=mode) for mode in ("keyword", "hybrid"))
    assert keyword["results"] == hybrid["results"] != []
    assert any("vectors" in each for each in hybrid["metadata"]["warnings"])
    assert not keyword["metadata"].get("warnings")


def test_without_vectors_vector_mode_is_refused_with_the_way_out(wordless: Asking) -> None:
    refused = wordless.answer("search_code", path=str(wordless.root), query="order", search_mode="vector")
    fault = error_of(refused)
    assert (fault["code"], fault["data"]["param"]) == (-32602, "search_mode")
    assert "vectors" in fault["data"]["reason"]
    assert "keyword" in refused.text
    status = wordless.answer("get_status", path=str(wordless.root)).value
    assert (status["statistics"]["total_embeddings"], status["health"]["embeddings_available"]) == (0, False)


def test_vectors_that_were_switched_off_are_made_by_the_next_run(wordless: Asking, lasting: LastingWorkers) -> None:
    built = index(wordless.root, wordless.project.index.folder.parent.parent, lasting)
    asked = Asking(service(built.root, data=built.home), built.root, Connection("memory"))
    try:
        assert names(asked.search(ERASING))[0] == "remove_item"
    finally:
        asked.close()


def test_an_encoder_that_failed_is_asked_again(stall: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        calls = 0

        def __getattr__(self, name: str) -> object:
            return getattr(default_encoder(), name)

        def query(self, text: str) -> object:
            self.calls += 1
            if self.calls == 1:
                raise EncoderFailed("the endpoint is tired")
            return default_encoder().query(text)

    encoder = Failing()
    monkeypatch.setattr(stall.project.searcher, "_encoders", lambda: [encoder])
    first, second = (stall.search(ERASING) for _ in range(2))
    assert first["results"] == []
    assert "the endpoint is tired" in first["metadata"]["warnings"][0]
    assert names(second)[0] == "remove_item"
    assert not second["metadata"].get("warnings")


def test_what_both_find_is_not_counted_twice_towards_the_limit(own: Callable[..., Asking]) -> None:
    """Ninety are found by their words, and the same ninety by their meaning: nothing was left out."""
    many = own({f"m{at}.py": f"def remove_item{at}(shelf):\n    del shelf[{at}]\n" for at in range(90)})
    found = many.search("remove an item from the shelf", limit=100)
    assert found["statistics"]["total_results"] == 90
    assert found["metadata"]["result_completeness"] == "complete"
