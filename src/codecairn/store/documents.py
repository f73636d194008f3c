"""The answers of the lexical index, as far as a view shows them.

The index holds documents of every branch and worktree. Those of versions that were read for a branch, of which a
repository with hundreds of branches has thousands and a view shows few, are left out by the one key they all have, and
the view's own are asked for by theirs. Other invisible versions are told by their keys, which are few: a set of a
thousand keys takes 16 ms a term.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from typing import Any

from codecairn.store.lexical import ON_BRANCH, Lexical, key_of

_Clause = tuple[Any, Any]


def place_of(hit: tuple[int, int, float]) -> tuple[float, int, int]:
    """Hits (file version, number, score) fall by score, to a thousandth of it, and then stand by version. The lexical
    index adds a score up in an order that depends on its files, so that the last digits differ from machine to
    machine."""
    file, number, score = hit
    return -round(math.log(score), 3) if score > 0 else math.inf, file, number


class Documents:
    def __init__(self, lexical: Lexical, database: sqlite3.Connection, visible: str) -> None:
        """`visible` is the condition for rows of the manifest that the view shows (layers.py)."""
        self._searcher = lexical.searcher()
        self._schema = lexical.schema
        self._database = database
        self.clauses: dict[str, _Clause | None] = {}
        """For versions, by the question for them; views of the same state share them."""
        self._is_visible = f"EXISTS (SELECT 1 FROM manifest WHERE manifest.file = file.id AND {visible})"  # noqa: S608

    @property
    def count(self) -> int:
        return int(self._searcher.num_docs)

    def settle(self) -> Documents:
        """Read what the database has to say of versions, so that it is not asked any more; returns itself."""
        self._clauses_of_versions()
        return self

    def coverage(self, weighted: Sequence[tuple[str, str, float]]) -> float:
        """The most that one visible chunk has of these terms (field, term, weight), each counted once, whatever its
        frequency: a number that means the same in every index."""
        from tantivy import Occur, Query  # noqa: PLC0415

        should = [
            (Occur.Should, Query.const_score_query(Query.term_query(self._schema, field, term, "basic"), weight))
            for field, term, weight in weighted
        ]
        if not should:
            return 0.0
        asked = [(Occur.Must, Query.boolean_query(should))]
        hidden = [(Occur.MustNot, self._foreign[1])] if self._foreign else []
        hits = [hit for query in self._split([*asked, *hidden]) for hit in self._searcher.search(query, 1).hits]
        return max((float(score) for score, _ in hits), default=0.0)

    def queries(self, weighted: Sequence[tuple[str, str, float]], place: str) -> list[Any]:
        """The queries for the chunks of a place that have any of these terms (field, term, weight)."""
        from tantivy import Occur, Query  # noqa: PLC0415

        should = [
            (Occur.Should, Query.boost_query(Query.term_query(self._schema, field, term, "freq"), weight))
            for field, term, weight in weighted
        ]
        if not should:
            return []
        there = Query.boost_query(Query.term_query(self._schema, "place", place, "basic"), 0.0)
        return self._split([(Occur.Must, there), (Occur.Must, Query.boolean_query(should))])

    def best(self, query: Any, most: int) -> list[tuple[int, int, float]]:
        """The best documents: the file version and the number of the chunk, and the score. Not each is visible."""
        hits = self._searcher.search(query, most).hits
        addresses = [address for _, address in hits]
        files, numbers = (self._searcher.fast_field_values(field, addresses) for field in ("file", "number"))
        return [(file, number, score) for (score, _), file, number in zip(hits, files, numbers, strict=True)]

    def frequency(self, term: str) -> int:
        """In how many visible chunks a term occurs."""
        from tantivy import Occur, Query  # noqa: PLC0415

        wanted = (Occur.Must, Query.term_query(self._schema, "body", term, "basic"))
        common, *own = self._split([wanted])
        foreign = self._split([wanted, self._foreign])[0] if self._foreign else None
        return sum(map(self._count, [common, *own])) - (self._count(foreign) if foreign is not None else 0)

    def has_use(self, identifier: str) -> bool:
        """Whether an identifier stands in any text, visible or not."""
        from tantivy import Query  # noqa: PLC0415

        return self._count(Query.term_query(self._schema, "uses", identifier, "basic")) > 0

    def using(self, identifier: str) -> set[int]:
        """The versions in whose text an identifier stands as it is written; not each of them is visible."""
        from tantivy import Occur, Query  # noqa: PLC0415

        queries = self._split([(Occur.Must, Query.term_query(self._schema, "uses", identifier, "basic"))])
        counted = [(query, count) for query in queries if (count := self._count(query))]
        return {file for query, count in counted for file, _, _ in self.best(query, count)}

    def _split(self, asked: list[_Clause]) -> list[Any]:
        """A query for the documents of no branch, and one for those of branches that are visible."""
        from tantivy import Occur, Query  # noqa: PLC0415

        common = [*asked, (Occur.MustNot, Query.term_query(self._schema, "key", ON_BRANCH, "basic"))]
        own = [[*asked, self._own]] if self._own else []
        return [Query.boolean_query(each) for each in (common, *own)]

    def _count(self, query: Any) -> int:
        return int(self._searcher.search(query, 1, count=True).count or 0)

    def _clauses_of_versions(self) -> tuple[_Clause | None, _Clause | None]:
        return self._own, self._foreign

    @property
    def _own(self) -> _Clause | None:
        # The index on `on_branch` has few rows; the manifest has every file.
        return self._among(f"SELECT id FROM file INDEXED BY file_on_branch WHERE on_branch AND {self._is_visible}")  # noqa: S608

    @property
    def _foreign(self) -> _Clause | None:
        """Versions of no branch that are not visible, those on their way in or out too."""
        return self._among(
            f"SELECT id FROM file WHERE searchable = 1 AND NOT on_branch AND NOT {self._is_visible} "  # noqa: S608
            "UNION SELECT file FROM dropped"
        )

    def _among(self, ask: str) -> _Clause | None:
        """The clause for documents of these versions, which counts for no score; None for no versions."""
        from tantivy import Occur, Query  # noqa: PLC0415

        if ask not in self.clauses:
            keys = [key_of(row[0]) for row in self._database.execute(ask)]
            among = Query.boost_query(Query.term_set_query(self._schema, "key", keys), 0.0) if keys else None
            self.clauses[ask] = (Occur.Must, among) if among is not None else None
        return self.clauses[ask]
