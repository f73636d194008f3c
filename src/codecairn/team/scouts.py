"""Scouts: what a node tells cheaply of a repository before anybody searches it.

A search over a thousand repositories ranks a few of them. Which ones, the scouts tell: how often each word occurs, the
most of the query that one chunk has, whether a symbol has the name. The lexical index of a replica answers each of
these in some 50 microseconds; it is kept open, with the clauses for what is visible, until the replica moves on.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from msgspec import Struct, convert

from codecairn.errors import CairnError
from codecairn.project import Project
from codecairn.rank.vectors import ViewVectors, vectors_of
from codecairn.store.database import IndexStore
from codecairn.store.documents import Documents
from codecairn.store.view import open_view
from codecairn.words import analyse

_FIELDS = (("body", 1.0), ("name", 0.6), ("path", 0.3))
"""As searches weigh them (rank/search.py)."""


class ScoutQuestion(Struct, frozen=True, kw_only=True):
    words: list[str] = []
    """How often each occurs is asked."""
    weights: dict[str, float] = {}
    """Words and what each is worth; how much of it one chunk has is asked."""
    path_worth: float = 0.3
    """Of a word in the path, beside one in the text."""
    name: str = ""
    identifier: str = ""
    """A name as it is written; whether it stands in any text is asked."""
    meaning: str = ""
    """A text; how near the nearest chunk is to it is asked."""
    with_memory: bool = False
    """Whether discoveries count as chunks do."""


class ScoutReport(Struct, frozen=True, kw_only=True):
    chunks: int = 0
    frequency: list[int] = []
    best: float = 0.0
    is_named: bool = False
    is_used: bool = False
    near: float = 0.0


@dataclass(frozen=True)
class Scout:
    """One generation of a replica, left open for questions about its words."""

    project: Project
    store: IndexStore
    lexicon: Documents
    chunks: int
    vectors: ViewVectors | None

    def report(self, asked: ScoutQuestion) -> ScoutReport:
        return ScoutReport(
            chunks=self.chunks, frequency=[self.lexicon.frequency(word) for word in asked.words],
            best=max(self._coverage(asked), self._recollection(asked) if asked.with_memory else 0.0),
            is_named=bool(asked.name) and self.store.has_name(asked.name),
            is_used=bool(asked.identifier) and self.lexicon.has_use(asked.identifier),
            near=self._nearness(asked.meaning),
        )  # fmt: skip

    def _coverage(self, asked: ScoutQuestion) -> float:
        worth = dict(_FIELDS) | {"path": asked.path_worth}
        return self.lexicon.coverage(
            [(field, word, weight * worth[field]) for word, weight in asked.weights.items() for field in worth]
        )

    def _recollection(self, asked: ScoutQuestion) -> float:
        """The most of the words that one discovery has."""
        texts = (set(analyse(row.content).split()) for row in self.project.discoveries.all())
        shares = (sum(weight for word, weight in asked.weights.items() if word in text) for text in texts)
        return max(shares, default=0.0)

    def _nearness(self, meaning: str) -> float:
        if not meaning or self.vectors is None:
            return 0.0
        found = self.vectors.about(meaning).proposals(1, lambda hits: hits)
        return found[0].score if found else 0.0


class Scouts:
    """The scouts of a node, each as long as its replica stays as it is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[int, tuple[tuple[int, int], Scout]] = {}

    def report(self, number: int, generation: int, project: Project, question: Any) -> ScoutReport:
        """Report on a repository by its number; the report is empty where nothing is indexed."""
        scout = self._scout(number, (generation, id(project)), project)
        asked = question if isinstance(question, ScoutQuestion) else convert(question, ScoutQuestion)
        return scout.report(asked) if scout else ScoutReport()

    def _scout(self, number: int, state: tuple[int, int], project: Project) -> Scout | None:
        with self._lock:
            known = self._kept.get(number)
        if known is not None and known[0] == state:
            return known[1]
        made = _make(project)
        if made is not None:
            with self._lock:
                self._kept[number] = (state, made)
        return made

    def forget(self, number: int) -> None:
        with self._lock:
            self._kept.pop(number, None)


def _make(project: Project) -> Scout | None:
    try:
        opened = project.index.open_index()
        if opened is None:
            return None
        blocks = project.index.damage.path_filter
        with open_view(opened.store, opened.lexical, str(project.root), blocks) as view:
            if view is None:
                return None
            vectors = vectors_of(view, project.index.encoders())
            return Scout(project, opened.store, view.lexicon(), view.extent.chunks, vectors)
    except CairnError:  # an index that cannot be read says so when it is searched
        return None
