"""What the lexical index says, as far as a view shows it: it also holds documents of other branches and worktrees."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from codecairn.store.lexical import Lexical, key_of


class Documents:
    def __init__(self, lexical: Lexical, database: sqlite3.Connection, visible: str) -> None:
        self._searcher = lexical.searcher()
        self._schema = lexical.schema
        self._database = database
        self._visible = visible

    @property
    def count(self) -> int:
        return int(self._searcher.num_docs)

    def query(self, weighted: Sequence[tuple[str, str, float]], place: str) -> Any:
        """The query for the chunks of a place that have any of these terms (field, term, weight); None for no terms."""
        from tantivy import Occur, Query  # noqa: PLC0415

        should = [
            (Occur.Should, Query.boost_query(Query.term_query(self._schema, field, term, "freq"), weight))
            for field, term, weight in weighted
        ]
        if not should:
            return None
        there = Query.boost_query(Query.term_query(self._schema, "place", place, "basic"), 0.0)
        return Query.boolean_query([(Occur.Must, there), (Occur.Must, Query.boolean_query(should)), *self._not_foreign])

    def best(self, query: Any, most: int) -> list[tuple[int, int, float]]:
        """The best documents: the file version and the number of the chunk, and the score."""
        hits = self._searcher.search(query, most).hits
        addresses = [address for _, address in hits]
        files, numbers = (self._searcher.fast_field_values(field, addresses) for field in ("file", "number"))
        return [(file, number, score) for (score, _), file, number in zip(hits, files, numbers, strict=True)]

    def frequency(self, term: str) -> int:
        """In how many visible chunks a term occurs."""
        return self._count(self._term("body", term))

    def using(self, identifier: str) -> set[int]:
        """The visible versions in whose text an identifier stands as it is written."""
        wanted = self._term("uses", identifier)
        count = self._count(wanted)
        return {file for file, _, _ in self.best(wanted, count)} if count else set()

    def _term(self, field: str, term: str) -> Any:
        from tantivy import Occur, Query  # noqa: PLC0415

        return Query.boolean_query(
            [(Occur.Must, Query.term_query(self._schema, field, term, "basic")), *self._not_foreign]
        )

    def _count(self, query: Any) -> int:
        return int(self._searcher.search(query, 1, count=True).count or 0)

    @cached_property
    def _not_foreign(self) -> list[tuple[Any, Any]]:
        """The condition that leaves out versions which are not visible, those on their way in or out too."""
        from tantivy import Occur, Query  # noqa: PLC0415

        rows = self._database.execute(
            "SELECT id FROM file WHERE searchable = 1 AND NOT EXISTS "  # noqa: S608 - our own names
            f"(SELECT 1 FROM manifest WHERE manifest.file = file.id AND {self._visible}) "
            "UNION SELECT file FROM dropped"
        )
        foreign = [key_of(row[0]) for row in rows]
        return [(Occur.MustNot, Query.term_set_query(self._schema, "key", foreign))] if foreign else []
