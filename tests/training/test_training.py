"""The training of the embedding: its pairs, its vocabulary, the served form, and a small table trained for real."""

from __future__ import annotations

import ast
import json
import lzma
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import codecairn

np = pytest.importorskip("numpy")

from training import evaluate, export, prepare, views, vocabulary  # noqa: E402

PACKAGE = Path(codecairn.__file__).parent


def functions(path: Path) -> Iterator[dict[str, str]]:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            doc = ast.get_docstring(node) or ""
            body = node.body[1:] if doc else node.body
            own = [*lines[node.lineno - 1 : node.body[0].lineno - 1]]
            own += lines[body[0].lineno - 1 : node.end_lineno] if body else []
            yield {"name": node.name, "kind": "function", "doc": doc, "code": "\n".join(own)}


def corpus() -> list[dict[str, Any]]:
    """This package's own files, as they are mined."""
    files = [path for path in sorted(PACKAGE.rglob("*.py")) if list(functions(path))]
    return [
        {
            "package": f"here:{path.parent.name}",
            "language": "python",
            "path": path.relative_to(PACKAGE).as_posix(),
            "items": list(functions(path)),
        }
        for path in files
    ]


def packed(records: list[dict[str, Any]], path: Path) -> Path:
    with lzma.open(path, "wt", encoding="utf-8", preset=0) as stream:
        stream.writelines(json.dumps(record) + "\n" for record in records)
    return path


FILE: dict[str, Any] = {
    "package": "npm:router",
    "language": "go",
    "path": "pkg/http/router.go",
    "items": [
        {"name": "Match", "kind": "method", "doc": "Match finds a route for a path.", "code": "func Match() {}"},
        {"name": "Serve", "kind": "method", "doc": "", "code": "func Serve() {}"},
        {"name": "Close", "kind": "method", "doc": "Closes it. Later requests fail.", "code": "func Close() {}"},
    ],
}


def test_a_documented_function_is_seen_alone_and_in_a_window() -> None:
    found = list(views.examples_of(FILE))
    assert [each.view for each in found] == [views.FUNCTION, views.WINDOW] * 2
    assert all(each.code.path == FILE["path"] and each.query for each in found)


def test_the_same_file_gives_the_same_examples() -> None:
    assert list(views.examples_of(FILE)) == list(views.examples_of(dict(FILE)))


def test_the_documentation_that_asks_is_not_in_what_answers() -> None:
    for each in views.examples_of(FILE):
        if "Match" in each.code.names and "route" in each.query:
            assert "finds a route" not in each.code.text


def test_a_mined_question_asks_for_its_function() -> None:
    record = {**FILE, "kind": "change", "question": "retries when the server hangs up", "name": "Serve", "code": "x"}
    (only,) = views.examples_of(record)
    assert only.view == views.QUESTION
    assert only.query == "retries when the server hangs up"


@pytest.mark.parametrize(
    ("form", "asked"),
    [
        ("how to {base}", "how to parse the header"),
        ("which function {third}", "which function parses the header"),
        ("architecture of {topic}", "architecture of header"),
    ],
)
def test_a_sentence_becomes_a_question(form: str, asked: str) -> None:
    assert views.asked_as(form, ["Parses", "the", "header"]) == asked


def test_rewording_keeps_to_the_first_sentence() -> None:
    said = {views.reworded("Closes the socket. Later requests fail.", Random(seed)) for seed in range(60)}
    assert len(said) > 10
    assert not any("Later" in each for each in said)


def test_what_few_projects_say_is_not_everybodys_word() -> None:
    def package(name: str, language: str, code: str) -> dict[str, Any]:
        item = {"name": "f", "kind": "function", "doc": "", "code": code}
        return {"package": name, "language": language, "path": "x", "items": [item] * 50}

    many = [package(str(number), "go", "common") for number in range(20)]
    few = [package(f"few{number}", "go", "ownword common") for number in range(3)]
    counts = vocabulary.counted([*many, *few])
    assert vocabulary.chosen(counts) == ["common", "f", "x"]


