"""How long one file may take. Some texts cost a grammar time that grows with the square of their length or worse."""

from __future__ import annotations

from time import monotonic, thread_time
from typing import Any

from codecairn.parse.piece_reader import PieceReader


class SlowParse(Exception):
    """The file took longer to read than it was given."""


class Deadline:
    """Processor seconds of this thread, so that a busy machine makes no file slow."""

    def __init__(self, seconds: float | None) -> None:
        self.is_set = seconds is not None
        self._seconds = seconds or 0.0
        self._over = thread_time() + self._seconds
        self._soonest = monotonic() + self._seconds
        """No thread uses more time than passes: until then the slower clock need not be asked."""

    def is_over(self, *_: object) -> bool:
        return self.is_set and monotonic() > self._soonest and thread_time() > self._over

    def check(self) -> None:
        if self.is_over():
            raise SlowParse(f"over {self._seconds} s")

    def parse(self, parser: Any, source: bytes) -> Any:
        """The root of a source's tree. Given piece by piece, a parser can be stopped between two of them.

        The tree is then taken over for the whole text, at a few hundredths of the cost, since asking a node of a tree
        read in pieces for its text is slow. (Progress callbacks, of parsers and of queries, crash tree-sitter 0.26.0.)
        """
        if not self.is_set:
            return parser.parse(source).root_node
        first = PieceReader(source, self.is_over).parse(parser)
        self.check()
        root = parser.parse(source, old_tree=first).root_node
        self._foresee(root)
        return root

    def _foresee(self, root: Any) -> None:
        """A query cannot be stopped, but what it costs can be told before, from a sample of the nodes.

        At each node it looks at all that are around it, and at those that follow beside it up to the next named one,
        of which there may be none in a stretch that the grammar could not read.
        """
        cursor, nodes = root.walk(), root.descendant_count
        looks = 0
        for sample in range(_SAMPLES):
            cursor.goto_descendant(sample * nodes // _SAMPLES)
            looks += cursor.depth
            if cursor.goto_parent() and cursor.node.is_error:
                looks += cursor.node.child_count
        if thread_time() + nodes * looks / _SAMPLES * _SECONDS_A_LOOK > self._over:
            raise SlowParse(f"nested too deeply for {self._seconds} s")


_SAMPLES = 64
_SECONDS_A_LOOK = 4e-9
"""Two queries over 20,000 opening brackets took 0.8 s."""
