"""Finding held-out functions by their documentation, and by mined questions: ours beside what else there is.

    python -m training.evaluate --corpus training/data/corpus.jsonl.xz --questions training/data/questions.jsonl.xz \
        --minilm training/carry/minilm b.npz d.npz

The functions are of packages no model here was trained on. Each language has its own pool of code to search; questions
have one for each kind. A cell is the mean reciprocal rank and the share found among the first ten. These scores say
that a model works, not which of two good ones answers people better: a documentation shares its words with its code.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module, util
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from codecairn.words import analyse
from training.export import CODE, QUERY, Model, normalised, read, unpacked
from training.prepare import Workers, held_out, records_of, stretches_of
from training.views import Code, code_of

Array = npt.NDArray[Any]
Scores = Callable[[list[str], list[Code]], Array]
"""From queries and code to a matrix: how well each answers each."""

_K1, _B = 1.2, 0.75
_LONGEST_TEXT = 2_000
"""Characters of code that a general text model is given."""


class Pool(NamedTuple):
    queries: list[str]
    right: list[int]
    code: list[Code]


class Found(NamedTuple):
    reciprocal_rank: float
    among_ten: float


def documented(stretches: list[list[bytes]], workers: Workers) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for part in workers.each(_documented, stretches, None):
        counts.update(part)
    return counts


def _documented(stretch: list[bytes], _: None) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for record in records_of(stretch):
        items = record.get("items", ())
        counts[record["language"], record["package"]] += sum(bool(item["doc"]) for item in items)
    return counts


def pools_of(
    stretches: list[list[bytes]], packages: frozenset[str], workers: Workers, pool: int, queries: int
) -> dict[str, Pool]:
    """By language, and by kind of question. Pools of fewer than a hundred tell nothing and are left out."""
    pairs: dict[str, dict[str, tuple[str, Code]]] = {}
    for part in workers.each(_pairs, stretches, packages):
        for name, query, code in part:
            pairs.setdefault(name, {}).setdefault(" ".join(query.lower().split()), (query, code))
    return {
        name: _pool(list(found.values()), pool, queries) for name, found in sorted(pairs.items()) if len(found) >= 100
    }


def _pairs(stretch: list[bytes], packages: frozenset[str]) -> list[tuple[str, str, Code]]:
    found = []
    for record in records_of(stretch):
        if record["package"] not in packages:
            continue
        if "question" in record:
            code = code_of(record["path"], [record["name"]], [record["code"]])
            found.append((f"asked: {record['kind']}", record["question"], code))
        for item in record.get("items", ()):
            if item["doc"]:
                code = code_of(record["path"], [item["name"]], [item["code"]])
                found.append((record["language"], item["doc"], code))
    return found


def _pool(pairs: list[tuple[str, Code]], pool: int, queries: int) -> Pool:
    kept = Random(5).sample(pairs, min(pool, len(pairs)))
    asked = kept[:queries]
    return Pool([query for query, _ in asked], list(range(len(asked))), [code for _, code in kept])


def found(scores: Array, right: list[int]) -> Found:
    """A tie counts against: what is as good as the right one stands before it."""
    of_right = scores[np.arange(len(right)), right]
    ranks = (scores >= of_right[:, None]).sum(axis=1)
    return Found(float((1 / ranks).mean()), float((ranks <= 10).mean()))


class _Reader:
    """Texts as bags, each once, for all models of one vocabulary."""

    def __init__(self, model: Model) -> None:
        vocabulary = model.vocabulary
        self.query = lru_cache(None)(vocabulary.of_query)
        self.code = lru_cache(None)(vocabulary.of_code)


def by_models(models: list[Model]) -> dict[str, Scores]:
    readers: dict[tuple[str, ...], _Reader] = {}
    return {each.name: _by_model(each, readers.setdefault(tuple(each.words), _Reader(each))) for each in models}


def _by_model(model: Model, reader: _Reader) -> Scores:
    def scores(queries: list[str], code: list[Code]) -> Array:
        asked = model.vectors([reader.query(each) for each in queries], QUERY)
        given = model.vectors([reader.code(each) for each in code], CODE)
        return np.asarray(asked @ given.T)

    return scores


def by_words(queries: list[str], code: list[Code]) -> Array:
    """BM25 over the same words."""
    bags = [Counter(analyse(f"{each.located} {each.named} {each.text}").split()) for each in code]
    lengths = np.array([sum(bag.values()) for bag in bags], np.float64)
    norms = _K1 * (1 - _B + _B * lengths / lengths.mean())
    postings: dict[str, tuple[list[int], list[int]]] = {}
    for at, bag in enumerate(bags):
        for word, times in bag.items():
            places, often = postings.setdefault(word, ([], []))
            places.append(at)
            often.append(times)
    scores = np.zeros((len(queries), len(code)))
    for row, query in zip(scores, queries, strict=True):
        for word in set(analyse(query).split()) & postings.keys():
            at, times_there = np.array(postings[word])
            rarity = math.log(1 + (len(code) - len(at) + 0.5) / (len(at) + 0.5))
            row[at] += rarity * times_there * (_K1 + 1) / (times_there + norms[at])
    return scores


def by_texts(encode: Callable[[list[str]], Array]) -> Scores:
    def scores(queries: list[str], code: list[Code]) -> Array:
        texts = [f"{each.path} {each.named}\n{each.text}"[:_LONGEST_TEXT] for each in code]
        return np.asarray(normalised(encode(queries)) @ normalised(encode(texts)).T)

    return scores


def wordllama() -> Scores | None:
    """Another static table, of general text, with its weights in its wheel; only where it is installed."""
    found = util.find_spec("wordllama")
    if found is None or found.origin is None:
        return None
    # The wheel's own folder as the cache: its tokenizer is looked for in the singular, except there.
    inside = Path(found.origin).parent
    model: Any = import_module("wordllama").WordLlama.load(disable_download=True, cache_dir=inside)
    return by_texts(lambda texts: np.asarray(model.embed(texts)))


def transformer(folder: Path, device: str) -> Scores:
    teacher: Any = import_module("training.teacher").Teacher(folder, device)
    return by_texts(lambda texts: np.asarray(teacher.texts(texts).float().cpu().numpy()))


def compared(pools: Mapping[str, Pool], systems: Mapping[str, Scores]) -> str:
    """One table in Markdown, the mean over the pools below."""
    head = ["pool", "code", *systems]
    lines = [head, ["---"] * len(head)]
    whole: dict[str, list[Found]] = {name: [] for name in systems}
    for name, pool in pools.items():
        cells = {each: found(scores(pool.queries, pool.code), pool.right) for each, scores in systems.items()}
        for each, cell in cells.items():
            whole[each].append(cell)
        lines.append([name, f"{len(pool.code):,}", *map(_cell, cells.values())])
    means = [_cell(Found(*np.mean(each, axis=0))) if each else "-" for each in whole.values()]
    lines.append(["mean", "", *means])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(found_of: Found) -> str:
    return f"{found_of.reciprocal_rank:.3f} {found_of.among_ten:.0%}"


def opened(path: Path) -> Model:
    return read(path) if path.is_dir() else unpacked(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="folders or packed files")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--minilm", type=Path, action="append", default=[], help="a transformer's folder")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--pool", type=int, default=1_500)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    workers = Workers(given.processes)
    stretches = stretches_of([path for path in (given.corpus, given.questions) if path])
    packages = held_out(documented(stretches, workers))
    pools = pools_of(stretches, packages, workers, given.pool, given.queries)
    systems = by_models([opened(path) for path in given.models])
    systems["bm25"] = by_words
    general = wordllama()
    systems |= {"wordllama": general} if general else {}
    systems |= {path.name: transformer(path, given.device) for path in given.minilm}
    print(compared(pools, systems), flush=True)


if __name__ == "__main__":
    main()
