"""cairn call"""

from __future__ import annotations

import json
import sys

import click

from codecairn import config, logs
from codecairn.errors import CairnError


@click.command(
    help="Call one tool and print its answer: cairn call git_log '{\"maxCount\": 3}'. "
    "ARGUMENTS may be '-' to read them from stdin."
)
@click.argument("tool")
@click.argument("arguments", default="{}")
@click.option("--root", "roots", multiple=True, metavar="PATH", help="The project (default: the one you are in).")
@click.option("--json", "structured", is_flag=True, help="Print the structured value instead of the text.")
def command(tool: str, arguments: str, roots: tuple[str, ...], structured: bool) -> None:
    from codecairn import tools
    from codecairn.connection import Connection
    from codecairn.project import Projects

    logs.configure("warning", "text")
    registry = tools.standard()
    found = registry.find(tool)
    if found is None:
        raise click.UsageError(f"No tool {tool!r}. Tools: {', '.join(sorted(registry.tools))}")
    try:
        given = json.loads(sys.stdin.read() if arguments == "-" else arguments)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"ARGUMENTS is not JSON: {error}") from error
    try:
        projects = Projects(config.load(roots))
    except CairnError as error:
        raise click.UsageError(f"{error.message}. {error.remedy}") from error
    reply = registry.call(found, tools.Call(projects, Connection("cli"), registry, "cli"), given)
    click.echo(json.dumps(reply.value, indent=2, ensure_ascii=False) if structured else reply.text)
    if reply.error is not None:
        sys.exit(1)
