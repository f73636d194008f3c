"""The stores of one index, opened together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from codecairn.store.database import IndexStore
from codecairn.store.lexical import Lexical


@dataclass(frozen=True)
class OpenIndex:
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
