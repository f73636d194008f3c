"""A trained table in the form it is served in, and the arithmetic of serving it.

A text's vector is the sum, over its words, of `round(weight * (1 + ln times) * boost) * row`, normalised: `weight` is
the word's own, one for queries and one for code, and `boost` counts for words of the names being defined. Every row is
scaled by itself so that its largest component is 127, and its weights take the scale up: no scale is left to apply.
Weights are in units in which the rounded factor goes from 0 to 255; with at most 400 words a text, every sum is an
integer below 2**24, exact in a float32 in whatever order it is added up.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from training.vocabulary import MOST_OFTEN, NAMED, Bag, Vocabulary

Array = npt.NDArray[Any]

QUERY, CODE = range(2)

LARGEST_FACTOR = 255

_LARGEST = 0.9995
"""The share of factors that are not clipped."""


@dataclass(frozen=True)
class Model:
    name: str
    table: Array
    """int8, a row for each word and bucket."""
    weights: Array
    """float32, one line for queries and one for code."""
    boost: float
    words: list[str]

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.words, len(self.table) - len(self.words))

    def vectors(self, bags: Sequence[Bag], side: int) -> Array:
        found = np.zeros((len(bags), self.table.shape[1]), np.float32)
        for at, bag in enumerate(bags):
            ids, times = np.array(bag.ids, np.int64), np.array(bag.times, np.int64)
            factors = rounded(self.weights[side][ids] * factors_of(times, self.boost))
            found[at] = factors @ self.table[ids].astype(np.float32)
        return normalised(found)


def factors_of(times: Array, boost: float) -> Array:
    often = np.log(np.maximum(times & MOST_OFTEN, 1)) + 1
    return np.asarray(np.where(times >= NAMED, boost * often, often))


def rounded(factors: Array) -> Array:
    return np.clip(np.rint(factors), 0, LARGEST_FACTOR).astype(np.float32)


def normalised(vectors: Array) -> Array:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12))


@dataclass(frozen=True)
class Trained:
    """A table as it was trained: real rows, real weights."""

    rows: Array
    weights: Array
    boost: float
    occurrences: Array
    """Texts of the training data that each word is in, on either side."""


def quantised(trained: Trained, words: list[str], name: str, sample: tuple[list[Bag], list[Bag]]) -> Model:
    """`sample` is some bags of queries and some of code: the largest factors are read off them."""
    largest = np.maximum(np.abs(trained.rows).max(axis=1), 1e-9)
    table = np.rint(trained.rows / largest[:, None] * 127).astype(np.int8)
    weights = trained.weights * largest
    scaled = np.stack([_in_units(weights[side], sample[side], trained.boost) for side in (QUERY, CODE)])
    return Model(name, table, scaled.astype(np.float32), float(np.float32(trained.boost)), words)


def _in_units(weights: Array, bags: list[Bag], boost: float) -> Array:
    ids = np.concatenate([np.array(bag.ids, np.int64) for bag in bags])
    times = np.concatenate([np.array(bag.times, np.int64) for bag in bags])
    largest = np.quantile(weights[ids] * factors_of(times, boost), _LARGEST)
    return np.asarray(weights * (LARGEST_FACTOR / largest))


def shrunk(trained: Trained, start: Trained, texts: float = 12.0) -> Trained:
    """A word seen in few texts keeps near where it started: what so few texts taught it is their accidents."""
    share = (trained.occurrences / (trained.occurrences + texts))[:, None]
    rows = start.rows + share * (trained.rows - start.rows)
    weights = np.exp(np.log(start.weights) + share.T * (np.log(trained.weights) - np.log(start.weights)))
    return Trained(rows, weights, trained.boost, trained.occurrences)


def with_buckets(trained: Trained, words: int, share: float = 1.0) -> Trained:
    """Buckets get directions of chance, so that a word matches itself alone, and weigh like the rarest words."""
    random = np.random.default_rng(20_011)
    rows, weights = trained.rows.copy(), trained.weights.copy()
    rare = slice(words - words // 10, words)
    lengths = np.linalg.norm(rows[rare], axis=1)
    chance = normalised(random.standard_normal(rows[words:].shape))
    rows[words:] = chance * np.median(lengths)
    weights[:, words:] = np.median(weights[:, rare], axis=1, keepdims=True) * share
    return Trained(rows.astype(np.float32), weights, trained.boost, trained.occurrences)


def packed(model: Model, path: Path) -> None:
    """One file, to carry."""
    words = np.frombuffer("\n".join(model.words).encode(), np.uint8)
    np.savez_compressed(path, table=model.table, weights=model.weights, boost=np.float32(model.boost), words=words)


def unpacked(path: Path) -> Model:
    with np.load(path) as held:
        words = held["words"].tobytes().decode().split("\n")
        return Model(path.stem, held["table"], held["weights"], float(held["boost"]), words)


def written(model: Model, folder: Path) -> None:
    """The files that are served."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "table.npy", model.table)
    np.save(folder / "weights.npy", model.weights)
    (folder / "vocabulary.txt").write_text("\n".join(model.words) + "\n", encoding="utf-8", newline="\n")
    told = {
        "name": model.name, "dimensions": model.table.shape[1], "words": len(model.words),
        "buckets": len(model.table) - len(model.words), "boost": model.boost, "largest_factor": LARGEST_FACTOR,
    }  # fmt: skip
    (folder / "model.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8", newline="\n")


def read(folder: Path) -> Model:
    told = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    words = (folder / "vocabulary.txt").read_text(encoding="utf-8").splitlines()
    return Model(told["name"], np.load(folder / "table.npy"), np.load(folder / "weights.npy"), told["boost"], words)


def main(arguments: list[str]) -> None:
    """`python -m training.export PACKED.npz FOLDER [NAME]`"""
    model = unpacked(Path(arguments[0]))
    named = Model(arguments[2], *list(vars(model).values())[1:]) if len(arguments) > 2 else model
    written(named, Path(arguments[1]))


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