def test_a_language_of_few_packages_has_its_words() -> None:
    def files(language: str, code: str, count: int) -> list[dict[str, Any]]:
        item = {"name": "f", "kind": "function", "doc": "", "code": code}
        return [{**FILE, "package": str(at), "language": language, "items": [item]} for at in range(count)]

    half = [*files("go", "channel", 450), *files("go", "select", 900)[450:]]
    counts = vocabulary.counted([*half, *files("zig", "deferred", 500)])
    ordered = vocabulary.chosen(counts)
    assert ordered.index("defer") < ordered.index("channel"), "in each zig package, in half of the go ones"


def test_a_word_is_spelled_as_people_write_it() -> None:
    counts = vocabulary.counted([{**FILE, "items": [{**FILE["items"][0], "doc": "parsing parsing mergeConfig"}] * 3}])
    assert vocabulary.spellings(["pars", "mergeconfig"], counts) == ["parsing", "merge config"]


def test_a_word_outside_the_vocabulary_goes_to_the_bucket_of_its_checksum() -> None:
    known = vocabulary.Vocabulary(["route", "path"])
    assert known.id_of("path") == 1
    assert known.id_of("zyzzyva") == 2 + zlib.crc32(b"zyzzyva") % vocabulary.BUCKETS


def test_a_bag_counts_words_marks_names_and_is_cut() -> None:
    known = vocabulary.Vocabulary(["rout", "match"])
    bag = known.of_code(views.code_of("pkg/route.go", ["match"], ["route route"]))
    times = dict(zip(bag.ids, bag.times, strict=True))
    assert times[0] == 4, "the path, the stem once more, and twice in the text"
    assert times[1] == 1 + vocabulary.NAMED
    long = known.of_query(" ".join(f"w{chr(97 + a)}{chr(97 + b)}q" for a in range(26) for b in range(26)))
    assert len(long.ids) <= vocabulary.LONGEST_BAG


def test_rows_of_differing_length_join_as_they_were() -> None:
    first, second = prepare.Ragged.of([[1, 2], []], np.int16), prepare.Ragged.of([[3]], np.int16)
    joined = prepare.Ragged.joined([first, second])
    assert [joined[row].tolist() for row in range(3)] == [[1, 2], [], [3]]


def test_whole_packages_are_held_out_of_each_language() -> None:
    documented = Counter({("go", str(number)): 100 for number in range(100)})
    documented["zig", "only"] = 40
    packages = prepare.held_out(documented)
    assert len(packages) == 5
    assert "only" not in packages, "what is all of a language is learnt from"


def trained(words: int = 60, buckets: int = 8, dimensions: int = 16) -> export.Trained:
    random = np.random.default_rng(1)
    rows = random.standard_normal((words + buckets, dimensions)).astype(np.float32)
    weights = random.uniform(0.05, 1, (2, words + buckets)).astype(np.float32)
    return export.Trained(rows, weights, 2.0, np.full(words + buckets, 100))


def bags(count: int = 200, words: int = 60) -> list[vocabulary.Bag]:
    random = np.random.default_rng(2)
    return [
        vocabulary.Bag(random.permutation(words)[:9].tolist(), random.integers(1, 5, 9).tolist()) for _ in range(count)
    ]


def test_the_served_form_points_where_the_trained_one_does() -> None:
    made, some = trained(), bags()
    model = export.quantised(made, [f"w{number}" for number in range(60)], "m", (some, some))
    for side in (export.QUERY, export.CODE):
        exact = [
            (made.weights[side][bag.ids] * export.factors_of(np.array(bag.times), 2.0)) @ made.rows[bag.ids]
            for bag in some
        ]
        assert (export.normalised(np.array(exact)) * model.vectors(some, side)).sum(1).min() > 0.995


def test_every_sum_is_an_integer_a_float32_holds() -> None:
    made = trained()
    model = export.quantised(made, [f"w{number}" for number in range(60)], "m", (bags(), bags()))
    factors = export.rounded(model.weights * 100)
    assert factors.max() == export.LARGEST_FACTOR
    assert export.LARGEST_FACTOR * 127 * vocabulary.LONGEST_BAG < 2**24
    assert model.table.dtype == np.int8
    assert np.abs(model.table.astype(int)).max(axis=1).min() == 127


def test_a_bucket_has_a_direction_of_chance_and_weighs_like_a_rare_word() -> None:
    made = export.with_buckets(trained(), 60)
    rows = export.normalised(made.rows)[60:]
    assert np.abs(rows @ rows.T - np.eye(8)).max() < 0.9
    assert made.weights[0, 60] == pytest.approx(np.median(made.weights[0, 54:60]))


