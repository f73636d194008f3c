"""A query as a vector beside the vectors of a view: what is near it in meaning, whatever the words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from codecairn.errors import EncoderFailed
from codecairn.rank.candidate import Place
from codecairn.store.view import Hit, View

if TYPE_CHECKING:
    from codecairn.embed.encoder import Encoder, Row
    from codecairn.store.vectors import Near, Similarities, VectorField

NO_VECTORS = "This index has no vectors yet, so hybrid search is keyword search."


class ViewVectors(Struct, frozen=True):
    """An encoder and what it made of a view; which chunks it has not come to yet is said."""

    encoder: Encoder
    field: VectorField
    missing: int

    def about(self, query: str) -> QueryVector:
        row = self.encoder.query(query)
        if len(row) != self.field.dimensions:
            raise EncoderFailed(f"{self.encoder.name} answers with {len(row)} numbers, not {self.field.dimensions}")
        return QueryVector(self.field, row, self.encoder.near)


class QueryVector(Struct, frozen=True):
    field: VectorField
    query: Row
    near: float

    def proposals(self, most: int, wanted: Callable[[list[Hit]], list[Hit]]) -> list[Hit]:
        def keep(found: list[Near]) -> list[Hit]:
            return wanted([Hit(*each) for each in found])

        return self.field.nearest(self.query, most, keep, self.near)

    def similar(self, places: Sequence[Place], files: Sequence[int]) -> Similarities:
        return self.field.similar(self.query, places, files)


def vectors_of(view: View, encoders: Iterable[Encoder]) -> ViewVectors | None:
    """The vectors of the first encoder that has encoded everything, else of the one that came furthest."""
    chunks = view.extent.chunks
    best: ViewVectors | None = None
    for encoder in encoders:
        field = _field(view, encoder)
        if field is None or not field.chunks:
            continue
        found = ViewVectors(encoder, field, chunks - field.chunks)
        if best is None or found.missing < best.missing:
            best = found
    return best


def _field(view: View, encoder: Encoder) -> VectorField | None:
    try:
        return view.field(encoder.name)
    except EncoderFailed:  # its name is known once it has answered
        return None
