"""cairn gates"""

from __future__ import annotations

import sys

import click

from codecairn import config
from codecairn.errors import CairnError


@click.command(help="Evaluate instructions/gates.json; exit 1 if a gate of severity error fails, 2 if the file is bad.")
@click.option("--root", "--workspace", "root", metavar="PATH", help="The project (default: the one you are in).")
def command(root: str | None) -> None:
    from codecairn.catalog import governance
    from codecairn.project import Projects

    try:
        project = Projects(config.load((root,) if root else ())).current()
        evaluated = governance.evaluate(project.catalog.current())
    except CairnError as error:
        raise click.UsageError(f"{error.message}. {error.remedy}") from error
    if evaluated is None:
        click.echo("No gates are configured (instructions/gates.json).")
        return
    results, summary = evaluated
    width = max((len(result.id) for result in results), default=4)
    for result in results:
        outcome = "pass" if result.passed else f"FAIL ({result.severity})"
        said = f"  {result.description}" if result.description else ""
        click.echo(f"{result.id:<{width}}  {result.count:>6} {result.op:<2} {result.value:<6} {outcome}{said}")
    click.echo(f"{summary.total} gates: {summary.errors} errors, {summary.warnings} warnings")
    sys.exit(1 if summary.errors else 0)
