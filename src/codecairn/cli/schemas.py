"""cairn schemas"""

from __future__ import annotations

import json

import click

from codecairn.cli.call import meant_tool


@click.command(help="Print the whole JSON Schemas of the tools (of TOOL alone if named).")
@click.argument("tool", required=False)
def command(tool: str | None) -> None:
    from codecairn import tools

    registry = tools.standard()
    if tool is not None and registry.find(tool) is None:
        raise click.UsageError(f"No tool {tool!r}. {meant_tool(tool, registry.tools)}")
    chosen = registry.tools.values() if tool is None else [registry.find(tool)]
    schemas = {each.name: {"input": each.input_schema, "output": each.output_schema} for each in chosen if each}
    click.echo(json.dumps(schemas, indent=2, ensure_ascii=False))
