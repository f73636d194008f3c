"""A text by its lines, and as one string in which every character stands for one byte."""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate


class SourceLines:
    """Lines are numbered from 1."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        lengths = map((1).__add__, map(len, source.split(b"\n")))
        self.starts = list(accumulate(lengths, initial=0))
        """Where each line begins; after the last, where one more would."""
        self.count = len(self.starts) - 1 - (self.starts[-2] == len(source))

    @cached_property
    def latin(self) -> str:
        """A character for each byte, so that positions agree; what is not ASCII is `spelt` out where it is used."""
        return self.source.decode("latin-1")

    def text(self, first: int, last: int) -> bytes:
        return self.source[self.starts[first - 1] : self.starts[last]]

    def depth(self, line: int) -> int:
        """How far the line is indented; one that goes on with the statement before it, further than any."""
        text = self.text(line, line)
        bare = text.lstrip()
        return len(text) - len(bare) if bare and bare[:1] not in b")]}" else len(self.source)


def spelt(latin: str) -> str:
    """A piece of the `latin` text as it reads."""
    return latin if latin.isascii() else latin.encode("latin-1").decode("utf-8", "replace")
