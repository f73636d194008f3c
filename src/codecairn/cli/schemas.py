"""cairn schemas"""

from __future__ import annotations

import click

from codecairn.cli.call import suggest_tool
from codecairn.cli.show import show_json


@click.command(help="Print the whole JSON Schemas of the tools (of TOOL alone if named).")
@click.argument("tool", required=False)
def command(tool: str | None) -> None:
    from codecairn import tools

    registry = tools.standard()
    if tool is not None and registry.find(tool) is None:
        raise click.UsageError(f"No tool {tool!r}. {suggest_tool(tool, registry.tools)}")
    chosen = registry.tools.values() if tool is None else [registry.find(tool)]
    show_json({each.name: {"input": each.input_schema, "output": each.output_schema} for each in chosen if each})
