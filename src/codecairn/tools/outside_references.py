"""References between repositories, one side each: uses of what is imported from outside, and what imports mean here."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from msgspec import to_builtins

from codecairn.project import Project
from codecairn.resolve.across_projects import ImportedName, OutsideUse, exported, outside_uses
from codecairn.resolve.engine import Engine
from codecairn.resolve.references import Reference
from codecairn.store.view import View
from codecairn.tools import Call
from codecairn.tools.inquiry import glance
from codecairn.tools.references import reference_row

_CONFIDENCE = 0.9
"""The import names the other project's module, and that project says what the name means there."""
_MOST_USES = 1000


def find_outside_uses(call: Call, project: Project, name: str, kind: str | None) -> list[dict[str, Any]]:
    """Uses of a name that a project imports from elsewhere, as find_references has them, with what was imported."""

    def answer(view: View) -> list[dict[str, Any]]:
        engine = Engine(view, call.cancel)
        found = [each for each in outside_uses(engine, name) if kind is None or each.site.kind == kind][:_MOST_USES]
        rows = [reference_row(engine, _reference(each)) for each in found]
        return [{"imported": each.imported, "row": to_builtins(row)} for each, row in zip(found, rows, strict=True)]

    return glance(call, project).require(answer)


def _reference(use: OutsideUse) -> Reference:
    site = use.site
    return Reference(use.file, site.line, site.column, site.kind, site.symbol, "import", _CONFIDENCE)


def find_exported(call: Call, project: Project, asked: Iterable[list[str]]) -> list[tuple[str, int] | None]:
    """Path and line of the definition that each import of another project means here; None where none is sure."""

    def answer(view: View) -> list[tuple[str, int] | None]:
        engine = Engine(view, call.cancel)
        found = [engine.budget.within(partial(exported, engine, ImportedName(*each)), None) for each in asked]
        return [
            (engine.scope(each.file).row.path, engine.symbol(each).name_line) if each is not None else None
            for each in found
        ]

    return glance(call, project).require(answer)
