"""Links to other projects as memory.db keeps them: where each lies, and what it is called in results."""

from __future__ import annotations

from typing import NamedTuple

from codecairn.store.memory import Memory

MOST_LINKS = 10


class Link(NamedTuple):
    root: str
    """Absolute, as it was resolved when it was linked."""
    name: str
    linked: str
    """When, as an ISO 8601 timestamp."""


class LinkStore:
    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def all(self) -> list[Link]:
        """In the order in which they were linked."""
        with self._memory.reading() as database:
            rows = database.execute("SELECT root, name, linked FROM link ORDER BY rowid").fetchall()
        return [Link(*row) for row in rows]

    def add(self, link: Link) -> bool:
        """Store a link, in place of one to the same root; False where there are as many as there may be. Counted and
        stored in one transaction, so that two processes cannot both be the tenth."""
        with self._memory.writing() as database:
            others = database.execute("SELECT count(*) FROM link WHERE root <> ?", (link.root,)).fetchone()[0]
            if others >= MOST_LINKS:
                return False
            database.execute(
                "INSERT INTO link (root, name, linked) VALUES (?, ?, ?) "
                "ON CONFLICT (root) DO UPDATE SET name = excluded.name",
                link,
            )
            return True

    def remove(self, root: str) -> bool:
        with self._memory.writing() as database:
            return database.execute("DELETE FROM link WHERE root = ?", (root,)).rowcount > 0
