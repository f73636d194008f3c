"""The lines of an excerpt, cut from a text that is not taken apart before them."""

from __future__ import annotations

import random

import pytest

from codecairn.rank.excerpts import Lines


@pytest.mark.parametrize("seed", range(20))
def test_lines_are_those_of_the_whole_text(seed: int) -> None:
    choice = random.Random(seed)
    text = "\n".join("x" * choice.choice([0, 1, 30, 5000]) for _ in range(choice.randrange(1, 400)))
    whole = text.split("\n")
    for _ in range(30):
        first = choice.randrange(1, len(whole) + 1)
        last = first + choice.randrange(60)
        lines = Lines.of(text, first, last)
        start, end = sorted(choice.choices(range(first, last + 1), k=2))
        assert lines.lines == whole[first - 1 : last]
        assert lines.between(start, end) == whole[start - 1 : end]
