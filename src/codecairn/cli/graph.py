"""cairn graph"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from codecairn.cli.show import show
from codecairn.cli.tool_call import ask_tool, tool_options
from codecairn.reading.references import print_graph

_FLAGS = {"direction": "--direction", "depth": "--depth", "limit": "-n --limit"}


@click.command(help="Who calls a symbol and what it calls, several calls far. Indexes the project if need be.")
@click.argument("symbol_name", metavar="SYMBOL")
@click.option("--svg", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Draw it into a file.")
@tool_options("get_call_graph", _FLAGS)
def command(root: Path | None, svg: Path | None, structured: bool, **asked: Any) -> None:
    graph = ask_tool("get_call_graph", root, asked)
    if svg is not None:
        _draw(graph, svg)
    if structured or svg is None:
        show(print_graph, graph, structured=structured, direction=asked["direction"])


def _draw(graph: dict[str, Any], file: Path) -> None:
    from codecairn.reading.graph_svg import draw_svg

    try:
        file.write_text(draw_svg(graph), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error
    click.echo(f"{len(graph['nodes'])} symbols, {len(graph['edges'])} edges: {file}", err=True)
