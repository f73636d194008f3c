"""Everything that a check of a project's rules finds: the catalogue, the anchors, bound code, doubts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from codecairn.anchors.binding import binding_of
from codecairn.anchors.check import AnchorReport, AnchorVerdict, Repository, check_anchors
from codecairn.anchors.entry_texts import entry_texts
from codecairn.anchors.sarif import Finding, Level
from codecairn.catalog.check import findings as catalogue_faults
from codecairn.catalog.check import load_with_problems
from codecairn.catalog.entries import Catalog, CatalogFolder, Problem
from codecairn.catalog.governance import CriteriaSource
from codecairn.catalog.quality import circles, doubts
from codecairn.store.memory import Usage

_SHORT = 9


class RulesCheck(NamedTuple):
    catalog: Catalog
    report: AnchorReport
    findings: list[Finding]

    @property
    def errors(self) -> list[Finding]:
        return [each for each in self.findings if each.level == "error"]


def check_rules(
    repository: Repository, folder: CatalogFolder, criteria: CriteriaSource, shown: Mapping[str, Usage]
) -> RulesCheck:
    catalog, problems = load_with_problems(folder, criteria)
    report = anchors_of(repository, catalog)
    findings = [
        *_of_problems([*problems, *catalogue_faults(catalog), *circles(catalog)], "error"),
        *map(_of_anchor, report.faults),
        *_bindings(repository, catalog),
        *(Finding(rule="doubt", level="note", file=each.file, message=each.reason) for each in doubts(catalog, shown)),
        *(Finding(rule="doubt", level="note", file=".", message=each) for each in report.notes),
    ]
    return RulesCheck(catalog, report, findings)


def anchors_of(repository: Repository, catalog: Catalog) -> AnchorReport:
    """The anchors of all rule files and entries of a project."""
    return check_anchors(repository, entry_texts(repository, catalog))


def _of_problems(problems: Iterable[Problem], level: Level) -> Iterator[Finding]:
    return (Finding(rule="catalogue", level=level, file=each.file, message=each.reason) for each in problems)


def _of_anchor(verdict: AnchorVerdict) -> Finding:
    since = f" in {verdict.since[:_SHORT]}" if verdict.since else ""
    near = f"; nearest: {verdict.suggestion}" if verdict.suggestion and verdict.status == "dead" else ""
    message = f"{verdict.status}: {verdict.anchor} ({verdict.reason}{since}{near})"
    rule: Literal["anchor-moved", "anchor-dead"] = "anchor-moved" if verdict.status == "moved" else "anchor-dead"
    return Finding(rule=rule, level="error", file=verdict.file, line=verdict.line, message=message)


def _bindings(repository: Repository, catalog: Catalog) -> Iterator[Finding]:
    for entry in catalog.entries.values():
        state = binding_of(repository, entry)
        if state is not None and state.status in ("drifted", "orphaned"):
            since = f", since {state.since[:_SHORT]}" if state.since else ""
            level: Level = "error" if state.status == "orphaned" else "note"
            message = f"{state.status}: {state.reason}{since}"
            yield Finding(rule="binding", level=level, file=entry.file, message=message)
