"""cairn instructions"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codecairn.cli import Suggesting
from codecairn.cli.tool_call import json_option, open_project, root_option, translate_errors
from codecairn.reading import one_of

if TYPE_CHECKING:
    from codecairn.anchors.findings import RulesCheck

_WORDS = {
    "add": "would add", "update": "would update", "keep": "unchanged", "edited": "edited by hand, left alone",
    "unreadable": "does not load, left alone", "gone": "no longer in its source, left alone", "skipped": "not read",
}  # fmt: skip
_DONE = {**_WORDS, "add": "added", "update": "updated"}


@click.group(
    cls=Suggesting, help="Check the instruction catalogue, or fill it from the files of rules you already have."
)
def command() -> None:
    pass


@command.command(
    help="Check the catalogue, and hold everything that rules name (in AGENTS.md and its kin too) against the project: "
    "files that do not load, were tampered with, lead nowhere or stand twice; paths, links, commands and names of code "
    "that are dead or moved. Exit 1 if any; notes do not count."
)
@root_option
@json_option
@click.option("--sarif", "as_sarif", is_flag=True, help="Print the findings as SARIF.")
@click.option("--all", "with_all", is_flag=True, help="List every anchor with its verdict.")
def check(root: Path | None, structured: bool, as_sarif: bool, with_all: bool) -> None:
    import msgspec

    from codecairn.anchors.check import Repository
    from codecairn.anchors.findings import check_rules
    from codecairn.anchors.sarif import sarif
    from codecairn.cancel import Cancel
    from codecairn.catalog.usage import read_usage

    project = open_project(root, click.UsageError)
    repository = Repository(project.root, project.git, project.guard, Cancel())
    with translate_errors():
        shown = read_usage(lambda: project.memory).shown
        checked = check_rules(repository, project.catalog, project.criteria, shown)
    if as_sarif:
        click.echo(msgspec.json.format(msgspec.json.encode(sarif(checked.findings)), indent=2).decode())
    elif structured:
        value = {"entries": len(checked.catalog.entries), "findings": checked.findings, "errors": len(checked.errors)}
        anchors = checked.report.verdicts if with_all else checked.report.faults
        click.echo(msgspec.json.encode({**value, "anchors": anchors}).decode())
    else:
        _print_check(checked, with_all=with_all)
    sys.exit(1 if checked.errors else 0)


def _print_check(checked: RulesCheck, *, with_all: bool) -> None:
    for each in checked.report.verdicts if with_all else ():
        click.echo(f"{each.status:<8} {each.kind:<8} {each.file}:{each.line}  {each.anchor}")
    for finding in checked.findings:
        click.echo(str(finding))
    entries, errors = len(checked.catalog.entries), len(checked.errors)
    anchors = one_of(len(checked.report.verdicts), "anchor")
    click.echo(f"{one_of(entries, 'entry', 'entries')}, {one_of(errors, 'finding')}, {anchors}")


@command.command(
    "import", help="Turn AGENTS.md, CLAUDE.md, .cursor/rules and copilot instructions into entries, a section each."
)
@root_option
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
def import_(root: Path | None, dry_run: bool) -> None:
    from codecairn.cancel import Cancel
    from codecairn.catalog import rule_files, rule_import
    from codecairn.clock import timestamp
    from codecairn.source.file_listing import list_files

    project = open_project(root, click.UsageError)
    with translate_errors():
        listing = list_files(project.root, project.git, project.guard, Cancel())
        steps = rule_import.plan(project.root, timestamp(), [each.path for each in listing.files])
        if not dry_run:
            rule_import.write(project.root, steps)
    for step in steps:
        click.echo(f"{(_WORDS if dry_run else _DONE)[step.action]}: {step.id}  ({step.source})")
    if not steps:
        click.echo(f"Nothing to import: no file of rules ({rule_files.EXAMPLES}) has a section with text.")