def test_what_few_texts_taught_is_taken_back() -> None:
    start, made = trained(), trained()
    moved = export.Trained(made.rows + 1, made.weights * 2, 2.0, np.where(np.arange(68) < 34, 0, 1_000_000))
    kept = export.shrunk(moved, start)
    assert kept.rows[0] == pytest.approx(start.rows[0])
    assert kept.rows[-1] == pytest.approx(moved.rows[-1], abs=1e-3)
    assert kept.weights[:, -1] == pytest.approx(moved.weights[:, -1], rel=1e-3)


def test_a_model_reads_back_as_it_was_written(tmp_path: Path) -> None:
    model = export.quantised(trained(), [f"w{number}" for number in range(60)], "cairn", (bags(), bags()))
    export.written(model, tmp_path / "served")
    export.packed(model, tmp_path / "cairn.npz")
    for other in (export.read(tmp_path / "served"), export.unpacked(tmp_path / "cairn.npz")):
        assert (other.name, other.boost, other.words) == (model.name, model.boost, model.words)
        assert (other.table == model.table).all()
        assert (other.weights == model.weights).all()


def test_the_server_reads_the_model_as_it_was_trained(tmp_path: Path) -> None:
    from codecairn.embed.encoder import Passage
    from codecairn.embed.token_table import TokenTable
    from codecairn.words import analyse

    words = ["rout", "match", "path", "http", *(f"w{number}" for number in range(56))]
    model = export.quantised(trained(), words, "cairn", (bags(), bags()))
    export.written(model, tmp_path)
    served, code = TokenTable(tmp_path), views.code_of("http/route.go", ["Router.match"], ["match paths, then match"])
    question = served.query("how are paths routed?").astype(float)
    passage = served.passages([Passage(code.path, code.named, analyse(code.text), "")])[0].astype(float)
    (asked,) = model.vectors([model.vocabulary.of_query("how are paths routed?")], export.QUERY)
    (given,) = model.vectors([model.vocabulary.of_code(code)], export.CODE)
    assert np.abs(question - asked / np.abs(asked).max() * 127).max() < 0.51
    assert np.abs(passage - given / np.abs(given).max() * 127).max() < 0.51


def test_half_of_a_surrogate_pair_is_left_out() -> None:
    lines = [
        json.dumps({"doc": text}).encode() for text in ("plain", "a \U0001f600 face", "half \ud83d", "\ude00 half")
    ]
    assert len(list(prepare.records_of(lines))) == 2


def test_a_tie_counts_against() -> None:
    assert evaluate.found(np.array([[1.0, 1.0], [0.0, 2.0]]), [0, 1]) == (0.75, 1.0)


def test_bm25_finds_a_function_by_its_words() -> None:
    code = [views.code_of(f"{name}.py", [name], [text]) for name, text in (("a", "open file"), ("b", "close socket"))]
    assert evaluate.by_words(["closing sockets"], code).argmax() == 1


def test_the_corpus_is_prepared_alike_by_any_number_of_processes(tmp_path: Path) -> None:
    stretches = [[json.dumps(each).encode()] for each in corpus()[:12]]
    one, two = (
        prepare.prepared(stretches, prepare.words_of_corpus(stretches, workers), None, workers)
        for workers in (prepare.Workers(1), prepare.Workers(2))
    )
    assert (one.code.ids.flat == two.code.ids.flat).all()
    assert (one.queries.times.flat == two.queries.times.flat).all()


def test_a_table_trained_on_this_package_finds_its_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from training import train

    path = packed(corpus(), tmp_path / "corpus.jsonl.xz")
    given = ["--corpus", path, "--out", tmp_path / "out", "--keep", tmp_path / "kept"]
    given += ["--device", "cpu", "--processes", "1", "--unmeasured"]
    monkeypatch.setattr(sys, "argv", ["train", *map(str, given)])
    train.main()
    model = export.unpacked(tmp_path / "out" / "c.npz")
    (pool,) = evaluate.pools_of(
        prepare.stretches_of([path]), frozenset(each["package"] for each in corpus()), prepare.Workers(1), 300, 300
    ).values()
    scores = evaluate.by_models([model])["c"](pool.queries, pool.code)
    assert evaluate.found(scores, pool.right).reciprocal_rank > 0.3, "by chance it would be 0.02"
