"""cairn refs"""

from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from codecairn.cli.index import bring_up, called, root_option
from codecairn.cli.search import project_around

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
    if structured:
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        _print(answer)
    sys.exit(0 if answer["references"] else 1)


def _print(answer: dict[str, Any]) -> None:
    for each in (answer, *(answer["candidates"] or ())):
        _print_symbol(each)
    if answer["candidates"]:
        click.echo("The name has several symbols: qualify it, or give --path, to see one whole.", err=True)


def _print_symbol(answer: dict[str, Any]) -> None:
    _print_rows(answer["references"])
    if answer.get("unresolved"):
        click.echo(click.style("could not be bound:", fg="yellow"))
        _print_rows(answer["unresolved"])
    symbol, shown = answer["symbol"], len(answer["references"])
    counted = f"{shown} of {answer['total_references']}" if shown < answer["total_references"] else str(shown)
    said = f"{counted} references to {symbol['qualified_name']} ({symbol['path']}:{symbol['line_start']})"
    click.echo(click.style(f"{said}, {answer['unresolved_count']} more uses of the name unbound", dim=True), err=True)


def _print_rows(rows: list[dict[str, Any]]) -> None:
    for path, group in groupby(rows, key=lambda row: row["path"]):
        click.echo(click.style(path, fg="cyan"))
        for row in group:
            number = click.style(format(row["line_start"], ">6"), dim=True)
            where = click.style(f"{row['edge_type']} in {row['from_symbol']['name']}", dim=True)
            click.echo(f"{number}  {row['context'][:120]}  {where}")
