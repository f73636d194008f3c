"""cairn refs"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from codecairn.cli.index import bring_up, called, root_option
from codecairn.cli.search import project_around
from codecairn.cli.show import show
from codecairn.reading.references import print_references

_KINDS = ["imports", "calls", "implements", "extends", "references"]


@click.command(help="Where a symbol is used: name it, bare or qualified. Indexes the project if need be.")
@click.argument("symbol")
@root_option
@click.option("--path", metavar="PATH", help="The file of the definition that is meant.")
@click.option("--line", type=click.IntRange(1), help="Its line there.")
@click.option("--kind", type=click.Choice(_KINDS), help="Only uses of this kind.")
@click.option("-n", "limit", default=100, show_default=True, type=click.IntRange(1, 1000), help="Most references.")
@click.option("--unresolved", is_flag=True, help="Also list uses of the name that could not be bound.")
@click.option("--ref", metavar="REF", help="A branch, tag or commit instead of the working tree.")
@click.option("--json", "structured", is_flag=True, help="Print what find_references answers.")
def command(
    symbol: str,
    root: Path,
    path: str | None,
    line: int | None,
    kind: str | None,
    limit: int,
    unresolved: bool,
    structured: bool,
    ref: str | None,
) -> None:
    project = str(project_around(root))
    bring_up(project, ref)
    meant = {"symbol_name": symbol, "workspace": project, "path": path, "line": line, "ref": ref}
    answer = called("find_references", {**meant, "kind": kind, "limit": limit, "include_unresolved": unresolved})
    show(print_references, answer, structured=structured)
    sys.exit(0 if answer["references"] else 1)
