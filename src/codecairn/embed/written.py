"""A passage as encoders that read text are given it: where it stands, what it is called, and then what it says."""

from __future__ import annotations

from codecairn.embed.encoder import Passage

MOST_CHARACTERS = 6000
"""Of one text: some 1,500 tokens of code, and within the 8,192 that endpoints commonly take in any script."""


def written(passage: Passage) -> str:
    return readable("\n".join(part for part in (passage.path, passage.name, passage.text) if part))


def readable(text: str) -> str:
    """Cut to what is read of it; halves of surrogate pairs, which no encoding carries, are question marks."""
    return text[:MOST_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
