"""Entries of the catalogue as texts of rules, for anchors in their bodies."""

from __future__ import annotations

from collections.abc import Iterator

from codecairn.anchors.check import Repository, RuleText
from codecairn.catalog.entries import Catalog
from codecairn.catalog.rule_files import rule_file


def entry_texts(repository: Repository, catalog: Catalog) -> Iterator[RuleText]:
    """The bodies of entries that hold still; those imported from a rule file of the project are checked there."""
    for entry in catalog.entries.values():
        source = (entry.value.source or "").partition("#")[0]
        is_checked = rule_file(source) is not None and (repository.root / source).is_file()
        if entry.value.requirement != "deprecated" and not is_checked:
            yield RuleText(entry.file, entry.value.body, _body_line(repository.text(entry.file) or ""))


def _body_line(text: str) -> int:
    """The line of an entry's file that holds its body."""
    lines = text.split("\n")
    return next((number for number, line in enumerate(lines, 1) if line.lstrip().startswith('"body"')), 1)
