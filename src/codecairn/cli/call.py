"""cairn call"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection

import click

from codecairn import config, logs
from codecairn.cli.show import show_json
from codecairn.cli.tool_call import progress_bar, translate_errors
from codecairn.suggestions import nearest, suggestion


@click.command(
    help="Call one tool and print its answer as an agent reads it: cairn call git_log '{\"maxCount\": 3}'. "
    "ARGUMENTS may be '-' to read them from stdin."
)
@click.argument("tool")
@click.argument("arguments", default="{}")
@click.option(
    "--root", "--workspace", "roots", multiple=True, metavar="PATH", help="The project (default: the one you are in)."
)
@click.option("--json", "structured", is_flag=True, help="Print the structured value instead of the text.")
def command(tool: str, arguments: str, roots: tuple[str, ...], structured: bool) -> None:
    from codecairn import tools
    from codecairn.connection import Connection
    from codecairn.project import Projects
    from codecairn.reading.code import code_text

    logs.configure("warning", "text")
    registry = tools.standard()
    found = registry.find(tool)
    if found is None:
        raise click.UsageError(f"No tool {tool!r}. {suggest_tool(tool, registry.tools)}")
    try:
        given = json.loads(sys.stdin.read() if arguments == "-" else arguments)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"ARGUMENTS is not JSON: {error}") from error
    with translate_errors(click.UsageError):
        projects = Projects(config.load(roots))
    with progress_bar() as report:
        call = tools.Call(projects, Connection("cli"), registry, "cli", report=report, answers="both")
        reply = registry.call(found, call, given)
    if structured:
        show_json(reply.value)
    else:
        click.echo(code_text(reply.text) if sys.stdout.isatty() else reply.text)
    sys.exit(0 if reply.error is None else 1)


def suggest_tool(tool: str, known: Collection[str]) -> str:
    return suggestion(nearest(tool, known), f"Tools: {', '.join(sorted(known))}")
