"""Files of which the index was found damaged while it was read: left out of answers until a run has read them anew."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from codecairn.cache import forget_all
from codecairn.errors import IndexIncompatible, VersionDamaged
from codecairn.paths import printable
from codecairn.store.integrity import NO_LOSSES
from codecairn.store.open_index import OpenIndex

if TYPE_CHECKING:
    from codecairn.index.embedding import Vectors

log = logging.getLogger("codecairn.index")

_MOST_NAMED = 5
_HELD = {
    "popularity": "how often files are imported", "vector": "vectors", "segment": "vectors",
    "manifest": "which files there are",
}  # fmt: skip
"""What the tables hold, for people."""


class Hidden(Struct, frozen=True):
    blocks: Callable[[str], bool]
    damaged: frozenset[str]

    def __call__(self, path: str) -> bool:
        return path in self.damaged or self.blocks(path)


class Damage:
    def __init__(self, blocks: Callable[[str], bool], mend: Callable[[], None]) -> None:
        self._blocks = blocks
        self._mend = mend
        self._lock = threading.Lock()
        self._paths: frozenset[str] = frozenset()
        self._tables: frozenset[str] = frozenset()
        self._vouched: Path | None = None
        self._is_unreadable = False

    def vouch(self, epoch: Path) -> None:
        """Everything in this folder was compared with its checksums a moment ago: the next run need not do so."""
        self._vouched = epoch

    @property
    def is_known(self) -> bool:
        return bool(self._paths or self._tables)

    @property
    def path_filter(self) -> Callable[[str], bool]:
        """Whether a file may not be shown, or is damaged here. Equal to another one that says the same."""
        return Hidden(self._blocks, self._paths) if self._paths else self._blocks

    def note(self, error: VersionDamaged) -> bool:
        """Leave a file out from now on, and have it read anew where a server runs. Returns False if it was known."""
        path = str(error.data["path"])
        with self._lock:
            if path in self._paths:
                return False
            self._paths |= {path}
        log.warning("%s", error.message)
        self._mend()
        return True

    def mend(self, opened: OpenIndex, open_vectors: Callable[[], Vectors | None]) -> None:
        """Look at everything that is kept, and give up what is damaged, so that the run that follows makes it anew;
        its files are left out until then. Vectors are opened when the database is known to be whole: they trust it."""
        vouched, self._vouched = self._vouched, None
        if vouched == opened.folder:
            return
        store = opened.store
        lost = store.find_damage()
        if lost.versions:
            log.warning("%d file versions in the index are damaged; they are read anew", len(lost.versions))
        if lost.tables:
            log.warning("The index is damaged: %s; made anew", _named(lost.tables))
        if lost != NO_LOSSES:
            with self._lock:
                self._paths |= store.paths_of(lost.versions)
                self._tables |= lost.tables
            store.give_up(lost)
            forget_all()
        elif (documents := store.count_documents()) is not None:
            opened.lexical.check_count(documents)
        vectors = open_vectors()
        if vectors is not None:
            vectors.mend()

    def note_unreadable(self, error: IndexIncompatible) -> None:
        """The index cannot be read as a whole, and is built anew."""
        log.warning("%s; it is built anew", error.message)
        self._is_unreadable = True

    def clear(self) -> None:
        """A run over everything has ended well. What was read before an index was found to be unreadable goes."""
        if self._is_unreadable:
            forget_all()
            self._is_unreadable = False
        with self._lock:
            self._paths = self._tables = frozenset()

    def warnings(self) -> list[str]:
        said = [f"The index is damaged; made anew: {_named(self._tables)}. {VersionDamaged.way_out}"]
        named = ", ".join(map(printable, sorted(self._paths)[:_MOST_NAMED]))
        left_out = [f"The index is damaged; left out: {named}. {VersionDamaged.way_out}"]
        return [*(said if self._tables else []), *(left_out if self._paths else [])]


def _named(tables: frozenset[str]) -> str:
    return ", ".join(sorted({_HELD[table] for table in tables}))
