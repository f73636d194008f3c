"""References across repositories: uses in one of what another defines.

Which repositories import the name from outside themselves (tools/outside_references.py)? What does each such import
mean in the repositories that define the name? An import that exactly one of them knows for its own is bound to the
definition there; one that several know, as forks and other releases do, is counted and bound to none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codecairn.names.qualified import last_part
from codecairn.team.repositories import TeamRepository
from codecairn.team.scouts import ScoutQuestion

Fields = dict[str, Any]
Imported = tuple[str, str, str]
"""Language, module and name."""
Place = tuple[str, int]
Look = Callable[[str, Sequence[TeamRepository], Any], Mapping[str, Fields]]
"""Put a question of a kind of short_questions.py to repositories."""


@dataclass
class Across:
    """Uses by repository, and where each import leads in the repositories that define the name."""

    uses: Mapping[str, list[Fields]]
    meanings: Mapping[str, Mapping[Imported, Place]]
    undecided: int = 0
    _bound: dict[tuple[str, Place], list[Fields]] = field(default_factory=dict)

    def bind(self) -> None:
        for name, uses in sorted(self.uses.items()):
            for use in uses:
                language, module, imported_name = use["imported"]
                imported = (language, module, imported_name)
                meant = [
                    (owner, known[imported]) for owner, known in sorted(self.meanings.items()) if imported in known
                ]
                others = [each for each in meant if each[0] != name]
                if len(others) == 1:
                    self._bound.setdefault(others[0], []).append({**use["row"], "repository": name})
                self.undecided += len(others) > 1

    def add_to(self, repository: str, answer: Fields) -> Fields:
        """The answer of a repository with the uses elsewhere, its candidates too."""
        whole = self._extend(repository, answer)
        others = [self._extend(repository, each) for each in answer.get("candidates") or ()]
        return {**whole, **({"candidates": others} if others else {})}

    def _extend(self, repository: str, answer: Fields) -> Fields:
        symbol = answer["symbol"]
        rows = self._bound.get((repository, (symbol["path"], symbol["line_start"])), [])
        return {
            **answer, "references": [*answer["references"], *rows],
            "total_references": answer["total_references"] + len(rows),
        }  # fmt: skip

    @property
    def warnings(self) -> list[str]:
        if not self.undecided:
            return []
        return [f"{self.undecided} uses in other repositories may mean several of these definitions: not bound to any"]


def reach_across(
    given: Mapping[str, Any], wanted: Sequence[TeamRepository], answers: Mapping[str, Fields], look: Look
) -> tuple[dict[str, Fields], list[str]]:
    """The references in each answer with those of other repositories, and what has to be said of it."""
    if not answers:
        return {}, []
    name = last_part(str(given["symbol_name"]).removesuffix("()"))
    reports = look("scout", wanted, ScoutQuestion(identifier=name))
    using = [each for each in wanted if reports.get(each.name, {}).get("is_used")]
    asked = {"name": name, "kind": given.get("kind")}
    uses = {name: found["uses"] for name, found in look("outside", using, asked).items()}
    imports, defining = _imports_in(uses), [each for each in wanted if each.name in answers]
    told = look("exports", defining, {"imports": imports}) if imports else {}
    across = Across(uses, {name: _places_by_import(imports, found["places"]) for name, found in told.items()})
    across.bind()
    return {name: across.add_to(name, answer) for name, answer in answers.items()}, across.warnings


def _imports_in(uses: Mapping[str, Iterable[Fields]]) -> list[Imported]:
    found = (use["imported"] for each in uses.values() for use in each)
    return sorted({(language, module, name) for language, module, name in found})


def _places_by_import(imports: Iterable[Imported], places: Iterable[list[Any] | None]) -> dict[Imported, Place]:
    """Where each import leads that leads anywhere."""
    return {each: (place[0], place[1]) for each, place in zip(imports, places, strict=True) if place is not None}
