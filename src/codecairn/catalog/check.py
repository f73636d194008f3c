"""Faults of a catalogue: files that do not load, tampered bodies, deprecations that lead nowhere, doubles."""

from __future__ import annotations

from collections import defaultdict

from codecairn.catalog import governance
from codecairn.catalog.entries import Catalog, CatalogFolder, Problem
from codecairn.catalog.governance import CriteriaSource
from codecairn.errors import CairnError


def load_with_problems(folder: CatalogFolder, criteria: CriteriaSource) -> tuple[Catalog, list[Problem]]:
    """The catalogue (empty where its folder cannot be read), and every file of it, of gates or criteria that is bad."""
    try:
        catalog = folder.current()
    except CairnError as error:
        catalog = Catalog({}, (_problem(error),))
    problems = list(catalog.problems)
    for load in (lambda: governance.gates_of(catalog), criteria.current):
        try:
            load()
        except CairnError as error:
            problems.append(_problem(error))
    return catalog, problems


def _problem(error: CairnError) -> Problem:
    return Problem(error.data["file"], error.data["reason"])


def findings(catalog: Catalog) -> list[Problem]:
    """The faults of entries that do load."""
    drifted = [
        Problem(e.file, "the body is not the one that sourceHash was taken of") for e in catalog.entries_with_drift()
    ]
    dangling = [
        Problem(entry.file, f"deprecatedBy names {entry.value.deprecated_by!r}, which does not exist")
        for entry in catalog.entries.values()
        if entry.value.deprecated_by is not None and entry.value.deprecated_by not in catalog.entries
    ]
    return [*drifted, *dangling, *_doubles(catalog)]


def _doubles(catalog: Catalog) -> list[Problem]:
    """Two entries with one body: an agent reads it twice, and an edit reaches only one of them."""
    by_body: defaultdict[str, list[str]] = defaultdict(list)
    for entry in catalog.entries.values():
        by_body[entry.value.source_hash].append(entry.file)
    return [Problem(file, f"has the same body as {files[0]}") for files in by_body.values() for file in files[1:]]
