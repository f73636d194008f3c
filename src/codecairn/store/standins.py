"""Versions that a view shows and that are kept as differences (schema.py): each stands in for its basis, whose
documents and vectors are its own but for the chunks that differ."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from codecairn.store.differences import Bodies

Place = tuple[int, int]
"""A file version and the number of a chunk in it."""


class StandIns:
    def __init__(self, database: sqlite3.Connection, visible: str) -> None:
        """`visible` is the condition for rows of the manifest that the view shows (layers.py)."""
        self._database = database
        self._bodies = Bodies(database)
        # The index on `basis` has differences alone, of which there are few; the manifest has every file.
        self.basis: dict[int, int] = dict(
            database.execute(
                "SELECT id, basis FROM file INDEXED BY file_basis CROSS JOIN manifest ON manifest.file = file.id "  # noqa: S608
                f"WHERE basis IS NOT NULL AND {visible}"
            ).fetchall()
        )
        self._by_basis = {basis: file for file, basis in self.basis.items()}
        self._shared: dict[int, list[int]] = {}
        self._standing: dict[int, dict[int, int]] = {}

    def __contains__(self, file: int) -> bool:
        return file in self.basis

    def __bool__(self) -> bool:
        return bool(self.basis)

    @property
    def files(self) -> Collection[int]:
        """The versions, and those they are differences to: what their chunks' documents are filed under."""
        return {*self.basis, *self._by_basis}

    def named(self, name: str) -> set[int]:
        """Those that may have a symbol of this name: their basis has one, or they added the name."""
        bases, added = self._naming("symbol", name), self._naming("added", name)
        return {self._by_basis[each] for each in bases & self._by_basis.keys()} | (added & self.basis.keys())

    def _naming(self, table: str, name: str) -> set[int]:
        ask = f"SELECT file FROM {table} WHERE name = ? COLLATE NOCASE"  # noqa: S608 - our own names
        return {row[0] for row in self._database.execute(ask, (name,))}

    def place(self, file: int, number: int) -> Place | None:
        """The chunk that a document stands for here; None where it is one that the stand-in has not. What no version
        stands in for is itself, visible or not."""
        standing = self._by_basis.get(file)
        if standing is None:
            return file, number
        if file not in self._standing:
            pairs = enumerate(self.shared(standing))
            self._standing[file] = {there: here for here, there in pairs if there >= 0}
        here = self._standing[file].get(number)
        return None if here is None else (standing, here)

    def shared(self, file: int) -> list[int]:
        """For each chunk of a stand-in the number of its basis's chunk that is the same, or -1."""
        if file not in self._shared:
            self._shared[file] = self._bodies.shared(file)
        return self._shared[file]
