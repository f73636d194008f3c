"""The encoder that ships: what it is made of, that it adds up exactly, and that it knows what words are about."""

from __future__ import annotations

import random
from pathlib import PurePosixPath

import numpy as np
import pytest

from codecairn.embed.choice import default_encoder
from codecairn.embed.encoder import Passage, cosines, quantise
from codecairn.embed.token_table import DATA, MOST_WORDS, TokenTable
from codecairn.words import analyse

PASSAGES = [
    Passage("src/net/retry.py", "Client.send", analyse("def send(self, request): wait before the next attempt")),
    Passage("src/cache/evict.go", "Cache.Evict", analyse("func (c *Cache) Evict(key string) { delete(c.items, key) }")),
    Passage("README.md", "", analyse("How to install the package and run the tests")),
    Passage("src/empty.py", "", ""),
]


def test_the_files_of_the_model_agree_with_each_other() -> None:
    vocabulary = (DATA / "vocabulary.txt").read_text(encoding="utf-8").splitlines()
    rows, weights = np.load(DATA / "table.npy", mmap_mode="r"), np.load(DATA / "weights.npy")
    assert len(set(vocabulary)) == len(vocabulary)
    assert rows.dtype == np.int8
    assert rows.shape[1] == default_encoder().dimensions
    assert weights.shape == (2, len(rows))
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()


def test_the_same_passage_has_the_same_row_whatever_stands_beside_it() -> None:
    encoder = default_encoder()
    together = encoder.passages(PASSAGES)
    for at, passage in enumerate(PASSAGES):
        assert (encoder.passages([passage])[0] == together[at]).all()
    assert (TokenTable().passages(PASSAGES) == together).all()


def test_the_order_of_words_is_nothing() -> None:
    words = PASSAGES[0].terms.split()
    shuffled = random.Random(5).sample(words, len(words))
    rows = default_encoder().passages([PASSAGES[0], PASSAGES[0]._replace(terms=" ".join(shuffled))])
    assert (rows[0] == rows[1]).all()


@pytest.mark.parametrize("seed", range(20))
def test_every_sum_is_exact(seed: int) -> None:
    """The same numbers added as whole numbers of 64 bits give the same row: float32 has lost nothing on the way."""
    choice = random.Random(seed)
    vocabulary = (DATA / "vocabulary.txt").read_text(encoding="utf-8").splitlines()
    words = choice.choices(vocabulary, k=choice.choice((1, 30, 400, 4_000))) + ["unheardofword"] * choice.randint(0, 9)
    encoder = default_encoder()
    passage = Passage("a.py", "", " ".join(words))
    located = analyse(f"{passage.path} {PurePosixPath(passage.path).stem}").split()
    ids, factors = encoder.factors([*located, *words], frozenset(), encoder.code_weights)
    assert len(ids) <= MOST_WORDS
    exact = factors.astype(np.int64) @ np.load(DATA / "table.npy")[ids].astype(np.int64)
    assert np.abs(exact).max() < 1 << 24
    assert (encoder.passages([passage])[0] == quantise(exact[None].astype(np.float64))[0]).all()


def test_a_word_that_the_model_never_saw_finds_itself() -> None:
    passages = [Passage("a.py", "", f"{word} value return") for word in ("xyzzyplugh", "frobozz", "grue")]
    encoder = default_encoder()
    found = cosines(encoder.passages(passages), encoder.query("return the frobozz"))
    assert int(found.argmax()) == 1
    assert not encoder.query("frobozz").any(), "alone it is near nothing but by chance"


def test_nothing_to_encode_is_no_direction() -> None:
    assert not default_encoder().query("").any()
    assert not default_encoder().query("?!… ---").any()
    assert default_encoder().passages([]).shape == (0, default_encoder().dimensions)
