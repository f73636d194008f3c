"""cairn gates"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from codecairn.cli.tool_call import open_project, root_option, translate_errors


@click.command(help="Evaluate instructions/gates.json; exit 1 if a gate of severity error fails, 2 if the file is bad.")
@root_option
def command(root: Path | None) -> None:
    from codecairn.anchors.check import Repository
    from codecairn.anchors.findings import anchors_of
    from codecairn.cancel import Cancel
    from codecairn.catalog import governance

    project = open_project(root, click.UsageError)
    with translate_errors(click.UsageError):
        repository = Repository(project.root, project.git, project.guard, Cancel())
        catalog = project.catalog.current()
        evaluated = governance.evaluate(catalog, lambda: anchors_of(repository, catalog).counts)
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
