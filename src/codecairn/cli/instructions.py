"""cairn instructions"""

from __future__ import annotations

import sys
from typing import Any

import click

from codecairn import config
from codecairn.cli import Suggesting
from codecairn.errors import CairnError

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


def _project(root: str | None) -> Any:
    from codecairn.project import Projects

    try:
        return Projects(config.load((root,) if root else ())).current()
    except CairnError as error:
        raise click.UsageError(f"{error.message}. {error.remedy}") from error


@command.command(
    help="Report every file that does not load, was tampered with, leads nowhere or stands twice; exit 1 if any."
)
@click.option("--root", "--workspace", "root", metavar="PATH", help="The project (default: the one you are in).")
def check(root: str | None) -> None:
    from codecairn.catalog.check import findings, loaded

    project = _project(root)
    catalog, problems = loaded(project.catalog, project.criteria)
    found = [*problems, *findings(catalog)]
    for problem in found:
        click.echo(str(problem))
    click.echo(f"{_counted(len(catalog.entries), 'entry', 'entries')}, {_counted(len(found), 'finding', 'findings')}")
    sys.exit(1 if found else 0)


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


@command.command(
    "import", help="Turn AGENTS.md, CLAUDE.md, .cursor/rules and copilot instructions into entries, a section each."
)
@click.option("--root", "--workspace", "root", metavar="PATH", help="The project (default: the one you are in).")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
def import_(root: str | None, dry_run: bool) -> None:
    from codecairn.catalog import importing
    from codecairn.metrics import timestamp

    project = _project(root)
    try:
        steps = importing.plan(project.root, timestamp())
        if not dry_run:
            importing.write(project.root, steps)
    except CairnError as error:
        raise click.ClickException(f"{error.message}. {error.remedy}") from error
    for step in steps:
        click.echo(f"{(_WORDS if dry_run else _DONE)[step.action]}: {step.id}  ({step.source})")
    if not steps:
        click.echo(f"Nothing to import: none of {', '.join(importing.SOURCES)} has a section with text.")
