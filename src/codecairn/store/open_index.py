"""The stores of one index, opened together."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from codecairn.store.database import IndexStore
from codecairn.store.lexical import Lexical


class OpenIndex(Struct, frozen=True):
    """The stores of one index."""

    folder: Path
    store: IndexStore
    lexical: Lexical

    @classmethod
    def at(cls, folder: Path) -> OpenIndex:
        return cls(folder, IndexStore(folder), Lexical(folder / "lexical"))

    @classmethod
    def create(cls, folder: Path) -> OpenIndex:
        return cls(folder, IndexStore.create(folder), Lexical.create(folder / "lexical"))
