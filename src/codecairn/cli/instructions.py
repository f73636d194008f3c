"""cairn instructions"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from codecairn.cli import Suggesting
from codecairn.cli.tool_call import open_project, root_option, translate_errors
from codecairn.reading import one_of

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
    help="Report every file that does not load, was tampered with, leads nowhere or stands twice; exit 1 if any."
)
@root_option
def check(root: Path | None) -> None:
    from codecairn.catalog.check import findings, load_with_problems

    project = open_project(root, click.UsageError)
    catalog, problems = load_with_problems(project.catalog, project.criteria)
    found = [*problems, *findings(catalog)]
    for problem in found:
        click.echo(str(problem))
    click.echo(f"{one_of(len(catalog.entries), 'entry', 'entries')}, {one_of(len(found), 'finding')}")
    sys.exit(1 if found else 0)


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
