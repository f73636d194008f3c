"""What the lexical index says, as far as a view shows it.

The index holds documents of every branch and worktree. Those of whole versions that are not visible are told by their
keys; those of differences, of which a repository with hundreds of branches has thousands and a view shows few, by the
one key they all have, and the view's own are then asked for by theirs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from codecairn.store.lexical import DIFFERENCE, Lexical, key_of
from codecairn.store.standins import Place, StandIns


class Documents:
    def __init__(self, lexical: Lexical, database: sqlite3.Connection, visible: str, stand_ins: StandIns) -> None:
        self._searcher = lexical.searcher()
        self._schema = lexical.schema
        self._database = database
        self._visible = visible
        self._stand_ins = stand_ins

    @property
    def count(self) -> int:
        return int(self._searcher.num_docs)

    def queries(self, weighted: Sequence[tuple[str, str, float]], place: str) -> list[Any]:
        """What to ask for the chunks of a place that have any of these terms (field, term, weight)."""
        from tantivy import Occur, Query  # noqa: PLC0415

        should = [
            (Occur.Should, Query.boost_query(Query.term_query(self._schema, field, term, "freq"), weight))
            for field, term, weight in weighted
        ]
        if not should:
            return []
        there = Query.boost_query(Query.term_query(self._schema, "place", place, "basic"), 0.0)
        return self._split([(Occur.Must, there), (Occur.Must, Query.boolean_query(should))])

    def _split(self, asked: list[tuple[Any, Any]]) -> list[Any]:
        """A question to the documents of whole versions, and one to those of the differences that are shown."""
        from tantivy import Occur, Query  # noqa: PLC0415

        other = Query.term_query(self._schema, "key", DIFFERENCE, "basic")
        whole = Query.boolean_query([*asked, (Occur.MustNot, other)])
        if not self._stand_ins:
            return [whole]
        own = Query.boost_query(self._keyed(self._stand_ins.basis), 0.0)
        return [whole, Query.boolean_query([*asked, (Occur.Must, own)])]

    def found(self, query: Any, most: int) -> list[tuple[float, Place | None]]:
        """The best documents, each as the chunk it stands for here; not each of them is visible."""
        hits = self._searcher.search(query, most).hits
        return [(score, place) for (score, _), place in zip(hits, self._places(hits), strict=True)]

    def _places(self, hits: list[Any]) -> list[Place | None]:
        addresses = [address for _, address in hits]
        files = self._searcher.fast_field_values("file", addresses)
        numbers = self._searcher.fast_field_values("number", addresses)
        return [self._stand_ins.place(file, number) for file, number in zip(files, numbers, strict=True)]

    def frequency(self, term: str) -> int:
        """In how many visible chunks a term occurs: in all documents, less what is not visible, and more what is of
        the differences that are."""
        from tantivy import Query  # noqa: PLC0415

        wanted = Query.term_query(self._schema, "body", term, "basic")
        count = self._count(wanted)
        if not count:
            return 0
        count -= self._count(self._both(wanted, self._foreign))
        if not self._stand_ins:
            return count
        shown = self._places(self._all(self._both(wanted, self._partly)))
        return count + sum(place is not None for place in shown)

    def using(self, identifier: str) -> set[int]:
        """The versions in whose text an identifier stands as it is written; not each of them is visible."""
        from tantivy import Occur, Query  # noqa: PLC0415

        wanted = Query.term_query(self._schema, "uses", identifier, "basic")
        places = [place for query in self._split([(Occur.Must, wanted)]) for place in self._places(self._all(query))]
        return {place[0] for place in places if place is not None}

    def _all(self, query: Any) -> list[Any]:
        most = self._count(query)
        hits: list[Any] = self._searcher.search(query, most).hits if most else []
        return hits

    def _count(self, query: Any) -> int:
        return int(self._searcher.search(query, 1, count=True).count or 0)

    def _both(self, one: Any, other: Any) -> Any:
        from tantivy import Occur, Query  # noqa: PLC0415

        return Query.boolean_query([(Occur.Must, one), (Occur.Must, other)])

    def _keyed(self, files: Iterable[int], *also: str) -> Any:
        from tantivy import Query  # noqa: PLC0415

        return Query.term_set_query(self._schema, "key", [*map(key_of, files), *also])

    @cached_property
    def _partly(self) -> Any:
        return self._keyed(self._stand_ins.files)

    @cached_property
    def _foreign(self) -> Any:
        """Documents of whole versions that are not visible, those on their way in or out too, and of differences."""
        rows = self._database.execute(
            "SELECT id FROM file WHERE searchable = 1 AND basis IS NULL AND NOT EXISTS "  # noqa: S608 - our own names
            f"(SELECT 1 FROM manifest WHERE manifest.file = file.id AND {self._visible}) "
            "UNION SELECT file FROM dropped"
        )
        return self._keyed((row[0] for row in rows), DIFFERENCE)
